#!/bin/bash
# Memory of grouping: queries with far more groups than work_mem holds spill, stay within three times work_mem of private
# memory, and give what the same query gives with memory for all. hash_mem_multiplier has its default of 2, so that tables may
# take two thirds of that. The peak is the most RssAnon of the backend that a sampler sees while the query runs.
#   MEMORY_ROWS     rows, all distinct (default 2000000)
#   MEMORY_WORK_MEM work_mem in MB (default 16)
set -euo pipefail
source "$ROOT/scripts/lib.sh"
source "$ROOT/tests/lib/mirror.sh"
rows=${MEMORY_ROWS:-2000000} work_mem=${MEMORY_WORK_MEM:-16}
grep -q '^RssAnon' /proc/self/status 2> /dev/null || skip "private memory is told by /proc, which is not here or tells less"

D=$SCRATCH/memory
cluster_init "$D" "fsync = off" "autovacuum = off" "shared_buffers = 256MB" "max_wal_size = 2GB" "pgcolumnar.max_threads = 2" \
  "max_parallel_workers_per_gather = 0" "statement_timeout = '300s'"
cluster_start "$D"
sql "$D" << SQL
CREATE EXTENSION pgcolumnar;
CREATE TABLE c (k bigint, r int, s text) USING pgcolumnar;
SET pgcolumnar.bulk_threshold = 0;
INSERT INTO c SELECT i * 2654435761 % 10000019 * 1000003, i % 1000, left(repeat(md5(i::text), 2), (20 + i % 41)::int) FROM generate_series(1::bigint, $rows) i;
VACUUM ANALYZE c;
SQL

# sample PID FILE: writes the most RssAnon of the process, in kB, until the file "done" is there.
sample() {
  local most=0 key value
  while [ ! -e "$D/done" ]; do
    while read -r key value _; do
      if [ "$key" = RssAnon: ] && ((value > most)); then most=$value; fi
    done < "/proc/$1/status"
    printf '%s\n' "$most" > "$2"
    sleep 0.002
  done
}

# peak SETTINGS QUERY: sets PEAK (kB above what the backend had before) and ANSWER.
peak() {
  local pid before sampler
  rm -f "$D/done" "$D/go" "$D/pid"
  {
    echo "$1; SELECT count(*) FROM (SELECT k FROM c LIMIT 1) x \\g /dev/null"
    echo "\\o $D/pid"
    echo "SELECT pg_backend_pid();"
    echo "\\o"
    while [ ! -e "$D/go" ]; do sleep 0.05; done
    echo "$2;"
  } | PGHOST=$(cluster_host "$D") PGDATABASE=postgres "$PGBIN/psql" -X -q -At -v ON_ERROR_STOP=1 > "$D/answer" 2>&1 &
  local client=$!
  for ((i = 0; i < 600; i++)); do if [ -s "$D/pid" ]; then break; fi; sleep 0.05; done
  sleep 0.2
  pid=$(cat "$D/pid")
  before=$(awk '/^RssAnon/ { print $2 }' "/proc/$pid/status")
  sample "$pid" "$D/most" 2> /dev/null & sampler=$!
  touch "$D/go"
  wait "$client" || true
  touch "$D/done"
  wait "$sampler" || true
  PEAK=$(($(cat "$D/most") - before)) ANSWER=$(cat "$D/answer")
}

# within NAME QUERY
within() {
  local wanted plan
  peak "SET work_mem = '2GB'" "$2"
  wanted=$ANSWER
  peak "SET work_mem = '${work_mem}MB'" "$2"
  say "$1: $((PEAK / 1024)) MB above the idle backend at work_mem ${work_mem} MB"
  check "$1: the answer is that of ample memory" "$ANSWER" "$wanted"
  if ((PEAK <= 3 * work_mem * 1024)); then ok "$1: within three times work_mem"; else not_ok "$1: $PEAK kB at work_mem ${work_mem} MB"; fi
  plan=$(query "$D" "SET work_mem = '${work_mem}MB'" ";EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) $2")
  check_match "$1: it spills" "$plan" "Spilled: [1-9]"
  check_match "$1: it tells its memory" "$plan" "Hash Memory: [1-9]"
  check_match "$1: on threads" "$plan" "Threads: 2"
}

within "integers" "SELECT count(*), sum(n), sum(x) FROM (SELECT k, count(*) n, sum(r) x FROM c GROUP BY k OFFSET 0) g"
within "strings" "SELECT count(*), sum(n), max(length(s)) FROM (SELECT s, count(*) n FROM c GROUP BY s OFFSET 0) g"
within "two keys" "SELECT count(*), sum(n), sum(r) FROM (SELECT s, r, count(*) n FROM c GROUP BY s, r OFFSET 0) g"
within "DISTINCT" "SELECT count(*), sum(k % 1000) FROM (SELECT DISTINCT k FROM c OFFSET 0) g"
within "count(DISTINCT)" "SELECT count(DISTINCT k), count(DISTINCT r) FROM c"
within "count(DISTINCT) of strings" "SELECT count(DISTINCT s) FROM c"
within "count(DISTINCT) of groups" "SELECT count(*), sum(n) FROM (SELECT r, count(DISTINCT k) n FROM c GROUP BY r OFFSET 0) g"
within "groups that all threads meet" "SELECT count(*), sum(n), sum(x) FROM (SELECT k % 600011 k, count(*) n, sum(r) x FROM c GROUP BY 1 OFFSET 0) g"
no_crash "$D"
if cluster_stop "$D"; then ok "the server stops"; else not_ok "the server does not stop"; fi
finish && rm -rf "$D"
