#!/usr/bin/env bash
# The benchmark harness: every guard refuses its bad case (bench/harness/selftest.py, no server), then a tiny run of the
# real thing, 2,000 rows in heap and pgcolumnar, its report, and the refusals that take a server to see.
set -euo pipefail
source "$(dirname "$0")/../scripts/lib.sh"
export PYTHONPATH=$ROOT/bench PYTHONDONTWRITEBYTECODE=1
PG_CONFIG=${PG_CONFIG:-pg_config}
SCRATCH=${SCRATCH:?an empty directory that the server can use}
PASSED=0 FAILED=0

ok() { PASSED=$((PASSED + 1)); printf 'ok      %s\n' "$1"; }
bad() { FAILED=$((FAILED + 1)); printf 'FAILED  %s\n' "$1"; tail -n 40 "$LOG"; }

LOG=$SCRATCH/harness.log
harness() { "$PYTHON" -m harness "$@" --pg-config "$PG_CONFIG" --dir "$SCRATCH/run" --set shared_buffers=64MB; }

# refused NAME WORDS ARGUMENT...: the harness must end with status 2, saying these words, and write no result.
refused() {
  local name=$1 words=$2 status=0
  shift 2
  rm -f "$SCRATCH/never.json"
  harness "$@" --out "$SCRATCH/never.json" > "$LOG" 2>&1 || status=$?
  if [ $status = 2 ] && grep -qF -- "$words" "$LOG" && [ ! -e "$SCRATCH/never.json" ]; then ok "refused: $name"; else bad "refused: $name (status $status)"; fi
}

# passes NAME COMMAND...
passes() {
  local name=$1
  shift
  if "$@" > "$LOG" 2>&1; then ok "$name"; else bad "$name"; return 1; fi
}

# ---- guards ----

guards() {
  local output passed failed
  output=$(python3 -m harness.selftest) || true
  printf '%s\n' "$output"
  read -r passed failed < <(sed -nE 's/^guards: ([0-9]+) passed, ([0-9]+) failed$/\1 \2/p' <<< "$output") || { passed=0 failed=1; }
  PASSED=$((PASSED + passed)) FAILED=$((FAILED + failed))
}

# ---- with a server ----

# events DIR ROWS DAYS: a folder in the form of the published ClickBench files, with a table of our own.
events() {
  mkdir -p "$1"
  cat > "$1/create.sql" << 'SQL'
CREATE TABLE hits (counterid int NOT NULL, eventdate date NOT NULL, moment timestamptz NOT NULL, name text, value float8, price numeric(10,2), ok boolean);
SQL
  cat > "$1/queries.sql" << 'SQL'
-- q01: plain count
SELECT count(*) FROM hits;
-- q02: groups in order
SELECT name, count(*) AS n, sum(value), avg(counterid), sum(price) FROM hits GROUP BY name ORDER BY n DESC, name;
-- q03: groups without order
SELECT eventdate, min(moment), max(moment), bool_and(ok), avg(price) FROM hits GROUP BY eventdate;
-- q04 [unordered]: ties at the limit
SELECT counterid, count(*) AS n FROM hits GROUP BY counterid ORDER BY n DESC LIMIT 3;
-- q05 [pg-only]: none for DuckDB
SELECT to_char(moment, 'YYYY-MM-DD') AS d, count(*) FROM hits GROUP BY d ORDER BY d;
SQL
  awk -v rows="$2" -v days="$3" 'BEGIN { for (i = 0; i < rows; i++)
    printf "%d,2026-01-%02d,2026-01-%02d 10:%02d:00.5+00,%s,%.4f,%.2f,%s\n", int(i / 20), 1 + i % days, 1 + i % days, i % 60,
      i % 4 == 0 ? "" : i % 4 == 1 ? "\"\"" : i % 4 == 2 ? "\"a, \"\"b\"\"\"" : "имя", i * 7919 % 1000 / 7, i * 31 % 997 / 100, i % 3 ? "t" : "f" }' > "$1/hits.csv"
  chmod 755 "$1"
  chmod 644 "$1/hits.csv"
}

# all_cells FILE QUERIES ARMS: a result of that many queries and arms, every cell measured.
all_cells() {
  python3 - "$@" << 'PYTHON'
import sys
from pathlib import Path
from harness.record import read

record = read(Path(sys.argv[1]))
cells = [cell for row in record.cells.values() for cell in row.values()]
spared = [cell for cell in cells if cell.status == "not run"]
assert len(record.cells) == int(sys.argv[2]) and len(record.measured) == int(sys.argv[3]), (len(record.cells), record.measured)
assert all(cell.hot and cell.cold and cell.compared for cell in cells if cell not in spared), cells
print(len(cells), "cells,", len(spared), "not run")
PYTHON
}

report_is_whole() {
  local word
  for word in '### Load' '### Size' '### Queries, hot' '### Queries, cold' '### Spill' 'geometric mean' 'shared_buffers = 64MB' 'CREATE INDEX\|none'; do
    grep -q "$word" "$1/page.md" || { echo "no $word"; return 1; }
  done
  for word in queries load scaling size; do
    python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$1/plots/tiny-events-$word.svg" || return 1
  done
}

guards
if ! PYTHON=$("$ROOT/bench/run.sh" venv 2> "$LOG"); then
  bad "the Python packages of bench/requirements.txt"
  echo "bench: $PASSED passed, $FAILED failed"
  exit 1
fi
events "$SCRATCH/events" 2000 28
FOLDER=(folder --folder "$SCRATCH/events")

# Which builds these are decides what must be refused.
force=()
if "$PG_CONFIG" --configure | grep -q -- --enable-cassert; then
  refused "a server with assertions" "built with assertions" "${FOLDER[@]}" --arms heap
  force=(--force)
fi
if grep -qa 'attempt to add with overflow' "$("$PG_CONFIG" --pkglibdir)/pgcolumnar.so"; then
  refused "a debug build of the library" "is a debug build" "${FOLDER[@]}"
  force=(--force)
fi

refused "an arm that the server lacks" "citus cannot run" "${FOLDER[@]}" "${force[@]}" --arms heap,citus
refused "an arm that nobody knows" "there is no arm 'oracle'" "${FOLDER[@]}" "${force[@]}" --arms heap,oracle
refused "too few worker processes" "set max_worker_processes = 8" "${FOLDER[@]}" "${force[@]}" --arms heap --workers 6 --set max_worker_processes=7

events "$SCRATCH/day" 2000 1
refused "a degenerate sample" "degenerate sample: 1 distinct values of EventDate" folder --folder "$SCRATCH/day" "${force[@]}" --arms heap

# A line break within a value: one row less than lines, as after a load that ended early.
events "$SCRATCH/short" 2000 28
printf '7,2026-01-01,2026-01-01 00:00:00+00,"two\nlines",1,1,t\n' >> "$SCRATCH/short/hits.csv"
refused "a short load" "has 2,001 rows, 2,002 were to be loaded" folder --folder "$SCRATCH/short" "${force[@]}" --arms heap

events "$SCRATCH/empty" 0 28
refused "an empty table" "is empty" folder --folder "$SCRATCH/empty" "${force[@]}" --arms heap

if is_root; then
  chmod 600 "$SCRATCH/day/hits.csv"
  refused "a file that the server cannot read" "chmod o+r" folder --folder "$SCRATCH/day" "${force[@]}" --arms heap
fi

RESULT=$SCRATCH/tiny-events.json
passes "2,000 rows in heap, pgcolumnar and DuckDB, cold and hot, bulk loads" \
  harness "${FOLDER[@]}" "${force[@]}" --label tiny --out "$RESULT" --tries 2 --load-tries 2 || true
passes "every cell is measured and equal to heap's" all_cells "$RESULT" 5 4 || true
passes "report" python3 -m report render "$RESULT" --out "$SCRATCH/doc/page.md" --plots "$SCRATCH/doc/plots" || true
passes "report has a table of each kind and its plots" report_is_whole "$SCRATCH/doc" || true
passes "two runs against each other" python3 -m report compare "$RESULT" "$RESULT" --out "$SCRATCH/doc/compared.md" --plots "$SCRATCH/doc/plots" || true
passes "a run is no faster than itself" grep -q '0 faster, 0 slower, 5 tie' "$SCRATCH/doc/compared.md" || true

# The generated table and its 43 queries.
if passes "the generator" env CARGO_TARGET_DIR="$ROOT/target/crates" cargo build --quiet --manifest-path "$ROOT/Cargo.toml" -p pgcolumnar-bench-gen; then
  passes "2,000 web rows in heap and pgcolumnar" harness web --rows 2000 --generator "$ROOT/target/crates/debug/pgcolumnar-bench-gen" \
    "${force[@]}" --arms heap,columnar,columnar_rows --indexes full --cold 0 --tries 1 --label tiny --out "$SCRATCH/tiny-web.json" || true
fi

echo "bench: $PASSED passed, $FAILED failed"
[ "$FAILED" = 0 ]
