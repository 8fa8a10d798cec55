-- Options of tables: pgcolumnar.set_options, pgcolumnar.reset_options, and the catalog they keep.
SET client_min_messages = warning;
SET pgcolumnar.bulk_threshold = 0;
SET pgcolumnar.compression = 'zstd';
SET pgcolumnar.row_group_rows = 2048;
SET pgcolumnar.vector_rows = 1024;
-- How the row groups of a table are laid out, and how its second column, which compresses well, is compressed.
SET pgcolumnar.force_encoding = 'plain';
CREATE FUNCTION opt_layout(what regclass) RETURNS TABLE (groups bigint, largest_group bigint, largest_vector int, compression text)
    LANGUAGE sql AS $$
    SELECT count(DISTINCT group_id), max(first_row + rows), max(rows), string_agg(DISTINCT compression, ' ') FILTER (WHERE attnum = 2)
    FROM pgcolumnar.storage_info(what) WHERE kind = 'COLUMNS' $$;
CREATE VIEW opt_catalog AS
    SELECT * FROM pgcolumnar.options WHERE table_id::text ~ '(^|\.)opt' ORDER BY table_id::text COLLATE "C";

-- without options a table follows the settings
CREATE TABLE opt (a int, b text) USING pgcolumnar;
INSERT INTO opt SELECT i, 'some text ' || i % 10 FROM generate_series(1, 5000) i;
SELECT * FROM opt_layout('opt');
SELECT * FROM opt_catalog;

-- options count for groups written from then on; NULL leaves an option as it is
SELECT pgcolumnar.set_options('opt', compression => 'lz4', row_group_rows => 1024);
SELECT pgcolumnar.set_options('opt', vector_rows => 256, row_group_rows => NULL);
SELECT * FROM opt_catalog;
SELECT * FROM opt_layout('opt');
TRUNCATE opt;
INSERT INTO opt SELECT i, 'some text ' || i % 10 FROM generate_series(1, 5000) i;
SELECT * FROM opt_layout('opt');
-- by position; the name of the first argument is a keyword
SELECT pgcolumnar.set_options('opt', 'ZSTD', 1, 4096, 512);
SELECT pgcolumnar.set_options("table" => 'opt');
SELECT * FROM opt_catalog;

-- tables that are rewritten keep their options
VACUUM FULL opt;
SELECT * FROM opt_layout('opt');
ALTER TABLE opt ALTER COLUMN a TYPE bigint;
SELECT * FROM opt_layout('opt');
CREATE INDEX opt_a ON opt (a);
CLUSTER opt USING opt_a;
SELECT * FROM opt_layout('opt');
ALTER TABLE opt RENAME TO opt_renamed;
SELECT * FROM opt_catalog;
ALTER TABLE opt_renamed RENAME TO opt;

-- reset: the options named, or all
SELECT pgcolumnar.reset_options('opt', compression => true, vector_rows => true);
SELECT * FROM opt_catalog;
SELECT pgcolumnar.reset_options('opt', compression_level => true);
SELECT pgcolumnar.reset_options('opt', row_group_rows => NULL, vector_rows => true);
SELECT * FROM opt_catalog;
SELECT pgcolumnar.set_options('opt', vector_rows => 64);
SELECT pgcolumnar.reset_options('opt');
SELECT * FROM opt_catalog;
SELECT pgcolumnar.reset_options('opt');

-- transactions
BEGIN;
SELECT pgcolumnar.set_options('opt', compression => 'none', vector_rows => 512);
TRUNCATE opt;
INSERT INTO opt SELECT i, 'some text ' || i % 10 FROM generate_series(1, 5000) i;
SELECT * FROM opt_layout('opt');
SAVEPOINT s;
SELECT pgcolumnar.set_options('opt', vector_rows => 128);
ROLLBACK TO s;
SELECT * FROM opt_catalog;
ROLLBACK;
SELECT * FROM opt_catalog;
SELECT * FROM opt_layout('opt');

-- materialized views, partitions, temporary tables
CREATE MATERIALIZED VIEW opt_view USING pgcolumnar AS SELECT * FROM opt;
SELECT pgcolumnar.set_options('opt_view', compression => 'none', row_group_rows => 3000);
REFRESH MATERIALIZED VIEW opt_view;
SELECT * FROM opt_layout('opt_view');
CREATE TABLE opt_part (a int) PARTITION BY RANGE (a);
CREATE TABLE opt_part_1 PARTITION OF opt_part FOR VALUES FROM (0) TO (10000) USING pgcolumnar;
SELECT pgcolumnar.set_options('opt_part_1', row_group_rows => 1000);
INSERT INTO opt_part SELECT generate_series(1, 3000);
SELECT * FROM opt_layout('opt_part_1');
BEGIN;
CREATE TEMP TABLE opt_temp (a int) USING pgcolumnar ON COMMIT DROP;
SELECT pgcolumnar.set_options('opt_temp', row_group_rows => 1000);
SELECT * FROM opt_catalog;
COMMIT;
SELECT * FROM opt_catalog;

-- what is refused
SELECT pgcolumnar.set_options('opt', compression => 'gzip');
\echo :LAST_ERROR_SQLSTATE
SELECT pgcolumnar.set_options('opt', compression_level => 20);
SELECT pgcolumnar.set_options('opt', compression_level => 0);
SELECT pgcolumnar.set_options('opt', row_group_rows => 255);
SELECT pgcolumnar.set_options('opt', row_group_rows => 1048577);
SELECT pgcolumnar.set_options('opt', vector_rows => 63);
SELECT pgcolumnar.set_options('opt', vector_rows => 131073);
\echo :LAST_ERROR_SQLSTATE
SELECT pgcolumnar.set_options('opt_missing');
SELECT pgcolumnar.set_options(0, 'lz4');
\echo :LAST_ERROR_SQLSTATE
SELECT pgcolumnar.set_options(NULL, 'lz4');
\echo :LAST_ERROR_SQLSTATE
CREATE TABLE opt_heap (a int) USING heap;
CREATE VIEW opt_plain AS SELECT 1;
CREATE SEQUENCE opt_sequence;
SELECT pgcolumnar.set_options('opt_heap', 'lz4');
\echo :LAST_ERROR_SQLSTATE
SELECT pgcolumnar.reset_options('opt_heap');
SELECT pgcolumnar.set_options('opt_part', 'lz4');
\echo :LAST_ERROR_SQLSTATE
SELECT pgcolumnar.set_options('opt_plain', 'lz4');
SELECT pgcolumnar.set_options('opt_a', 'lz4');
SELECT pgcolumnar.set_options('opt_sequence', 'lz4');
BEGIN READ ONLY;
SELECT pgcolumnar.set_options('opt', 'lz4');
ROLLBACK;
SELECT * FROM opt_catalog;

-- a table that leaves the access method keeps its options until they are reset
SELECT pgcolumnar.set_options('opt', compression => 'lz4');
ALTER TABLE opt SET ACCESS METHOD heap;
SELECT pgcolumnar.set_options('opt', compression => 'none');
SELECT * FROM opt_catalog;
ALTER TABLE opt SET ACCESS METHOD pgcolumnar;
SELECT * FROM opt_layout('opt');
ALTER TABLE opt SET ACCESS METHOD heap;
SELECT pgcolumnar.reset_options('opt');
SELECT * FROM opt_catalog;
ALTER TABLE opt SET ACCESS METHOD pgcolumnar;

-- only the owner, who may be a group; the catalog itself is read-only
CREATE ROLE regress_opt_owner;
CREATE ROLE regress_opt_other;
ALTER TABLE opt OWNER TO regress_opt_owner;
GRANT ALL ON opt TO regress_opt_other;
SET ROLE regress_opt_owner;
SELECT pgcolumnar.set_options('opt', compression => 'none');
SELECT table_id, compression FROM pgcolumnar.options WHERE table_id = 'opt'::regclass;
DELETE FROM pgcolumnar.options;
INSERT INTO pgcolumnar.options VALUES ('opt');
UPDATE pgcolumnar.options SET compression = 'lz4';
SET ROLE regress_opt_other;
SELECT pgcolumnar.set_options('opt', compression => 'lz4');
\echo :LAST_ERROR_SQLSTATE
SELECT pgcolumnar.reset_options('opt');
\echo :LAST_ERROR_SQLSTATE
SELECT pgcolumnar.set_options('pg_class', compression => 'lz4');
RESET ROLE;
GRANT regress_opt_owner TO regress_opt_other;
SET ROLE regress_opt_other;
SELECT pgcolumnar.reset_options('opt');
RESET ROLE;
SELECT * FROM opt_catalog;

-- what a superuser wrote by hand and no version understands counts as not set
INSERT INTO pgcolumnar.options VALUES ('opt', 'gzip', 99, 1, 300);
TRUNCATE opt;
INSERT INTO opt SELECT i, 'some text ' || i % 10 FROM generate_series(1, 5000) i;
SELECT * FROM opt_layout('opt');

-- rows go with their tables: dropped by this session, by a new one, with a schema, by its owner
SELECT pgcolumnar.set_options('opt_view', compression => 'none');
DROP MATERIALIZED VIEW opt_view;
SELECT * FROM opt_catalog;
\c -
DROP TABLE opt_part;
\c -
SELECT table_id::text ~ '^[0-9]' AS dangling, count(*) FROM pgcolumnar.options WHERE table_id::text ~ '^(opt|[0-9])' GROUP BY 1;
SET client_min_messages = warning;
CREATE SCHEMA opt_schema;
CREATE TABLE opt_schema.opt_inside (a int) USING pgcolumnar;
SELECT pgcolumnar.set_options('opt_schema.opt_inside', 'none');
SELECT * FROM opt_catalog;
BEGIN;
DROP SCHEMA opt_schema CASCADE;
SELECT * FROM opt_catalog;
ROLLBACK;
SELECT * FROM opt_catalog;
DROP SCHEMA opt_schema CASCADE;
DROP OWNED BY regress_opt_owner;
SELECT * FROM opt_catalog;
SELECT count(*) FROM pgcolumnar.options o WHERE NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = o.table_id);

-- privileges and comments of everything the extension has
SELECT pgcolumnar.library_version() ~ '^pgcolumnar [0-9]+\.[0-9]+\.[0-9]+, table format [0-9]+, row group format [0-9]+$' AS version;
SELECT p.proname, p.provolatile, p.proparallel, p.proisstrict, has_function_privilege('regress_opt_other', p.oid, 'EXECUTE') AS anybody
    FROM pg_proc p WHERE p.pronamespace = 'pgcolumnar'::regnamespace
    AND p.proname IN ('set_options', 'reset_options', 'storage_info', 'stats', 'library_version') ORDER BY 1;
SELECT pg_describe_object(d.classid, d.objid, d.objsubid) AS without_comment
    FROM pg_depend d
    WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
    AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pgcolumnar')
    AND d.classid <> 'pg_type'::regclass
    AND obj_description(d.objid, d.classid::regclass::text::name) IS NULL;
DROP VIEW opt_catalog, opt_plain;
DROP FUNCTION opt_layout;
DROP TABLE opt_heap;
DROP SEQUENCE opt_sequence;
DROP ROLE regress_opt_owner, regress_opt_other;
