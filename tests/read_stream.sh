#!/bin/bash
# Pages read ahead. Right after a restart nothing is in the buffers, so every page comes through the read stream or past it: the
# answers are heap's whatever is read in turn, out of turn or not at all, and no pin outlives its statement. From PostgreSQL 18 on
# pg_stat_io tells that pages were read many at a time; with one read for each page this test fails.
set -euo pipefail
source "$ROOT/scripts/lib.sh"
source "$ROOT/tests/lib/mirror.sh"

D=$SCRATCH/read_stream
cluster_init "$D" "fsync = off" "autovacuum = off" "shared_buffers = 64MB" "max_parallel_workers_per_gather = 0" "jit = off" "lc_messages = 'C'"
cluster_start "$D"
sql "$D" -o /dev/null << 'SQL'
CREATE EXTENSION pgcolumnar;
SET pgcolumnar.bulk_threshold = 0;
CREATE TABLE h (id int, k int, f float8, s text, w text, d date);
INSERT INTO h SELECT i, hashint4(i) & 65535, sqrt(i), 'text ' || i * 31 % 20011, md5(i::text), date '2024-01-01' + i / 1000 FROM generate_series(1, 300000) i;
-- Many groups, one vector each, so that all that is read ahead crosses groups; and few groups of many vectors.
CREATE TABLE small (LIKE h) USING pgcolumnar;
SELECT pgcolumnar.set_options('small', row_group_rows => 2048, vector_rows => 2048);
CREATE TABLE large (LIKE h) USING pgcolumnar;
SELECT pgcolumnar.set_options('large', row_group_rows => 120000, vector_rows => 4096);
INSERT INTO small SELECT * FROM h;
INSERT INTO large SELECT * FROM h;
-- Row pages alone.
CREATE TABLE rows (LIKE h) USING pgcolumnar;
SET pgcolumnar.bulk_threshold = 1000000;
INSERT INTO rows SELECT * FROM h;
-- Rows to judge, rows on row pages, and a column that is younger than the groups.
DO $$ DECLARE t text; BEGIN
    FOREACH t IN ARRAY '{h,small,large,rows}'::text[] LOOP
        EXECUTE format('DELETE FROM %I WHERE id %% 101 = 0 OR id BETWEEN 20000 AND 29000', t);
        EXECUTE format('ALTER TABLE %I ADD y int DEFAULT 7', t);
        EXECUTE format('UPDATE %I SET y = 8, f = -f WHERE id %% 500 = 1', t);
        EXECUTE format('ANALYZE %I', t);
    END LOOP;
END $$;
CHECKPOINT;
SQL

cold() { cluster_stop "$D" && cluster_start "$D"; }

# Name and query of each case; the table is $t. Rows come in no order that matters, or as one row.
QUERIES=(
  "all columns" "SELECT count(*), sum(hashtextextended(x::text, 0)) FROM \$t x"
  "one column" "SELECT sum(f) > 0, count(f), min(f), max(f), sum(id) FROM \$t"
  "a filter that few rows pass" "SELECT id, s, w, f, y FROM \$t WHERE k = 77 ORDER BY id"
  "a filter that all vectors pass" "SELECT count(*), sum(hashtextextended(s || w, 0)), sum(y) FROM \$t WHERE k % 3 = 1"
  "zone maps that exclude most" "SELECT count(*), max(w), sum(k) FROM \$t WHERE id BETWEEN 100000 AND 103000 OR id > 290000"
  "a top N with a bound that narrows" "SELECT id, w FROM \$t ORDER BY id LIMIT 20"
  "a top N from the end" "SELECT id, w FROM \$t WHERE k < 60000 ORDER BY id DESC, s LIMIT 20"
  "a limit" "SELECT count(*) FROM (SELECT w, s FROM \$t WHERE k >= 0 LIMIT 5000) x"
  "groups by a dictionary" "SELECT s, count(*), max(w) FROM \$t GROUP BY s ORDER BY s LIMIT 50"
  "scans begun again" "SELECT v, (SELECT sum(k) FROM \$t WHERE id < v * 1000) FROM generate_series(1, 8) v ORDER BY v"
  "two scans at once" "SELECT count(*), sum(a.k) FROM \$t a JOIN \$t b ON a.id = b.id + 1 AND a.w > b.w"
)

# on_table TABLE: all queries on it, in one session.
on_table() {
  local i
  for ((i = 0; i < ${#QUERIES[@]}; i += 2)); do printf "SELECT '%s';\n%s;\n" "${QUERIES[i]}" "${QUERIES[i + 1]//\$t/$1}"; done
}
answers() { on_table "$1" | sql "$D" -At -v VERBOSITY=terse -f - 2>&1; }

wanted=$(answers h)
methods=("")
if ((PGMAJOR >= 18)); then methods=(worker sync io_uring); fi
for method in "${methods[@]}"; do
  if [ -n "$method" ]; then
    if ! query "$D" "ALTER SYSTEM SET io_method = '$method'" > /dev/null 2>&1; then say "no $method in this server"; continue; fi
    if ! cold; then # the kernel may not allow io_uring
      say "no $method on this machine"
      as_server sed -i '/io_method/d' "$D/data/postgresql.auto.conf"
      cluster_start "$D"
      continue
    fi
  fi
  for t in small large; do
    cold
    check "$t, nothing in the buffers${method:+, $method}" "$(answers $t)" "$wanted"
    check "$t, again${method:+, $method}" "$(answers $t)" "$wanted"
  done
  # Queries alone, so that nothing is in the buffers for them either.
  for ((i = 0; i < ${#QUERIES[@]}; i += 4)); do
    cold
    check "large: ${QUERIES[i]}${method:+, $method}" "$(query "$D" "${QUERIES[i + 1]//\$t/large}")" "$(query "$D" "${QUERIES[i + 1]//\$t/h}")"
    if [ -n "$method" ] && [ "$method" != worker ]; then break; fi
  done
done
if ((PGMAJOR >= 18)); then query "$D" "ALTER SYSTEM RESET io_method" > /dev/null; fi
cold
check "row pages, nothing in the buffers" "$(answers rows)" "$wanted"
cold
check "row pages, without batches" "$(query "$D" "SET pgcolumnar.enable_vectorized = off; SELECT count(*), sum(id), sum(y) FROM rows")" "$(query "$D" "SELECT count(*), sum(id), sum(y) FROM h")"

# Few buffers and few pins for each backend.
query "$D" "ALTER SYSTEM SET shared_buffers = '1MB'" > /dev/null
cold
check "large, 1 MB of buffers" "$(answers large)" "$wanted"
check "small, 1 MB of buffers" "$(answers small)" "$wanted"
query "$D" "ALTER SYSTEM RESET shared_buffers" > /dev/null

# Scans that do not come to their end: cursors left open, errors, subtransactions, and what comes after them in the session.
cold
result=$(sql "$D" -At -v ON_ERROR_STOP=0 2>&1 << 'SQL'
BEGIN;
DECLARE a CURSOR FOR SELECT id, w FROM large;
DECLARE b CURSOR FOR SELECT id, s FROM small WHERE k >= 0;
MOVE 10 FROM a; MOVE 10 FROM b;
SAVEPOINT s;
SELECT sum(100 / (id - 150000)) FROM large;
ROLLBACK TO s;
MOVE 1000 FROM a;
DECLARE c CURSOR FOR SELECT f FROM large WHERE k >= 0;
MOVE 10 FROM c;
ROLLBACK TO s;
MOVE FORWARD ALL FROM b;
SELECT count(*) FROM large WHERE w > '';
COMMIT;
SELECT sum(100 / (id - 250000)) FROM small WHERE id > 200000;
SELECT count(*) FROM small WHERE w > '';
SET temp_buffers = 100;
CREATE TEMP TABLE t (LIKE large) USING pgcolumnar;
INSERT INTO t SELECT * FROM large;
SELECT count(*), sum(k), max(w) FROM t;
SQL
) || true
rows=$(query "$D" "SELECT count(*), sum(k), max(w) FROM h") count=${rows%%|*}
check "scans that end early" "${result//$'\n'/ }" "ERROR:  division by zero $count ERROR:  division by zero $count $rows"
check "no pin is left" "$(as_server grep -acE 'refcount leak|resource was not closed|pin' "$D/data/server.log" || true)" 0

# Counters.
reads() { query "$D" "SELECT coalesce(sum(reads), 0), coalesce(sum(read_bytes), 0) FROM pg_stat_io WHERE object = 'relation' AND backend_type = 'client backend'"; }
explained() { query "$D" "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON, TIMING OFF) SELECT max(w), sum(f) FROM $1 WHERE k >= 0" | sed -nE "s/.*\"$2\": ([0-9]+).*/\1/p" | head -n 1; }
for t in small large rows; do
  cold
  read=$(explained $t "Shared Read Blocks") again=$(explained $t "Shared Read Blocks") hit=$(explained $t "Shared Hit Blocks")
  if ((read > 500)); then ok "$t: EXPLAIN counts $read pages read"; else not_ok "$t: EXPLAIN counts $read pages read"; fi
  if [ $t != rows ]; then # which go through a ring of buffers, as heap's would
    check "$t: and none when they are in the buffers" "$again" 0
    if ((hit >= read)); then ok "$t: but $hit found there"; else not_ok "$t: $hit found there, of $read"; fi
  fi
  if ((PGMAJOR < 18)); then continue; fi
  cold
  IFS='|' read -r calls bytes <<< "$(reads)"
  query "$D" "SELECT count(*) FROM $t WHERE w LIKE '%7%'" > /dev/null
  IFS='|' read -r calls2 bytes2 <<< "$(reads)"
  calls=$((calls2 - calls)) pages=$(((bytes2 - bytes) / 8192))
  # Catalogs, and heads and footers of groups, are read one page at a time; a small group has but four pages of w beside them.
  if [ $t = small ]; then least=$((calls * 5 / 4)); else least=$((calls * 2)); fi
  if ((pages > 500 && pages > least)); then ok "$t: $pages pages by $calls reads"; else not_ok "$t: $pages pages by $calls reads"; fi
done

no_crash "$D"
cluster_stop "$D"
finish && rm -rf "$D"
