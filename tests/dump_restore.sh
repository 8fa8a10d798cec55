#!/bin/bash
# pg_dump and pg_restore (plain, custom, directory with jobs), pg_dumpall, and pg_upgrade to a newer server: tables come back
# USING pgcolumnar with their rows, indexes, constraints, partitions, materialized views and pgcolumnar.set_options.
# For pg_upgrade two servers must have pgcolumnar: this one and OTHER_PG_CONFIG (default: Debian's 15, /opt/pg18a, the check's copies).
set -euo pipefail
source "$ROOT/scripts/lib.sh"
source "$ROOT/tests/lib/mirror.sh"

A=$SCRATCH/a
config=("fsync = off" "autovacuum = off" "pgcolumnar.bulk_threshold = 500" "pgcolumnar.merge_threshold = 200")
cluster_init "$A" "${config[@]}"
cluster_start "$A"
sql "$A" -c "CREATE DATABASE source" -c "CREATE ROLE reader"
export PGDATABASE=source
mirror_create "$A" "row_group_rows => 2048, vector_rows => 512"
sql "$A" -o /dev/null << 'SQL'
SELECT add(6000);
SELECT add(300);
SELECT on_both('UPDATE $t SET k = k + 1 WHERE id % 31 = 0');
SELECT on_both('DELETE FROM $t WHERE id % 29 = 0');
ALTER TABLE h DROP COLUMN n;
ALTER TABLE c DROP COLUMN n;
ALTER TABLE h ADD COLUMN late int DEFAULT 7;
ALTER TABLE c ADD COLUMN late int DEFAULT 7;
CREATE SCHEMA "Odd Name";
CREATE TABLE "Odd Name"."Table ""x""" (a int PRIMARY KEY, b text COLLATE "C", CHECK (a > 0), UNIQUE (b)) USING pgcolumnar;
SELECT pgcolumnar.set_options('"Odd Name"."Table ""x"""', compression => 'lz4', row_group_rows => 1000);
INSERT INTO "Odd Name"."Table ""x""" SELECT i, 'b' || i FROM generate_series(1, 3000) i;
GRANT SELECT ON "Odd Name"."Table ""x""" TO reader;
CREATE TABLE plain (a int, b text) USING pgcolumnar;
INSERT INTO plain SELECT i, NULL FROM generate_series(1, 2000) i;
CREATE TABLE part (a int, at date) PARTITION BY RANGE (at);
CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM ('2024-01-01') TO ('2025-01-01') USING pgcolumnar;
CREATE TABLE part_2 PARTITION OF part FOR VALUES FROM ('2025-01-01') TO ('2026-01-01') USING heap;
SELECT pgcolumnar.set_options('part_1', compression => 'none', vector_rows => 256);
INSERT INTO part SELECT i, date '2024-01-01' + i % 700 FROM generate_series(1, 4000) i;
CREATE INDEX ON part (a);
CREATE MATERIALIZED VIEW mat USING pgcolumnar AS SELECT grp, count(*) AS rows, max(v) AS v FROM c GROUP BY grp;
CREATE UNIQUE INDEX ON mat (grp);
CREATE MATERIALIZED VIEW unfilled USING pgcolumnar AS SELECT * FROM c WITH NO DATA;
CREATE UNLOGGED TABLE unlogged (a int) USING pgcolumnar;
INSERT INTO unlogged SELECT generate_series(1, 1000);
CREATE TABLE parent (id int PRIMARY KEY) USING pgcolumnar;
CREATE TABLE child (id int REFERENCES parent DEFERRABLE, g int GENERATED ALWAYS AS (id * 2) STORED) USING pgcolumnar;
INSERT INTO parent SELECT generate_series(1, 1000);
INSERT INTO child SELECT generate_series(1, 1000);
CREATE TABLE toasted (id int, big text) USING pgcolumnar;
INSERT INTO toasted SELECT i, (SELECT string_agg(md5(i::text || j), '') FROM generate_series(1, 300) j) FROM generate_series(1, 20) i;
VACUUM ANALYZE;
CREATE TEMP TABLE temporary (a int) USING pgcolumnar;
SELECT pgcolumnar.set_options('temporary', compression => 'lz4');
SQL

# Everything that must survive, as text.
facts() {
  sql "$1" -d "$2" -At << 'SQL'
SELECT 'rows', c.oid::regclass, am.amname, c.relkind, c.relpersistence,
    CASE WHEN c.relispopulated AND c.relkind IN ('r', 'm') THEN digest('SELECT * FROM ' || c.oid::regclass, 'enable_seqscan') END
FROM pg_class c LEFT JOIN pg_am am ON am.oid = c.relam
WHERE c.relnamespace IN ('public'::regnamespace, '"Odd Name"'::regnamespace) AND c.relkind IN ('r', 'm', 'p') ORDER BY c.oid::regclass::text;
SELECT 'options', o.* FROM pgcolumnar.options o ORDER BY table_id::text;
SELECT 'index', indexrelid::regclass, indisvalid, pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid >= 16384 AND indrelid <> 'pgcolumnar.options'::regclass
    AND indrelid NOT IN (SELECT oid FROM pg_class WHERE relnamespace IN ('pg_toast'::regnamespace)) ORDER BY indexrelid::regclass::text;
SELECT 'constraint', conrelid::regclass, conname, convalidated, pg_get_constraintdef(oid) FROM pg_constraint
    WHERE conrelid >= 16384 AND contype <> 'n' AND conrelid <> 'pgcolumnar.options'::regclass ORDER BY conrelid::regclass::text, conname;
SELECT 'acl', relname, has_table_privilege('reader', oid, 'SELECT'), has_table_privilege('reader', oid, 'INSERT') FROM pg_class WHERE relname LIKE 'Table%' ORDER BY 2;
SELECT 'extension', extname, extversion FROM pg_extension WHERE extname = 'pgcolumnar';
SQL
}

wanted=$(facts "$A" source)
if grep -q '^options|c|' <<< "$wanted" && grep -q '^options|part_1|none' <<< "$wanted"; then ok "the source has options"; else not_ok "the source has no options"; fi
admin() { as_server env PGHOST="$(cluster_host "$1")" PGPORT="$PGPORT" PGUSER=postgres "$PGBIN/$2" "${@:3}"; }

# restored DATABASE DESCRIPTION: compares and uses the restored tables.
restored() {
  local got
  got=$(facts "$A" "$1")
  if [ "$got" = "$wanted" ]; then ok "$2"
  else not_ok "$2"; diff <(echo "$wanted") <(echo "$got") | head -n 10 | cut -c1-200 || true; return 0; fi
  PGDATABASE=$1 mirror_same "$A" "$2: by every path" || true
  PGDATABASE=$1 sql "$A" -o /dev/null -c "SELECT on_both('UPDATE \$t SET k = k + 1 WHERE id % 17 = 0')" -c "SELECT on_both('DELETE FROM \$t WHERE id % 17 = 1')" \
    -c "INSERT INTO part VALUES (-1, '2024-05-05')" -c "REFRESH MATERIALIZED VIEW CONCURRENTLY mat" -c "REFRESH MATERIALIZED VIEW unfilled" -c "VACUUM"
  PGDATABASE=$1 mirror_same "$A" "$2: written to" || true
  PGDATABASE=$1 sql "$A" -c "INSERT INTO part SELECT i, '2024-03-03' FROM generate_series(1, 3000) i" -c "VACUUM part_1"
  check "$2: new row groups follow the options" \
    "$(PGDATABASE=$1 query "$A" "SELECT bool_and(compression = 'none'), max(rows) FROM pgcolumnar.storage_info('part_1') WHERE column_name = 'a'")" "t|256"
  check "$2: no option outlives its table" "$(PGDATABASE=$1 query "$A" "BEGIN; DROP TABLE part; SELECT count(*) FROM pgcolumnar.options WHERE table_id::text ~ '^[0-9]+\$'; ROLLBACK")" 0
}

admin "$A" pg_dump -d source -f "$A/plain.sql"
sql "$A" -c "CREATE DATABASE plain"
sql "$A" -d plain -o /dev/null -f "$A/plain.sql" > /dev/null
restored plain "plain dump"

admin "$A" pg_dump -d source -Fc -f "$A/custom.dump"
sql "$A" -c "CREATE DATABASE custom"
admin "$A" pg_restore -d custom -e -1 "$A/custom.dump"
restored custom "custom dump, restored in one transaction"

admin "$A" pg_dump -d source -Fd -j 2 -f "$A/directory"
sql "$A" -c "CREATE DATABASE directory"
admin "$A" pg_restore -d directory -e -j 3 "$A/directory"
restored directory "directory dump, parallel"

admin "$A" pg_dump -d source -Fp --section=pre-data -f "$A/pre.sql"
admin "$A" pg_dump -d source -Fc --inserts --rows-per-insert=100 -f "$A/inserts.dump"
sql "$A" -c "CREATE DATABASE inserts"
admin "$A" pg_restore -d inserts -e "$A/inserts.dump"
restored inserts "dump as INSERTs"

# Restored without the access method clause, tables are heap's: the way out.
sql "$A" -c "CREATE DATABASE heap"
admin "$A" pg_restore -d heap -e --no-table-access-method "$A/custom.dump"
check "--no-table-access-method makes heap tables of the same rows" \
  "$(facts "$A" heap | grep '^rows' | sed 's/|heap|/|am|/' )" "$(grep '^rows' <<< "$wanted" | sed -E 's/\|(pgcolumnar|heap)\|/|am|/')"

no_crash "$A"

# ---- pg_upgrade ----

other_servers() {
  local candidate
  for candidate in ${OTHER_PG_CONFIG:-} /usr/lib/postgresql/*/bin/pg_config "$SCRATCH"/../../check-*/prefix/{bin,*/bin,*/*/bin}/pg_config /opt/pg1*/bin/pg_config; do
    [ -x "$candidate" ] || continue
    [ "$(pg_major "$candidate")" != "$PGMAJOR" ] || continue
    [ -f "$("$candidate" --pkglibdir)/pgcolumnar.so" ] || continue
    [ -f "$("$candidate" --sharedir)/extension/pgcolumnar.control" ] || continue
    as_server test -x "$("$candidate" --bindir)/postgres" || continue
    as_server test -x "$("$candidate" --bindir)/pg_upgrade" || continue
    echo "$candidate"
    return
  done
}

other=$(other_servers)
if [ -z "$other" ]; then
  echo "pg_upgrade: not tested, as no server of another major version has pgcolumnar (OTHER_PG_CONFIG)"
else
  cluster_stop "$A"
  here=$PGBIN there=$("$other" --bindir)
  if [ "$(pg_major "$other")" -gt "$PGMAJOR" ]; then old=$here new=$there; else old=$there new=$here; fi
  echo "pg_upgrade from $("$old/postgres" --version) to $("$new/postgres" --version)"
  OLD=$SCRATCH/old NEW=$SCRATCH/new
  PGBIN=$old
  cluster_init "$OLD" "${config[@]}"
  cluster_start "$OLD"
  sql "$OLD" -d postgres -c "CREATE DATABASE source" -c "CREATE ROLE reader"
  if sql "$OLD" -o /dev/null -f "$A/plain.sql" > "$SCRATCH/load.log" 2>&1 || [ "$old" = "$there" ]; then :; fi
  if ! [ "$(query "$OLD" "SELECT to_regclass('child') IS NOT NULL" 2> /dev/null)" = t ]; then
    # A dump of a newer server does not load into an older one: its settings are unknown there.
    sql "$OLD" -d postgres -c "DROP DATABASE source" -c "CREATE DATABASE source"
    grep -vE '^SET transaction_timeout|^\\(un)?restrict' "$A/plain.sql" | sql "$OLD" -o /dev/null > "$SCRATCH/load.log" 2>&1 || { tail -n 3 "$SCRATCH/load.log"; not_ok "the old server takes the tables"; finish; exit 1; }
  fi
  # Groups, row pages, marks: all that a data directory can hold.
  sql "$OLD" -o /dev/null -c "SELECT add(400)" -c "VACUUM c" -c "SELECT on_both('UPDATE \$t SET k = k + 2 WHERE id % 13 = 0')" -c "SELECT on_both('DELETE FROM \$t WHERE id % 13 = 1')" 2> /dev/null ||
    sql "$OLD" -o /dev/null -c "SELECT on_both('UPDATE \$t SET k = k + 2 WHERE id % 13 = 0')" -c "SELECT on_both('DELETE FROM \$t WHERE id % 13 = 1')" -c "VACUUM c" -c "SELECT on_both('UPDATE \$t SET k = k + 2 WHERE id % 13 = 2')"
  wanted=$(facts "$OLD" source)
  mirror_same "$OLD" "pg_upgrade: the old server's tables" || true
  # Minor releases of November 2026 keep an attribute version among attoptions. pg_dump of an older minor release of the newer
  # server takes it for an option that its server does not know, for heap tables as well: it is removed before the upgrade.
  if [ -n "$(query "$OLD" "SELECT 1 FROM pg_attribute WHERE attoptions::text LIKE '%pg_attver=%' LIMIT 1")" ] && ! grep -qa pg_attver "$new/postgres"; then
    echo "pg_upgrade: this pair of minor releases upgrades no table, heap or not; testing without the attribute versions"
    for database in $(query "$OLD" "SELECT datname FROM pg_database WHERE datallowconn"); do
      sql "$OLD" -d "$database" -c "UPDATE pg_attribute SET attoptions = NULL WHERE attoptions::text LIKE '{pg_attver=%'"
    done
  fi
  cluster_stop "$OLD"
  PGBIN=$new
  checksums=()
  if [ "$("$new/postgres" --version | sed -E 's/[^0-9]*([0-9]+).*/\1/')" -ge 18 ]; then checksums=(--no-data-checksums); fi
  mkdir -p "$NEW"
  if is_root; then chown "$SERVER_USER" "$NEW"; fi
  as_server "$new/initdb" -D "$NEW/data" -U postgres -A trust --locale=C --encoding=UTF8 "${checksums[@]}" > "$NEW/initdb.log"
  cp "$OLD/sockets" "$NEW/sockets"
  printf '%s\n' "unix_socket_directories = '$(cluster_host "$NEW")'" "listen_addresses = ''" "${config[@]}" | as_server tee -a "$NEW/data/postgresql.conf" > /dev/null
  status=0
  as_server bash -c 'cd "$1" && "$2/pg_upgrade" -b "$3" -B "$2" -d "$4/data" -D "$1/data" -U postgres -p 5880 -P 5881 -s "$5"' upgrade \
    "$NEW" "$new" "$old" "$OLD" "$(cluster_host "$NEW")" > "$SCRATCH/upgrade.log" 2>&1 || status=$?
  if [ "$status" = 0 ]; then ok "pg_upgrade"; else not_ok "pg_upgrade"; tail -n 25 "$SCRATCH/upgrade.log"; finish; exit 1; fi
  cluster_start "$NEW"
  got=$(facts "$NEW" source)
  if [ "$got" = "$wanted" ]; then ok "pg_upgrade: rows, indexes, options"; else not_ok "pg_upgrade: rows, indexes, options"; diff <(echo "$wanted") <(echo "$got") | head | cut -c1-200 || true; fi
  mirror_same "$NEW" "pg_upgrade: by every path" || true
  sql "$NEW" -o /dev/null -c "SELECT on_both('UPDATE \$t SET k = k + 1 WHERE id % 17 = 0')" -c "SELECT on_both('DELETE FROM \$t WHERE id % 17 = 1')" -c "VACUUM c" -c "SELECT txid_current()" -c "VACUUM (FREEZE) c"
  mirror_same "$NEW" "pg_upgrade: written to and vacuumed" || true
  no_crash "$OLD"
  no_crash "$NEW"
fi
cluster_stop_all
finish && rm -rf "$A" "${OLD:-$A}" "${NEW:-$A}"
