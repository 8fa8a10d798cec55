-- Included by the tests. Their tables use the access method that the environment's REGRESS_AM names, pgcolumnar if
-- there is none. Expected files are made with REGRESS_AM=heap: a difference is a difference from heap.
\set ECHO none
\set am pgcolumnar
\getenv am REGRESS_AM
SET client_min_messages = warning;
SET default_table_access_method = :am;
SET pgcolumnar.row_group_rows = 256;
SET pgcolumnar.vector_rows = 64;
SET pgcolumnar.bulk_threshold = 0;
CREATE SCHEMA :schema;
SET search_path = :schema, public;
SELECT current_setting('server_version_num')::int >= 160000 AS pg16,
    current_setting('server_version_num')::int >= 170000 AS pg17,
    current_setting('server_version_num')::int >= 180000 AS pg18 \gset
\set states :dir '/sql/include/states.sql'
\set buffer :dir '/sql/include/buffer.sql'

-- Rows that one table has and the other has not, NULLs, zero signs, trailing zeros and numbers of copies counted.
CREATE FUNCTION differences(a regclass, b regclass) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE found bigint;
BEGIN
    EXECUTE format('SELECT count(*) FROM (
        (SELECT t::text FROM %1$s t EXCEPT ALL SELECT t::text FROM %2$s t)
        UNION ALL (SELECT t::text FROM %2$s t EXCEPT ALL SELECT t::text FROM %1$s t)) d', a, b) INTO found;
    RETURN found;
END $$;

-- What a query gives as one table scan and as another: rows of the first way without the second's and reverse.
CREATE FUNCTION ways_differ(query text, VARIADIC settings text[]) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE found bigint; setting text;
BEGIN
    EXECUTE 'CREATE TEMP TABLE way_1 USING heap AS ' || query;
    FOREACH setting IN ARRAY settings LOOP
        PERFORM set_config(split_part(setting, '=', 1), split_part(setting, '=', 2), true);
    END LOOP;
    EXECUTE 'CREATE TEMP TABLE way_2 USING heap AS ' || query;
    FOREACH setting IN ARRAY settings LOOP
        EXECUTE 'RESET ' || split_part(setting, '=', 1);
    END LOOP;
    found := differences('way_1', 'way_2');
    DROP TABLE way_1, way_2;
    RETURN found;
END $$;
RESET client_min_messages;
\set ECHO all
