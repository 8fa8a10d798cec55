#!/bin/bash
# Another library of the server may have plan nodes of the same names, and may be loaded before or after ours. A small one in C
# stands for it, made here.
set -euo pipefail
source "$ROOT/scripts/lib.sh"
source "$ROOT/tests/lib/mirror.sh"

D=$SCRATCH/names
mkdir -p "$SCRATCH/other"
cat > "$SCRATCH/other/other.c" << 'C'
#include "postgres.h"
#include "fmgr.h"
#include "nodes/extensible.h"

PG_MODULE_MAGIC;
void _PG_init(void);

static Node *
create(CustomScan *plan)
{
    elog(ERROR, "a node of another library was made");
}

static const CustomScanMethods methods[] = {{"ColumnarScan", create}, {"ColumnarAgg", create}, {"ColumnarTopN", create}, {"ColumnarDistinctOn", create}};

void
_PG_init(void)
{
    for (int i = 0; i < 4; i++)
        RegisterCustomScanMethods(&methods[i]);
}
C
cc -shared -fPIC -O1 -I"${PGHEADERS:-$("$PG_CONFIG" --includedir-server)}" -o "$SCRATCH/other/other.so" "$SCRATCH/other/other.c"
chmod -R a+rX "$SCRATCH/other"
other=$SCRATCH/other/other.so

cluster_init "$D" "fsync = off" "autovacuum = off" "max_parallel_workers_per_gather = 2" "max_worker_processes = 8"
cluster_start "$D"
sql "$D" -o /dev/null << 'SQL'
CREATE EXTENSION pgcolumnar;
SET pgcolumnar.row_group_rows = 1000;
CREATE TABLE c (id int, v text) USING pgcolumnar;
INSERT INTO c SELECT i, 'v' || i % 100 FROM generate_series(1, 60000) i;
CREATE TABLE h USING heap AS SELECT * FROM c;
ANALYZE c, h;
SQL

# The last line that a session prints.
last() { query "$D" "$1" 2>&1 | tail -n 1; }
# A join of which workers do the scans, and the names of the nodes in its plan.
parallel="SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET parallel_leader_participation = off; SET debug_parallel_query = off;"
join="SELECT count(*), sum(c.id) FROM c JOIN h USING (id) WHERE c.v <> 'v7'"
plan="DO \$\$ DECLARE line text; names text[]; BEGIN FOR line IN EXPLAIN (ANALYZE, COSTS OFF) $join LOOP IF line ~ 'Custom Scan|Launched' THEN names := names || substring(line FROM 'Parallel Custom Scan \(\w+\)|Custom Scan \(\w+\)|Launched: \d'); END IF; END LOOP; RAISE NOTICE '%', names; END \$\$"
if [ "$PGMAJOR" = 15 ]; then parallel=${parallel/debug_parallel_query/force_parallel_mode}; fi
rows="59400|$(query "$D" "SELECT sum(id) FROM h WHERE v <> 'v7'")"

scans="NOTICE:  {\"Launched: 2\",\"Parallel Custom Scan (ColumnarScan)\"}"
check "alone, in workers" "$(last "$parallel $join")" "$rows"
check "alone, the names" "$(last "$parallel $plan")" "$scans"
check "loaded before" "$(last "LOAD '$other'; SELECT count(*) FROM c WHERE id > 5")" 59995
check "loaded before, grouped" "$(last "LOAD '$other'; SELECT v, count(*) FROM c GROUP BY v ORDER BY v LIMIT 1")" "v0|600"
check "loaded before, in workers" "$(last "LOAD '$other'; $parallel $join")" "$rows"
check "loaded before, the names" "$(last "LOAD '$other'; $parallel $plan")" "${scans/ColumnarScan/PgcolumnarScan}"
check "loaded after" "$(last "SELECT count(*) FROM c WHERE id > 5; LOAD '$other'; SELECT count(*) FROM c WHERE id > 5")" 59995
check "loaded after, in workers" "$(last "$parallel $join; LOAD '$other'; $join")" "$rows"
check "loaded after, a plan that was made before" \
  "$(last "SET plan_cache_mode = force_generic_plan; $parallel PREPARE p AS $join; EXECUTE p; LOAD '$other'; EXECUTE p")" "$rows"

no_crash "$D"
cluster_stop "$D"

echo "shared_preload_libraries = '$other'" | as_server tee -a "$D/data/postgresql.conf" > /dev/null
cluster_start "$D"
check "preloaded, in workers" "$(last "$parallel $join")" "$rows"
no_crash "$D"
cluster_stop "$D"
finish && rm -rf "$D"
