-- Included after start.sql by the tests of batch execution. Everything is asked of two tables of one name: that in the
-- test's schema is columnar, that in the schema with "_heap" behind its name is heap.
\set ECHO none
SET client_min_messages = warning;
SELECT :'schema' || '_heap' AS heap_schema \gset
CREATE SCHEMA :heap_schema;
-- Tables are small: core's nodes are made dear, so that batches are chosen.
SET cpu_tuple_cost = 1; SET cpu_index_tuple_cost = 1; SET cpu_operator_cost = 0.25;
SELECT set_config('batch.columnar', :'schema' || ', public', false), set_config('batch.heap', :'heap_schema' || ', ' || :'schema' || ', public', false) \g /dev/null
CREATE TABLE asked (query text, nodes text) USING heap;

-- Runs statements for the columnar tables and for the heap tables.
CREATE FUNCTION twins(statements text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE am text := current_setting('default_table_access_method');
BEGIN
    EXECUTE statements;
    PERFORM set_config('search_path', current_setting('batch.heap'), false), set_config('default_table_access_method', 'heap', false);
    EXECUTE statements;
    PERFORM set_config('search_path', current_setting('batch.columnar'), false), set_config('default_table_access_method', am, false);
END $$;

-- The rows of a query as text in its order, or its error.
CREATE FUNCTION answer(query text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE rows text[];
BEGIN
    EXECUTE 'WITH r AS MATERIALIZED (' || query || ') SELECT array_agg(r::text) FROM r' INTO rows;
    RETURN coalesce(rows, '{}');
EXCEPTION WHEN others THEN
    RETURN ARRAY['error ' || SQLSTATE || ': ' || SQLERRM];
END $$;

-- The batch nodes in a query's plan.
CREATE FUNCTION nodes(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE plan json; found text;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    SELECT string_agg(m[1], ' ' ORDER BY n) INTO found
    FROM regexp_matches(plan::text, '"Custom Plan Provider": "(Columnar\w+)"', 'g') WITH ORDINALITY AS x(m, n);
    RETURN coalesce(found, '');
EXCEPTION WHEN others THEN RETURN '';
END $$;

-- A counter of EXPLAIN ANALYZE, summed over the plan's nodes.
CREATE FUNCTION counted(counter text, query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE plan json; found bigint;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT JSON) ' || query INTO plan;
    SELECT sum(m[1]::bigint) INTO found FROM regexp_matches(plan::text, '"' || counter || '": (\d+)', 'g') m;
    RETURN found;
END $$;

-- Asks a query of heap tables, of columnar tables in batches, and of columnar tables in core's nodes. Where all three answer
-- alike, tells how many rows there are, or the error; where not, what is different. With `ordered`, order counts too.
CREATE FUNCTION same(query text, ordered bool DEFAULT false) RETURNS text LANGUAGE plpgsql AS $$
DECLARE wanted text[]; got text[]; plain text[]; found text;
BEGIN
    INSERT INTO asked VALUES (query, nodes(query));
    got := answer(query);
    PERFORM set_config('pgcolumnar.enable_vectorized', 'off', false);
    plain := answer(query);
    PERFORM set_config('pgcolumnar.enable_vectorized', 'on', false);
    PERFORM set_config('search_path', current_setting('batch.heap'), false);
    wanted := answer(query);
    PERFORM set_config('search_path', current_setting('batch.columnar'), false);
    found := differing('in batches', got, wanted, ordered) || differing('in core''s nodes', plain, wanted, ordered);
    IF found <> '' THEN RETURN 'DIFFERENT' || found; END IF;
    IF wanted[1] LIKE 'error %' THEN RETURN wanted[1]; END IF;
    RETURN cardinality(wanted) || ' rows';
END $$;

CREATE FUNCTION differing(name text, got text[], wanted text[], ordered bool) RETURNS text LANGUAGE plpgsql AS $$
DECLARE more text; fewer text;
BEGIN
    IF got = wanted THEN RETURN ''; END IF;
    SELECT string_agg(r, ' ') INTO more FROM (SELECT unnest(got) r EXCEPT ALL SELECT unnest(wanted) ORDER BY 1 LIMIT 5) d;
    SELECT string_agg(r, ' ') INTO fewer FROM (SELECT unnest(wanted) r EXCEPT ALL SELECT unnest(got) ORDER BY 1 LIMIT 5) d;
    IF more IS NULL AND fewer IS NULL THEN
        RETURN CASE WHEN ordered THEN ', ' || name || ' in another order: ' || left(array_to_string(got, ' '), 200) ELSE '' END;
    END IF;
    RETURN format(', %s more: %s; missing: %s', name, coalesce(more, 'nothing'), coalesce(fewer, 'nothing'));
END $$;

-- Asks many queries; NULL where there is nothing to tell. For queries whose answers need not be shown.
CREATE FUNCTION all_same(VARIADIC queries text[]) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(q || ': ' || s, E'\n') FROM unnest(queries) q, LATERAL (SELECT same(q) AS s OFFSET 0) x WHERE s LIKE 'DIFFERENT%' OR s LIKE 'error%';
$$;
RESET client_min_messages;
\set ECHO all
