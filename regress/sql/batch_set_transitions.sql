-- GROUPING SETS, ROLLUP and CUBE with aggregates that no kernel folds: transition functions with states for each set.
\getenv dir PG_ABS_SRCDIR
\set schema batch_set_transitions
\set start :dir '/sql/include/start.sql'
\i :start
\set batch :dir '/sql/include/batch.sql'
\i :batch
-- Core's hashed aggregation takes rows in the order of the table, as batches do: lists of elements are compared as they are.
SET enable_sort = off;
-- Keys with NULLs of their own, rows on row pages, then in row groups, as the reader takes them; some are deleted.
SELECT twins($$CREATE TABLE t (id int, g int, h int, k text, b bool, n numeric, ip inet); CREATE TABLE nothing (g int, h int, k text)$$);
CREATE FUNCTION fill(first int, last int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM twins(format('INSERT INTO t SELECT i, CASE WHEN i %% 7 > 0 THEN i %% 7 END, i %% 5, CASE WHEN i %% 11 > 0 THEN ''k'' || i %% 11 END, i %% 3 = 0, CASE WHEN i %% 4 > 0 THEN i / 4.0 END, (''10.0.'' || i %% 9 || ''.'' || i %% 250)::inet FROM generate_series(%s, %s) i', first, last));
END $$;
SET pgcolumnar.bulk_threshold = 1000000;
SELECT fill(1, 300);
SET pgcolumnar.bulk_threshold = 0;
SELECT fill(301, 1400);
-- Rows of heap may go to earlier pages where there is room.
CREATE INDEX by_id ON batch_set_transitions_heap.t (id); CLUSTER batch_set_transitions_heap.t USING by_id; DROP INDEX batch_set_transitions_heap.by_id;
SELECT twins('DELETE FROM t WHERE id % 29 = 0');
ANALYZE t; ANALYZE batch_set_transitions_heap.t;

EXPLAIN (COSTS OFF, VERBOSE) SELECT g, h, string_agg(k, ','), min(ip) FILTER (WHERE b), count(*), GROUPING(g, h) FROM t WHERE id > 100 GROUP BY CUBE (g, h) HAVING count(DISTINCT k) > 3;
EXPLAIN (COSTS OFF) SELECT g, h, string_agg(k, ',' ORDER BY id DESC) FROM t GROUP BY ROLLUP (g, h) ORDER BY count(*) DESC, g, h LIMIT 4;
SELECT g, h, GROUPING(g, h), array_agg(id), string_agg(k, ','), min(ip), count(*) FROM t WHERE id < 15 GROUP BY GROUPING SETS ((g), (h), ()) ORDER BY 3, 1, 2;

-- one call after the other, in sets of every form
CREATE TABLE calls (call text, ordered bool DEFAULT false) USING heap;
INSERT INTO calls SELECT unnest(ARRAY['string_agg(k, '','')', 'array_agg(id)', 'array_agg(k) FILTER (WHERE b)', 'array_agg(ROW(id, k))', 'jsonb_agg(k)', 'json_object_agg(id, h)', 'min(ip)', 'max(ip) FILTER (WHERE id < 0)', 'min(array[id])', 'corr(n::float8, id)', 'array_agg(g + h)', 'string_agg(upper(k) || md5(k), NULL)', 'avg(n) FILTER (WHERE b)', 'sum(h * n)', 'array_agg(5)']);
INSERT INTO calls SELECT unnest(ARRAY['string_agg(k, '','' ORDER BY id DESC)', 'array_agg(DISTINCT k)', 'array_agg(DISTINCT h ORDER BY h DESC)', 'percentile_disc(0.5) WITHIN GROUP (ORDER BY id)', 'percentile_cont(array[0.25, 0.5]) WITHIN GROUP (ORDER BY n::float8)', 'mode() WITHIN GROUP (ORDER BY k)', 'rank(500) WITHIN GROUP (ORDER BY id)', 'string_agg(k, '','' ORDER BY n, id) FILTER (WHERE b)', 'count(DISTINCT ip)', 'sum(DISTINCT n)']), true;
SELECT call, left(s, 300) FROM calls, LATERAL same('SELECT g, h, ' || call || ' FROM t GROUP BY CUBE (g, h)') s WHERE s <> '48 rows';
SELECT call, left(s, 300) FROM calls, LATERAL same('SELECT g, h, GROUPING(g), ' || call || ', count(*), sum(id), avg(n) FROM t GROUP BY GROUPING SETS ((g), (h), (g, h), (g), (), ())') s WHERE s <> '56 rows';
SELECT call, left(s, 300) FROM calls, LATERAL same('SELECT ' || call || ' FROM t GROUP BY GROUPING SETS ((), ())') s WHERE s <> '2 rows';
SELECT call, left(s, 300) FROM calls, LATERAL same('SELECT g, ' || call || ' FROM t WHERE id < 0 GROUP BY GROUPING SETS ((g), (), (h), ())') s WHERE s <> '2 rows';
SELECT call, left(s, 300) FROM calls, LATERAL same('SELECT g + 1, h, (g + 1) * 2, ' || call || ' FROM t GROUP BY ROLLUP (g + 1, h)') s WHERE s <> '43 rows';
SELECT call, left(s, 300) FROM calls, LATERAL same('SELECT g, h FROM t GROUP BY CUBE (g, h) HAVING ' || call || ' IS NOT NULL AND GROUPING(g) = 0') s WHERE s LIKE 'DIFFERENT%' OR s LIKE 'error%';
SELECT call, left(s, 300) FROM calls, LATERAL same('SELECT k, b, ' || call || ', max(id) FROM t GROUP BY ROLLUP (k, b) ORDER BY max(id) DESC, k, b LIMIT 9', true) s WHERE s <> '9 rows';
SELECT call, nodes FROM calls, LATERAL nodes('SELECT g, h, ' || call || ' FROM t GROUP BY CUBE (g, h)') nodes WHERE nodes <> 'ColumnarAgg';
-- several calls at once, of both kinds; rows in sets of the same groups
SELECT left(all_same('SELECT g, array_agg(id), string_agg(k, '',''), min(ip), count(*) FROM t GROUP BY ROLLUP (g)', 'SELECT g, h, string_agg(k, '','' ORDER BY id), mode() WITHIN GROUP (ORDER BY k), count(DISTINCT k), max(ip), count(*) FILTER (WHERE b) FROM t GROUP BY CUBE (g, h)', 'SELECT h, k, rank(500) WITHIN GROUP (ORDER BY id), array_agg(DISTINCT b) FROM t GROUP BY GROUPING SETS ((h), (k), (h, k), ())', 'SELECT g, array_agg(id) FROM t GROUP BY g, ROLLUP (h)', 'SELECT max(s) FROM (SELECT g, string_agg(k, '','') AS s FROM t GROUP BY CUBE (g, h)) x', 'SELECT g, string_agg((SELECT x.k FROM t x WHERE x.id = t.id), '','') FROM t GROUP BY ROLLUP (g)', 'SELECT s.x, l.* FROM generate_series(1, 3) s(x), LATERAL (SELECT g, array_agg(id * s.x) FROM t WHERE h = s.x GROUP BY ROLLUP (g)) l', 'SELECT g, string_agg(k, '','') FROM nothing GROUP BY ROLLUP (g, h)', 'SELECT md5(k), array_agg(id) FROM t GROUP BY CUBE (md5(k), b)'), 2000);

-- of users: states by reference, final functions, one that uses its state up and is called for each of two equal sets
CREATE FUNCTION grow(int[], int) RETURNS int[] LANGUAGE plpgsql IMMUTABLE AS 'BEGIN $1[coalesce(cardinality($1), 0) + 1] := $2; RETURN $1; END';
CREATE FUNCTION last_of(int[]) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1[cardinality($1)]; END';
CREATE AGGREGATE grown(int) (SFUNC = grow, STYPE = int[]);
CREATE AGGREGATE last_grown(int) (SFUNC = grow, STYPE = int[], FINALFUNC = last_of, FINALFUNC_MODIFY = READ_WRITE);
CREATE FUNCTION fails(int, int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN IF $2 = 700 THEN RAISE EXCEPTION ''at %'', $2 USING ERRCODE = ''P0003''; END IF; RETURN $2; END';
CREATE AGGREGATE failing(int) (SFUNC = fails, STYPE = int);
SELECT left(all_same('SELECT g, h, grown(id), last_grown(id) FROM t GROUP BY CUBE (g, h)', 'SELECT g, last_grown(id), grown(h) FROM t GROUP BY GROUPING SETS ((g), (g), (), ())'), 2000);
SELECT same('SELECT g, failing(id), array_agg(id) FROM t GROUP BY ROLLUP (g)'), same('SELECT g, failing(id) FILTER (WHERE id <> 700) FROM t GROUP BY ROLLUP (g)');
-- volatile functions: called once a row and set
CREATE SEQUENCE seen;
CREATE FUNCTION note(bigint, int) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN PERFORM nextval(''seen''); RETURN coalesce($1, 0) * 3 % 1000003 + $2; END';
CREATE AGGREGATE noted(int) (SFUNC = note, STYPE = bigint);
SELECT same('SELECT g, h, noted(id) FROM t GROUP BY CUBE (g, h)'), nodes('SELECT g, h, noted(id) FROM t GROUP BY CUBE (g, h)');
SELECT setval('seen', 1);
SELECT count(noted) FROM (SELECT noted(id) FROM t GROUP BY CUBE (g, h)) s;
SELECT nextval('seen') - 2 = 4 * count(*) AS once FROM t;
-- plans that are run again, and cursors that are closed early
PREPARE sets(int) AS SELECT g, h, GROUPING(g, h), array_agg(id + $1), string_agg(k, ',' ORDER BY id) FROM t WHERE id > $1 GROUP BY GROUPING SETS ((g), (h), ()) ORDER BY 3, 1, 2 LIMIT 3;
SET plan_cache_mode = force_generic_plan;
EXECUTE sets(1380);
EXECUTE sets(5000);
RESET plan_cache_mode;
BEGIN; DECLARE c CURSOR FOR SELECT id, string_agg(k, ',') FROM t GROUP BY ROLLUP (id); MOVE 5 IN c; CLOSE c; DECLARE c CURSOR FOR SELECT id, array_agg(k ORDER BY k) FROM t GROUP BY ROLLUP (id); MOVE 1 IN c; COMMIT;

-- passes: states outgrow memory; each set is scanned by itself, then some of its groups
SELECT twins('CREATE TABLE many (a int, b text, c numeric(10,2), d int, m int)');
SET pgcolumnar.row_group_rows = 4096; SET pgcolumnar.vector_rows = 1024;
SELECT twins($$INSERT INTO many SELECT i % 9000, CASE WHEN i % 100 > 0 THEN 'key ' || i % 7000 END, i / 100.0, i, i % 3 FROM generate_series(1, 27000) i; ANALYZE many$$);
SET work_mem = '64kB'; SET hash_mem_multiplier = 1;
-- Core sorts, so that elements come in another order; its nodes are priced as if they were disabled.
SET enable_hashagg = off;
CREATE FUNCTION passes(query text) RETURNS bigint LANGUAGE sql AS $$ SELECT counted('Passes', query) $$;
SELECT passes('SELECT a, m, count(*), string_agg(b, '','') FROM many GROUP BY GROUPING SETS ((a), (m), ())') > 6 AS of_some_groups, passes('SELECT m, array_agg(d) FROM many GROUP BY CUBE (m)') IS NULL AS once_for_few;
SELECT left(all_same('SELECT a, m, count(*), length(string_agg(b, '','')), sum(c), min(d) FROM many GROUP BY GROUPING SETS ((a), (m), ())', 'SELECT b, a, cardinality(array_agg(d)), count(*), GROUPING(a, b) FROM many GROUP BY CUBE (b, a)', 'SELECT m, cardinality(array_agg(d)) FROM many GROUP BY CUBE (m)', 'SELECT b, count(DISTINCT a), array_length(array_agg(c), 1), max(d) FROM many GROUP BY GROUPING SETS ((), (b), (), (m), (b))', 'SELECT a, m, string_agg(b, '','' ORDER BY d), count(DISTINCT c) FROM many GROUP BY GROUPING SETS ((a), (m), (a, m), ())',
    'SELECT d, mode() WITHIN GROUP (ORDER BY b) FROM many GROUP BY ROLLUP (d)', 'SELECT a, length(string_agg(b, '','')) FROM many GROUP BY ROLLUP (a) HAVING max(d) > 26000', 'SELECT x, (SELECT sum(l) FROM (SELECT a, length(string_agg(b, '','')) AS l FROM many WHERE d > x * 5000 GROUP BY ROLLUP (a)) s) FROM generate_series(1, 3) x', 'SELECT d, sum(d::numeric * 1e20 * 1e15), array_agg(b ORDER BY b) FROM many GROUP BY ROLLUP (d)'), 2000);
SELECT same('SELECT a, m, min(array[d]), sum(c) FROM many GROUP BY CUBE (a, m) ORDER BY sum(c) DESC, a, m LIMIT 20', true);
-- a volatile function is not called again
SELECT setval('seen', 1);
SELECT count(*), count(n), sum(length(l)) FROM (SELECT a % 200, noted(d) AS n, string_agg(b, ',') AS l FROM many GROUP BY ROLLUP (1)) s;
SELECT nextval('seen') - 2;
SELECT nodes('SELECT d, noted(d), array_agg(b) FROM many GROUP BY ROLLUP (d)');
BEGIN; DECLARE c CURSOR FOR SELECT d, string_agg(b, ','), array_agg(a) FROM many GROUP BY ROLLUP (d); MOVE 5 IN c; COMMIT;
RESET work_mem; RESET hash_mem_multiplier; RESET enable_hashagg;
-- what was left to core: sets without keys, of which both cost the same by estimate
SELECT query, nodes FROM asked WHERE nodes !~ 'ColumnarAgg|ColumnarTopN' ORDER BY query COLLATE "C";
SET client_min_messages = warning;
DROP SCHEMA batch_set_transitions, batch_set_transitions_heap CASCADE;
