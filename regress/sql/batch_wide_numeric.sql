-- numeric beyond the 38 digits that batches compute with: PostgreSQL takes over, and the answer is heap's to the digit.
\getenv dir PG_ABS_SRCDIR
\set schema batch_wide_numeric
\set start :dir '/sql/include/start.sql'
\i :start
\set batch :dir '/sql/include/batch.sql'
\i :batch
-- In one row of a hundred, products of three columns have more than 38 digits; the rows stand in groups and on row pages.
SELECT twins($$CREATE TABLE t (id int, g int, a numeric(19,4), b numeric(19,4), c numeric(15,2), d date)$$);
CREATE FUNCTION fill(first int, last int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM twins(format('INSERT INTO t SELECT i, i %% 5, CASE WHEN i %% 100 = 7 THEN 123456789012345.1234 + i WHEN i %% 11 > 0 THEN i * 1.5 END, CASE WHEN i %% 100 = 7 THEN -987654321012345.9876 ELSE i * 0.25 - 100 END, CASE WHEN i %% 100 = 7 THEN 9876543210123.45 ELSE i END, CASE WHEN i %% 50 > 0 THEN date ''2024-01-01'' + i %% 900 ELSE ''infinity'' END FROM generate_series(%s, %s) i', first, last));
END $$;
SELECT fill(1, 1500);
SET pgcolumnar.bulk_threshold = 1000000;
SELECT fill(1501, 1800);
SET pgcolumnar.bulk_threshold = 0;
ANALYZE t; ANALYZE batch_wide_numeric_heap.t;

-- aggregates, keys, HAVING, ORDER BY, DISTINCT, grouping sets
SELECT all_same('SELECT sum(a * b * c) FROM t', 'SELECT g, sum(a * b * c), avg(a * b * c), max(a * b * c * c), min(b * a * c) FROM t GROUP BY g', 'SELECT sum(c * c * c * c * c), count(*) FROM t', 'SELECT a * b * c, count(*) FROM t GROUP BY 1', 'SELECT a, b, c, a * b * c, count(*) FROM t GROUP BY 1, 2, 3, 4', 'SELECT DISTINCT a * b * c FROM t', 'SELECT count(DISTINCT a * b * c) FROM t', 'SELECT g, sum(a * b * c) FROM t GROUP BY g HAVING sum(a * b * c) < 0',
    'SELECT g, id % 2, sum(a * b * c), GROUPING(g) FROM t GROUP BY CUBE (g, id % 2)', 'SELECT sum(a * b * c) FILTER (WHERE id % 100 <> 7) FROM t', 'SELECT stddev(c * c) FROM t', 'SELECT g, sum(x) FROM (SELECT g, a * b * c AS x FROM t) s GROUP BY g', 'SELECT x, (SELECT sum(a * b * c) FROM t WHERE g = x) FROM generate_series(0, 4) x', 'SELECT sum(a * b * c) FROM t WHERE id < 0', 'SELECT count(*), sum(a) FROM t WHERE a * b * c > 1000', 'SELECT g, sum(a) FROM t WHERE a * b * c < 0 GROUP BY g');
SELECT same('SELECT g, sum(a * b * c) AS s FROM t GROUP BY g ORDER BY s DESC, g LIMIT 2', true), same('SELECT g, id % 3, sum(a * b * c) AS s FROM t GROUP BY ROLLUP (g, id % 3) ORDER BY s, g, 2 LIMIT 7', true), same('SELECT id FROM t ORDER BY a * b * c, id LIMIT 30', true), same('SELECT id, a FROM t WHERE a * b * c < 0 ORDER BY a * b * c DESC NULLS LAST, id OFFSET 5 LIMIT 10', true), same('SELECT id FROM t WHERE a * b * c < 5000 ORDER BY id LIMIT 40', true);
-- a plan that is started over, for each row of another
SELECT same('SELECT x, l.* FROM generate_series(0, 2) x, LATERAL (SELECT id, a * b * c FROM t WHERE g = x AND a * b * c > 100 ORDER BY a * b * c DESC, id LIMIT 3) l', true), same('SELECT x, (SELECT sum(a * b * c) FROM t WHERE g = x AND c * c * c * c > x) FROM generate_series(0, 2) x');
-- rows of a scan: the filter's columns among the outputs and not, other filters, in threads
SELECT all_same('SELECT id FROM t WHERE a * b * c > 1000', 'SELECT * FROM t WHERE a * b * c < 0', 'SELECT id, b FROM t WHERE a * b * c < 0 AND c > 100', 'SELECT id FROM t WHERE a * b * c < 0 AND md5(id::text) > ''5''', 'SELECT t FROM t WHERE a * b * c < 0', 'SELECT ctid IS NULL, tableoid::regclass, id FROM t WHERE a * b * c < 0', 'SELECT count(*) FROM t x JOIN t y USING (id) WHERE x.a * y.b * y.c < 0 AND x.a * x.b * x.c < 0', 'SELECT array_agg(id) FROM (SELECT id FROM t WHERE a * b * c < 0 ORDER BY id) s');
-- infinity, which fields of infinite dates are
SELECT all_same('SELECT extract(year FROM d), count(*) FROM t GROUP BY 1', 'SELECT d, extract(year FROM d), count(*) FROM t GROUP BY 1, 2', 'SELECT sum(extract(year FROM d)) FROM t WHERE id % 50 > 0', 'SELECT max(extract(epoch FROM d)) FROM t', 'SELECT id FROM t WHERE extract(year FROM d) > 2024', 'SELECT sum(id) FROM t WHERE extract(year FROM d) > 2024');
-- a cursor goes back over such rows
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id FROM t WHERE a * b * c < -1e35;
FETCH 4 FROM c;
FETCH BACKWARD 2 FROM c;
FETCH 3 FROM c;
MOVE ALL IN c;
FETCH BACKWARD 2 FROM c;
COMMIT;
-- UPDATE and DELETE by such a filter
SELECT twins('UPDATE t SET g = 77 WHERE a * b * c < -1e35 AND id < 900; DELETE FROM t WHERE a * b * c < -1e35 AND id > 1600');
SELECT all_same('SELECT * FROM t');
-- errors are heap's
SELECT same('SELECT g, sum(1 / (a * b * c)) FROM t GROUP BY g'), same('SELECT id FROM t WHERE a * b * c < 0 AND 1 / (id - 7) >= 0');
-- who did the work
SELECT nodes('SELECT g, sum(a * b * c) FROM t GROUP BY g'), nodes('SELECT id FROM t ORDER BY a * b * c, id LIMIT 30'), nodes('SELECT id FROM t WHERE a * b * c < 0');
SELECT counted('Left to PostgreSQL', 'SELECT g, sum(a * b * c) FROM t GROUP BY g'), counted('Left to PostgreSQL', 'SELECT id FROM t ORDER BY a * b * c, id LIMIT 30'), counted('Left to PostgreSQL', 'SELECT g, sum(a * b) FROM t GROUP BY g');
-- threads
SET pgcolumnar.row_group_rows = 65536; SET pgcolumnar.vector_rows = 8192; SET pgcolumnar.max_threads = 2;
SELECT fill(2001, 62000);
SELECT counted('Threads', 'SELECT g, sum(a * b) FROM t GROUP BY g') > 1 AS threads, counted('Left to PostgreSQL', 'SELECT g, sum(a * b * c) FROM t GROUP BY g');
SELECT all_same('SELECT g, sum(a * b * c) FROM t GROUP BY g', 'SELECT id FROM t WHERE a * b * c < 0', 'SELECT sum(c * c * c * c) FROM t', 'SELECT id FROM t WHERE a * b * c < 0 ORDER BY a * b * c, id LIMIT 20');
-- a partitioned table, of which each member is grouped by itself
SELECT twins($$CREATE TABLE p (LIKE t) PARTITION BY RANGE (id); CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (1000); CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (1000) TO (4000); CREATE TABLE p3 PARTITION OF p DEFAULT; INSERT INTO p SELECT * FROM t WHERE id < 5000$$);
SELECT all_same('SELECT g, sum(a * b * c), count(*) FROM p GROUP BY g', 'SELECT sum(a * b * c), avg(c * c * c * c) FROM p', 'SELECT DISTINCT a * b * c FROM p', 'SELECT g, sum(a) FROM p WHERE a * b * c < 0 GROUP BY g', 'SELECT g, sum(a * b * c) FROM p WHERE id < 1000 GROUP BY g HAVING count(*) > 3');
SELECT nodes('SELECT g, sum(a * b * c), count(*) FROM p GROUP BY g'), counted('Left to PostgreSQL', 'SELECT g, sum(a * b * c), count(*) FROM p GROUP BY g');
-- Groups in files, whose parts have sums that fit and whose sums do not: none is handed out before that is known.
-- Autovacuum may have looked at the table by now or not; batches are to do the work in either case.
SET enable_hashagg = off; SET enable_sort = off;
SET work_mem = '64kB'; SET hash_mem_multiplier = 1; SET pgcolumnar.max_threads = 0;
SELECT counted('Spilled', 'SELECT id % 40000, sum(a * 2) FROM t GROUP BY 1') > 0 AS spilled, counted('Left to PostgreSQL', 'SELECT id % 40000, sum(a * 2) FROM t GROUP BY 1') AS fits, counted('Left to PostgreSQL', 'SELECT id % 40000, sum(b * b) FROM t GROUP BY 1') AS does_not;
SELECT all_same('SELECT id % 40000, sum(b * b) FROM t GROUP BY 1', 'SELECT id % 40000, avg(b * b), count(*) FROM t GROUP BY 1', 'SELECT id % 40000, var_pop(b) FROM t GROUP BY 1', 'SELECT id % 40000, sum(a * 2) FROM t GROUP BY 1');
SET pgcolumnar.max_threads = 2;
-- Passes over some of the groups each: a value of any group is met in the first.
SELECT counted('Passes', $$SELECT id % 40000, sum(a * b), jsonb_agg(md5(id::text)) IS NULL FROM t GROUP BY 1$$) > 1 AS passes;
SELECT same(format($$SELECT id %% 40000, sum(a * b * c), jsonb_agg(md5(id::text)) IS NULL FROM t WHERE id %% 100 <> 7 OR id = %s GROUP BY 1$$, 2007 + 7500 * x)) FROM generate_series(0, 7) x;
RESET work_mem; RESET hash_mem_multiplier; RESET enable_hashagg; RESET enable_sort;
-- parameters with more digits than kernels have
SELECT all_same('SELECT count(*) FROM t WHERE a < (SELECT 1e50 + count(*) FROM t WHERE id < 0)', 'SELECT id FROM t WHERE a < (SELECT 1e50 + count(*) FROM t WHERE id < 0) AND id < 3000', 'SELECT g, sum(a) FROM t WHERE a > (SELECT -1e50 + count(*) FROM t WHERE id < 0) GROUP BY g', 'SELECT id FROM t WHERE a <> ALL (ARRAY(SELECT 1e50 + x FROM generate_series(1, 3) x)) AND id < 3000', 'SELECT count(*) FROM t WHERE a = ANY (ARRAY(SELECT 1e50 + x FROM generate_series(1, 3) x))');
SELECT same('SELECT id FROM t WHERE a < (SELECT 1e50 + count(*) FROM t WHERE id < 0) ORDER BY a, id LIMIT 5', true), same('SELECT x, (SELECT count(*) FROM t WHERE a > x AND id < 3000) FROM unnest(ARRAY[5, 1e50, NULL, -1e45, 7]) x');
PREPARE above(numeric) AS SELECT count(*), sum(id) FROM t WHERE a < $1;
SET plan_cache_mode = force_generic_plan;
EXECUTE above(1e60);
EXECUTE above(30.5);
EXECUTE above('NaN');
RESET plan_cache_mode;
-- where PostgreSQL's own plan would have workers
SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SELECT all_same('SELECT g, sum(a * b * c) FROM t GROUP BY g', 'SELECT sum(a * b * c) FROM t', 'SELECT DISTINCT a * b * c FROM t', 'SELECT a * b * c, count(*) FROM t GROUP BY 1 HAVING count(*) > 1');
SELECT nodes('SELECT g, sum(a * b * c) FROM t GROUP BY g');
SET client_min_messages = warning;
DROP SCHEMA batch_wide_numeric, batch_wide_numeric_heap CASCADE;
