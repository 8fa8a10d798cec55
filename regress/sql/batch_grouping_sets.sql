-- GROUPING SETS, ROLLUP and CUBE in ColumnarAgg: one pass over the table, a hash table for each set.
\getenv dir PG_ABS_SRCDIR
\set schema batch_grouping_sets
\set start :dir '/sql/include/start.sql'
\i :start
\set batch :dir '/sql/include/batch.sql'
\i :batch
-- Keys with NULLs of their own, rows in groups and on row pages, deleted and updated. Sums of the floats are exact.
SELECT twins($$CREATE TABLE t (id int, g int, h int, b bool, n numeric, d numeric(8,2), f float8, t text, c text COLLATE "C", dt date, v int); CREATE TABLE nothing (g int, h int, t text, v int)$$);
CREATE FUNCTION fill(first int, last int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM twins(format('INSERT INTO t SELECT i, CASE WHEN i %% 7 > 0 THEN i %% 7 END, i %% 5, CASE WHEN i %% 3 > 0 THEN i %% 2 = 0 END, CASE i %% 4 WHEN 0 THEN NULL WHEN 1 THEN i %% 6 ELSE i %% 6 / 4.0 END,
        CASE WHEN i %% 9 > 0 THEN i %% 9 * 1.25 END, CASE WHEN i %% 8 > 0 THEN i %% 8 / 4.0 - 1 END, CASE WHEN i %% 10 > 0 THEN ''t'' || i %% 10 END, chr(65 + i %% 6), date ''2024-01-01'' + i %% 11, CASE WHEN i %% 13 > 0 THEN i END FROM generate_series(%s, %s) i', first, last));
END $$;
SELECT fill(1, 1500);
SET pgcolumnar.bulk_threshold = 1000000;
SELECT fill(1501, 1800);
SET pgcolumnar.bulk_threshold = 0;
SELECT twins('UPDATE t SET g = -1, t = ''updated'' WHERE id % 31 = 0; DELETE FROM t WHERE id % 29 = 0');
ANALYZE t; ANALYZE batch_grouping_sets_heap.t;

EXPLAIN (COSTS OFF) SELECT g, h, count(*), sum(v) FROM t WHERE id > 100 GROUP BY ROLLUP (g, h);
EXPLAIN (COSTS OFF) SELECT g, t, GROUPING(g, t), max(v) FROM t GROUP BY CUBE (g, t) HAVING count(*) > 2;
EXPLAIN (COSTS OFF) SELECT g, h, sum(v) FROM t GROUP BY GROUPING SETS ((g), (h), (g), ()) ORDER BY sum(v) DESC, g, h LIMIT 3;
CREATE FUNCTION shown_sets(query text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (COSTS OFF, FORMAT JSON) ' || query INTO plan;
    RETURN plan -> 0 -> 'Plan' -> 'Grouping Sets';
END $$;
SELECT shown_sets('SELECT g, h + 1 FROM t GROUP BY GROUPING SETS ((g, h + 1), ())');
EXPLAIN (COSTS OFF) SELECT count(*) FROM t GROUP BY ();

SELECT g, h, GROUPING(g), GROUPING(g, h), count(*), sum(v) FROM t WHERE g IS NULL OR g = 6 GROUP BY ROLLUP (g, h) ORDER BY g, h, GROUPING(g, h), sum(v);

-- sets of every form
SELECT all_same('SELECT g, h, count(*), sum(v) FROM t GROUP BY ROLLUP (g, h)', 'SELECT g, h, t, count(*), sum(v), avg(d) FROM t GROUP BY CUBE (g, h, t)', 'SELECT g, h, count(*) FROM t GROUP BY GROUPING SETS ((g), (h))', 'SELECT g, h, count(*) FROM t GROUP BY GROUPING SETS ((g), (h), ())', 'SELECT g, h, count(*) FROM t GROUP BY GROUPING SETS ((g, h), (h, g), (g), (g), ())',
    'SELECT count(*), max(v) FROM t GROUP BY ()', 'SELECT count(*) FROM t GROUP BY GROUPING SETS ((), (), ())', 'SELECT g, h, t, count(*) FROM t GROUP BY g, ROLLUP (h, t)', 'SELECT g, h, t, b, count(*) FROM t GROUP BY ROLLUP (g, h), CUBE (t, b)', 'SELECT g, h, t, count(*) FROM t GROUP BY ROLLUP (g, (h, t))', 'SELECT g, h, count(*) FROM t GROUP BY GROUPING SETS (ROLLUP (g, h), CUBE (h, g))',
    'SELECT g, h, count(*) FROM t GROUP BY DISTINCT ROLLUP (g, h), ROLLUP (g)', 'SELECT g, h, count(*) FROM t GROUP BY ROLLUP (g, h), ROLLUP (g)', 'SELECT g, count(*) FROM t GROUP BY ROLLUP (g, g)', 'SELECT count(*) FROM t GROUP BY ROLLUP (g, h)', 'SELECT g FROM t GROUP BY GROUPING SETS ((g), ())', 'SELECT 1 FROM t GROUP BY CUBE (g, h)', 'SELECT g, h, t, b, c, count(*) FROM t GROUP BY CUBE (g, h, t, b, c)');
-- keys of every type, NULLs among them
SELECT all_same('SELECT b, count(*) FROM t GROUP BY ROLLUP (b)', 'SELECT d, b, count(*), sum(d) FROM t GROUP BY CUBE (d, b)', 'SELECT d * 2, b, count(*), max(d) FROM t GROUP BY ROLLUP (d * 2, b)', 'SELECT f, d, count(*), sum(f) FROM t GROUP BY CUBE (f, d)', 'SELECT t, c, count(*), min(c), max(t) FROM t GROUP BY CUBE (t, c)', 'SELECT dt, g, min(dt), max(v) FROM t GROUP BY ROLLUP (dt, g)', 'SELECT c, dt, b, f, count(*) FROM t GROUP BY GROUPING SETS ((c, dt), (b, f), (c, f), (dt))');
-- expressions as keys and of keys; keys that follow from others, in the set and not
SELECT all_same('SELECT g + 1, h, count(*) FROM t GROUP BY ROLLUP (g + 1, h)', 'SELECT g + 1, g, (g + 1) * 2, count(*) FROM t GROUP BY CUBE (g, g + 1)', 'SELECT g + 1, coalesce(g, -5), count(*) FROM t GROUP BY ROLLUP (g)', 'SELECT upper(t), length(upper(t)), count(*) FROM t GROUP BY ROLLUP (upper(t), length(upper(t)))', 'SELECT t, length(t), count(*) FROM t GROUP BY CUBE (t, length(t))', 'SELECT t || c, count(*) FROM t GROUP BY ROLLUP (t, c)',
    'SELECT date_trunc(''month'', dt), extract(day FROM dt), sum(v) FROM t GROUP BY ROLLUP (date_trunc(''month'', dt), extract(day FROM dt))', 'SELECT CASE WHEN v > 500 THEN ''big'' ELSE ''small'' END, h, count(*) FROM t GROUP BY CUBE (CASE WHEN v > 500 THEN ''big'' ELSE ''small'' END, h)', 'SELECT md5(t), g, count(*) FROM t GROUP BY CUBE (md5(t), g)', 'SELECT g IS NULL, g, count(*) FROM t GROUP BY CUBE (g, g IS NULL)', 'SELECT g AS x, g AS y, count(*) FROM t GROUP BY ROLLUP (1, 2)', 'SELECT g AS x, g + 0 AS y, count(*) FROM t GROUP BY CUBE (1, 2)',
    'SELECT ''x''::text AS x, g, count(*) FROM t GROUP BY ROLLUP (1, 2)', 'SELECT ''x''::text AS x, count(*) FROM t GROUP BY CUBE (1)', 'SELECT NULL::int AS x, g, count(*) FROM t GROUP BY CUBE (1, 2)', 'SELECT x || ''y'', count(*) FROM (SELECT ''x''::text AS x, g FROM t) s GROUP BY CUBE (x, g)', 'SELECT current_date = dt AS x, current_date AS y, count(*) FROM t GROUP BY CUBE (1, 2)');
-- GROUPING tells NULL keys from keys that are left out; in expressions, HAVING and ORDER BY too
SELECT all_same('SELECT g, h, GROUPING(g), GROUPING(h), GROUPING(g, h), GROUPING(h, g), count(*) FROM t GROUP BY CUBE (g, h)', 'SELECT g, h, t, GROUPING(t, g, h), sum(v) FROM t GROUP BY GROUPING SETS ((g), (h), (t), (g, t), ())', 'SELECT g, GROUPING(g) * 2 + 1, CASE GROUPING(g) WHEN 1 THEN ''all'' ELSE g::text END FROM t GROUP BY ROLLUP (g)', 'SELECT g, h, count(*) FROM t GROUP BY CUBE (g, h) HAVING GROUPING(g) = 1', 'SELECT g, h, count(*) FROM t GROUP BY CUBE (g, h) HAVING GROUPING(g, h) IN (0, 3) AND count(*) > 30',
    'SELECT GROUPING(g + 1), g + 1, count(*) FROM t GROUP BY CUBE (g + 1, h)', 'SELECT g, GROUPING(g), count(*) FROM t GROUP BY g', 'SELECT GROUPING(g) FROM t GROUP BY g, h HAVING GROUPING(h) = 0', 'SELECT sum(GROUPING(g)) OVER (), g FROM t GROUP BY ROLLUP (g)', 'SELECT (SELECT GROUPING(g)), g FROM t GROUP BY ROLLUP (g)', 'SELECT g, h FROM t GROUP BY ROLLUP (g, h) HAVING g IS NULL', 'SELECT g, h FROM t GROUP BY ROLLUP (g, h) HAVING g > 3 OR h = 2', 'SELECT g, count(*) FROM t GROUP BY g, ROLLUP (h) HAVING g = 2');
-- aggregates: filtered, distinct, of keys
SELECT all_same('SELECT g, h, count(*) FILTER (WHERE b), sum(v) FILTER (WHERE v > 100), avg(v) FROM t GROUP BY CUBE (g, h)', 'SELECT g, count(DISTINCT v), sum(DISTINCT h), avg(DISTINCT d), max(DISTINCT t) FROM t GROUP BY ROLLUP (g)', 'SELECT g, h, count(DISTINCT t), count(DISTINCT h) FILTER (WHERE b) FROM t GROUP BY CUBE (g, h)', 'SELECT g, sum(g), count(g), max(g), min(g + h) FROM t GROUP BY ROLLUP (g)', 'SELECT g, b, sum(d), stddev(v), bool_or(b), bit_or(v) FROM t GROUP BY CUBE (g, b)', 'SELECT g, sum(v / h) FILTER (WHERE h <> 0) FROM t GROUP BY ROLLUP (g)', 'SELECT g, string_agg(c, '','' ORDER BY id) FROM t GROUP BY ROLLUP (g)');
-- over no rows the empty set has one row each time it is named
SELECT all_same('SELECT g, count(*), sum(v) FROM nothing GROUP BY ROLLUP (g)', 'SELECT g, GROUPING(g), count(*) FROM nothing GROUP BY GROUPING SETS ((g), (), ())', 'SELECT g, count(*) FROM nothing GROUP BY GROUPING SETS ((g), (h))', 'SELECT count(DISTINCT v), max(t) FROM nothing GROUP BY ()', 'SELECT g, count(*) FROM t WHERE id < 0 GROUP BY CUBE (g, h)', 'SELECT g, count(*) FROM t WHERE false GROUP BY ROLLUP (g)', 'SELECT g, count(*) FROM nothing GROUP BY ROLLUP (g) HAVING count(*) > 0', 'SELECT ''x''::text AS x, count(*) FROM nothing GROUP BY ROLLUP (1)');
SELECT count(*) FROM nothing GROUP BY GROUPING SETS ((), (), (g));
-- filters: a key, a bare boolean that is a key, one of PostgreSQL's
SELECT all_same('SELECT b, count(*) FROM t WHERE b GROUP BY ROLLUP (b)', 'SELECT b, g, count(*) FROM t WHERE b AND g > 2 GROUP BY CUBE (b, g)', 'SELECT g > 2, count(*) FROM t WHERE g > 2 GROUP BY ROLLUP (g > 2)', 'SELECT g, count(*) FROM t WHERE md5(t) > ''8'' GROUP BY ROLLUP (g)', 'SELECT g, count(*) FROM t WHERE g = (SELECT max(g) FROM t) GROUP BY ROLLUP (g)');
-- above: order, limits, DISTINCT, windows, joins, set operations
SELECT same('SELECT g, h, sum(v) FROM t GROUP BY ROLLUP (g, h) ORDER BY g, h NULLS FIRST, sum(v)', true), same('SELECT g, h, sum(v) AS s FROM t GROUP BY CUBE (g, h) ORDER BY s DESC NULLS LAST, g, h LIMIT 7', true), same('SELECT g, h, GROUPING(g, h) AS x, count(*) FROM t GROUP BY CUBE (g, h) ORDER BY x DESC, g, h DESC OFFSET 1 LIMIT 9', true);
SELECT same('SELECT g, h, count(*) FROM t GROUP BY GROUPING SETS ((g), (h), (g), ()) ORDER BY h, g, 3 LIMIT 9', true), same('SELECT g, count(*) FROM t GROUP BY ROLLUP (g) HAVING count(*) > 10 ORDER BY count(*), g LIMIT 4', true), same('SELECT t, count(*) FROM t GROUP BY GROUPING SETS ((t), (g)) ORDER BY 1, 2 LIMIT 12', true);
SELECT all_same('SELECT DISTINCT g, count(*) FROM t GROUP BY CUBE (g, h)', 'SELECT g, rank() OVER (PARTITION BY GROUPING(g) ORDER BY count(*), g) FROM t GROUP BY ROLLUP (g)', 'SELECT g, count(*) FROM t GROUP BY ROLLUP (g) UNION ALL SELECT h, count(*) FROM t GROUP BY CUBE (h)', 'SELECT max(s) FROM (SELECT g, sum(v) AS s FROM t GROUP BY ROLLUP (g)) x', 'SELECT * FROM (SELECT g, count(*) AS n FROM t GROUP BY ROLLUP (g)) a JOIN (SELECT g, sum(v) FROM t GROUP BY CUBE (g)) x USING (g)', 'SELECT a.g, count(*) FROM t a JOIN t x USING (id) GROUP BY ROLLUP (a.g)', 'SELECT s.x, l.* FROM generate_series(1, 3) s(x), LATERAL (SELECT g, count(*) FROM t WHERE h = s.x GROUP BY ROLLUP (g)) l', 'SELECT generate_series(1, 2), g FROM t GROUP BY ROLLUP (g)');
-- parameters and a plan that is run again
PREPARE sets(int) AS SELECT g, h, count(*), GROUPING(g, h) FROM t WHERE id > $1 GROUP BY GROUPING SETS ((g), (h + $1, h), ()) ORDER BY 4, 1, 2 LIMIT 4;
SET plan_cache_mode = force_generic_plan;
EXECUTE sets(1700);
EXECUTE sets(5000);
RESET plan_cache_mode;
-- what was left to core; constants as keys are before PostgreSQL 18
SELECT query FROM asked WHERE nodes !~ 'Agg|TopN' AND query !~ '''x''::text|NULL::int' ORDER BY query COLLATE "C";
-- more sets than tables are made for
SELECT nodes('SELECT count(*) FROM t GROUP BY CUBE (g, h, b, t, c, d)'), nodes('SELECT count(*) FROM t GROUP BY CUBE (g, h, b, t, c, d, f)');

-- Large sets go to files, each by itself; with threads and without, HAVING, LIMIT, DISTINCT aggregates. Hash memory is the least
-- that there is for so many sets.
SET pgcolumnar.row_group_rows = 65536; SET pgcolumnar.vector_rows = 8192;
SELECT twins($$CREATE TABLE large (id int, k int, s text, m int, v int); INSERT INTO large SELECT i, i % 30000, 'a string of some length, number ' || i % 20000, i % 3, i % 1000 FROM generate_series(1, 60000) i; ANALYZE large$$);
SET pgcolumnar.max_threads = 2; SET work_mem = '64kB'; SET hash_mem_multiplier = 1;
CREATE FUNCTION spills(query text) RETURNS bool LANGUAGE sql AS $$ SELECT counted('Spilled', query) > 0 $$;
SELECT spills(q), same(q) FROM unnest('{"SELECT k, s, m, count(*), sum(v), GROUPING(k, s, m) FROM large GROUP BY GROUPING SETS ((k), (s), (m), (k, m), ())", "SELECT k, s, count(DISTINCT v), count(DISTINCT s) FROM large GROUP BY GROUPING SETS ((k), (s), (), ())", "SELECT k, s, count(*) FROM large GROUP BY CUBE (k, s) HAVING count(*) > 1", "SELECT k, s, sum(v) AS x FROM large GROUP BY GROUPING SETS ((k), (s), (k), ()) ORDER BY x DESC, k, s LIMIT 50"}'::text[]) q;
SET pgcolumnar.max_threads = 0;
SELECT spills(q), same(q) FROM unnest('{"SELECT k, s, m, count(*), sum(v), GROUPING(k, s, m) FROM large GROUP BY GROUPING SETS ((k), (s), (m), (k, m), ())", "SELECT k, s, count(DISTINCT v), count(DISTINCT s) FROM large GROUP BY GROUPING SETS ((k), (s), (), ())"}'::text[]) q;
RESET pgcolumnar.max_threads; RESET hash_mem_multiplier; SET work_mem = '1GB';
SELECT counted('Spilled', q) IS NULL, same(q) FROM (VALUES ('SELECT k, s, m, count(*), count(DISTINCT v), GROUPING(k, s, m) FROM large GROUP BY GROUPING SETS ((k), (s), (m), (k, m), ())')) x(q);
SET client_min_messages = warning;
DROP SCHEMA batch_grouping_sets, batch_grouping_sets_heap CASCADE;
