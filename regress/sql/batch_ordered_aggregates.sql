-- ColumnarAgg: aggregates with ORDER BY or DISTINCT among their arguments, and ordered-set aggregates.
\getenv dir PG_ABS_SRCDIR
\set schema batch_ordered_aggregates
\set start :dir '/sql/include/start.sql'
\i :start
\set batch :dir '/sql/include/batch.sql'
\i :batch
CREATE TYPE pair AS (a int, b text);
SELECT twins($$CREATE TABLE t (id int, g int, k text, i4 int, f8 float8, n numeric, d numeric(12,3), b bool, ip inet, p pair, iv interval)$$);
CREATE FUNCTION fill(first int, last int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM twins(format('INSERT INTO t SELECT i, i %% 7, CASE WHEN i %% 11 > 0 THEN ''k'' || i * 37 %% 19 END, CASE WHEN i %% 13 > 0 THEN i * 37 %% 1001 - 300 END, CASE i %% 17 WHEN 0 THEN NULL WHEN 1 THEN ''NaN'' WHEN 2 THEN -0.0 WHEN 3 THEN 0.0 ELSE i * 37 %% 101 / 8.0 END,
        CASE i %% 6 WHEN 0 THEN NULL WHEN 1 THEN i %% 10 WHEN 2 THEN (i %% 10)::numeric(9,3) ELSE -i * 1.50 END, i * 37 %% 1000 * 1.125 - 500, CASE i %% 4 WHEN 0 THEN NULL WHEN 1 THEN true ELSE i %% 8 = 2 END, CASE WHEN i %% 9 > 0 THEN (''10.'' || i %% 3 || ''.'' || i %% 25 || ''.1/16'')::inet END,
        CASE WHEN i %% 10 > 0 THEN ROW(i %% 8, ''p'' || i %% 3)::pair END, i * 37 %% 20 * interval ''1 day'' FROM generate_series(%s, %s) i', first, last));
END $$;
SELECT fill(1, 1000);
SET pgcolumnar.bulk_threshold = 1000000;
SELECT fill(1001, 1200);
SET pgcolumnar.bulk_threshold = 0;
SELECT twins('DELETE FROM t WHERE id % 31 = 0');
ANALYZE t; ANALYZE batch_ordered_aggregates_heap.t;
EXPLAIN (COSTS OFF, VERBOSE) SELECT g, string_agg(k, ',' ORDER BY id DESC), count(DISTINCT ip), percentile_cont(0.5) WITHIN GROUP (ORDER BY f8) FROM t GROUP BY g;

-- one after the other: ungrouped, grouped by few and by many, of nothing, filtered, mixed with others, in HAVING
CREATE TABLE calls (call text) USING heap;
INSERT INTO calls SELECT unnest(ARRAY['string_agg(k, '','' ORDER BY id)', 'string_agg(k, '','' ORDER BY k DESC NULLS LAST, id)', 'string_agg(DISTINCT k, ''-'')', 'string_agg(DISTINCT k, '','' ORDER BY k DESC)', 'string_agg(upper(k), id::text ORDER BY i4 NULLS FIRST, id)', 'array_agg(id ORDER BY f8, id)', 'array_agg(f8 ORDER BY f8 DESC NULLS LAST, id)', 'array_agg(DISTINCT i4 % 10)', 'array_agg(DISTINCT b)', 'array_agg(DISTINCT f8)',
    'array_agg(DISTINCT trim_scale(n))', 'array_agg(DISTINCT p)', 'array_agg(DISTINCT p ORDER BY p DESC)', 'array_agg(p ORDER BY p, id)', 'array_agg(k ORDER BY k COLLATE "C" DESC, id)', 'array_agg(iv ORDER BY iv, id)', 'array_agg(NULL::int ORDER BY id)', 'array_agg(id ORDER BY (SELECT -id))', 'jsonb_agg(DISTINCT k)', 'jsonb_agg(k ORDER BY id DESC)', 'json_object_agg(id, k ORDER BY id DESC)', 'count(DISTINCT ip)', 'count(DISTINCT trim_scale(n))', 'count(DISTINCT (k, b))', 'sum(DISTINCT trim_scale(n))', 'sum(i4 ORDER BY id)', 'sum(n ORDER BY n)', 'avg(DISTINCT i4 ORDER BY i4)', 'max(ip ORDER BY id)', 'min(DISTINCT k ORDER BY k)', 'bool_or(b ORDER BY id)', 'corr(id, i4 ORDER BY id)', 'corr(DISTINCT id, i4)',
    'percentile_cont(0.5) WITHIN GROUP (ORDER BY f8)', 'percentile_cont(0.3) WITHIN GROUP (ORDER BY i4 DESC)', 'percentile_cont(0.25) WITHIN GROUP (ORDER BY iv)', 'percentile_cont(ARRAY[0, 0.5, NULL, 1]) WITHIN GROUP (ORDER BY i4)', 'percentile_disc(0.5) WITHIN GROUP (ORDER BY k)', 'percentile_disc(0.9) WITHIN GROUP (ORDER BY n)', 'percentile_disc(ARRAY[[0, 0.1], [0.9, 1]]) WITHIN GROUP (ORDER BY d)', 'percentile_disc(0.5) WITHIN GROUP (ORDER BY p)', 'percentile_disc(NULL) WITHIN GROUP (ORDER BY d)', 'mode() WITHIN GROUP (ORDER BY k)', 'mode() WITHIN GROUP (ORDER BY i4 % 5 DESC)', 'rank(5) WITHIN GROUP (ORDER BY i4)', 'rank(NULL) WITHIN GROUP (ORDER BY i4 NULLS FIRST)', 'dense_rank(''k3'', 10) WITHIN GROUP (ORDER BY k DESC, i4)', 'percent_rank(0.5) WITHIN GROUP (ORDER BY f8)', 'cume_dist(1.5) WITHIN GROUP (ORDER BY n DESC)']);
SELECT call, left(s, 300) FROM calls, LATERAL same('SELECT ' || call || ' FROM t') s WHERE s <> '1 rows';
SELECT call, left(s, 300) FROM calls, LATERAL same('SELECT g, ' || call || ' FROM t GROUP BY g') s WHERE s <> '7 rows';
SELECT call, left(s, 300) FROM calls, LATERAL same('SELECT id % 400 AS h, ' || call || ' FROM t GROUP BY 1') s WHERE s <> '400 rows';
SELECT call, left(s, 300) FROM calls, LATERAL same('SELECT ' || call || ' FROM t WHERE id < 0') s WHERE s <> '1 rows';
SELECT call, left(s, 300) FROM calls, LATERAL same('SELECT k, b, ' || call || ', count(*), max(id), avg(d), min(ip) FROM t WHERE i4 > 0 GROUP BY k, b') s WHERE s <> '60 rows';
SELECT call, left(s, 300) FROM calls, LATERAL same('SELECT g + 1, ' || call || ' FILTER (WHERE b), ' || call || ' FILTER (WHERE id < 0 OR k LIKE ''k1%''), ' || call || ' FILTER (WHERE NULL) FROM t GROUP BY g + 1') s WHERE s <> '7 rows';
SELECT call, left(s, 300) FROM calls, LATERAL same('SELECT g FROM t GROUP BY g HAVING ' || call || ' IS NOT NULL') s WHERE s LIKE 'DIFFERENT%' OR s LIKE 'error%';
SELECT call, nodes FROM calls, LATERAL nodes('SELECT g, ' || call || ' FROM t GROUP BY g') nodes WHERE nodes <> 'ColumnarAgg';
-- top N, expressions over results, DISTINCT on both sides
SELECT same('SELECT g, array_agg(id ORDER BY id DESC) FROM t GROUP BY g ORDER BY count(*) DESC, g LIMIT 3', true), same('SELECT k, percentile_disc(0.5) WITHIN GROUP (ORDER BY id) AS m FROM t GROUP BY k ORDER BY m DESC NULLS LAST, k LIMIT 4', true), nodes('SELECT k, percentile_disc(0.5) WITHIN GROUP (ORDER BY id) AS m FROM t GROUP BY k ORDER BY m DESC NULLS LAST, k LIMIT 4');
SELECT all_same('SELECT length(string_agg(k, '','' ORDER BY id)) + count(*), mode() WITHIN GROUP (ORDER BY g) * 2 FROM t GROUP BY b', 'SELECT DISTINCT array_agg(DISTINCT b) FROM t GROUP BY id', 'SELECT max(s) FROM (SELECT g, string_agg(k, '','' ORDER BY k) AS s FROM t GROUP BY g) q', 'SELECT string_agg(k, '','' ORDER BY id), string_agg(k, '','' ORDER BY id DESC), string_agg(DISTINCT k, '',''), string_agg(k, '','' ORDER BY k, id) FROM t GROUP BY g');
-- collations: order and equality are theirs
CREATE COLLATION ignores_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
SELECT all_same('SELECT g, array_agg(DISTINCT upper(k) COLLATE ignores_case) FROM t GROUP BY g', 'SELECT g, count(DISTINCT (CASE WHEN id % 2 = 0 THEN upper(k) ELSE k END) COLLATE ignores_case) FROM t GROUP BY g', 'SELECT g, array_agg(k ORDER BY k COLLATE "en-x-icu", id) FROM t GROUP BY g', 'SELECT g, percentile_disc(0.5) WITHIN GROUP (ORDER BY k COLLATE "en-x-icu") FROM t GROUP BY g');
-- of users
CREATE AGGREGATE middle(float8 ORDER BY anyelement) (SFUNC = ordered_set_transition, STYPE = internal, FINALFUNC = percentile_disc_final, FINALFUNC_EXTRA);
CREATE AGGREGATE place(VARIADIC "any" ORDER BY VARIADIC "any") (SFUNC = ordered_set_transition_multi, STYPE = internal, FINALFUNC = rank_final, FINALFUNC_EXTRA, HYPOTHETICAL);
CREATE FUNCTION chain(text, int, int) RETURNS text LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN coalesce($1, ''<'') || coalesce($2, 0) || '':'' || coalesce($3, 0) || ''>''; END';
CREATE AGGREGATE chained(int, int) (SFUNC = chain, STYPE = text, INITCOND = 'from ');
CREATE FUNCTION chain_strict(text, int) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT AS 'BEGIN RETURN CASE WHEN length($1) < 400 THEN $1 || $2 END; END';
CREATE AGGREGATE chained_strict(int) (SFUNC = chain_strict, STYPE = text, INITCOND = '=');
CREATE AGGREGATE least_strict(int) (SFUNC = int4smaller, STYPE = int);
CREATE FUNCTION fails(int, int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN IF $2 = 700 THEN RAISE EXCEPTION ''at %'', $2 USING ERRCODE = ''P0003''; END IF; RETURN $2; END';
CREATE AGGREGATE failing(int) (SFUNC = fails, STYPE = int);
SELECT all_same('SELECT g, middle(0.4) WITHIN GROUP (ORDER BY k), place(3, ''k2'') WITHIN GROUP (ORDER BY i4, k) FROM t GROUP BY g', 'SELECT g, chained(i4, id ORDER BY id DESC), chained(DISTINCT i4 % 3, id % 2), chained_strict(i4 ORDER BY id), chained_strict(DISTINCT i4 % 10), least_strict(i4 ORDER BY id), least_strict(DISTINCT i4) FILTER (WHERE i4 > 50) FROM t GROUP BY g', 'SELECT chained_strict(i4 ORDER BY id) FROM t WHERE i4 IS NULL');
-- errors, after which the session goes on
SELECT same('SELECT g, failing(id ORDER BY id) FROM t GROUP BY g'), same('SELECT g, percentile_cont(1.5) WITHIN GROUP (ORDER BY f8) FROM t GROUP BY g'), same('SELECT array_agg(1 / (id - 500) ORDER BY id) FROM t'), same('SELECT array_agg(id ORDER BY 1 / (id - 500)) FROM t'), same('SELECT g, count(DISTINCT array_agg(id)) FROM t GROUP BY g');
BEGIN; SAVEPOINT s; SELECT g, failing(id ORDER BY id), string_agg(k, ',' ORDER BY k) FROM t GROUP BY g; ROLLBACK TO s; SELECT failing(id ORDER BY id DESC), count(*) FROM t WHERE id < 10; COMMIT;
-- direct arguments: parameters and expressions of them, also where the node is started over; those that vary are core's
PREPARE q(float8, int) AS SELECT g, percentile_disc($1 / 2) WITHIN GROUP (ORDER BY d), rank($2) WITHIN GROUP (ORDER BY i4) FROM t GROUP BY g;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE q(1, 5);
CREATE TEMP TABLE one USING heap AS EXECUTE q(1, 5);
CREATE TEMP TABLE two USING heap AS EXECUTE q(NULL, NULL);
RESET plan_cache_mode;
SELECT twins('CREATE VIEW v AS SELECT g, percentile_disc(0.5) WITHIN GROUP (ORDER BY d), rank(5) WITHIN GROUP (ORDER BY i4) FROM t GROUP BY g');
SELECT differences('one', 'batch_ordered_aggregates_heap.v');
SELECT count(*), count(percentile_disc), count(rank) FROM two;
SELECT all_same('SELECT z, (SELECT string_agg(k, '','' ORDER BY id) FROM t WHERE g = z) FROM generate_series(0, 8) z', 'SELECT z, (SELECT percentile_cont(z / 10.0) WITHIN GROUP (ORDER BY f8) FROM t WHERE g = z) FROM generate_series(0, 8) z', 'SELECT z, s.* FROM generate_series(1, 4) z, LATERAL (SELECT b, array_agg(id * z ORDER BY id % z, id), rank(z) WITHIN GROUP (ORDER BY g) FROM t WHERE id % 4 < z GROUP BY b) s', 'SELECT g, percentile_disc(g / 10.0) WITHIN GROUP (ORDER BY i4) FROM t GROUP BY g', 'SELECT g, percentile_disc((SELECT 0.5)) WITHIN GROUP (ORDER BY i4) FROM t GROUP BY g');
SELECT nodes('SELECT g, percentile_disc(g / 10.0) WITHIN GROUP (ORDER BY i4) FROM t GROUP BY g'), nodes('SELECT g, percentile_disc(random()) WITHIN GROUP (ORDER BY i4) FROM t GROUP BY g'), nodes('SELECT g, percentile_disc((SELECT 0.5)) WITHIN GROUP (ORDER BY i4) FROM t GROUP BY g');
-- cursors that are closed early, and limits
BEGIN; DECLARE c CURSOR FOR SELECT id, string_agg(k, ',' ORDER BY k), mode() WITHIN GROUP (ORDER BY g) FROM t GROUP BY id; FETCH 0 FROM c; MOVE 2 IN c; CLOSE c; DECLARE c CURSOR FOR SELECT id, array_agg(i4 ORDER BY id) FROM t GROUP BY id; MOVE 5 IN c; COMMIT;
SELECT count(*) FROM (SELECT id, array_agg(k ORDER BY k) FROM t GROUP BY id LIMIT 10) s;
-- sorts on files, and results that outgrow memory: passes over some of the groups each
SET client_min_messages = warning;
SELECT twins('CREATE TABLE many (a int, b text, d int)');
SET pgcolumnar.row_group_rows = 8192; SET pgcolumnar.vector_rows = 1024;
SELECT twins($$INSERT INTO many SELECT i * 7 % 9000, 'value ' || md5((i % 7000)::text), i FROM generate_series(1, 40000) i$$);
ANALYZE many; ANALYZE batch_ordered_aggregates_heap.many;
SET work_mem = '64kB'; SET hash_mem_multiplier = 1;
SELECT counted('Passes', 'SELECT a, string_agg(b, '','' ORDER BY b) FROM many GROUP BY a') > 1 AS passes, counted('Passes', 'SELECT a, percentile_disc(0.5) WITHIN GROUP (ORDER BY d) FROM many GROUP BY a') IS NULL AS one;
SELECT all_same('SELECT a, string_agg(b, '','' ORDER BY b) FROM many GROUP BY a', 'SELECT a, array_agg(DISTINCT b), string_agg(b, '','' ORDER BY d DESC), max(d) FROM many GROUP BY a', 'SELECT a, percentile_disc(0.5) WITHIN GROUP (ORDER BY d), mode() WITHIN GROUP (ORDER BY b) FROM many GROUP BY a', 'SELECT percentile_disc(ARRAY[0.1, 0.9]) WITHIN GROUP (ORDER BY b), count(DISTINCT b COLLATE "en-x-icu") FROM many', 'SELECT b, array_agg(d ORDER BY d) FROM many GROUP BY b');
SELECT same('SELECT a, string_agg(b, '','' ORDER BY b) AS s, count(*) FROM many GROUP BY a ORDER BY count(*) DESC, a LIMIT 20', true), same('SELECT count(*) FROM (SELECT a, string_agg(b, '','' ORDER BY b) FROM many GROUP BY a LIMIT 10) s');
SELECT count(*) FROM pg_ls_tmpdir() WHERE name LIKE 'pgsql_tmp' || pg_backend_pid() || '.%';
DROP SCHEMA batch_ordered_aggregates, batch_ordered_aggregates_heap CASCADE;
