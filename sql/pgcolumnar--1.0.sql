-- pgcolumnar 1.0: column storage and vectorized execution.
\echo Use "CREATE EXTENSION pgcolumnar" to load this file. \quit

CREATE FUNCTION pgcolumnar.handler(internal) RETURNS table_am_handler
    AS 'MODULE_PATHNAME', 'pgcolumnar_handler' LANGUAGE C STRICT;
COMMENT ON FUNCTION pgcolumnar.handler(internal) IS 'table access method handler of pgcolumnar';

CREATE ACCESS METHOD pgcolumnar TYPE TABLE HANDLER pgcolumnar.handler;
COMMENT ON ACCESS METHOD pgcolumnar IS 'column-store table access method';
