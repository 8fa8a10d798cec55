-- pgcolumnar 1.0: column storage.
\echo Use "CREATE EXTENSION pgcolumnar" to load this file. \quit

CREATE FUNCTION pgcolumnar.handler(internal) RETURNS table_am_handler
    AS 'MODULE_PATHNAME', 'pgcolumnar_handler' LANGUAGE C STRICT;
COMMENT ON FUNCTION pgcolumnar.handler(internal) IS 'table access method handler of pgcolumnar';

CREATE ACCESS METHOD pgcolumnar TYPE TABLE HANDLER pgcolumnar.handler;
COMMENT ON ACCESS METHOD pgcolumnar IS 'column-store table access method';

-- Everybody may look: what a function tells of a table is for those who may read the table.
GRANT USAGE ON SCHEMA pgcolumnar TO PUBLIC;

-- What tables set for themselves. The library reads and writes it below SQL; users read it and call the functions.
-- It is a heap table whatever default_table_access_method says.
CREATE TABLE pgcolumnar.options (
    table_id pg_catalog.regclass CONSTRAINT options_pkey PRIMARY KEY,
    compression pg_catalog.text,
    compression_level pg_catalog.int4,
    row_group_rows pg_catalog.int4,
    vector_rows pg_catalog.int4,
    bloom_columns pg_catalog.name[]
) USING heap;
REVOKE ALL ON pgcolumnar.options FROM PUBLIC;
GRANT SELECT ON pgcolumnar.options TO PUBLIC;
COMMENT ON TABLE pgcolumnar.options IS 'options that tables set for themselves; change them with pgcolumnar.set_options and pgcolumnar.reset_options';
COMMENT ON COLUMN pgcolumnar.options.table_id IS 'the table';
COMMENT ON COLUMN pgcolumnar.options.compression IS 'compression of new row groups; NULL: setting pgcolumnar.compression';
COMMENT ON COLUMN pgcolumnar.options.compression_level IS 'zstd level of new row groups; NULL: setting pgcolumnar.compression_level';
COMMENT ON COLUMN pgcolumnar.options.row_group_rows IS 'rows of a new row group; NULL: setting pgcolumnar.row_group_rows';
COMMENT ON COLUMN pgcolumnar.options.vector_rows IS 'rows of a vector; NULL: setting pgcolumnar.vector_rows';
COMMENT ON COLUMN pgcolumnar.options.bloom_columns IS 'columns that have Bloom filters in new row groups; NULL: setting pgcolumnar.bloom_filters';
-- pg_dump takes the options along, but not those of temporary tables, which it does not dump.
SELECT pg_catalog.pg_extension_config_dump('pgcolumnar.options',
    'WHERE table_id IN (SELECT c.oid FROM pg_catalog.pg_class c WHERE c.relpersistence OPERATOR(pg_catalog.<>) ''t'')');

-- The functions below check the caller's rights to the table themselves. Those that look into a table first write what the
-- transaction has buffered for it, so no parallel plan may run them.
CREATE FUNCTION pgcolumnar.set_options(
    "table" pg_catalog.regclass,
    compression pg_catalog.text DEFAULT NULL,
    compression_level pg_catalog.int4 DEFAULT NULL,
    row_group_rows pg_catalog.int4 DEFAULT NULL,
    vector_rows pg_catalog.int4 DEFAULT NULL,
    bloom_columns pg_catalog.name[] DEFAULT NULL
) RETURNS void
    AS 'MODULE_PATHNAME', 'pgcolumnar_set_options' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION pgcolumnar.set_options(pg_catalog.regclass, pg_catalog.text, pg_catalog.int4, pg_catalog.int4, pg_catalog.int4, pg_catalog.name[])
    IS 'sets options of a table for its new row groups; NULL leaves an option as it is';

CREATE FUNCTION pgcolumnar.reset_options(
    "table" pg_catalog.regclass,
    compression pg_catalog.bool DEFAULT false,
    compression_level pg_catalog.bool DEFAULT false,
    row_group_rows pg_catalog.bool DEFAULT false,
    vector_rows pg_catalog.bool DEFAULT false,
    bloom_columns pg_catalog.bool DEFAULT false
) RETURNS void
    AS 'MODULE_PATHNAME', 'pgcolumnar_reset_options' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION pgcolumnar.reset_options(pg_catalog.regclass, pg_catalog.bool, pg_catalog.bool, pg_catalog.bool, pg_catalog.bool, pg_catalog.bool)
    IS 'removes options of a table, all of them unless some are named';

CREATE FUNCTION pgcolumnar.storage_info(
    "table" pg_catalog.regclass,
    OUT group_id pg_catalog.int4,
    OUT kind pg_catalog.text,
    OUT column_name pg_catalog.name,
    OUT attnum pg_catalog.int2,
    OUT vector pg_catalog.int4,
    OUT first_row pg_catalog.int8,
    OUT rows pg_catalog.int4,
    OUT nulls pg_catalog.int4,
    OUT encoding pg_catalog.text,
    OUT compression pg_catalog.text,
    OUT bytes pg_catalog.int8,
    OUT raw_bytes pg_catalog.int8,
    OUT min_value pg_catalog.text,
    OUT max_value pg_catalog.text,
    OUT distinct_values pg_catalog.int4,
    OUT dictionary_bytes pg_catalog.int8,
    OUT bloom_bytes pg_catalog.int8,
    OUT chunk_bloom_bytes pg_catalog.int8
) RETURNS SETOF pg_catalog.record
    AS 'MODULE_PATHNAME', 'pgcolumnar_storage_info' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 1000;
COMMENT ON FUNCTION pgcolumnar.storage_info(pg_catalog.regclass)
    IS 'what a table''s row groups store: a row for each vector of each column';

CREATE FUNCTION pgcolumnar.stats(
    "table" pg_catalog.regclass,
    OUT group_id pg_catalog.int4,
    OUT kind pg_catalog.text,
    OUT first_tid pg_catalog.tid,
    OUT rows pg_catalog.int8,
    OUT live_rows pg_catalog.int8,
    OUT dead_rows pg_catalog.int8,
    OUT pages pg_catalog.int8,
    OUT bytes pg_catalog.int8,
    OUT insert_runs pg_catalog.int4,
    OUT marks pg_catalog.int4
) RETURNS SETOF pg_catalog.record
    AS 'MODULE_PATHNAME', 'pgcolumnar_stats' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 100;
COMMENT ON FUNCTION pgcolumnar.stats(pg_catalog.regclass)
    IS 'row groups, row pages and free pages of a table, with live and dead rows';

CREATE FUNCTION pgcolumnar.library_version() RETURNS pg_catalog.text
    AS 'MODULE_PATHNAME', 'pgcolumnar_version' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pgcolumnar.library_version() IS 'versions of the pgcolumnar library and of the formats that it writes';
