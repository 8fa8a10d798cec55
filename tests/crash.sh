#!/bin/bash
# Kills backends, the postmaster and the whole server (kill -9, immediate stop) while a pgcolumnar table is loaded, changed
# and maintained, and compares it after recovery with a heap table that was changed in the same transactions. Seeds are
# fixed; the moments of the kills are drawn from them, but what they hit depends on the machine's speed.
#   CRASH_SEEDS   seeds, each a cluster of its own (default: "1 2")
#   CRASH_CYCLES  kills of each seed (default 13, every operation once)
set -euo pipefail
source "$ROOT/scripts/lib.sh"
source "$ROOT/tests/lib/mirror.sh"
read -ra seeds <<< "${CRASH_SEEDS:-1 2}"
cycles=${CRASH_CYCLES:-13}

config=("fsync = off" "autovacuum = off" "max_wal_size = 256MB" "checkpoint_timeout = 30s" "shared_buffers = 16MB"
  "restart_after_crash = on" "pgcolumnar.bulk_threshold = 1000" "pgcolumnar.merge_threshold = 300")

milliseconds() { echo $((${EPOCHREALTIME/./} / 1000)); }
ready_count() { as_server grep -c 'database system is ready to accept connections' "$1/data/server.log" || true; }

# ---- what is interrupted: operation NAME writes the victim's SQL to standard output, prepare NAME what comes before ----

OPERATIONS=(insert copy update delete merge compact truncate full cluster index small savepoints reindex)

prepare() {
  random 7
  case $1 in
    merge) query "$D" "SELECT add(900)" ";SELECT add(700); SELECT add(800)" > /dev/null ;;
    compact) query "$D" "SELECT add(3000); SELECT on_both('DELETE FROM \$t WHERE id % 7 IN ($R, 1, 3)')" > /dev/null ;;
    full | cluster | update | delete) query "$D" "SELECT add(2500)" > /dev/null ;;
    copy)
      [ -e "$D/rows" ] || query "$D" "COPY (SELECT m.* FROM generate_series(1000000000, 1000199999) s(id), make(s.id) m) TO '$D/rows'" ;;
  esac
}

operation() {
  local repeatable="BEGIN ISOLATION LEVEL REPEATABLE READ;" i
  random 5
  case $1 in
    insert) echo "$repeatable SELECT add(12000); COMMIT;" ;;
    copy) echo "BEGIN; COPY c FROM '$D/rows'; COPY h FROM '$D/rows'; COMMIT;" ;;
    update) echo "$repeatable SELECT on_both('UPDATE \$t SET k = k + 1, v = v || ''u'' WHERE id % 5 = $R'); COMMIT;
      $repeatable SELECT on_both('UPDATE \$t SET n = n + 1 WHERE id % 5 = $R'); COMMIT; VACUUM c;" ;;
    delete) echo "$repeatable SELECT on_both('DELETE FROM \$t WHERE id % 5 = $R'); COMMIT; VACUUM c;" ;;
    merge | compact) echo "VACUUM c; SELECT txid_current(); VACUUM c; SELECT txid_current(); VACUUM (FREEZE) c;" ;;
    full) echo "VACUUM FULL c;" ;;
    cluster) echo "CLUSTER c USING c_k;" ;;
    index) echo "CREATE INDEX c_more ON c (v, id);" ;;
    truncate) echo "BEGIN; TRUNCATE h; TRUNCATE c; SELECT add(5000); COMMIT; VACUUM c;" ;;
    reindex) echo "REINDEX TABLE CONCURRENTLY c;" ;;
    small) for ((i = 0; i < 60; i++)); do echo "BEGIN; SELECT add(30); COMMIT;"; done; echo "VACUUM c;" ;;
    savepoints)
      echo "$repeatable SELECT add(1500); SAVEPOINT a; SELECT add(2000);"
      echo "SELECT on_both('DELETE FROM \$t WHERE id % 50 = $R'); ROLLBACK TO a;"
      echo "SELECT on_both('UPDATE \$t SET v = ''s'' WHERE id % 50 = $R'); SAVEPOINT b; SELECT add(2000); RELEASE b; COMMIT;" ;;
  esac
}

# A second session of small transactions; a conflict with the victim undoes one of them in both tables.
companion() {
  local i
  for ((i = 0; i < 500; i++)); do
    random 97
    echo "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT add(3);"
    echo "SELECT on_both('UPDATE \$t SET n = n + 1 WHERE id % 97 = $R AND id % 3 = 0'); COMMIT;"
  done
}

vacuum_twice() { sql "$D" -o /dev/null -c "VACUUM c" -c "SELECT txid_current()" -c "VACUUM c"; }

# ---- killing ----

session() { # session NAME FILE: psql in the background; its backend's id is in FILE.pid soon
  rm -f "$2.pid"
  { printf 'SELECT pg_backend_pid() AS pid \\gset\n\\! echo :pid > /dev/null\n\\o %s.pid\n\\qecho :pid\n\\o /dev/null\n' "$2"; "$1" "${@:3}"; } > "$2.sql"
  PGHOST=$(cluster_host "$D") "$PGBIN/psql" -X -q -d postgres -f "$2.sql" > "$2.out" 2>&1 &
}

wait_for_file() { local i; for ((i = 0; i < 2000; i++)); do if [ -s "$1" ]; then return; fi; sleep 0.005; done; }

# strike HOW PID: kills, waits for recovery.
strike() {
  local ready children postmaster i
  ready=$(ready_count "$D") postmaster=$(as_server head -n 1 "$D/data/postmaster.pid")
  case $1 in
    backend)
      if ! kill -9 "$2" 2> /dev/null; then # it had ended
        children=$(ps -o pid= --ppid "$postmaster" | tail -n 1)
        kill -9 "$children"
      fi
      for ((i = 0; i < 1200; i++)); do
        if [ "$(ready_count "$D")" -gt "$ready" ]; then break; fi
        sleep 0.05
      done ;;
    postmaster)
      children=$(ps -o pid= --ppid "$postmaster")
      # shellcheck disable=SC2086
      kill -9 "$postmaster" $children 2> /dev/null || true
      while kill -0 "$postmaster" 2> /dev/null; do sleep 0.01; done
      # It warns of the file that the killed server left.
      cluster_start "$D" 2> "$D/start.log" || { cat "$D/start.log" >&2; return 1; } ;;
    immediate)
      cluster_stop "$D" immediate
      cluster_start "$D" ;;
  esac
}

# cycle NUMBER OPERATION: one kill.
cycle() {
  local op=$2 how start delay expected victim other='' label
  prepare "$op"
  random 3
  local ways=(backend postmaster immediate)
  how=${ways[$R]}
  expected=${EXPECTED[$op]:-${GUESS[$op]:-300}}
  random "$((expected * 11 / 10 + 1))"
  delay=$R
  label="seed $SEED, $1: $how killed $delay ms into $op"
  session operation "$D/victim" "$op"
  victim=$!
  random 2
  if [ "$R" = 1 ] && [ "$op" != copy ]; then
    session companion "$D/companion"
    other=$!
    label+=", others writing"
  fi
  wait_for_file "$D/victim.pid"
  start=$(milliseconds)
  while [ $(($(milliseconds) - start)) -lt "$delay" ]; do
    if ! kill -0 "$victim" 2> /dev/null; then break; fi
    sleep 0.01
  done
  if ! kill -0 "$victim" 2> /dev/null; then label+=", which was done"; EXPECTED[$op]=$(($(milliseconds) - start)); fi
  strike "$how" "$(cat "$D/victim.pid")"
  wait "$victim" 2> /dev/null || true
  if [ -n "$other" ]; then wait "$other" 2> /dev/null || true; fi
  if [ "$op" = copy ] && [ "$(query "$D" 'SELECT count(*) FROM h')" -gt 150000 ]; then
    check "$label" "$(query "$D" "SELECT digest('SELECT * FROM c', 'enable_seqscan') = digest('SELECT * FROM h', 'enable_seqscan')")" t
    query "$D" "TRUNCATE h, c"
    return
  fi
  mirror_same "$D" "$label" || return 0
  query "$D" "SET client_min_messages = warning; DROP INDEX IF EXISTS c_more; SELECT format('DROP INDEX %s;', indexrelid::regclass) FROM pg_index WHERE indrelid = 'c'::regclass AND NOT indisvalid" |
    sql "$D" -q
  # What the crash left half done, VACUUM finishes: twice, as what it frees is free when no snapshot needs it.
  vacuum_twice ||
    { not_ok "$label: VACUUM"; return 0; }
  mirror_same "$D" "$label, VACUUM after" || return 0
  check "$label: nothing left half done" \
    "$(query "$D" "SELECT kind, count(*), sum(pages) FROM pgcolumnar.stats('c') WHERE kind IN ('MERGING', 'RESERVED', 'UNLISTED') GROUP BY kind")" ""
}

# Milliseconds an operation takes, until it was seen to end.
declare -A GUESS=([copy]=3000 [insert]=900 [truncate]=600 [small]=500 [update]=900 [full]=400 [cluster]=500 [savepoints]=900)
for SEED in "${seeds[@]}"; do
  declare -A EXPECTED=()
  seed "$SEED"
  D=$SCRATCH/seed$SEED
  cluster_init "$D" "${config[@]}"
  cluster_start "$D"
  mirror_create "$D"
  query "$D" "SELECT add(8000)" > /dev/null
  for ((i = 0; i < cycles; i++)); do
    cycle "$i" "${OPERATIONS[$(((i + SEED) % ${#OPERATIONS[@]}))]}"
  done
  query "$D" "CHECKPOINT"
  no_crash "$D" 'was terminated by signal 9|exited with exit code'
  cluster_stop "$D"
  if [ "$FAILED" = 0 ]; then rm -rf "$D"; fi
done

# ---- space: twenty crashes in the middle of loads and of VACUUM leave the file no larger than a few did ----

D=$SCRATCH/growth
cluster_init "$D" "${config[@]}"
cluster_start "$D"
mirror_create "$D"
query "$D" "SELECT add(8000)" > /dev/null
query "$D" "VACUUM c"
# Groups of 4,096 rows are written while it runs.
load() { echo "INSERT INTO c SELECT m.* FROM generate_series(2000000000, 2000500000) s(id), make(s.id) m;"; }
vacuum_deleted() { echo "VACUUM c; SELECT txid_current(); VACUUM c;"; }
sizes=() left=0
for ((i = 0; i < 20; i++)); do
  if ((i % 2)); then
    query "$D" "SELECT add(8000)" > /dev/null
    query "$D" "SELECT on_both('DELETE FROM \$t WHERE id > (SELECT min(id) + 8000 FROM h)')" > /dev/null
    session vacuum_deleted "$D/victim"
    delay=0.0$((i * 3 % 7))
  else
    session load "$D/victim"
    delay=0.$((3 + i % 7))
  fi
  victim=$!
  wait_for_file "$D/victim.pid"
  sleep "$delay"
  strike backend "$(cat "$D/victim.pid")"
  wait "$victim" 2> /dev/null || true
  left=$((left + $(query "$D" "SELECT unlisted_pages()")))
  vacuum_twice
  sizes+=("$(query "$D" "SELECT pg_relation_size('c') / 8192")")
done
early=0 late=0
for ((i = 0; i < 5; i++)); do ((sizes[i] <= early)) || early=${sizes[i]}; done
for ((i = 15; i < 20; i++)); do ((sizes[i] <= late)) || late=${sizes[i]}; done
echo "pages after each crash and VACUUM: ${sizes[*]}"
# How many depends on where the blows fell: pages being written are named by a pending entry, and few are not.
echo "pages that nothing named after the crashes: $left"
if ((late <= early * 3 / 2)); then ok "the file stops growing: $early pages after five crashes, $late after twenty"
else not_ok "the file grows: $early pages after five crashes, $late after twenty"; fi
check "no page is lost to the twenty crashes" "$(query "$D" "SELECT unlisted_pages()")" 0
mirror_same "$D" "the same rows after twenty crashes" || true
no_crash "$D" 'was terminated by signal 9'
cluster_stop "$D"
finish && rm -rf "$D"
