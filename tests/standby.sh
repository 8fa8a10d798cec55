#!/bin/bash
# A streaming standby of a primary that checks the consistency of every WAL record (wal_consistency_checking = all): a
# pgcolumnar table is loaded, changed and maintained while queries run on the standby. These get right rows or a recovery
# conflict, nothing else. In the end both servers hold the same rows by every access path; then the standby is promoted.
#   STANDBY_ROUNDS  rounds of changes and maintenance (default 8)
#   STANDBY_CHECK   wal_consistency_checking (default all)
set -euo pipefail
source "$ROOT/scripts/lib.sh"
source "$ROOT/tests/lib/mirror.sh"
rounds=${STANDBY_ROUNDS:-8}
seed 7

P=$SCRATCH/primary S=$SCRATCH/standby
cluster_init "$P" "fsync = off" "autovacuum = off" "wal_consistency_checking = '${STANDBY_CHECK:-all}'" "max_wal_size = 256MB" \
  "hot_standby_feedback = off" "max_standby_streaming_delay = 300ms" "wal_receiver_status_interval = 1s" "shared_buffers = 32MB" \
  "pgcolumnar.bulk_threshold = 500" "pgcolumnar.merge_threshold = 200"
cluster_start "$P"
mirror_create "$P" "row_group_rows => 2048, vector_rows => 512"
query "$P" "SELECT add(6000)" > /dev/null

mkdir -p "$S"
if is_root; then chown "$SERVER_USER" "$S"; fi
as_server "$PGBIN/pg_basebackup" -h "$(cluster_host "$P")" -U postgres -D "$S/data" -R -c fast -X stream -C -S standby
sockets=$S
if [ ${#S} -gt 80 ]; then
  sockets=$(mktemp -d /tmp/pgc.XXXXXX)
  TEMPORARY+=("$sockets")
  if is_root; then chown "$SERVER_USER" "$sockets"; fi
fi
echo "$sockets" > "$S/sockets"
echo "unix_socket_directories = '$sockets'" | as_server tee -a "$S/data/postgresql.conf" > /dev/null
cluster_start "$S"

# caught_up: waits until the standby has replayed what the primary has written; fails when it does not.
caught_up() {
  local lsn i
  query "$P" "SELECT txid_current()" > /dev/null # its commit writes the WAL out
  lsn=$(query "$P" "SELECT pg_current_wal_flush_lsn()")
  for ((i = 0; i < 600; i++)); do
    if [ "$(query "$S" "SELECT pg_last_wal_replay_lsn() >= '$lsn'" 2> /dev/null)" = t ]; then return 0; fi
    cluster_running "$S" || return 1
    sleep 0.1
  done
  return 1
}

same_on_both() {
  local on_p on_s
  caught_up || { not_ok "$1: the standby does not catch up"; as_server tail -n 15 "$S/data/server.log"; finish; exit 1; }
  mirror_same "$S" "$1: the standby's tables agree" || true
  on_p=$(query "$P" "SELECT digest('SELECT ctid, * FROM c', 'enable_seqscan')")
  on_s=$(query "$S" "SELECT digest('SELECT ctid, * FROM c', 'enable_seqscan')")
  check "$1: the standby has the primary's rows" "$on_s" "$on_p"
}

# ---- a page that a query on the standby has pinned ----
# VACUUM on the primary moves its rows: replay has to wait for the pin before the page changes. Here it may wait for ever.

standby_delay() { sql "$S" -o /dev/null -c "ALTER SYSTEM SET max_standby_streaming_delay = '$1'" -c "SELECT pg_reload_conf()"; }
standby_delay -1
sql "$P" -o /dev/null -c "CREATE TABLE pinned (id int, v text, j jsonb) USING pgcolumnar" -c "CREATE TABLE pinned_too (LIKE pinned)" \
  -c "INSERT INTO pinned SELECT i, repeat(md5(i::text), 3), jsonb_build_object('i', i) FROM generate_series(1, 450) i" \
  -c "INSERT INTO pinned_too SELECT * FROM pinned" -c "SELECT txid_current()"
caught_up
wanted=$(query "$P" "SELECT sum(hashtextextended(p::text, 0)) FROM (SELECT *, CASE WHEN id = 7 THEN false END AS slow FROM pinned_too) p")
for path in enable_bitmapscan enable_seqscan enable_bitmapscan enable_seqscan; do
  sql "$P" -c "CREATE INDEX IF NOT EXISTS pinned_id ON pinned (id)" 2> /dev/null
  caught_up
  rm -f "$SCRATCH/pinned.out"
  PGHOST=$(cluster_host "$S") "$PGBIN/psql" -X -q -At -d postgres -v VERBOSITY=verbose << SQL > "$SCRATCH/pinned.out" 2>&1 &
SET enable_seqscan = off; SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off; SET $path = on; SET pgcolumnar.enable_vectorized = off;
BEGIN;
SELECT 'begun';
SELECT sum(hashtextextended(q::text, 0)) FROM (SELECT id, v, j, CASE WHEN id = 7 THEN pg_sleep(2) IS NULL END AS slow FROM pinned WHERE id > 0) q;
COMMIT;
SQL
  session=$!
  for ((i = 0; i < 200; i++)); do if grep -qs begun "$SCRATCH/pinned.out"; then break; fi; sleep 0.02; done
  sleep 0.5
  sql "$P" -c "VACUUM (TRUNCATE off) pinned" # truncation would take a lock that ends the query
  check "$path: VACUUM on the primary moved the rows" "$(query "$P" "SELECT count(*) FROM pgcolumnar.stats('pinned') WHERE kind = 'COLUMNS'")" 1
  wait "$session" || true
  found=$(grep -avE '^(begun|LOCATION|DETAIL|CONTEXT|HINT)|25P02' "$SCRATCH/pinned.out" | head -n 1)
  check "$path: a query with a pin on a moved page" "${found:0:200}" "$wanted"
  caught_up || not_ok "the standby does not catch up after a pinned page"
  sql "$P" -o /dev/null -c "TRUNCATE pinned" -c "INSERT INTO pinned SELECT * FROM pinned_too" -c "SELECT txid_current()"
done
sql "$P" -c "DROP TABLE pinned, pinned_too"
standby_delay 300ms

# ---- queries on the standby meanwhile ----
# A transaction looks at its snapshot of h and c several times, slowly. Each look must say the same of both; a conflict ends it.

# Prints "look", hash of h, of c, of c again, rows of c by count and by a cursor that was opened before.
reader() {
  # Some rows are looked at for a while, after their values were taken from the slot: the page must not change meanwhile.
  # Cursors that overlap without end would keep replay waiting for the pins of ever new ones, as they do with heap.
  local path=$1 cursor columns='*, false AS slow' slow='*, pg_sleep((id % 400 = 0)::int * 0.02) IS NULL AS slow' i
  if [ "$path" = enable_indexonlyscan ]; then columns='id' slow='id'; fi
  echo "\\set ON_ERROR_STOP 0"
  echo "\\set VERBOSITY verbose"
  for i in 0 1 2 3 4 5 6 7 8 9; do
    if [ $((i % 5)) = 1 ]; then cursor=; else cursor=--; fi
    cat << SQL
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT digest('SELECT $columns FROM h WHERE id >= 0', 'enable_seqscan') AS h \\gset
SELECT digest('SELECT $columns FROM c WHERE id >= 0', '$path') AS first \\gset
$cursor DECLARE slow CURSOR FOR SELECT id FROM c;
$cursor FETCH 100 FROM slow \\g /dev/null
SELECT pg_sleep($((i % 3)) * 0.2 + 0.05) \\g /dev/null
SELECT digest('SELECT $slow FROM c WHERE id >= 0', '$path') AS second \\gset
SELECT count(*) - 100 AS rows FROM c \\gset
\\if :{?second}
\\echo look :h : :first : :second : :rows
$cursor MOVE FORWARD ALL FROM slow;
\\endif
COMMIT;
\\unset second
SQL
  done
}

# A conflict may end the session too: then the next one begins.
read_on() {
  while [ ! -e "$SCRATCH/done" ] && kill -0 $$ 2> /dev/null && cluster_running "$S"; do
    PGHOST=$(cluster_host "$S") "$PGBIN/psql" -X -d postgres -f "$SCRATCH/$1.sql" || true
  done >> "$SCRATCH/$1.out" 2>&1
}

paths=(enable_seqscan enable_indexscan enable_bitmapscan enable_indexonlyscan vectorized)
start_readers() {
  local path
  rm -f "$SCRATCH/done"
  pids=()
  for path in "${paths[@]}"; do
    read_on "$path" &
    pids+=($!)
  done
}

# Ends the sessions too: a comparison has to wait for replay, which waits for their pins.
stop_readers() {
  local pid
  touch "$SCRATCH/done"
  sql "$S" -o /dev/null -c "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
  for pid in "${pids[@]}"; do wait "$pid" || true; done
}

for path in "${paths[@]}"; do
  reader "$path" > "$SCRATCH/$path.sql"
  : > "$SCRATCH/$path.out"
done
start_readers

# ---- what the primary does ----

for ((i = 0; i < rounds; i++)); do
  random 9
  sql "$P" -o /dev/null -c "SELECT add(2500)" -c "SELECT add(300)" -c "SELECT add(300)" \
    -c "SELECT on_both('UPDATE \$t SET k = k + 1, v = ''u'' WHERE id % 31 = $R')" \
    -c "SELECT on_both('UPDATE \$t SET n = n + 1 WHERE id % 29 = $R')" \
    -c "SELECT on_both('DELETE FROM \$t WHERE id % 9 = $R')" \
    -c "BEGIN" -c "SELECT add(1500)" -c "ROLLBACK" \
    -c "VACUUM c" -c "SELECT txid_current()" -c "VACUUM c"
  case $((i % 4)) in
    0) sql "$P" -o /dev/null -c "SELECT on_both('DELETE FROM \$t WHERE id > (SELECT last_value - 3000 FROM ids)')" -c "VACUUM c" -c "SELECT txid_current()" -c "VACUUM (FREEZE) c" ;;
    1) sql "$P" -o /dev/null -c "CHECKPOINT" -c "SELECT on_both('DELETE FROM \$t WHERE id < (SELECT last_value - 9000 FROM ids)')" -c "VACUUM c" -c "SELECT txid_current()" -c "VACUUM c" ;;
    2) sql "$P" -o /dev/null -c "VACUUM FULL c" -c "SELECT add(300)" -c "REINDEX TABLE CONCURRENTLY c" ;;
    3) sql "$P" -o /dev/null -c "BEGIN" -c "ALTER TABLE h ADD COLUMN extra$i int DEFAULT $i" -c "ALTER TABLE c ADD COLUMN extra$i int DEFAULT $i" -c "COMMIT" \
      -c "CREATE INDEX ON c (v)" ;;
  esac
  if [ "$i" = $((rounds / 2)) ]; then
    stop_readers
    same_on_both "half-way"
    start_readers
  fi
done
stop_readers
same_on_both "at the end"

looks=0 wrong=0 conflicts=0
for path in "${paths[@]}"; do
  out=$SCRATCH/$path.out
  looks=$((looks + $(grep -c '^look' "$out" || true)))
  conflicts=$((conflicts + $(grep -cE '(ERROR|FATAL):  40001:' "$out" || true)))
  awk -v path="$path" '
    /^look/ { line = substr($0, 6); split(line, part, " : "); if (part[1] != part[2] || part[2] != part[3]) print path, line; rows = part[4] }
    /^MOVE/ { if ($2 != rows) print path, line, "but the cursor had", $2, "more" }' "$out" > "$SCRATCH/$path.wrong"
  wrong=$((wrong + $(wc -l < "$SCRATCH/$path.wrong")))
done
check "queries on the standby saw no wrong rows" "$wrong" 0
cat "$SCRATCH"/*.wrong | head -n 5
# What follows an error in its transaction (25P02) is no news, nor is the end of a session.
other=$(cat "$SCRATCH"/*.out | grep -aE '(ERROR|FATAL|PANIC):' | grep -avE '(40001|25P02|57P01):|not yet accepting connections|in recovery mode' | sed -E 's/^psql:[^ ]* //' | sort | uniq -c | head -n 5 || true)
check "queries on the standby failed by conflicts alone" "$other" ""
if [ "$looks" -gt 20 ]; then ok "$looks transactions on the standby, $conflicts conflicts"; else not_ok "only $looks transactions on the standby ended"; fi

# ---- promotion ----

as_server "$PGBIN/pg_ctl" -w -s -t 60 -D "$S/data" promote
mirror_same "$S" "promoted: the tables agree" || true
sql "$S" -o /dev/null -c "SELECT add(3000)" -c "SELECT add(200)" -c "SELECT on_both('UPDATE \$t SET k = k + 1 WHERE id % 5 = 0')" \
  -c "SELECT on_both('DELETE FROM \$t WHERE id % 5 = 1')" -c "VACUUM c" -c "SELECT txid_current()" -c "VACUUM c"
mirror_same "$S" "promoted, written and vacuumed: the tables agree" || true
no_crash "$P"
no_crash "$S"
check "no record was inconsistent" "$(as_server grep -a 'inconsistent page found' "$S/data/server.log" | head -n 3 || true)" ""
cluster_stop "$P"
cluster_stop "$S"
finish && rm -rf "$P" "$S"
