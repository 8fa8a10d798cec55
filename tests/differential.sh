#!/usr/bin/env bash
# The randomized differential tester: the same random SQL on heap and on pgcolumnar must do the same.
#
#   PG_CONFIG          pg_config of the server to test (default: pg_config in the path)
#   DIFFTEST_SECONDS   total time of the random runs, shared by the seeds (default 120)
#   DIFFTEST_SEEDS     seeds (default: a fixed list); of the odd ones the server is also stopped and killed
#   DIFFTEST_AM        access method of the tested side (default pgcolumnar; heap tests the tester)
#   DIFFTEST_PRELOAD   shared_preload_libraries (default: none, the library is loaded by its first use)
#
# The extension must be installed in that server. Runs as root too: the server then runs as the user postgres.
# A failed run prints its seed and the last steps, and keeps its directory.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
bindir=$("${PG_CONFIG:-pg_config}" --bindir)
seconds=${DIFFTEST_SECONDS:-120}
read -ra seeds <<<"${DIFFTEST_SEEDS:-1 2 3 4 5 6}"
am=${DIFFTEST_AM:-pgcolumnar}
each=$(((seconds + ${#seeds[@]} - 1) / ${#seeds[@]}))

cargo build --quiet --manifest-path "$here/Cargo.toml" -p pgcolumnar-difftest
target=${CARGO_TARGET_DIR:-$here/target}
tester=("$target/debug/pgcolumnar-difftest" --bindir "$bindir")
# pgcolumnar refuses BRIN (its zone maps do that work); the tester checks the refusal and then draws no such index.
refuses=()
[[ $am == pgcolumnar ]] && refuses=(--refuses brin)
[[ -n ${DIFFTEST_PRELOAD:-} ]] && tester+=(--preload "$DIFFTEST_PRELOAD")

# A directory the server's user can reach, with a path short enough for a socket.
base=$(mktemp -d /tmp/difftest.XXXXXX)
chmod 755 "$base"

passed=0 failed=0

# The tester must find what is put in on purpose, or its silence means nothing.
if "${tester[@]}" --self-test --workdir "$base/self-test"; then
    passed=$((passed + 1))
else
    failed=$((failed + 1))
fi

for seed in "${seeds[@]}"; do
    crash=off
    ((seed % 2 == 1)) && crash=on
    if "${tester[@]}" --am "$am" "${refuses[@]}" --seed "$seed" --seconds "$each" --crash "$crash" --workdir "$base/seed-$seed"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
done

((failed == 0)) && rmdir "$base"
echo "differential: $passed passed, $failed failed"
((failed == 0))
