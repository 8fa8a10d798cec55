#!/bin/bash
# The regression and isolation tests against a running server that has pgcolumnar installed.
# PG_CONFIG names its programs; PGHOST, PGPORT and PGUSER the server, as for psql. TESTS="a b" runs regression tests a and b.
set -euo pipefail
host=${PGHOST:-} port=${PGPORT:-} user=${PGUSER:-}
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
: "${PG_CONFIG:?names the pg_config of the server}"
# The caller's server, not a private one.
if [ -n "$host" ]; then export PGHOST=$host; fi
if [ -n "$port" ]; then export PGPORT=$port; else unset PGPORT; fi
if [ -n "$user" ]; then export PGUSER=$user; else unset PGUSER; fi

read -ra tests <<< "${TESTS:-}"
failed=0
for kind in regress isolation; do
  schedule=$ROOT/regress/schedule
  if [ $kind = isolation ]; then
    [ ${#tests[@]} = 0 ] || continue
    schedule=$ROOT/regress/isolation_schedule
  fi
  if ! has_tests "$schedule"; then say "$kind: no tests"; continue; fi
  output=$ROOT/target/installcheck/$kind
  mkdir -p "$output"
  regress_suite $kind "$PG_CONFIG" "$ROOT/regress" "$output" "${tests[@]}" || failed=1
done
exit $failed
