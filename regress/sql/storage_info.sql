-- What a table stores: pgcolumnar.storage_info and pgcolumnar.stats.
SET client_min_messages = warning;
SET pgcolumnar.bulk_threshold = 0;
SET pgcolumnar.compression = 'none';
SET pgcolumnar.row_group_rows = 512;
SET pgcolumnar.vector_rows = 256;
SET timezone = 'UTC';
SET datestyle = 'ISO, MDY';

CREATE TABLE info (
    i int, big bigint, small smallint, flag bool, day date, stamp timestamptz, f4 float4, f8 float8,
    word text, bin bytea, id uuid, n name, o oid, money numeric(10,2), list int[]
) USING pgcolumnar;
-- an empty table has no storage
SELECT count(*) FROM pgcolumnar.storage_info('info');
SELECT count(*) FROM pgcolumnar.stats('info');

-- bounds of every type that keeps them, as the type prints them
SET pgcolumnar.force_encoding = 'plain';
INSERT INTO info
    SELECT i, -i, i, i % 2 = 0, date '2000-01-01' + i, timestamptz '2000-01-01 00:00:00+00' + i * interval '1 hour', i / 4.0, -i / 8.0,
        'word ' || lpad(i::text, 3, '0'), decode(lpad(to_hex(i), 4, '0'), 'hex'), lpad(i::text, 32, '0')::uuid, 'name' || i,
        4000000000 + i, i, ARRAY[i]
    FROM generate_series(1, 400) i;
SELECT attnum, column_name, vector, first_row, rows, nulls, encoding, compression, min_value, max_value
    FROM pgcolumnar.storage_info('info') ORDER BY group_id, attnum, vector;
TRUNCATE info;

-- NULLs, NaN and infinities; a vector of nothing but NULL has no bounds
INSERT INTO info (i, f4, f8) SELECT CASE WHEN i > 256 THEN i END, float4 'NaN', CASE i % 3 WHEN 0 THEN float8 'NaN' WHEN 1 THEN '-Infinity' ELSE i END
    FROM generate_series(1, 300) i;
SELECT column_name, vector, rows, nulls, encoding, min_value, max_value
    FROM pgcolumnar.storage_info('info') WHERE column_name IN ('i', 'f4', 'f8', 'word') ORDER BY attnum, vector;
TRUNCATE info;

-- values beyond 32 bytes are cut: an ellipsis says so, an upper bound ends in a raised byte; bytes that are no text are escaped
INSERT INTO info (word, bin, n) VALUES
    (repeat('a', 31) || 'a more', decode(repeat('00', 32) || 'ff', 'hex'), 'short'),
    (repeat('a', 31) || 'b more', decode(repeat('ff', 40), 'hex'), 'short');
SELECT column_name, min_value, max_value FROM pgcolumnar.storage_info('info') WHERE min_value IS NOT NULL ORDER BY attnum;
TRUNCATE info;
INSERT INTO info (word) VALUES ('a' || repeat(U&'\00E9', 40)), ('plain');
SELECT column_name, min_value, max_value FROM pgcolumnar.storage_info('info') WHERE min_value IS NOT NULL ORDER BY attnum;
DROP TABLE info;

-- every encoding that can be forced, and whether the vector took it
CREATE FUNCTION info_encoding(wanted text) RETURNS TABLE (column_name name, encoding text, distinct_values int, has_dictionary bool)
    LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('pgcolumnar.force_encoding', wanted, true);
    CREATE TABLE info_encoded (number int, fraction float8, word text, same int) USING pgcolumnar;
    INSERT INTO info_encoded SELECT i / 10, i / 10.0, 'word ' || i % 10, 7 FROM generate_series(1, 200) i;
    RETURN QUERY SELECT s.column_name, s.encoding, s.distinct_values, s.dictionary_bytes > 0
        FROM pgcolumnar.storage_info('info_encoded') s ORDER BY s.attnum;
    DROP TABLE info_encoded;
END $$;
SELECT wanted, e.* FROM unnest('{plain,constant,run_length,bit_packed,delta,dictionary,alp}'::text[]) WITH ORDINALITY AS w(wanted, place),
    info_encoding(wanted) e ORDER BY place, column_name;
DROP FUNCTION info_encoding;

-- compression shows where it saves
SET pgcolumnar.force_encoding = 'plain';
CREATE TABLE info (a text, b text) USING pgcolumnar;
SET pgcolumnar.compression = 'zstd';
INSERT INTO info SELECT repeat('x', 100), NULL FROM generate_series(1, 100);
SET pgcolumnar.compression = 'lz4';
INSERT INTO info SELECT repeat('x', 100), NULL FROM generate_series(1, 100);
SELECT group_id, column_name, compression, bytes < raw_bytes AS smaller FROM pgcolumnar.storage_info('info') ORDER BY 1, 2;

-- columns that come and go
ALTER TABLE info DROP COLUMN a, ADD COLUMN c int DEFAULT 1;
INSERT INTO info VALUES ('b', 5);
SELECT group_id, attnum, column_name, rows, nulls, encoding, min_value, max_value FROM pgcolumnar.storage_info('info') ORDER BY 1, 2;
-- text to varchar rewrites nothing, so groups keep what they have
ALTER TABLE info ALTER b TYPE varchar;
SELECT group_id, column_name, min_value FROM pgcolumnar.storage_info('info') WHERE attnum = 2 ORDER BY 1;
DROP TABLE info;

-- groups, their rows, and what became of them
SET pgcolumnar.row_group_rows = 512;
CREATE TABLE info (id int PRIMARY KEY, v text) USING pgcolumnar;
INSERT INTO info SELECT i, 'v' FROM generate_series(1, 1200) i;
SELECT group_id, kind, first_tid, rows, live_rows, dead_rows, insert_runs, marks FROM pgcolumnar.stats('info') WHERE kind <> 'METADATA' ORDER BY 1;
SELECT count(*), sum(pages) * current_setting('block_size')::int = pg_relation_size('info') AS all_pages FROM pgcolumnar.stats('info');
BEGIN;
DELETE FROM info WHERE id <= 10;
UPDATE info SET v = 'w' WHERE id BETWEEN 601 AND 605;
SELECT 1 FROM info WHERE id = 1100 FOR UPDATE;
-- five new versions are on a row page, where the headers of changed rows count as marks of their groups
SELECT group_id, kind, sum(rows) AS rows, sum(live_rows) AS live_rows, sum(dead_rows) AS dead_rows, sum(insert_runs) AS insert_runs,
    sum(marks) AS marks FROM pgcolumnar.stats('info') WHERE kind <> 'METADATA' GROUP BY 1, 2 ORDER BY 1;
SELECT sum(live_rows) = (SELECT count(*) FROM info) AS agrees FROM pgcolumnar.stats('info');
SELECT kind, column_name, attnum, vector, sum(rows), encoding, min_value FROM pgcolumnar.storage_info('info') WHERE kind = 'ROWS'
    GROUP BY 1, 2, 3, 4, 6, 7;
ROLLBACK;
SELECT group_id, kind, sum(rows) AS rows, sum(live_rows) AS live_rows, sum(dead_rows) AS dead_rows, sum(insert_runs) AS insert_runs,
    sum(marks) AS marks FROM pgcolumnar.stats('info') WHERE kind <> 'METADATA' GROUP BY 1, 2 ORDER BY 1;
-- a group whose transaction rolled back; several insert runs in one group; rows not yet written are written first
BEGIN;
INSERT INTO info SELECT i, 'gone' FROM generate_series(2001, 2100) i;
SELECT count(*) FROM info;
ROLLBACK;
BEGIN;
INSERT INTO info SELECT i, 'one' FROM generate_series(3001, 3010) i;
SAVEPOINT s;
INSERT INTO info SELECT i, 'two' FROM generate_series(3011, 3030) i;
ROLLBACK TO s;
INSERT INTO info SELECT i, 'three' FROM generate_series(3031, 3070) i;
SELECT group_id, kind, rows, live_rows, dead_rows, insert_runs, marks FROM pgcolumnar.stats('info') WHERE group_id > 3 ORDER BY 1;
COMMIT;
SELECT column_name, rows, min_value, max_value FROM pgcolumnar.storage_info('info') WHERE group_id > 4 ORDER BY attnum;
SELECT sum(live_rows) = (SELECT count(*) FROM info) AS agrees,
    sum(pages) * current_setting('block_size')::int = pg_relation_size('info') AS all_pages FROM pgcolumnar.stats('info');
DROP TABLE info;

-- rows on row pages only
SET pgcolumnar.bulk_threshold = 1000000;
CREATE TABLE info (id int, v text) USING pgcolumnar;
INSERT INTO info SELECT i, 'v' FROM generate_series(1, 1000) i;
DELETE FROM info WHERE id <= 100;
SELECT group_id, kind, first_tid, rows, live_rows, dead_rows, insert_runs, marks FROM pgcolumnar.stats('info') WHERE kind <> 'METADATA';
SELECT group_id, kind, first_row, rows, nulls FROM pgcolumnar.storage_info('info');
DROP TABLE info;
SET pgcolumnar.bulk_threshold = 0;

-- what is refused
CREATE TABLE info_heap (a int) USING heap;
CREATE VIEW info_view AS SELECT 1 AS a;
CREATE TABLE info_part (a int) PARTITION BY RANGE (a);
SELECT * FROM pgcolumnar.storage_info('info_heap');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM pgcolumnar.stats('info_heap');
SELECT * FROM pgcolumnar.storage_info('info_view');
SELECT * FROM pgcolumnar.stats('info_part');
SELECT * FROM pgcolumnar.stats('pg_class_oid_index');
SELECT * FROM pgcolumnar.stats(NULL);
DROP TABLE info_heap, info_part;
DROP VIEW info_view;
CREATE ROLE regress_info_reader;
CREATE TABLE info (a int, b text) USING pgcolumnar;
INSERT INTO info VALUES (1, 'secret');
SET ROLE regress_info_reader;
SELECT * FROM pgcolumnar.storage_info('info');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM pgcolumnar.stats('info');
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
-- one column is not enough, since all are shown; nor is a table whose policies hide rows
GRANT SELECT (a) ON info TO regress_info_reader;
SET ROLE regress_info_reader;
SELECT * FROM pgcolumnar.storage_info('info');
RESET ROLE;
GRANT SELECT ON info TO regress_info_reader;
SET ROLE regress_info_reader;
SELECT column_name, min_value FROM pgcolumnar.storage_info('info') ORDER BY attnum;
SELECT kind, live_rows FROM pgcolumnar.stats('info') WHERE kind = 'COLUMNS';
RESET ROLE;
ALTER TABLE info ENABLE ROW LEVEL SECURITY;
CREATE POLICY info_odd ON info TO regress_info_reader USING (a % 2 = 0);
SET ROLE regress_info_reader;
SELECT * FROM pgcolumnar.storage_info('info');
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
SELECT column_name, min_value FROM pgcolumnar.storage_info('info') ORDER BY attnum;
-- an owner needs no grant
ALTER TABLE info OWNER TO regress_info_reader;
REVOKE ALL ON info FROM regress_info_reader;
SET ROLE regress_info_reader;
SELECT column_name, min_value FROM pgcolumnar.storage_info('info') ORDER BY attnum;
RESET ROLE;
DROP TABLE info;
DROP ROLE regress_info_reader;
