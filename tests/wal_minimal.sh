#!/bin/bash
# wal_level = minimal: what a transaction writes to a table that it created (or truncated) itself is not logged but synced at its
# commit; a crash right after must not lose a row. Unlogged tables are empty after a crash and usable; temporary tables work.
set -euo pipefail
source "$ROOT/scripts/lib.sh"
source "$ROOT/tests/lib/mirror.sh"

D=$SCRATCH/minimal
cluster_init "$D" "wal_level = minimal" "max_wal_senders = 0" "autovacuum = off" "pgcolumnar.bulk_threshold = 500" "pgcolumnar.merge_threshold = 200"
cluster_start "$D"
mirror_create "$D" "row_group_rows => 2048, vector_rows => 512"

crash() {
  local postmaster children
  postmaster=$(as_server head -n 1 "$D/data/postmaster.pid")
  children=$(ps -o pid= --ppid "$postmaster")
  # shellcheck disable=SC2086
  kill -9 "$postmaster" $children 2> /dev/null || true
  while kill -0 "$postmaster" 2> /dev/null; do sleep 0.01; done
  cluster_start "$D" 2> "$D/start.log" || { cat "$D/start.log" >&2; return 1; }
}

# Small tables are logged at the commit (wal_skip_threshold), large ones synced: both.
for threshold in 0 2MB 1GB; do
  sql "$D" -o /dev/null << SQL
SET wal_skip_threshold = '$threshold';
BEGIN; TRUNCATE h; TRUNCATE c; SELECT add(6000); COMMIT;
BEGIN;
CREATE TABLE made USING pgcolumnar AS SELECT * FROM h;
CREATE INDEX ON made (id);
UPDATE made SET k = k + 1 WHERE id % 3 = 0;
DELETE FROM made WHERE id % 3 = 1;
SAVEPOINT a;
INSERT INTO made SELECT * FROM h WHERE id % 3 = 1;
ROLLBACK TO a;
INSERT INTO made SELECT * FROM h WHERE id % 9 = 1;
COMMIT;
SQL
  before=$(query "$D" "SELECT digest('SELECT * FROM made', 'enable_seqscan')")
  crash
  mirror_same "$D" "wal_skip_threshold $threshold: TRUNCATE and load in one transaction, then a crash" || true
  check "wal_skip_threshold $threshold: CREATE TABLE AS, index, UPDATE, DELETE in one transaction, then a crash" \
    "$(query "$D" "SELECT digest('SELECT * FROM made', 'enable_seqscan')")" "$before"
  check "wal_skip_threshold $threshold: the same by index" "$(query "$D" "SELECT digest('SELECT * FROM made WHERE id >= 0', 'enable_indexscan')")" "$before"
  sql "$D" -c "VACUUM made" -c "DROP TABLE made"
done

# The rewriting commands skip WAL too.
for command in "VACUUM FULL c" "CLUSTER c USING c_k" "ALTER TABLE c ALTER COLUMN k TYPE bigint; ALTER TABLE h ALTER COLUMN k TYPE bigint" "REINDEX TABLE c"; do
  sql "$D" -o /dev/null -c "SELECT add(1500)" -c "SELECT add(100)" -c "$command"
  crash
  mirror_same "$D" "${command%%;*}, then a crash" || true
done
sql "$D" -o /dev/null -c "SELECT add(300)" -c "SELECT add(300)" -c "SELECT on_both('DELETE FROM \$t WHERE id % 4 = 0')" -c "VACUUM c" -c "SELECT txid_current()" -c "VACUUM c"
crash
mirror_same "$D" "VACUUM, then a crash" || true

# An aborted creation leaves no file.
files() { as_server find "$D/data/base" -type f -size +0 | wc -l; }
sql "$D" -c "CHECKPOINT"
before=$(files)
sql "$D" -o /dev/null -c "BEGIN" -c "CREATE TABLE gone USING pgcolumnar AS SELECT * FROM h" -c "ROLLBACK" -c "CHECKPOINT"
check "a table whose creation was rolled back leaves no file" "$(files)" "$before"

# ---- unlogged ----

sql "$D" -o /dev/null << SQL
CREATE UNLOGGED TABLE u (LIKE h) USING pgcolumnar;
ALTER TABLE u ADD PRIMARY KEY (id);
INSERT INTO u SELECT * FROM h;
DELETE FROM u WHERE id % 2 = 0;
VACUUM u;
CHECKPOINT;
CREATE UNLOGGED TABLE kept (LIKE h) USING pgcolumnar;
INSERT INTO kept SELECT * FROM h;
ALTER TABLE kept SET LOGGED;
CREATE TABLE dropped (LIKE h) USING pgcolumnar;
INSERT INTO dropped SELECT * FROM h;
ALTER TABLE dropped SET UNLOGGED;
SQL
all=$(query "$D" "SELECT digest('SELECT * FROM h', 'enable_seqscan')")
cluster_stop "$D"
cluster_start "$D"
check "an unlogged table survives a clean restart" "$(query "$D" "SELECT count(*) > 0 FROM u")" t
crash
check "unlogged tables are empty after a crash" "$(query "$D" "SELECT (SELECT count(*) FROM u) + (SELECT count(*) FROM dropped)")" 0
check "by index too" "$(query "$D" "SET enable_seqscan = off; SELECT count(*) FROM u WHERE id > 0")" 0
check "an unlogged table has no pages after a crash" "$(query "$D" "SELECT pg_relation_size('u')")" 0
check "SET LOGGED logs the rows" "$(query "$D" "SELECT digest('SELECT * FROM kept', 'enable_seqscan')")" "$all"
sql "$D" -o /dev/null -c "INSERT INTO u SELECT * FROM h" -c "UPDATE u SET v = 'x' WHERE id % 2 = 0" -c "DELETE FROM u WHERE id % 2 = 1" -c "VACUUM u" -c "INSERT INTO dropped SELECT * FROM h" -c "VACUUM dropped"
check "an unlogged table is usable after a crash" \
  "$(query "$D" "SELECT digest('SELECT id, n FROM u', 'enable_seqscan') = digest('SELECT id, n FROM h WHERE id % 2 = 0', 'enable_seqscan')")" t
check "by index too" "$(query "$D" "SELECT digest('SELECT * FROM u WHERE id >= 0', 'enable_indexscan') = digest('SELECT * FROM u', 'enable_seqscan')")" t
check "one made unlogged is usable after a crash" "$(query "$D" "SELECT digest('SELECT * FROM dropped', 'enable_seqscan')")" "$all"

# ---- temporary ----

result=$(sql "$D" -At << SQL
CREATE TEMP TABLE t (LIKE h) USING pgcolumnar;
CREATE INDEX ON t (id);
INSERT INTO t SELECT * FROM h;
UPDATE t SET k = k + 1 WHERE id % 3 = 0;
DELETE FROM t WHERE id % 3 = 1;
VACUUM t;
INSERT INTO t SELECT * FROM h WHERE id % 3 = 1;
UPDATE t SET k = k - 1 WHERE id % 3 = 0;
VACUUM FULL t;
SELECT digest('SELECT * FROM t', 'enable_seqscan') = digest('SELECT * FROM h', 'enable_seqscan') AND digest('SELECT * FROM t WHERE id >= 0', 'enable_indexscan') = digest('SELECT * FROM h', 'enable_seqscan');
BEGIN;
CREATE TEMP TABLE d (a int) USING pgcolumnar ON COMMIT DELETE ROWS;
INSERT INTO d SELECT generate_series(1, 5000);
SELECT count(*) FROM d;
COMMIT;
SELECT count(*) FROM d;
BEGIN;
CREATE TEMP TABLE e (a int) USING pgcolumnar ON COMMIT DROP;
INSERT INTO e SELECT generate_series(1, 5000);
COMMIT;
SELECT to_regclass('e') IS NULL;
SQL
) || true
check "temporary tables: changed, vacuumed, ON COMMIT" "${result//$'\n'/ }" "t 5000 0 t"
no_crash "$D" 'was terminated by signal 9'
cluster_stop "$D"
finish && rm -rf "$D"
