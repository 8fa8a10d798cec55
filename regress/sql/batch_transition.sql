-- ColumnarAgg: aggregates that no kernel folds, by their transition functions.
\getenv dir PG_ABS_SRCDIR
\set schema batch_transition
\set start :dir '/sql/include/start.sql'
\i :start
\set batch :dir '/sql/include/batch.sql'
\i :batch
-- Core's hashed aggregation takes rows in the order of the table, as batches do: lists of elements are compared as they are.
SET enable_sort = off;
CREATE TYPE mood AS ENUM ('low', 'mid', 'high');
CREATE TYPE pair AS (a int, b text);
SELECT twins($$CREATE TABLE t (id int, g int, k text, i4 int, i8 bigint, f4 real, f8 float8, n numeric, d numeric(12,3), b bool, t text, ip inet, a int[], m mood, mo money, iv interval, p pair, j jsonb, x xml, y bytea, w bit(8), r int4range)$$);
CREATE FUNCTION fill(first int, last int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM twins(format('INSERT INTO t SELECT i, i %% 7, CASE WHEN i %% 11 > 0 THEN ''k'' || i %% 5 END, CASE WHEN i %% 13 > 0 THEN i * 37 - 30000 END, i * 4503599627370497, CASE WHEN i %% 5 > 0 THEN i / 4.0 END, CASE WHEN i %% 3 > 0 THEN i / 8.0 - 100 END,
        CASE i %% 6 WHEN 0 THEN NULL WHEN 1 THEN i WHEN 2 THEN i / 3.0 WHEN 3 THEN i * 1e20 ELSE -i * 1.50 END, i * 1.125 - 500, CASE i %% 4 WHEN 0 THEN NULL WHEN 1 THEN true ELSE i %% 8 = 2 END,
        CASE WHEN i %% 17 > 0 THEN repeat(''t'' || i %% 50, i %% 9) END, CASE WHEN i %% 9 > 0 THEN (''10.'' || i %% 3 || ''.'' || i %% 250 || ''.1/'' || 16 + i %% 16)::inet END, CASE WHEN i %% 8 > 0 THEN ARRAY[i, NULL, i %% 10] END, (enum_range(NULL::mood))[1 + i %% 3],
        (i * 1.25)::numeric::money, i %% 20 * interval ''1 day'', CASE WHEN i %% 10 > 0 THEN ROW(i, ''p'' || i)::pair END, CASE WHEN i %% 7 > 0 THEN jsonb_build_object(''i'', i, ''l'', ARRAY[i, 2]) END, (''<e>'' || i || ''</e>'')::xml, decode(md5(i::text), ''hex''), (i %% 256)::bit(8), int4range(i, i + i %% 5)
        FROM generate_series(%s, %s) i', first, last));
END $$;
SELECT fill(1, 1400);
-- Rows of heap may go to earlier pages where there is room.
CREATE INDEX by_id ON batch_transition_heap.t (id); CLUSTER batch_transition_heap.t USING by_id; DROP INDEX batch_transition_heap.by_id;
-- Rows on row pages, then in row groups, as the reader takes them.
SELECT twins('CREATE TABLE u (id int, g int, k text)');
SET pgcolumnar.bulk_threshold = 1000000;
SELECT twins('INSERT INTO u SELECT i, i % 7, ''k'' || i % 5 FROM generate_series(1, 200) i');
SET pgcolumnar.bulk_threshold = 0;
SELECT twins('INSERT INTO u SELECT i, i % 7, ''k'' || i % 5 FROM generate_series(201, 900) i');
ANALYZE t; ANALYZE batch_transition_heap.t; ANALYZE u; ANALYZE batch_transition_heap.u;

EXPLAIN (COSTS OFF, VERBOSE) SELECT g, string_agg(k, ','), count(*), min(ip) FILTER (WHERE b), sum(n) FROM t WHERE id > 100 GROUP BY g HAVING count(DISTINCT k) > 3;

-- one after the other: ungrouped, grouped, of nothing, filtered, mixed with aggregates of kernels, in HAVING
CREATE TABLE calls (call text) USING heap;
INSERT INTO calls SELECT unnest(ARRAY['string_agg(k, '','')', 'string_agg(k, t)', 'string_agg(y, ''\x00''::bytea)', 'string_agg(upper(k) || id, NULL)', 'array_agg(id)', 'array_agg(k)', 'array_agg(a) FILTER (WHERE a IS NOT NULL)', 'array_agg(p)', 'array_agg(i4 + 1)', 'array_agg(md5(t))', 'array_agg(f4)', 'array_agg(d)', 'array_agg(n)', 'array_agg(m)', 'array_agg(NULL::int)', 'array_agg(5)', 'array_agg(ROW(id, k)::pair)', 'array_agg(t.*::text)',
    'json_agg(k)', 'json_agg(p)', 'jsonb_agg(j)', 'jsonb_agg(t.*)', 'jsonb_agg(ROW(id, k))', 'json_object_agg(id, k)', 'jsonb_object_agg(''k'' || id % 50, i4)', 'jsonb_object_agg(k, id) FILTER (WHERE k IS NOT NULL)', 'xmlagg(x)::text', 'bit_and(w)', 'bit_or(w)', 'bit_xor(w)', 'range_agg(r)', 'range_intersect_agg(r)',
    'min(ip)', 'max(ip)', 'min(a)', 'max(a)', 'min(m)', 'max(m)', 'min(n)', 'max(n)', 'min(k COLLATE "en-x-icu")', 'sum(mo)', 'sum(n)', 'avg(n)', 'sum(iv)', 'avg(iv)', 'max(iv)', 'stddev(n)', 'var_pop(i8)', 'variance(d)', 'sum(d * n)', 'count(*)', 'sum(i4)',
    'regr_slope(f8, i4)', 'regr_intercept(f8, i4)', 'regr_r2(f8, f4)', 'regr_count(f8, f4)', 'regr_avgx(f4, f8)', 'regr_sxy(f8, f4)', 'corr(f8, f4)', 'covar_pop(f8, id)', 'covar_samp(f8, id)']);
SELECT call, left(s, 300) FROM calls, LATERAL same('SELECT ' || call || ' FROM t') s WHERE s <> '1 rows';
SELECT call, left(s, 300) FROM calls, LATERAL same('SELECT g, ' || call || ' FROM t GROUP BY g') s WHERE s <> '7 rows';
SELECT call, left(s, 300) FROM calls, LATERAL same('SELECT ' || call || ' FROM t WHERE id < 0') s WHERE s <> '1 rows';
SELECT call, left(s, 300) FROM calls, LATERAL same('SELECT k, b, ' || call || ', count(*), max(id) FROM t WHERE i4 > 0 GROUP BY k, b') s WHERE s <> '18 rows';
SELECT call, left(s, 300) FROM calls, LATERAL same('SELECT g + 1, ' || call || ' FILTER (WHERE b), avg(d), ' || call || ' FILTER (WHERE id < 0 OR k LIKE ''k3%''), ' || call || ' FILTER (WHERE NULL) FROM t GROUP BY g + 1') s WHERE s <> '7 rows' AND call NOT LIKE '%FILTER%' AND call NOT LIKE '%::text';
SELECT call, left(s, 300) FROM calls, LATERAL same('SELECT g FROM t GROUP BY g HAVING ' || call || ' IS NOT NULL') s WHERE s LIKE 'DIFFERENT%' OR s LIKE 'error%';
SELECT call, left(s, 300) FROM calls, LATERAL same('SELECT id, ' || call || ' FROM t GROUP BY id') s WHERE s <> '1400 rows';
SELECT call, nodes FROM calls, LATERAL nodes('SELECT g, ' || call || ' FROM t GROUP BY g') nodes WHERE nodes <> 'ColumnarAgg';
-- keys of many kinds
SELECT left(all_same('SELECT array_agg(id) FROM u', 'SELECT g, string_agg(k || id, '','') FROM u GROUP BY g', 'SELECT b, m, string_agg(k, '','') FROM t GROUP BY b, m', 'SELECT g % 2, i4 > 0, array_agg(id) FROM t GROUP BY 1, 2', 'SELECT 1 AS one, array_agg(id) FROM t GROUP BY one', 'SELECT upper(k), string_agg(k, '''') FROM t GROUP BY 1', 'SELECT d, min(ip) FROM t GROUP BY d', 'SELECT f4, f8, array_agg(id) FROM t GROUP BY f4, f8', 'SELECT g, g + 1, g * 2, jsonb_agg(id) FROM t GROUP BY 1, 2, 3', 'SELECT y, array_agg(k) FROM t GROUP BY y', 'SELECT substr(k, 2), g, b, count(DISTINCT i4), sum(DISTINCT id % 10), cardinality(array_agg(id)) FROM t GROUP BY 1, 2, 3'), 2000);
-- top N, HAVING, expressions over results
SELECT same('SELECT g, array_agg(id) FROM t GROUP BY g ORDER BY count(*) DESC, g LIMIT 3', true), same('SELECT k, min(ip), count(*) FROM t GROUP BY k ORDER BY min(ip), k LIMIT 4', true), same('SELECT id % 100 AS h, string_agg(k, '','') FROM t GROUP BY h HAVING string_agg(k, '','') LIKE ''k1%'' ORDER BY h DESC LIMIT 5 OFFSET 2', true), nodes('SELECT k, min(ip), count(*) FROM t GROUP BY k ORDER BY min(ip), k LIMIT 4');
SELECT left(all_same('SELECT length(string_agg(k, '',''))  + count(*), cardinality(array_agg(id)) / sum(g) FROM t WHERE g > 0 GROUP BY b', 'SELECT string_agg(k, '','') || string_agg(k, '','') FROM t', 'SELECT CASE WHEN count(*) > 100 THEN corr(f8, f4) END, regr_slope(f8, f4), regr_intercept(f8, f4) FROM t GROUP BY g', 'SELECT max(s) FROM (SELECT g, string_agg(k, '','') AS s FROM t GROUP BY g) q'), 2000);
-- with an order, and one that is volatile
SELECT call, same('SELECT g, ' || call || ' FROM t GROUP BY g'), nodes('SELECT g, ' || call || ' FROM t GROUP BY g') FROM unnest(ARRAY['string_agg(k, '','' ORDER BY id)', 'array_agg(DISTINCT k)', 'percentile_disc(0.5) WITHIN GROUP (ORDER BY i4)', 'mode() WITHIN GROUP (ORDER BY k)', 'rank(5) WITHIN GROUP (ORDER BY id)', 'count(DISTINCT ip)', 'sum(DISTINCT f8)', 'array_agg(id + (random() * 0)::int)']) call;

-- of users: SQL and PL/pgSQL, strict or not, with and without initial values, states by reference, final functions
SET check_function_bodies = on;
CREATE FUNCTION add_strict(int, int) RETURNS int LANGUAGE sql IMMUTABLE STRICT AS 'SELECT $1 + $2';
CREATE AGGREGATE sum_strict(int) (SFUNC = add_strict, STYPE = int);
CREATE AGGREGATE sum_from(int) (SFUNC = add_strict, STYPE = int, INITCOND = '1000');
CREATE FUNCTION add_loose(int, int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN coalesce($1, -1) + coalesce($2, 100); END';
CREATE AGGREGATE sum_loose(int) (SFUNC = add_loose, STYPE = int);
CREATE FUNCTION forget(int, int) RETURNS int LANGUAGE sql IMMUTABLE STRICT AS 'SELECT CASE WHEN $2 % 5 <> 0 THEN $1 + $2 END';
CREATE AGGREGATE sum_forgetting(int) (SFUNC = forget, STYPE = int);
CREATE FUNCTION join_text(text, text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN CASE WHEN length($1) > 2000 THEN NULL WHEN $2 IS NULL THEN $1 ELSE coalesce($1, '''') || $2 END; END';
CREATE AGGREGATE joined(text) (SFUNC = join_text, STYPE = text, INITCOND = 'begin:');
CREATE FUNCTION longest(text, text) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS 'SELECT CASE WHEN length($1) >= length($2) THEN $1 ELSE $2 END';
CREATE AGGREGATE longest(text) (SFUNC = longest, STYPE = text);
CREATE AGGREGATE appended(anycompatible) (SFUNC = array_append, STYPE = anycompatiblearray, INITCOND = '{}');
CREATE AGGREGATE appended_null(anycompatible) (SFUNC = array_append, STYPE = anycompatiblearray);
CREATE FUNCTION grow_array(int[], int) RETURNS int[] LANGUAGE plpgsql IMMUTABLE AS 'BEGIN $1[coalesce(cardinality($1), 0) + 1] := $2; RETURN $1; END';
CREATE FUNCTION last_of(int[], int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1[cardinality($1)] + coalesce($2, 7); END';
CREATE AGGREGATE grown(int) (SFUNC = grow_array, STYPE = int[]);
CREATE AGGREGATE last_grown(int) (SFUNC = grow_array, STYPE = int[], FINALFUNC = last_of, FINALFUNC_EXTRA);
CREATE FUNCTION never(int[], int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 1';
CREATE AGGREGATE never(int) (SFUNC = grow_array, STYPE = int[], FINALFUNC = never, FINALFUNC_EXTRA);
ALTER FUNCTION never(int[], int) STRICT;
CREATE FUNCTION type_of(state anycompatiblearray, value anycompatible) RETURNS text LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN pg_typeof(state) || '' '' || pg_typeof(value) || '' '' || state::text; END';
CREATE AGGREGATE typed(anycompatible) (SFUNC = array_append, STYPE = anycompatiblearray, FINALFUNC = type_of, FINALFUNC_EXTRA, INITCOND = '{}');
CREATE FUNCTION sum_all(bigint, VARIADIC int[]) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT coalesce($1, 0) + coalesce((SELECT sum(v) FROM unnest($2) v), 0)';
CREATE AGGREGATE sum_all(VARIADIC int[]) (SFUNC = sum_all, STYPE = bigint);
CREATE FUNCTION tick(bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT coalesce($1, 0) + 2';
CREATE AGGREGATE ticks(*) (SFUNC = tick, STYPE = bigint);
CREATE FUNCTION collected(pair, int, text) RETURNS pair LANGUAGE sql IMMUTABLE AS 'SELECT ROW(coalesce(($1).a, 0) + $2, coalesce(($1).b, '''') || $3)::pair';
CREATE AGGREGATE collected(int, text) (SFUNC = collected, STYPE = pair);
CREATE FUNCTION fails(int, int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN IF $2 = 700 THEN RAISE EXCEPTION ''at %'', $2 USING ERRCODE = ''P0003''; END IF; RETURN $2; END';
CREATE AGGREGATE failing(int) (SFUNC = fails, STYPE = int);
CREATE FUNCTION catches(int, int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1 + 10 / ($2 % 3); EXCEPTION WHEN division_by_zero THEN RETURN $1 + 1; END';
CREATE AGGREGATE catching(int) (SFUNC = catches, STYPE = int, INITCOND = '0');
CREATE AGGREGATE divided(int) (SFUNC = add_loose, STYPE = int, FINALFUNC = int4um);
CREATE AGGREGATE smallest(ip inet) (SFUNC = network_smaller, STYPE = inet, SORTOP = <);
CREATE FUNCTION under(text, text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT AS 'BEGIN RETURN CASE WHEN $1 < $2 THEN $1 ELSE $2 END; END';
CREATE AGGREGATE least_text(text) (SFUNC = under, STYPE = text);
TRUNCATE calls;
INSERT INTO calls SELECT unnest(ARRAY['sum_strict(i4)', 'sum_from(i4)', 'sum_loose(i4)', 'sum_forgetting(i4)', 'joined(k)', 'longest(t)', 'longest(k || id)', 'appended(id)', 'appended(k)', 'appended(i4) FILTER (WHERE b)', 'appended_null(d)', 'grown(i4)', 'last_grown(id)', 'never(id)', 'typed(i4)', 'typed(k)', 'sum_all(i4, g)', 'sum_all(g)', 'sum_all(VARIADIC a)', 'ticks(*)', 'ticks(*) FILTER (WHERE i4 > 0)', 'collected(id, k)', 'catching(id)', 'divided(id)', 'smallest(ip)', 'least_text(k)', 'least_text(upper(k) COLLATE "C")', 'typed(p)', 'typed(d + 1)', 'joined(NULL)', 'longest(''x'')']);
SELECT call, left(s, 300) FROM calls, LATERAL same('SELECT ' || call || ' FROM t') s WHERE s <> '1 rows';
SELECT call, left(s, 300) FROM calls, LATERAL same('SELECT g, ' || call || ', count(*), ' || call || ' FROM t GROUP BY g') s WHERE s <> '7 rows';
SELECT call, left(s, 300) FROM calls, LATERAL same('SELECT ' || call || ' FROM t WHERE id < 0') s WHERE s <> '1 rows';
SELECT call, left(s, 300) FROM calls, LATERAL same('SELECT id % 300, ' || call || ', sum(i4), string_agg(k, call) FROM t, (SELECT ''-'' AS call OFFSET 0) c GROUP BY 1') s WHERE s <> '300 rows';
SELECT call, left(s, 300) FROM calls, LATERAL same('SELECT k, b, ' || call || ', max(id) FROM t WHERE i4 > 0 GROUP BY k, b ORDER BY max(id) LIMIT 9', true) s WHERE s <> '9 rows';
SELECT call, nodes FROM calls, LATERAL nodes('SELECT g, ' || call || ' FROM t GROUP BY g') nodes WHERE nodes <> 'ColumnarAgg';
SELECT same('SELECT failing(id) FROM t'), same('SELECT g, failing(id) FROM t GROUP BY g'), same('SELECT failing(id) FILTER (WHERE id <> 700) FROM t'), same('SELECT string_agg((1 / (id - 500))::text, '','') FROM t'), same('SELECT g, sum_strict(i4 * 100000) FROM t GROUP BY g'), same('SELECT json_object_agg(k, 1) FROM t') LIKE 'error 22%' AS fails;
-- after an error the session goes on
BEGIN; SAVEPOINT s; SELECT g, failing(id), string_agg(k, ',') FROM t GROUP BY g; ROLLBACK TO s; SELECT failing(id), count(*) FROM t WHERE id < 10; COMMIT;

-- volatile functions: called once a row, in order
CREATE SEQUENCE seen;
CREATE FUNCTION note(bigint, int) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN PERFORM nextval(''seen''); RETURN coalesce($1, 0) * 3 % 1000003 + $2; END';
CREATE AGGREGATE noted(int) (SFUNC = note, STYPE = bigint);
SELECT same('SELECT noted(id) FROM t'), same('SELECT g, noted(id), array_agg(id) FROM t GROUP BY g'), nodes('SELECT g, noted(id) FROM t GROUP BY g');
SELECT setval('seen', 1);
SELECT g, noted(id) > 0 AS noted FROM t WHERE g < 2 GROUP BY g ORDER BY g;
SELECT nextval('seen') - 2 = count(*) AS once FROM t WHERE g < 2;

-- parameters in arguments, generic plans; nodes that are started over
PREPARE q(text, int) AS SELECT g, string_agg(k || $1, $1), array_agg(i4 + $2) FILTER (WHERE id > $2) FROM t GROUP BY g;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE q('-', 5);
CREATE TEMP TABLE one USING heap AS EXECUTE q('-', 5);
CREATE TEMP TABLE two USING heap AS EXECUTE q(NULL, 1000);
RESET plan_cache_mode;
SELECT twins('CREATE VIEW v AS SELECT g, string_agg(k || ''-'', ''-'') AS s, array_agg(i4 + 5) FILTER (WHERE id > 5) AS a FROM t GROUP BY g');
SELECT differences('one', 'batch_transition_heap.v');
SELECT count(*), count(string_agg), sum(cardinality(array_agg)) FROM two;
SELECT left(all_same('SELECT z, (SELECT string_agg(k || z, '','') FROM t WHERE g = z) FROM generate_series(0, 8) z', 'SELECT z, s.* FROM generate_series(1, 4) z, LATERAL (SELECT b, array_agg(id * z), min(ip) FROM t WHERE id % 4 < z GROUP BY b) s', 'SELECT z, s.* FROM generate_series(1, 3) z LEFT JOIN LATERAL (SELECT appended(id + z), grown(z + g) FROM t WHERE id < z * 3) s ON true', 'SELECT g, string_agg((SELECT x.k FROM t x WHERE x.id = t.id), '','') FROM t GROUP BY g', 'SELECT g, string_agg((SELECT max(k) FROM t), '','') FROM t GROUP BY g', 'SELECT (SELECT string_agg(t.k, '','')) FROM t'), 2000);
-- cursors that are closed early, and limits
BEGIN; DECLARE c CURSOR FOR SELECT id, string_agg(k, ','), grown(id) FROM t GROUP BY id; FETCH 2 FROM c; CLOSE c; DECLARE c CURSOR FOR SELECT id, array_agg(i4), typed(id) FROM t GROUP BY id; MOVE 5 IN c; COMMIT;
SELECT count(*) FROM (SELECT id, appended(k) FROM t GROUP BY id LIMIT 10) s;
-- final functions are called for no group beyond a limit
CREATE FUNCTION final_fails(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN IF $1 = 30 THEN RAISE EXCEPTION ''final''; END IF; RETURN $1; END';
CREATE AGGREGATE final_failing(int) (SFUNC = int4larger, STYPE = int, FINALFUNC = final_fails);
SELECT count(*) FROM (SELECT id, final_failing(id) FROM t GROUP BY id LIMIT 20) s;
SELECT same('SELECT id, final_failing(id) FROM t GROUP BY id');

-- permissions: on the aggregate for the user, on its functions for its owner
CREATE ROLE batch_transition_user;
GRANT USAGE ON SCHEMA batch_transition TO batch_transition_user; GRANT SELECT ON t TO batch_transition_user;
REVOKE EXECUTE ON FUNCTION sum_strict(int) FROM PUBLIC;
SET ROLE batch_transition_user;
SELECT sum_strict(i4) FROM t;
SELECT g, sum_from(i4) FROM t WHERE g = 1 GROUP BY g;
RESET ROLE;
ALTER AGGREGATE sum_from(int) OWNER TO batch_transition_user;
REVOKE EXECUTE ON FUNCTION add_strict(int, int) FROM PUBLIC;
SELECT sum_from(i4) FROM t;
ALTER AGGREGATE last_grown(int) OWNER TO batch_transition_user;
REVOKE EXECUTE ON FUNCTION last_of(int[], int) FROM PUBLIC;
SELECT g, last_grown(i4) FROM t GROUP BY g;
ALTER AGGREGATE sum_from(int) OWNER TO CURRENT_USER; ALTER AGGREGATE last_grown(int) OWNER TO CURRENT_USER;
REVOKE ALL ON SCHEMA batch_transition FROM batch_transition_user; REVOKE ALL ON t FROM batch_transition_user; DROP ROLE batch_transition_user;
-- a function that became strict: its aggregate has no value to begin with
CREATE FUNCTION widen(bigint, int) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT coalesce($1, 0) + $2';
CREATE AGGREGATE widened(int) (SFUNC = widen, STYPE = bigint);
SELECT same('SELECT widened(id) FROM t');
ALTER FUNCTION widen(bigint, int) STRICT;
SELECT same('SELECT widened(id) FROM t') LIKE 'error 42P13%' AS refused;

-- passes: states outgrow memory and cannot go to files
SELECT twins('CREATE TABLE many (a int, b text, c numeric(10,2), d int)');
SET pgcolumnar.row_group_rows = 4096; SET pgcolumnar.vector_rows = 1024;
SELECT twins($$INSERT INTO many SELECT i % 9000, CASE WHEN i % 100 > 0 THEN 'key ' || i % 7000 END, i / 100.0, i FROM generate_series(1, 27000) i$$);
SET work_mem = '64kB'; SET hash_mem_multiplier = 1;
SET enable_hashagg = off; SET enable_sort = on;
SELECT s > 4 AS passes FROM counted('Passes', 'SELECT a, count(*), string_agg(b, '','') FROM many GROUP BY a') s;
SELECT s > 4 AS passes FROM counted('Passes', 'SELECT b, a, array_agg(d), sum(c) FROM many GROUP BY b, a') s;
RESET enable_hashagg;
-- Core sorts, so that elements come in another order.
SELECT left(all_same('SELECT a, count(*), length(string_agg(b, '','')), sum(c), min(d) FROM many GROUP BY a', 'SELECT b, a, cardinality(array_agg(d)), count(*) FROM many GROUP BY b, a', 'SELECT b, count(DISTINCT a), array_length(array_agg(c), 1), max(d) FROM many GROUP BY b', 'SELECT a, length(string_agg(b, '','')) FROM many GROUP BY a HAVING max(d) > 26000 AND length(string_agg(b, '','')) > 5', 'SELECT d, array_agg(b), jsonb_agg(c) FROM many GROUP BY d', 'SELECT d % 5000, corr(d, a), sum(d::numeric), count(b) FROM many GROUP BY 1',
    'SELECT max(n) FROM (SELECT b, length(string_agg(b, '','')) AS n FROM many GROUP BY b) s', 'SELECT x, (SELECT sum(l) FROM (SELECT a, length(string_agg(b, '','')) AS l FROM many WHERE d > x * 5000 GROUP BY a) s) FROM generate_series(1, 3) x', 'SELECT a % 3, cardinality(array_agg(d)) FROM many GROUP BY 1', 'SELECT count(DISTINCT d), length(string_agg(b, '','')), sum(DISTINCT a) FROM many', 'SELECT a, b, c, d, array_agg(d), bool_and(d > 5) FROM many GROUP BY a, b, c, d'), 2000);
SELECT same('SELECT a, min(array[d]) FROM many GROUP BY a ORDER BY sum(c) DESC, a LIMIT 20', true), same('SELECT d, string_agg(b, '','') FROM many GROUP BY d ORDER BY 2, 1 OFFSET 100 LIMIT 5', true);
-- a volatile function is not called again: its states grow, or core aggregates
SELECT setval('seen', 1);
SELECT count(*), count(n), sum(length(l)) FROM (SELECT a % 200, noted(d) AS n, string_agg(b, ',') AS l FROM many GROUP BY 1) s;
SELECT nextval('seen') - 2;
SELECT nodes('SELECT d, noted(d), array_agg(b) FROM many GROUP BY d');
-- plans that end early or fail
BEGIN; DECLARE c CURSOR FOR SELECT d, string_agg(b, ','), array_agg(a) FROM many GROUP BY d; MOVE 5 IN c; COMMIT;
BEGIN; SAVEPOINT s; SELECT count(l) FROM (SELECT d, array_agg(1 / (d - 25000)) AS l FROM many GROUP BY d) s; ROLLBACK TO s; SELECT count(l) FROM (SELECT d, array_agg(a) AS l FROM many GROUP BY d) s; COMMIT;
RESET work_mem; RESET hash_mem_multiplier;

SELECT count(*) FILTER (WHERE nodes LIKE '%ColumnarAgg%' OR nodes LIKE '%ColumnarTopN%') * 10 >= count(*) * 9 AS enough FROM asked;
