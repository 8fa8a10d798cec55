# shellcheck shell=bash
# Shared by the durability tests: to be sourced after scripts/lib.sh.
#
# A pair of tables is changed in the same transactions: `h` (heap) and `c` (pgcolumnar). Whatever happens to the server in
# between, both must hold the same rows afterwards, by every access path; `mirror_differences()` lists where they do not.

PASSED=0 FAILED=0
TEST_NAME=$(basename "$0" .sh)

ok() { PASSED=$((PASSED + 1)); printf 'ok      %s\n' "$*"; }
not_ok() { FAILED=$((FAILED + 1)); printf 'FAILED  %s\n' "$*"; }

# check DESCRIPTION GOT WANTED
check() {
  if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1"; printf '  wanted: %s\n  got:    %s\n' "$3" "$2"; fi
}

# check_match DESCRIPTION GOT REGEX
check_match() {
  if [[ $2 =~ $3 ]]; then ok "$1"; else not_ok "$1"; printf '  wanted: /%s/\n  got:    %s\n' "$3" "$2"; fi
}

# skip REASON: the whole test.
skip() { printf '%s\n' "$*"; exit 77; }

# finish: the closing line and the exit status.
finish() {
  printf '%s: %d passed, %d failed\n' "$TEST_NAME" "$PASSED" "$FAILED"
  [ "$FAILED" = 0 ]
}

# query DIR SQL...: the result, unaligned.
query() {
  local dir=$1
  shift
  sql "$dir" -At -c "$*"
}

# no_crash DIR [REGEX_OF_EXPECTED]: the log must tell of no crash but the expected ones.
no_crash() {
  local found
  found=$(as_server grep -aE 'TRAP:|PANIC:|was terminated by signal|exited with exit code [^012]|segfault' "$1/data/server.log" | grep -avE "${2:-^$}" || true)
  if [ -z "$found" ]; then ok "$(basename "$1"): no crash in the log"
  else not_ok "$(basename "$1"): the log tells of a crash"; head -n 5 <<< "$found"; fi
}

# Deterministic random numbers: seed NUMBER, then `random N` sets R to 0 .. N-1.
seed() { RANDOM=$1; }
random() { R=$(((RANDOM << 15 | RANDOM) % $1)); }

# mirror_create DIR [OPTIONS]: extension, tables h and c, functions. OPTIONS are arguments of pgcolumnar.set_options.
mirror_create() {
  sql "$1" -v "options=${2:-row_group_rows => 4096, vector_rows => 512}" -f "$ROOT/tests/lib/mirror.sql"
}

# mirror_same DIR DESCRIPTION: h and c hold the same rows by every path.
mirror_same() {
  local found status=0
  found=$(query "$1" "SELECT * FROM mirror_differences()" 2>&1) || status=$?
  if [ -z "$found" ] && [ $status = 0 ]; then ok "$2"; return 0; fi
  not_ok "$2"
  sed 's/^/  /' <<< "${found:0:2000}"
  return 1
}
