#!/bin/bash
# Whatever a crash leaves is a prefix of the WAL. This test records the WAL of maintenance and of writes on a pgcolumnar
# table, cuts it before chosen records, lets the server recover from each cut, and checks after each that the table equals its
# heap mirror, that VACUUM finishes what was half done, and that no page is lost. So the points that a kill at a random
# moment never hits (between the records of one VACUUM) are hit every time.
#   POINTS  cuts of each operation, spread evenly over its records of the table (default 7)
set -euo pipefail
source "$ROOT/scripts/lib.sh"
source "$ROOT/tests/lib/mirror.sh"
points=${POINTS:-7}
[ -x "$PGBIN/pg_waldump" ] || skip "pg_waldump is missing"

ORIGIN=$SCRATCH/origin
cluster_init "$ORIGIN" "fsync = off" "autovacuum = off" "max_wal_size = 1GB" "checkpoint_timeout = 1h" "wal_keep_size = 1GB" \
  "shared_buffers = 32MB" "wal_recycle = off" "min_wal_size = 32MB" "pgcolumnar.bulk_threshold = 500" "pgcolumnar.merge_threshold = 200"
cluster_start "$ORIGIN"
mirror_create "$ORIGIN" "row_group_rows => 2048, vector_rows => 512"
cluster_stop "$ORIGIN"

insert_lsn() { query "$ORIGIN" "SELECT pg_current_wal_insert_lsn()"; }

# record NAME PREPARE OPERATION...: SQL before, after which a copy of the cluster is taken, and SQL whose WAL is cut.
record() {
  local name=$1 from file
  BASE=$SCRATCH/$name.base
  rm -rf "$BASE" "$SCRATCH/point"
  cluster_start "$ORIGIN"
  if [ -n "$2" ]; then sql "$ORIGIN" -o /dev/null -c "$2"; fi
  sql "$ORIGIN" -c CHECKPOINT
  cluster_stop "$ORIGIN" immediate
  as_server cp -a "$ORIGIN/data" "$BASE"
  as_server find "$BASE/pg_wal" -name '0*' -type f -delete
  cluster_start "$ORIGIN"
  from=$(insert_lsn)
  file=$(query "$ORIGIN" "SELECT format('rel %s/%s/%s', (SELECT dattablespace FROM pg_database WHERE datname = current_database()),
    (SELECT oid FROM pg_database WHERE datname = current_database()), pg_relation_filenode('c'))")
  shift 2
  local commands=() command
  for command; do commands+=(-c "$command"); done
  sql "$ORIGIN" -o /dev/null "${commands[@]}" -c "SELECT txid_current()" # whose commit writes the WAL out
  mirror_same "$ORIGIN" "$name: undisturbed" || true
  local to
  to=$(insert_lsn)
  cluster_stop "$ORIGIN" immediate
  # Starts of the records that touch the table, and of truncations and commits.
  mapfile -t RECORDS < <(as_server "$PGBIN/pg_waldump" -p "$ORIGIN/data/pg_wal" -s "$from" -e "$to" 2> /dev/null |
    grep -aE "$file |desc: (TRUNCATE|COMMIT|REUSE_PAGE)" | sed -E 's/.*lsn: ([0-9A-F]+\/[0-9A-F]+),.*/\1/')
}

# cut LSN DIR: a copy of the base whose WAL ends before the record at LSN.
cut_at() {
  local high=$((16#${1%/*})) low=$((16#${1#*/})) segment offset name dir=$2 file
  segment=$((low / 16777216)) offset=$((low % 16777216))
  rm -rf "$dir/data"
  as_server mkdir -p "$dir"
  as_server cp -a "$BASE" "$dir/data"
  as_server rm -f "$dir/data/postmaster.pid"
  cp "$ORIGIN/sockets" "$dir/sockets"
  name=$(printf '00000001%08X%08X' "$high" "$segment")
  for file in "$ORIGIN/data/pg_wal"/0*; do
    if [[ ! $(basename "$file") > $name ]]; then as_server cp "$file" "$dir/data/pg_wal/"; fi
  done
  as_server truncate -s "$offset" "$dir/data/pg_wal/$name"
  as_server truncate -s 16777216 "$dir/data/pg_wal/$name"
}

# examine NAME: cuts, recovers, checks.
examine() {
  local name=$1 count=${#RECORDS[@]} i index label point=$SCRATCH/point
  if [ "$count" = 0 ]; then not_ok "$name: it wrote no WAL"; return; fi
  local wanted=${2:-$points}
  if [ "$wanted" -gt "$count" ]; then wanted=$count; fi
  for ((i = 0; i < wanted; i++)); do
    index=$(((2 * i + 1) * count / (2 * wanted)))
    label="$name: cut before record $((index + 1)) of $count"
    cut_at "${RECORDS[$index]}" "$point"
    if ! cluster_start "$point" 2> "$SCRATCH/start.log"; then not_ok "$label: the server does not start"; cat "$SCRATCH/start.log"; continue; fi
    if mirror_same "$point" "$label"; then
      if sql "$point" -o /dev/null -c "VACUUM c" -c "SELECT txid_current()" -c "VACUUM c"; then
        mirror_same "$point" "$label, VACUUM" || true
        check "$label: nothing left half done" \
          "$(query "$point" "SELECT kind, count(*), sum(pages) FROM pgcolumnar.stats('c') WHERE kind IN ('MERGING', 'RESERVED', 'UNLISTED') GROUP BY kind")" ""
        query "$point" "SELECT add(700)" ";SELECT on_both('DELETE FROM \$t WHERE id % 3 = 0')" ";SELECT on_both('UPDATE \$t SET k = k + 1 WHERE id % 5 = 0')" > /dev/null
        sql "$point" -o /dev/null -c "VACUUM c"
        mirror_same "$point" "$label, changed and vacuumed" || true
      else
        not_ok "$label: VACUUM"
      fi
    fi
    no_crash "$point" > "$SCRATCH/crash.log" || true
    if grep -q FAILED "$SCRATCH/crash.log"; then cat "$SCRATCH/crash.log"; else PASSED=$((PASSED - 1)); fi
    cluster_stop "$point" immediate
    if grep -q FAILED "$SCRATCH/crash.log"; then cp "$point/data/server.log" "$SCRATCH/$name-$index.log"; fi
  done
  rm -rf "$BASE" "$point/data"
}

rows="SELECT add(400)"
record merge "$rows; $rows; $rows" "VACUUM c"
# The rows above came in one command string, which is one transaction: they were partly buffered.
examine merge
record merge_pages "" "$rows" "$rows" "$rows" "$rows" "VACUUM c"
examine merge_pages 9
record compact "SELECT add(6000); SELECT on_both('DELETE FROM \$t WHERE id % 3 <> 1')" "SELECT txid_current()" "VACUUM c" "SELECT txid_current()" "VACUUM c"
examine compact 14
record emptied "SELECT on_both('DELETE FROM \$t WHERE id > (SELECT min(id) + 1500 FROM h)')" "VACUUM c" "SELECT txid_current()" "VACUUM c"
examine emptied 10
record writes "SELECT add(5000); SELECT add(300)" "SELECT add(6000)" "BEGIN; SELECT add(3000); ROLLBACK" \
  "SELECT on_both('UPDATE \$t SET k = k + 1 WHERE id % 40 = 0')" "SELECT on_both('DELETE FROM \$t WHERE id % 40 = 1')" "VACUUM c"
examine writes 10
record full "" "VACUUM FULL c"
examine full 3
finish && rm -rf "$ORIGIN"
