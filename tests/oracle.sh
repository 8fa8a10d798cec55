#!/usr/bin/env bash
# The random-SQL oracle: the same random query on heap, on pgcolumnar vectorized, and on pgcolumnar not vectorized must
# give the same rows or the same error, under drawn settings.
#
#   ORACLE_SECONDS   total time of the random runs, shared by the seeds (default 120)
#   ORACLE_SEEDS     seeds (default: a fixed list)
#   ORACLE_NODES     0: do not fail where no batch node was in a plan (default 1)
#
# A difference is printed with the seed and the number that run it again:
#   pgcolumnar-oracle --connect "host=... port=... user=postgres" --seed S --only-query E:Q
set -euo pipefail
source "$ROOT/scripts/lib.sh"

seconds=${ORACLE_SECONDS:-120}
read -ra seeds <<< "${ORACLE_SEEDS:-1 2 3 4}"
each=$(((seconds + ${#seeds[@]} - 1) / ${#seeds[@]}))
nodes=()
if [ "${ORACLE_NODES:-1}" = 1 ]; then nodes=(--require-nodes); fi

# Optimized, or the tester itself would take a third of the time.
cargo build --quiet --release --manifest-path "$ROOT/Cargo.toml" -p pgcolumnar-oracle
target=${CARGO_TARGET_DIR:-$ROOT/target}

D=$SCRATCH/oracle
# Autovacuum would make two runs of a seed differ.
cluster_init "$D" "fsync = off" "autovacuum = off" "shared_buffers = '64MB'" "max_wal_size = '512MB'"
cluster_start "$D"
oracle=("$target/release/pgcolumnar-oracle" --connect "host=$(cluster_host "$D") port=$PGPORT user=postgres")

passed=0 failed=0
check() {
  if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

# The oracle must find what is put in on purpose, or its silence means nothing.
check "${oracle[@]}" --self-test
for seed in "${seeds[@]}"; do
  check "${oracle[@]}" --seed "$seed" --seconds "$each" "${nodes[@]}"
done

crashes=$(cluster_crashes "$D")
if [ -n "$crashes" ]; then
  echo "the server crashed: $crashes"
  failed=$((failed + 1))
fi
echo "oracle: $passed passed, $failed failed"
((failed == 0))
