#!/bin/bash
# The library works without any preload: its first use in a session may be any statement, and a parallel or an autovacuum worker
# may be the first to need it. Then the same with LOAD in mid-session and with session_preload_libraries.
set -euo pipefail
source "$ROOT/scripts/lib.sh"
source "$ROOT/tests/lib/mirror.sh"

D=$SCRATCH/plain
cluster_init "$D" "fsync = off" "autovacuum = on" "autovacuum_naptime = 1s" "log_autovacuum_min_duration = 0" "max_parallel_workers_per_gather = 2" \
  "max_worker_processes = 8" "min_parallel_table_scan_size = 0" "parallel_setup_cost = 0" "parallel_tuple_cost = 0"
cluster_start "$D"
sql "$D" -o /dev/null << 'SQL'
CREATE EXTENSION pgcolumnar;
CREATE TABLE c (id int, v text) USING pgcolumnar WITH (autovacuum_enabled = off);
INSERT INTO c SELECT i, 'v' || i % 100 FROM generate_series(1, 20000) i;
CREATE TABLE auto (id int, v text) USING pgcolumnar;
SQL

# Each statement is the first of its session.
first() { check "first use: $1" "$(query "$D" "$2" 2>&1 | tail -n 1)" "$3"; }
first SELECT "SELECT count(*), sum(id) FROM c" "20000|200010000"
first "COPY FROM" "COPY c FROM PROGRAM 'seq -f ''%.0f,copied'' 20001 20100' WITH (FORMAT csv)" ""
first "COPY TO" "COPY (SELECT max(id) FROM c) TO STDOUT" 20100
first INSERT "INSERT INTO c VALUES (20101, 'x') RETURNING id" 20101
first UPDATE "UPDATE c SET v = 'y' WHERE id = 17 RETURNING v" y
first DELETE "DELETE FROM c WHERE id = 18 RETURNING id" 18
first MERGE "MERGE INTO c USING (VALUES (19)) s(id) ON c.id = s.id WHEN MATCHED THEN UPDATE SET v = 'm'" ""
first "CREATE INDEX" "CREATE INDEX c_id ON c (id)" ""
first "CREATE TABLE" "CREATE TABLE d (a int) USING pgcolumnar" ""
first "default_table_access_method" "SET default_table_access_method = pgcolumnar; CREATE TABLE e AS SELECT 1 AS a; SELECT amname FROM pg_class JOIN pg_am a ON a.oid = relam WHERE relname = 'e'" pgcolumnar
first ANALYZE "ANALYZE c; SELECT reltuples FROM pg_class WHERE relname = 'c'" 20100
first VACUUM "VACUUM c" ""
first TRUNCATE "TRUNCATE d" ""
first "index scan" "SET enable_seqscan = off; SELECT v FROM c WHERE id = 17" y
first "a setting before the library" "SET pgcolumnar.row_group_rows = 1000; SELECT count(*) FROM c; SHOW pgcolumnar.row_group_rows" 1000
first "a wrong setting before the library" "SET pgcolumnar.row_group_rows = 'many'; SELECT count(*) FROM c; SHOW pgcolumnar.row_group_rows" 122880
first "LOAD in mid-session" "SELECT 1; LOAD 'pgcolumnar'; SELECT count(*) FROM c" 20100
first "a prepared statement" "PREPARE p AS SELECT count(*) FROM c; EXECUTE p" 20100
first EXPLAIN "EXPLAIN (COSTS off) SELECT 1 FROM c WHERE false" "  One-Time Filter: false"
first "a function of the extension" "SELECT sum(live_rows) FROM pgcolumnar.stats('c')" 20100
first DROP "DROP TABLE d, e" ""

# Parallel workers load it by themselves; the leader must not have any part in the scan.
plan=$(query "$D" "SET parallel_leader_participation = off; SET pgcolumnar.enable_vectorized = off; EXPLAIN (ANALYZE, COSTS off, TIMING off) SELECT count(*), sum(id) FROM c" 2>&1)
check_match "parallel workers are started" "$plan" "Workers Launched: [12]"
first "parallel workers" "SET parallel_leader_participation = off; SET pgcolumnar.enable_vectorized = off; SELECT count(*) FROM c" 20100

# Autovacuum's workers too.
sql "$D" -c "ALTER TABLE auto SET (autovacuum_vacuum_threshold = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_analyze_threshold = 10, autovacuum_analyze_scale_factor = 0)" \
  -c "INSERT INTO auto SELECT i, 'v' FROM generate_series(1, 6000) i" -c "DELETE FROM auto WHERE id % 2 = 0"
done=f
for ((i = 0; i < 200; i++)); do
  done=$(query "$D" "SELECT autovacuum_count > 0 AND autoanalyze_count > 0 FROM pg_stat_user_tables WHERE relname = 'auto'")
  if [ "$done" = t ]; then break; fi
  sleep 0.1
done
check "an autovacuum worker vacuums and analyzes" "$done" t
check "and nothing is lost" "$(query "$D" "SELECT count(*), sum(id) FROM auto")" "3000|9000000"
no_crash "$D"
cluster_stop "$D"

echo "session_preload_libraries = 'pgcolumnar'" | as_server tee -a "$D/data/postgresql.conf" > /dev/null
cluster_start "$D"
first "session_preload_libraries, a query" "SELECT count(*) FROM c" 20100
first "session_preload_libraries, settings are known at once" "SHOW pgcolumnar.row_group_rows" 122880
first "session_preload_libraries, a wrong setting is refused" "SET pgcolumnar.row_group_rows = 'many'" 'ERROR:  invalid value for parameter "pgcolumnar.row_group_rows": "many"'
sql "$D" -c "CREATE DATABASE other"
check "session_preload_libraries, a database without the extension" "$(sql "$D" -d other -At -c "CREATE TABLE h (a int)" -c "SELECT count(*) FROM h")" 0
no_crash "$D"
cluster_stop "$D"
finish && rm -rf "$D"
