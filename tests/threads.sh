#!/bin/bash
# Threads of batch execution under a storm of cancels: many backends run threaded queries while statement_timeout,
# pg_cancel_backend and pg_terminate_backend stop them at any moment. Afterwards the server is up and has not crashed, no
# thread, temporary file or wrong result is left, and each cancel was answered soon. How soon is told by the server's log:
# from the moment of the cancel to that of its ERROR.
#   THREADS_BACKENDS  backends at once (default 50; the target is 200)
#   THREADS_SECONDS   how long the storm lasts (default 25)
#   THREADS_BOUND     most milliseconds from a cancel to its ERROR (default 2000, with more than 50 backends 40 for each: they wait for a
#                     processor then; 100 is the aim on a machine that is not overloaded)
set -euo pipefail
source "$ROOT/scripts/lib.sh"
source "$ROOT/tests/lib/mirror.sh"
backends=${THREADS_BACKENDS:-50} seconds=${THREADS_SECONDS:-25} bound=${THREADS_BOUND:-$((backends > 50 ? backends * 40 : 2000))}
[ -d /proc/self/task ] || skip "threads are counted in /proc, which is not here"

D=$SCRATCH/threads
cluster_init "$D" "fsync = off" "autovacuum = off" "max_connections = $((backends + 30))" "shared_buffers = 64MB" "log_line_prefix = '%n %p '" \
  "log_statement = all" "max_wal_size = 512MB" "pgcolumnar.max_threads = 2" "max_parallel_workers_per_gather = 0"
rm -f "$D/over" "$D/leave"
cluster_start "$D"
sql "$D" << 'SQL'
CREATE EXTENSION pgcolumnar;
CREATE TABLE h (id int, k int, g int, n numeric(12,2), f float8, s text, d date);
INSERT INTO h SELECT i, i * 7919 % 50021, i % 97, i / 4.0, i / 8.0, 'text ' || i * 31 % 20011, date '2024-01-01' + i % 300 FROM generate_series(1, 200000) i;
CREATE TABLE c (LIKE h) USING pgcolumnar;
SELECT pgcolumnar.set_options('c', row_group_rows => 20000, vector_rows => 2048) \g /dev/null
SET pgcolumnar.bulk_threshold = 0;
INSERT INTO c SELECT * FROM h;
DELETE FROM h WHERE id % 101 = 0; DELETE FROM c WHERE id % 101 = 0;
ANALYZE h; ANALYZE c;
-- Stops other backends at random, for so many seconds.
CREATE PROCEDURE storm(seconds float8) LANGUAGE plpgsql AS $$
DECLARE victim int; until timestamptz := clock_timestamp() + seconds * interval '1 second';
BEGIN
    WHILE clock_timestamp() < until LOOP
        COMMIT; -- or pg_stat_activity would not change
        FOR victim IN SELECT pid FROM pg_stat_activity WHERE application_name = 'storm' AND state = 'active' ORDER BY random() LIMIT 3 LOOP
            IF random() < 0.15 THEN
                RAISE LOG 'storm: terminate %', victim;
                PERFORM pg_terminate_backend(victim);
            ELSE
                RAISE LOG 'storm: cancel %', victim;
                PERFORM pg_cancel_backend(victim);
            END IF;
        END LOOP;
        PERFORM pg_sleep(random() * 0.05);
    END LOOP;
END $$;
SQL

# Queries that run on threads: aggregation with many and with few groups, with and without spill, DISTINCT, scans, top-N, errors.
QUERIES=(
  "SELECT g, count(*), sum(n), avg(f), min(s COLLATE \"C\"), max(d) FROM c GROUP BY g"
  "SELECT k, count(*), sum(n), max(id) FROM c GROUP BY k"
  "SELECT s, k, count(*), sum(id) FROM c GROUP BY s, k"
  "SELECT g, count(DISTINCT k), count(DISTINCT s) FROM c GROUP BY g"
  "SELECT count(DISTINCT s), count(DISTINCT id), sum(n) FROM c"
  "SELECT DISTINCT s, g FROM c"
  "SELECT count(*), sum(n * 2), stddev(f) FROM c WHERE s LIKE '%7%' AND id % 3 = 1"
  "SELECT max(x.id), count(*) FROM (SELECT * FROM c WHERE f > 100 OFFSET 0) x"
  "SELECT * FROM c WHERE s LIKE '%99%' ORDER BY n DESC, id LIMIT 50"
  "SELECT k, sum(f) FROM c GROUP BY k ORDER BY 2 DESC, 1 LIMIT 20"
  "SELECT id, s FROM c WHERE g = 5 LIMIT 3000"
  "SELECT sum(100 / (id - 150000)) FROM c"
  "SELECT a.g, count(*) FROM c a JOIN c b ON a.id = b.id + 1 GROUP BY a.g"
  "SELECT upper(s) = 'X', count(*), (SELECT count(*) FROM c x WHERE x.g = 7) FROM c GROUP BY 1"
)

# statements NUMBER: so many of them, with timeouts of 1 to 200 ms, some in transactions and cursors, with memory for all or for little.
statements() {
  local i query
  echo "SET application_name = storm;"
  for ((i = 0; i < $1; i++)); do
    random ${#QUERIES[@]}; query=${QUERIES[R]}
    random 3
    echo "SET work_mem = '$((R == 0 ? 64 : 4096 * R))kB';"
    random 200
    echo "BEGIN; SET LOCAL statement_timeout = $((R + 1));"
    random 4
    case $R in
      0) echo "DECLARE cur CURSOR FOR $query; FETCH 10 FROM cur; SAVEPOINT s; FETCH ALL FROM cur; ROLLBACK TO s; FETCH 1 FROM cur; COMMIT;" ;;
      1) echo "SET LOCAL statement_timeout = 0; $query; COMMIT;" ;;
      *) echo "$query; ROLLBACK;" ;;
    esac
  done
}

client_psql() { PGHOST=$(cluster_host "$D") PGDATABASE=postgres "$PGBIN/psql" -X -q -o /dev/null 2> /dev/null; }

# client NUMBER: statements until the storm is over, with a new connection where one was terminated; then one that ends some by
# timeouts and stays connected and idle until the file "leave" is there.
client() {
  RANDOM=$((1000 + $1))
  while [ ! -e "$D/over" ]; do statements 12 | client_psql || true; done
  {
    statements 3 | sed 's/SET LOCAL statement_timeout = 0; //'
    # A timeout may have stopped the end of a transaction as well.
    echo "ROLLBACK; ROLLBACK; ROLLBACK;"
    echo "SET application_name = idle;"
    while [ ! -e "$D/leave" ]; do sleep 0.2; done
  } | client_psql || true
}

clients=()
for ((i = 0; i < backends; i++)); do client "$i" & clients+=($!); done
sql "$D" -c "CALL storm($seconds)" 2> /dev/null
touch "$D/over"
# Whoever is still at work ends it.
idle=0
for ((i = 0; i < 600 && idle < backends; i++)); do
  idle=$(query "$D" "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'idle' AND state = 'idle'")
  sleep 0.2
done
if ((idle < backends)); then query "$D" "SELECT pid, application_name, state, wait_event, query FROM pg_stat_activity WHERE backend_type = 'client backend'"; fi
check "all backends are idle in the end" "$idle" "$backends"

threads=0
for pid in $(query "$D" "SELECT pid FROM pg_stat_activity WHERE application_name = 'idle'"); do
  tasks=(/proc/"$pid"/task/*)
  threads=$((threads + ${#tasks[@]}))
  if [ ${#tasks[@]} != 1 ]; then as_server grep -a " $pid " "$D/data/server.log" | tail -n 12; fi
done
check "each has one thread" "$threads" "$idle"
check "no temporary file is left" "$(as_server find "$D/data/base" -path '*pgsql_tmp*' -type f | wc -l)" 0
check "no lock and no transaction is left" "$(query "$D" "SELECT count(*) FROM pg_locks WHERE relation = 'c'::regclass")" 0

# The same server, right afterwards; and a backend that was canceled is as good as new.
differences() {
  query "$D" "SET work_mem = '$1'" ";SELECT count(*) FROM ((SELECT k, count(*), sum(n), max(s COLLATE \"C\"), sum(f) FROM c GROUP BY k EXCEPT ALL SELECT k, count(*), sum(n), max(s COLLATE \"C\"), sum(f) FROM h GROUP BY k)
    UNION ALL (SELECT k, count(*), sum(n), max(s COLLATE \"C\"), sum(f) FROM h GROUP BY k EXCEPT ALL SELECT k, count(*), sum(n), max(s COLLATE \"C\"), sum(f) FROM c GROUP BY k)) x"
}
check "results are right" "$(differences 32MB)" 0
check "results are right with spilling" "$(differences 64kB)" 0
check_match "they came from threads" "$(query "$D" "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT k, count(*) FROM c GROUP BY k")" "Threads: [12]"
answer=$(sql "$D" -At 2>&1 -v ON_ERROR_STOP=0 << 'SQL'
SET statement_timeout = 2; SELECT s, k, count(*), sum(id) FROM c GROUP BY s, k;
SET statement_timeout = 0; SELECT count(*), sum(id) FROM c;
SQL
) || true
check_match "in one session: a cancel, then the answer" "${answer//$'\n'/ }" "canceling statement due to statement timeout 198020\|"
touch "$D/leave"
for pid in "${clients[@]}"; do wait "$pid" || true; done

# From cancel to ERROR, in milliseconds: a timeout's moment is the statement's plus its length, the storm's is its own line. A cancel
# that met the end of its statement has no ERROR.
latencies=$D/latencies
as_server cat "$D/data/server.log" | awk '
  { now = $1 * 1000; pid = $2 }
  /LOG:  statement: / {
    if (match($0, /statement_timeout = [0-9]+/)) timeout[pid] = substr($0, RSTART + 20, RLENGTH - 20) + 0
    start[pid] = now; delete asked[pid]
  }
  /LOG:  storm: (cancel|terminate) / { if (!($NF in asked)) asked[$NF] = now }
  /ERROR:  canceling statement due to statement timeout/ { print "timeout", now - start[pid] - timeout[pid]; delete asked[pid] }
  /ERROR:  canceling statement due to user request/ { if (pid in asked) print "cancel", now - asked[pid]; delete asked[pid] }
  /FATAL:  terminating connection due to administrator command/ { if (pid in asked) print "terminate", now - asked[pid]; delete asked[pid] }
' > "$latencies"
for kind in timeout cancel terminate; do
  sorted=$(awk -v kind=$kind '$1 == kind { print int($2 + 0.5) }' "$latencies" | sort -n)
  count=$(grep -c . <<< "$sorted" || true)
  if ((count < 10)); then not_ok "$kind: only $count were answered: the storm was none"; continue; fi
  worst=$(tail -n 1 <<< "$sorted") median=$(sed -n "$(((count + 1) / 2))p" <<< "$sorted") late=$(awk '$1 > 100' <<< "$sorted" | grep -c . || true)
  say "$kind: $count answered, median $median ms, worst $worst ms, $late later than 100 ms"
  if ((worst <= bound)); then ok "$kind: each was answered within $bound ms"; else not_ok "$kind: the slowest took $worst ms"; fi
done
no_crash "$D"
if cluster_stop "$D"; then ok "the server stops"; else not_ok "the server does not stop"; fi
finish && rm -rf "$D"
