#!/bin/bash
# Damaged files. With data checksums core notices. Without them (or with ignore_checksum_failure) damage of a pgcolumnar table is an
# ERROR data_corrupted that names the table, the row group and the column where these are known, an unknown version one that
# names both versions; never a crash of the backend. Random bit flips, with a fixed seed, look for what was not thought of.
#   FLIPS  damaged copies of the table, a bit each (default 300)
set -euo pipefail
source "$ROOT/scripts/lib.sh"
source "$ROOT/tests/lib/mirror.sh"
flips=${FLIPS:-300}
seed 11

PAYLOAD=8152 # bytes of a column page between header (24) and special space (16): src/am/storage/page.rs

# pages FILE: number, kind and owner of each column page. Kinds: 1 metapage, 3 head, 4 data, 5 marks, 6 moved, 7 TID map, 8 free.
pages() { as_server od -An -v -tu4 -w8192 "$1" | awk '$2045 == 1346847564 { print NR - 1, $2046 % 65536, $2047 }'; }
page_of_kind() { pages "$1" | awk -v kind="$2" '$2 == kind { print $1; exit }'; }
u32() { as_server od -An -tu4 -j"$2" -N4 "$1" | tr -d ' '; }
put() { printf "%b" "$3" | as_server dd of="$1" bs=1 seek="$2" conv=notrunc status=none; } # FILE OFFSET ESCAPED_BYTES
fill() { head -c "$3" /dev/zero | tr '\0' '\377' | as_server dd of="$1" bs=1 seek="$2" conv=notrunc status=none; } # FILE OFFSET COUNT
flip() { # FILE OFFSET BIT
  local byte
  byte=$(as_server od -An -tu1 -j"$2" -N1 "$1" | tr -d ' ')
  put "$1" "$2" "\\x$(printf '%02x' $((byte ^ (1 << $3))))"
}

D=$SCRATCH/damaged
cluster_init "$D" "fsync = off" "autovacuum = off" "full_page_writes = off" "pgcolumnar.bulk_threshold = 200" "pgcolumnar.merge_threshold = 100" \
  "statement_timeout = 5s" "log_min_messages = warning" "lc_messages = 'C'"
as_server "$PGBIN/pg_checksums" --enable -D "$D/data" > /dev/null 2>&1 || true # on by default in 18
cluster_start "$D"
sql "$D" -o /dev/null << 'SQL'
CREATE EXTENSION pgcolumnar;
CREATE TABLE c (id int NOT NULL, k int, name text, price numeric(10,2), at timestamptz, f float8, big text) USING pgcolumnar;
SELECT pgcolumnar.set_options('c', row_group_rows => 1024, vector_rows => 256, bloom_columns => '{name,big}');
CREATE INDEX c_id ON c (id);
CREATE FUNCTION add(first int, last int) RETURNS void LANGUAGE sql AS $$
    INSERT INTO c SELECT i, i % 7, CASE WHEN i % 10 > 0 THEN 'name ' || i % 50 END, i * 1.5, timestamptz '2024-01-01' + i * interval '1 min',
        sqrt(i), CASE WHEN i % 40 = 0 THEN repeat(md5(i::text), 20) END FROM generate_series(first, last) i $$;
-- Row groups of a load, with marks ...
SELECT add(1, 2400);
UPDATE c SET k = k + 1 WHERE id % 100 = 0;
DELETE FROM c WHERE id % 101 = 0;
-- ... one that VACUUM merged from row pages, and row pages.
SELECT add(2401, 2550);
SELECT add(2551, 2700);
SELECT add(2701, 2850);
VACUUM c;
SELECT txid_current();
VACUUM c;
SELECT add(2851, 2950);
UPDATE c SET k = k + 1 WHERE id IN (3, 700, 1500, 2600);
DELETE FROM c WHERE id IN (4, 701, 1501, 2601);
CHECKPOINT;
SQL

# What is run on each damaged table.
cat > "$SCRATCH/queries.sql" << 'SQL'
SET max_parallel_workers_per_gather = 0;
SELECT count(*), sum(id), min(name), sum(price), max(at), sum(f), sum(length(big)) FROM :t;
SELECT count(*) FROM :t;
SELECT count(*) FROM :t WHERE name = 'name 3x';
SELECT count(*) FROM :t WHERE name = 'name 17';
SELECT * FROM :t ORDER BY id DESC LIMIT 3;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT count(name), sum(k) FROM :t WHERE id BETWEEN 1 AND 3000;
SELECT sum(k) FROM :t WHERE id = ANY ('{3,4,700,701,1500,1501,2600,2601,2900}');
SELECT count(*) FROM (SELECT id FROM :t WHERE id > 0) q;
SET enable_bitmapscan = on;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SELECT count(name), sum(k) FROM :t WHERE id BETWEEN 100 AND 2500;
RESET ALL;
SET statement_timeout = '5s';
SELECT count(*) FROM :t TABLESAMPLE SYSTEM (30) REPEATABLE (1);
SELECT count(*) FROM :t WHERE ctid >= '(1,1)' AND ctid < '(1030,1)';
SELECT count(*), count(min_value) FROM pgcolumnar.storage_info(:'t');
SELECT count(*), sum(live_rows) FROM pgcolumnar.stats(:'t');
ANALYZE :t;
UPDATE :t SET k = k + 1 WHERE id IN (5, 702, 1502, 2602, 2901);
DELETE FROM :t WHERE id IN (3, 6, 703, 1503, 2603, 2902);
SELECT count(*) FROM (SELECT * FROM :t WHERE id < 50 FOR UPDATE) q;
INSERT INTO :t SELECT id + 10000, k, name, price, at, f, big FROM c WHERE id < 1000;
VACUUM :t;
SELECT count(*), sum(id), min(name), sum(price), max(at), sum(f), sum(length(big)) FROM :t;
VACUUM (FREEZE) :t;
CREATE INDEX ON :t (k, name);
REINDEX TABLE :t;
VACUUM FULL :t;
SELECT count(*) FROM :t;
SQL
# run TABLE: all of them in one session, errors with their SQLSTATE.
# A backend that hears no timeout is taken for hanging after 20 s, and the server is stopped.
run() {
  local status=0
  PGHOST=$(cluster_host "$D") PGDATABASE=postgres timeout 20 "$PGBIN/psql" -X -q -v VERBOSITY=verbose -v t="$1" -At -f "$SCRATCH/queries.sql" 2>&1 || status=$?
  if [ $status = 124 ]; then echo "FATAL:  HANGS: no answer and no timeout for 20 s"; fi
}
errors() { grep -aE '(ERROR|FATAL|PANIC):|server closed the connection|connection to server was lost' || true; }

# ---- the table's file, and copies of the table that share nothing with it ----

# copies PREFIX COUNT: empty tables PREFIX1.. whose files are then replaced by c's while the server is down.
copies() {
  sql "$D" -o /dev/null -c "DO \$\$ BEGIN FOR i IN 1..$2 LOOP EXECUTE format('CREATE TABLE %1\$s (LIKE c) USING pgcolumnar', '$1' || i);
    EXECUTE format('CREATE INDEX %1\$s_id ON %1\$s (id)', '$1' || i); END LOOP; END \$\$" \
    -c "UPDATE pg_class SET relfrozenxid = c.relfrozenxid, relminmxid = c.relminmxid FROM pg_class c WHERE c.relname = 'c' AND pg_class.relname LIKE '$1%' AND pg_class.relkind = 'r'"
}
file_of() { printf '%s/data/%s' "$D" "${FILE[$1]}"; }
declare -A FILE=()
load_files() { while IFS='|' read -r name path; do FILE[$name]=$path; done < <(query "$D" "SELECT relname, pg_relation_filepath(oid) FROM pg_class WHERE relkind IN ('r', 'i') AND relnamespace = 'public'::regnamespace"); }
# fill_copy TABLE: the server is down.
fill_copy() {
  as_server cp "$(file_of c)" "$(file_of "$1")"
  as_server cp "$(file_of c_id)" "$(file_of "$1_id")"
  if as_server test -e "$(file_of c)_vm"; then as_server cp "$(file_of c)_vm" "$(file_of "$1")_vm"; fi
}

cases=(checksum sound magic version headmagic headversion headruns footer chunk tidmap owner directory cut zero marks)
copies case_ ${#cases[@]}
copies flip_ "$flips"
wanted=$(query "$D" "SELECT count(*), sum(id), min(name), sum(price), max(at), sum(f), sum(length(big)) FROM c")
load_files
cluster_stop "$D"
for ((i = 1; i <= ${#cases[@]}; i++)); do fill_copy "case_$i"; done
declare -A TABLE=()
for ((i = 0; i < ${#cases[@]}; i++)); do TABLE[${cases[$i]}]=case_$((i + 1)); done
F=$(file_of c)
kinds=$(pages "$F" | awk '{ print $2 }' | sort -u | tr '\n' ' ')
check "the table has a metapage, heads, data, marks and a TID map" "$(grep -cE '1 3 4 5 (6 )?7' <<< "$kinds")" 1
data=$(page_of_kind "$F" 4) head=$(page_of_kind "$F" 3) map=$(page_of_kind "$F" 7) marks=$(page_of_kind "$F" 5)

# ---- with checksums ----

flip "$(file_of "${TABLE[checksum]}")" $((data * 8192 + 3000)) 3
# A copy's checksums hold where its pages have the numbers of the original's.
cluster_start "$D"
found=$(run "${TABLE[checksum]}" | errors | head -n 1)
check_match "checksums: a flipped bit is core's error" "$found" "ERROR:  XX001: invalid page in block $data of relation"
check "checksums: a sound copy is read" "$(query "$D" "SELECT count(*), sum(id), min(name), sum(price), max(at), sum(f), sum(length(big)) FROM ${TABLE[sound]}")" "$wanted"
found=$(sql "$D" -At -v VERBOSITY=verbose -c "SET ignore_checksum_failure = on" -c "SELECT count(*), sum(id), min(name), sum(price), max(at), sum(f), sum(length(big)) FROM ${TABLE[checksum]}" 2>&1 | grep -avE '^(WARNING|LOCATION|CONTEXT)' || true)
check_match "ignore_checksum_failure: an answer or a data_corrupted error" "$found" "^[0-9]+\\||ERROR:  XX001: .*${TABLE[checksum]}"
cluster_stop "$D"

# ---- without, one by one ----

as_server "$PGBIN/pg_checksums" --disable -D "$D/data" > /dev/null
at() { file_of "${TABLE[$1]}"; }
put "$(at magic)" 24 '\x00\x11'
put "$(at version)" 28 '\x63\x00\x00\x00'
put "$(at headmagic)" $((head * 8192 + 24)) '\x00'
put "$(at headversion)" $((head * 8192 + 28)) '\x07\x00'
put "$(at headruns)" $((head * 8192 + 24 + 24)) '\xff\xff'
footer=$(u32 "$F" $((head * 8192 + 40)))
fill "$(at footer)" $(((head + 1 + footer / PAYLOAD) * 8192 + 24 + footer % PAYLOAD)) 16
fill "$(at chunk)" $((data * 8192 + 24)) $((footer < PAYLOAD ? footer : PAYLOAD))
fill "$(at tidmap)" $((map * 8192 + 24)) 16
put "$(at owner)" $((data * 8192 + 8176 + 8)) '\x77'
fill "$(at marks)" $((marks * 8192 + 24 + 16)) 240
# The first entry of the directory that has an extent now says that it begins far behind the end of the file.
for ((entry = 216; $(u32 "$F" $((entry + 24))) == 0; entry += 64)); do :; done
put "$(at directory)" $((entry + 24)) '\xf0\xff\xff\x00'
as_server truncate -s $((data * 8192)) "$(at cut)"
head -c 8192 /dev/zero | as_server dd of="$(at zero)" bs=8192 seek="$data" conv=notrunc status=none
cluster_start "$D"

# damaged CASE PATTERN: the first error must match, all must be of known kinds, and the session goes on to the end.
damaged() {
  local output first strange
  output=$(run "${TABLE[$1]}")
  first=$(errors <<< "$output" | head -n 1)
  check_match "damaged $1" "$first" "$2"
  strange=$(errors <<< "$output" | grep -avE '(ERROR:  (XX001|0A000):)' | head -n 3 || true)
  check "damaged $1: no other error" "$strange" ""
}
damaged magic "ERROR:  XX001: block 0 of table \"${TABLE[magic]}\" is not a pgcolumnar metapage"
damaged version "ERROR:  0A000: table \"${TABLE[version]}\" has pgcolumnar format version 99, but this library reads version [0-9]+"
damaged headmagic "ERROR:  XX001: .*row group [0-9]+ of table \"${TABLE[headmagic]}\""
damaged headversion "ERROR:  0A000: row group [0-9]+ of table \"${TABLE[headversion]}\" has version 7, but this library reads version [0-9]+"
damaged headruns "ERROR:  XX001: .*row group [0-9]+ of table \"${TABLE[headruns]}\""
damaged footer "ERROR:  XX001: row group [0-9]+.* of table \"${TABLE[footer]}\" is damaged"
damaged chunk "ERROR:  XX001: row group [0-9]+, column \"(id|k|name|price|at|f|big)\" of table \"${TABLE[chunk]}\" is damaged"
damaged tidmap "ERROR:  XX001: .*TID map of row group [0-9]+ of table \"${TABLE[tidmap]}\""
damaged owner "ERROR:  XX001: block $data of table \"${TABLE[owner]}\" does not hold the data of row group [0-9]+"
damaged directory "ERROR:  XX001: "
damaged cut "ERROR:  XX001: "
damaged zero "ERROR:  XX001: block $data of table \"${TABLE[zero]}\" does not hold the data of row group [0-9]+"
damaged marks "ERROR:  XX001: "
no_crash "$D"

# ---- at random ----

cluster_stop "$D"
mapfile -t column_pages < <(pages "$F" | awk '$2 != 6 && $2 != 8 { print $1 }')
mapfile -t structure_pages < <(pages "$F" | awk '$2 == 1 || $2 == 3 || $2 == 5 || $2 == 7 { print $1 }')
declare -A FLIPPED=()
for ((i = 1; i <= flips; i++)); do
  fill_copy "flip_$i"
  # A third anywhere, a third in metapage, heads, marks and TID maps, a third in the used start of those.
  case $((i % 3)) in
    0) random ${#column_pages[@]}; page=${column_pages[$R]}; random 8192 ;;
    1) random ${#structure_pages[@]}; page=${structure_pages[$R]}; random 8192 ;;
    2) random ${#structure_pages[@]}; page=${structure_pages[$R]}; random 600 ;;
  esac
  offset=$R
  random 8
  flip "$(file_of "flip_$i")" $((page * 8192 + offset)) "$R"
  FLIPPED[$i]="page $page of kind $(pages "$F" | awk -v page="$page" '$1 == page { print $2 }'), byte $offset, bit $R"
done
cluster_start "$D"
crashes=0 strange=0 noticed=0
for ((i = 1; i <= flips; i++)); do
  output=$(run "flip_$i" | errors)
  if [ -n "$output" ]; then noticed=$((noticed + 1)); fi
  if grep -qaE 'PANIC|HANGS|server closed|was lost|57P0' <<< "$output"; then
    crashes=$((crashes + 1))
    if [ $crashes -le 5 ]; then echo "  crash: flip_$i, ${FLIPPED[$i]}: $(tail -n 1 <<< "$output" | cut -c1-100)"; grep -aE 'TRAP:|PANIC|panicked' "$D/data/server.log" | tail -n 1 | cut -c1-300 || true; fi
    if grep -q HANGS <<< "$output"; then
      cluster_stop "$D" immediate
      cluster_start "$D" 2> "$D/start.log"
    fi
    for ((wait = 0; wait < 100; wait++)); do if query "$D" "SELECT 1" > /dev/null 2>&1; then break; fi; sleep 0.1; done
    continue
  fi
  output=$(grep -avE 'ERROR:  (XX001|XX002|0A000|53200):' <<< "$output" | sed 's/^psql:[^ ]* //' | head -n 2 || true)
  if [ -n "$output" ]; then
    strange=$((strange + 1))
    if [ $strange -le 8 ]; then printf '  flip_%s, %s: %s\n' "$i" "${FLIPPED[$i]}" "${output:0:300}"; fi
  fi
done
check "$flips flips: no crash and no hang" "$crashes" 0
check "$flips flips: no error but of damage ($noticed noticed)" "$strange" 0
no_crash "$D"
cluster_stop "$D"
finish && rm -rf "$D"
