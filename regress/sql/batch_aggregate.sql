-- ColumnarAgg: every aggregate it folds, over every type, grouped and not; and what it leaves to core.
\getenv dir PG_ABS_SRCDIR
\set schema batch_aggregate
\set start :dir '/sql/include/start.sql'
\i :start
\set batch :dir '/sql/include/batch.sql'
\i :batch
-- Rows on row pages, in groups, deleted and updated. Floats are sums of few powers of two: their sums are exact in any order.
SELECT twins($$CREATE TABLE t (id int, g int, i2 smallint, i4 int, i8 bigint, f4 real, f8 float8, n numeric, d numeric(12,3), b bool, t text, c text COLLATE "C", dt date, ts timestamp, tz timestamptz, tm time, iv interval, m money, o oid, u uuid, y bytea)$$);
CREATE FUNCTION fill(first int, last int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM twins(format('INSERT INTO t SELECT i, i %% 13, i %% 100 - 50, CASE WHEN i %% 11 > 0 THEN i * 37 - 30000 END, CASE WHEN i %% 17 > 0 THEN i * 4503599627370497 - 4e18::bigint END, CASE WHEN i %% 5 > 0 THEN i / 4.0 END, CASE WHEN i %% 3 > 0 THEN i / 8.0 - 100 END,
        CASE i %% 7 WHEN 0 THEN NULL WHEN 1 THEN i WHEN 2 THEN i / 3.0 WHEN 3 THEN i * 1e20 WHEN 4 THEN -i * 1.50 ELSE 0.000001 * i END, CASE WHEN i %% 19 > 0 THEN i * 1.125 - 500 END, CASE i %% 4 WHEN 0 THEN NULL WHEN 1 THEN true ELSE i %% 8 = 2 END,
        CASE WHEN i %% 23 > 0 THEN ''t'' || i %% 50 END, chr(65 + i %% 26) || i %% 3, date ''2024-02-27'' + i %% 40, timestamp ''2024-01-01'' + i * interval ''37 min'', timestamptz ''2024-01-01 00:00 UTC'' + i * interval ''3 h'', time ''00:00'' + i * interval ''1 min'', i %% 20 * interval ''1 day'' + i %% 3 * interval ''1 month'',
        (i * 1.25)::numeric::money, 4294967290 - i %% 50, md5((i %% 30)::text)::uuid, decode(md5((i %% 20)::text), ''hex'') FROM generate_series(%s, %s) i', first, last));
END $$;
SELECT fill(1, 1500);
SET pgcolumnar.bulk_threshold = 1000000;
SELECT fill(1501, 1900);
SET pgcolumnar.bulk_threshold = 0;
SELECT twins('UPDATE t SET g = -1, i4 = 5, d = 1, t = ''updated'' WHERE id % 31 = 0; DELETE FROM t WHERE id % 29 = 0');
ANALYZE t; ANALYZE batch_aggregate_heap.t;

EXPLAIN (COSTS OFF) SELECT g, count(*), sum(i4) FILTER (WHERE b), avg(d) FROM t WHERE id > 100 GROUP BY g HAVING count(*) > 3;
EXPLAIN (COSTS OFF) SELECT DISTINCT g, b FROM t;

-- every aggregate of every type: ungrouped, grouped, filtered, distinct, over nothing
CREATE TABLE calls (call text, floats bool) USING heap;
INSERT INTO calls SELECT a || '(' || c || ')', c IN ('f4', 'f8') FROM unnest('{sum,avg,variance,var_samp,var_pop,stddev,stddev_samp,stddev_pop,min,max,count}'::text[]) a, unnest('{i2,i4,i8,f4,f8,n,d}'::text[]) c;
INSERT INTO calls SELECT a || '(' || c || ')', false FROM unnest('{min,max,count}'::text[]) a, unnest('{t,c,dt,ts,tz,tm,iv,m,o}'::text[]) c;
INSERT INTO calls SELECT a || '(' || c || ')', false FROM unnest('{sum,avg}'::text[]) a, unnest('{iv}'::text[]) c UNION ALL SELECT 'sum(m)', false;
INSERT INTO calls SELECT a || '(' || c || ')', false FROM unnest('{bool_and,bool_or,every,count}'::text[]) a, unnest('{b,i4 > 0,not b}'::text[]) c;
INSERT INTO calls SELECT a || '(' || c || ')', false FROM unnest('{bit_and,bit_or}'::text[]) a, unnest('{i2,i4,i8,i4 & 255}'::text[]) c;
INSERT INTO calls VALUES ('bit_xor(i2)', false), ('bit_xor(i4)', false), ('bit_xor(i8)', false), ('count(*)', false), ('count(1)', false), ('count(NULL)', false), ('count(t.*)', false), ('count(u)', false), ('count(y)', false), ('sum(1)', false), ('sum(NULL::int)', false), ('sum(1.50)', false), ('max(5)', false),
    ('min(NULL::text)', false), ('sum(i4 + i2)', false), ('sum(i8 * 2)', false), ('sum(d * 2.5)', false), ('sum(-d)', false), ('avg(i4::bigint)', false), ('max(length(t))', false), ('min(upper(c))', false), ('sum(CASE WHEN b THEN i4 ELSE 0 END)', false), ('max(date_trunc(''month'', ts))', false), ('avg(extract(day FROM dt))', false),
    ('sum(i4::float8)', false), ('avg(i2::numeric)', false), ('max(coalesce(t, ''none''))', false), ('sum(length(md5(t)))', false);
INSERT INTO calls VALUES ('string_agg(c, '','' ORDER BY id)', false), ('array_agg(id ORDER BY id)', false), ('percentile_disc(0.5) WITHIN GROUP (ORDER BY i4)', false), ('mode() WITHIN GROUP (ORDER BY g)', false), ('corr(i2, i2)', false), ('jsonb_object_agg(id, c)', false), ('regr_count(f8, f4)', false);
SET extra_float_digits = -6; -- Youngs and Cramer's sums of squares depend on the order of rows
SELECT call, s FROM calls, LATERAL same('SELECT ' || call || ' FROM t') s WHERE s <> '1 rows';
SELECT call, s FROM calls, LATERAL same('SELECT g, ' || call || ' FROM t GROUP BY g') s WHERE s <> '14 rows';
SELECT call, s FROM calls, LATERAL same('SELECT ' || call || ' FROM t WHERE id < 0') s WHERE s <> '1 rows';
SELECT call, s FROM calls, LATERAL same('SELECT c, b, ' || call || ' FROM t WHERE i2 > 10 GROUP BY c, b') s WHERE s LIKE 'DIFFERENT%' OR s LIKE 'error%';
SELECT call, s FROM calls, LATERAL same('SELECT g, ' || call || ' FILTER (WHERE b), ' || call || ' FILTER (WHERE id < 0 OR c LIKE ''B%''), count(*) FILTER (WHERE NULL) FROM t GROUP BY g') s WHERE s <> '14 rows';
SELECT call, s FROM calls, LATERAL same('SELECT g, ' || replace(call, '(', '(DISTINCT ') || ' FROM t GROUP BY g') s WHERE call ~ '^\w+\(\w+\)$' AND s <> '14 rows';
SELECT call, s FROM calls, LATERAL same('SELECT ' || replace(call, '(', '(DISTINCT ') || ' FROM t') s WHERE call ~ '^\w+\(\w+\)$' AND s <> '1 rows';
SELECT call, s FROM calls, LATERAL same('SELECT g FROM t GROUP BY g HAVING ' || call || ' IS NOT NULL') s WHERE s LIKE 'DIFFERENT%' OR s LIKE 'error%';
RESET extra_float_digits;

-- keys: types, expressions, constants, many of them
SELECT k, same('SELECT ' || k || ', count(*), sum(i4), max(id) FROM t GROUP BY ' || k) FROM unnest(ARRAY['g', 'i2', 'i8', 'f4', 'f8', 'n', 'd', 'b', 't', 'c', 'dt', 'ts', 'tz', 'tm', 'iv', 'm', 'o', 'u', 'y', 'g, b', 'b, c, g', 't, c', 'dt, b, t', 'g, i2, b, t, c, dt, o, u, y, d',
    'id, g, i2, i4, i8, f4, f8, d, b, t, c, dt, ts, tz, tm, m, o, u, y', 'g + 1', 'g % 3, b', 'g, g + 1, g * 2', 'i2 / 10', 'g + i2', '-d', 'd * 2', 'length(t)', 'upper(t), t', 'substr(c, 1, 1)', 'c || g', 'date_trunc(''month'', ts)', 'date_trunc(''day'', tz)', 'extract(month FROM dt)',
    'extract(hour FROM ts), extract(dow FROM dt)', 'dt + 1', 'i4 > 0', 'b IS NULL, b', 'CASE WHEN g > 5 THEN ''high'' WHEN g < 2 THEN ''low'' END', 'coalesce(t, c)', 'nullif(g, 3)', 'greatest(g, i2)', 'md5(t)', 'left(t, 2)', 't LIKE ''t1%''', 't COLLATE "C"', 'g::text', 'g::numeric', 'f8::int', 'o::bigint', 'ROW(g, b)', 'ARRAY[g, i2]', 't.*::text']) WITH ORDINALITY AS x(k, o) ORDER BY o;
SELECT all_same('SELECT 1 AS one, count(*) FROM t GROUP BY 1', 'SELECT ''a'' AS a, g, count(*) FROM t GROUP BY 1, 2', 'SELECT NULL AS n, count(*) FROM t GROUP BY 1', 'SELECT 1 AS one, count(*) FROM t WHERE id < 0 GROUP BY 1', 'SELECT 1 AS a, 2 AS b FROM t GROUP BY 1, 2', 'SELECT count(*) FROM t GROUP BY ()', 'SELECT count(*) FROM t WHERE id < 0 GROUP BY ()',
    'SELECT g FROM t GROUP BY g', 'SELECT 5 FROM t GROUP BY g', 'SELECT count(*) + 1, sum(i4) / count(*), g * 2, g || ''x'' FROM t GROUP BY g', 'SELECT g, count(*), count(*) * 2, max(i4) - min(i4) FROM t GROUP BY g', 'SELECT g, b, count(*) FROM t GROUP BY b, g', 'SELECT g AS a, g AS b, count(*) FROM t GROUP BY a, b', 'SELECT now() IS NOT NULL, count(*) FROM t GROUP BY 1',
    'SELECT random() < 2 AS r, count(*) FROM t GROUP BY r', 'SELECT (SELECT max(g) FROM t) AS m, count(*) FROM t GROUP BY m', 'SELECT g, count(*) FROM t WHERE t LIKE ''t1%'' OR md5(c) > ''8'' GROUP BY g', 'SELECT g, sum((SELECT 1)) FROM t GROUP BY g', 'SELECT g, (SELECT count(*) FROM t x WHERE x.g = t.g) FROM t GROUP BY g', 'SELECT CASE WHEN count(*) > 100 THEN sum(i4) END FROM t', 'SELECT count(*) FROM t, t x WHERE t.id = x.id AND t.g = 3',
    'SELECT t.g, count(*), sum(x.d) FROM t JOIN t x USING (id) GROUP BY t.g');
-- HAVING
SELECT all_same('SELECT g FROM t GROUP BY g HAVING count(*) > 140', 'SELECT g, sum(i4) FROM t GROUP BY g HAVING sum(i4) > 0 AND min(c) = ''A0''', 'SELECT count(*) FROM t HAVING count(*) > 10000', 'SELECT count(*) FROM t HAVING sum(i4) IS NOT NULL', 'SELECT g, count(*) FROM t GROUP BY g HAVING g > 5 AND max(t) < ''t5''', 'SELECT g, count(*) FROM t GROUP BY g HAVING bool_or(b) AND g <> 3',
    'SELECT g FROM t GROUP BY g HAVING count(*) > (SELECT avg(g) FROM t)', 'SELECT g FROM t GROUP BY g HAVING false', 'SELECT 1 FROM t HAVING true', 'SELECT 1 FROM t HAVING false', 'SELECT 1 WHERE EXISTS (SELECT g FROM t GROUP BY g HAVING count(*) > 1000)', 'SELECT g, avg(d) FROM t GROUP BY g HAVING avg(d) > 500 OR stddev(i4) < 20000', 'SELECT b FROM t GROUP BY b HAVING count(*) = count(b)');
-- DISTINCT, UNION, EXISTS, windows and subqueries above
SELECT all_same('SELECT DISTINCT g FROM t', 'SELECT DISTINCT g, b, c FROM t WHERE i4 > 0', 'SELECT DISTINCT t FROM t', 'SELECT DISTINCT d FROM t', 'SELECT DISTINCT n FROM t', 'SELECT DISTINCT f8 FROM t', 'SELECT DISTINCT 1 FROM t', 'SELECT DISTINCT 1 FROM t WHERE false', 'SELECT DISTINCT g + 1, length(t) FROM t', 'SELECT DISTINCT * FROM t', 'SELECT DISTINCT ON (g) g, id FROM t ORDER BY g, id',
    'SELECT DISTINCT g, count(*) FROM t GROUP BY g, b', 'SELECT DISTINCT count(*) FROM t GROUP BY g', 'SELECT DISTINCT dt, b FROM t ORDER BY dt, b', 'SELECT DISTINCT c FROM t ORDER BY c DESC LIMIT 3', 'SELECT DISTINCT random() > 2 FROM t', 'SELECT count(*) FROM (SELECT DISTINCT g, i2 FROM t) s', 'SELECT g, rank() OVER (ORDER BY count(*), g) FROM t GROUP BY g', 'SELECT g, sum(count(*)) OVER (ORDER BY g) FROM t GROUP BY g',
    'SELECT max(s) FROM (SELECT g, sum(i4) AS s FROM t GROUP BY g) x', 'SELECT g FROM t GROUP BY g UNION ALL SELECT count(*)::int FROM t', 'SELECT * FROM (SELECT g, count(*) AS n FROM t GROUP BY g) a JOIN (SELECT g, sum(i4) FROM t WHERE b GROUP BY g) x USING (g)', 'SELECT g IN (SELECT i2 FROM t GROUP BY i2 HAVING count(*) > 18) FROM generate_series(-5, 5) g');
-- grouping sets; batch_grouping_sets has more of them
SELECT all_same('SELECT g, b, count(*), sum(i4) FROM t GROUP BY ROLLUP (g, b)', 'SELECT g, b, c, count(*), grouping(g, b) FROM t GROUP BY CUBE (g, b), c', 'SELECT g, count(*) FROM t GROUP BY GROUPING SETS ((g), ())', 'SELECT count(*) FROM t GROUP BY GROUPING SETS ((), ())', 'SELECT g, count(*) FROM t WHERE false GROUP BY GROUPING SETS ((g), ())', 'SELECT g, grouping(g) FROM t GROUP BY g');
SELECT nodes('SELECT g, b, count(*), sum(i4) FROM t GROUP BY ROLLUP (g, b)');
-- set-returning functions, several levels
SELECT all_same('SELECT generate_series(1, 2), count(*) FROM t', 'SELECT g, generate_series(1, g), count(*) FROM t WHERE g < 3 GROUP BY g', 'SELECT (SELECT sum(t.i4)) FROM t', 'SELECT (SELECT count(t.b) FROM t x WHERE x.id = 1) FROM t', 'SELECT sum(DISTINCT g), avg(DISTINCT g), count(DISTINCT g), sum(g) FROM t GROUP BY b', 'SELECT count(DISTINCT (g, b)) FROM t', 'SELECT count(DISTINCT t ORDER BY t) FROM t', 'SELECT sum(g ORDER BY id) FROM t');

-- numbers at their ends: overflow, infinities, NaN, negative zero, scales
SELECT twins($$CREATE TABLE edge (g int, i2 smallint, i4 int, i8 bigint, f4 real, f8 float8, n numeric, d numeric(38,0), e numeric(10,2));
    INSERT INTO edge SELECT i % 3, 32767 - i % 2, 2147483647 - i, 9223372036854775807 - i, CASE i % 7 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0' WHEN 2 THEN 0 WHEN 3 THEN 'Infinity' ELSE i::real END, CASE i % 6 WHEN 0 THEN '-0' WHEN 1 THEN '0' WHEN 2 THEN 'NaN' WHEN 3 THEN '-Infinity' ELSE (i % 9)::float8 END,
        CASE i % 5 WHEN 0 THEN 'NaN' WHEN 1 THEN 'Infinity' WHEN 2 THEN 1.10 WHEN 3 THEN 1.1 ELSE 1e300 END::numeric, (repeat('9', 38))::numeric - i, CASE i % 4 WHEN 0 THEN 'NaN' WHEN 1 THEN 99999999.99 WHEN 2 THEN -99999999.99 END::numeric FROM generate_series(1, 600) i$$);
SELECT all_same('SELECT sum(i2), sum(i4), sum(i8), avg(i8), sum(n), sum(d), avg(d), sum(e) FROM edge', 'SELECT g, sum(i2), sum(i4), sum(i8), avg(i8), sum(d), avg(d), sum(e), avg(e) FROM edge GROUP BY g', 'SELECT min(f4), max(f4), min(f8), max(f8), min(n), max(n), min(d), max(d), min(e), max(e) FROM edge', 'SELECT sum(f4), sum(f8), avg(f4), avg(f8), stddev(f8), var_pop(f4) FROM edge',
    'SELECT f4 = 0, f4 > 0, f4::text = ''NaN'', count(*) FROM edge GROUP BY 1, 2, 3', 'SELECT f8 + 0.0 AS k, count(*) FROM edge GROUP BY k', 'SELECT f8, f4, count(*) FROM edge WHERE f8 > 0 AND f4 > 0 GROUP BY f8, f4', 'SELECT round(n, 2), count(*) FROM edge GROUP BY 1', 'SELECT n + 0.00, count(*) FROM edge GROUP BY 1', 'SELECT e, count(*) FROM edge GROUP BY e', 'SELECT d, count(*) FROM edge GROUP BY d',
    'SELECT count(DISTINCT f4), count(DISTINCT f8), count(DISTINCT n), count(DISTINCT e), count(DISTINCT i8) FROM edge', 'SELECT stddev(i8), variance(i8), var_pop(d), stddev(e), var_samp(i2) FROM edge', 'SELECT stddev(i8), var_samp(e) FROM edge WHERE i4 = 2147483600', 'SELECT stddev_pop(i8), var_pop(e), stddev_pop(f8) FROM edge WHERE i4 = 2147483600', 'SELECT sum(i4 + 1) FROM edge', 'SELECT sum(i4::bigint + 1) FROM edge', 'SELECT sum(i8 - 9223372036854775000) FROM edge',
    'SELECT avg(DISTINCT n) FROM edge WHERE n < 5', 'SELECT sum(DISTINCT e), sum(DISTINCT d) FROM edge', 'SELECT variance(n), stddev_pop(n) FROM edge WHERE n < 5', 'SELECT g, stddev(n) FROM edge WHERE n <> ''NaN'' GROUP BY g', 'SELECT sum(e) FILTER (WHERE e <> ''NaN''), avg(e) FILTER (WHERE e <> ''NaN'') FROM edge', 'SELECT sum(f8) FROM edge WHERE f8 > 0 AND f8 <> ''NaN''');
SELECT same('SELECT sum(i4 + i4) FROM edge'), same('SELECT max(i8 + 1000) FROM edge'), same('SELECT g / (g - 1), count(*) FROM edge GROUP BY 1'), same('SELECT sum(f8 * 1e308) FROM edge WHERE f8 BETWEEN 4 AND 8'), same('SELECT sum(1 / g) FILTER (WHERE g > 0) FROM edge');
SELECT same('SELECT sum(i) FROM (SELECT interval ''170000000 years'' AS i FROM edge) s') LIKE 'error 22008%' AS interval_overflow;
-- groups of -0 and 0 are one, shown as one of them
SELECT count(*), sum(c) FROM (SELECT f8, count(*) AS c FROM edge WHERE f8 = 0 GROUP BY f8) s;
SELECT count(*), sum(c) FROM (SELECT f4, count(*) AS c FROM edge WHERE f4 = 0 GROUP BY f4) s;

-- metadata: count, min, max and sum with and without deletes, with columns that came later
SELECT twins($$CREATE TABLE meta (a int, b bigint, c numeric(8,2), d date, t text COLLATE "C"); INSERT INTO meta SELECT i, i * 10, i / 4.0, date '2024-01-01' + i, 't' || i FROM generate_series(1, 1024) i$$);
CREATE TABLE wholes (q text) USING heap;
INSERT INTO wholes SELECT unnest(ARRAY['SELECT count(*) FROM meta', 'SELECT count(*), count(a), count(d), min(a), max(a), min(d), max(d), sum(a), sum(b), sum(c), avg(a), min(t), max(t), min(c) FROM meta', 'SELECT count(*), max(a) FROM meta WHERE a > 500', 'SELECT min(a), max(b) FROM meta WHERE a < 257', 'SELECT count(*) FROM meta WHERE a IS NOT NULL', 'SELECT max(a) FILTER (WHERE a < 300), count(*) FROM meta', 'SELECT sum(a), count(b) FROM meta WHERE d >= ''2024-01-01''']);
SELECT q, same(q) FROM wholes WHERE same(q) <> '1 rows';
SELECT twins('DELETE FROM meta WHERE a IN (1, 1024, 600); UPDATE meta SET b = -b WHERE a = 700');
SELECT q, same(q) FROM wholes WHERE same(q) <> '1 rows';
SELECT twins('ALTER TABLE meta ADD COLUMN later int DEFAULT 3, ADD COLUMN never int; INSERT INTO meta SELECT i, NULL, NULL, NULL, NULL, NULL, i FROM generate_series(2000, 2300) i');
SELECT q, same(q) FROM wholes WHERE same(q) <> '1 rows';
SELECT all_same('SELECT sum(later), count(later), min(later), avg(later), count(never), max(never) FROM meta', 'SELECT later, never IS NULL, count(*) FROM meta GROUP BY 1, 2');
BEGIN; SELECT twins('DELETE FROM meta WHERE a > 900; INSERT INTO meta SELECT 1 FROM generate_series(1, 300)');
SELECT q, same(q) FROM wholes WHERE same(q) <> '1 rows';
ROLLBACK;
SELECT q, same(q) FROM wholes WHERE same(q) <> '1 rows';
VACUUM meta; VACUUM batch_aggregate_heap.meta;
SELECT q, same(q) FROM wholes WHERE same(q) <> '1 rows';

-- spill: more groups than memory, keys and states of every kind
SELECT twins('CREATE TABLE many (a int, b text, c numeric(10,2), d int)');
SET pgcolumnar.row_group_rows = 4096; SET pgcolumnar.vector_rows = 1024;
SELECT twins($$INSERT INTO many SELECT i % 9000, 'key ' || i % 7000, i / 100.0, i FROM generate_series(1, 27000) i$$);
SET work_mem = '64kB'; SET hash_mem_multiplier = 1;
SELECT s > 0 AS spilled FROM counted('Spilled', 'SELECT b, a, count(*), stddev(d) FROM many GROUP BY b, a') s;
SELECT s > 0 AS spilled FROM counted('Spilled', 'SELECT b, count(DISTINCT a), sum(DISTINCT d) FROM many GROUP BY b') s;
SELECT all_same('SELECT a, count(*), sum(c), avg(c), min(d), max(d) FROM many GROUP BY a', 'SELECT b, count(*), sum(d) FROM many GROUP BY b', 'SELECT b, a, count(*), stddev(d), max(b COLLATE "C") FROM many GROUP BY b, a', 'SELECT b, count(DISTINCT a), count(DISTINCT c), sum(DISTINCT d) FROM many GROUP BY b', 'SELECT count(DISTINCT a), count(DISTINCT b), count(DISTINCT d), sum(DISTINCT c) FROM many',
    'SELECT a % 3, count(DISTINCT b), count(DISTINCT d) FILTER (WHERE c > 50) FROM many GROUP BY 1', 'SELECT DISTINCT b, a FROM many', 'SELECT DISTINCT d FROM many', 'SELECT a FROM many GROUP BY a HAVING max(d) > 26000', 'SELECT a, count(*) FROM many GROUP BY a ORDER BY sum(c) DESC, a LIMIT 20', 'SELECT b, sum(d) FROM many GROUP BY b ORDER BY 2, 1 OFFSET 100 LIMIT 5', 'SELECT a, b, c, d, count(*), bool_and(d > 5), bit_or(a) FROM many GROUP BY a, b, c, d',
    'SELECT max(n) FROM (SELECT b, count(*) AS n FROM many GROUP BY b) s', 'SELECT d, md5(b) FROM many GROUP BY d, md5(b)', 'SELECT g, (SELECT count(*) FROM (SELECT a FROM many WHERE d > g * 5000 GROUP BY a) s) FROM generate_series(1, 3) g', 'SELECT a, variance(c), avg(d), min(b COLLATE "C") FROM many GROUP BY a');
SELECT same('SELECT count(*) FROM (SELECT a FROM many GROUP BY a LIMIT 10) s');
-- what spilled is given back where a plan ends early or fails, and the server has nothing to warn of
BEGIN; DECLARE c CURSOR FOR SELECT b, a, count(*), stddev(d) FROM many GROUP BY b, a; MOVE 5 IN c; COMMIT;
BEGIN; DECLARE c CURSOR FOR SELECT b, a, count(*), stddev(d) FROM many GROUP BY b, a; MOVE 5 IN c; CLOSE c; SAVEPOINT s; DECLARE c CURSOR FOR SELECT b, a, stddev(d), 1 / (max(d) - 25000) FROM many GROUP BY b, a; MOVE ALL IN c; ROLLBACK TO s; COMMIT;
DO $$ DECLARE r record; BEGIN FOR r IN SELECT b, a, count(*), stddev(d) FROM many GROUP BY b, a LOOP EXIT; END LOOP; END $$;
SELECT count(*) FROM (SELECT b, a, stddev(d) FROM many GROUP BY b, a LIMIT 10) s;
SELECT count(*) FROM pg_ls_tmpdir() WHERE name LIKE 'pgsql_tmp' || pg_backend_pid() || '.%';
RESET work_mem; RESET hash_mem_multiplier;

SELECT count(*) FILTER (WHERE nodes LIKE '%ColumnarAgg%') * 10 >= count(*) * 6 AS enough, count(*) FILTER (WHERE nodes <> '') * 20 >= count(*) * 17 AS enough FROM asked;
SET client_min_messages = warning;
DROP SCHEMA batch_aggregate, batch_aggregate_heap CASCADE;
