-- ColumnarAgg below an Append: partitions and inheritance trees are aggregated one by one, and core brings their groups together.
\getenv dir PG_ABS_SRCDIR
\set schema batch_partitions
\set start :dir '/sql/include/start.sql'
\i :start
\set batch :dir '/sql/include/batch.sql'
\i :batch
SET max_parallel_workers_per_gather = 0;
-- Range partitions, one of them cut again by hash: of both access methods, with columns in another order, with dropped columns,
-- on row pages, without rows. Floats are sums of few powers of two: their sums are exact in any order.
SELECT twins($$CREATE TABLE t (id int, g int, i2 smallint, i4 int, i8 bigint, f4 real, f8 float8, n numeric, d numeric(12,3), b bool, t text, c text COLLATE "C", dt date, ts timestamp, tz timestamptz, tm time, iv interval, m money, o oid, u uuid, y bytea) PARTITION BY RANGE (id);
    CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (0) TO (500);
    CREATE TABLE t2 (gone int, y bytea, u uuid, o oid, m money, iv interval, tm time, tz timestamptz, ts timestamp, dt date, gone2 text, c text COLLATE "C", t text, b bool, d numeric(12,3), n numeric, f8 float8, f4 real, i8 bigint, i4 int, i2 smallint, g int, id int);
    ALTER TABLE t2 DROP COLUMN gone, DROP COLUMN gone2;
    ALTER TABLE t ATTACH PARTITION t2 FOR VALUES FROM (500) TO (1000);
    CREATE TABLE t3 PARTITION OF t FOR VALUES FROM (1000) TO (1300) USING heap;
    CREATE TABLE t4 PARTITION OF t FOR VALUES FROM (1300) TO (1600) PARTITION BY HASH (g);
    CREATE TABLE t4a PARTITION OF t4 FOR VALUES WITH (modulus 2, remainder 0);
    CREATE TABLE t4b PARTITION OF t4 FOR VALUES WITH (modulus 2, remainder 1);
    CREATE TABLE t5 PARTITION OF t FOR VALUES FROM (1600) TO (1700);
    CREATE TABLE t6 PARTITION OF t FOR VALUES FROM (1700) TO (2000)$$);
CREATE FUNCTION fill(first int, last int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM twins(format('INSERT INTO t SELECT i, i %% 13, i %% 100 - 50, CASE WHEN i %% 11 > 0 THEN i * 37 - 30000 END, CASE WHEN i %% 17 > 0 THEN i * 4503599627370497 - 4e18::bigint END, CASE WHEN i %% 5 > 0 THEN i / 4.0 END, CASE WHEN i %% 3 > 0 THEN i / 8.0 - 100 END,
        CASE i %% 7 WHEN 0 THEN NULL WHEN 1 THEN i WHEN 2 THEN i / 3.0 WHEN 3 THEN i * 1e20 WHEN 4 THEN -i * 1.50 ELSE 0.000001 * i END, CASE WHEN i %% 19 > 0 THEN i * 1.125 - 500 END, CASE i %% 4 WHEN 0 THEN NULL WHEN 1 THEN true ELSE i %% 8 = 2 END,
        CASE WHEN i %% 23 > 0 THEN ''t'' || i %% 50 END, chr(65 + i %% 26) || i %% 3, date ''2024-02-27'' + i %% 40, timestamp ''2024-01-01'' + i * interval ''37 min'', timestamptz ''2024-01-01 00:00 UTC'' + i * interval ''3 h'', time ''00:00'' + i * interval ''1 min'', i %% 20 * interval ''1 day'' + i %% 3 * interval ''1 month'',
        (i * 1.25)::numeric::money, 4294967290 - i %% 50, md5((i %% 30)::text)::uuid, decode(md5((i %% 20)::text), ''hex'') FROM generate_series(%s, %s) i', first, last));
END $$;
SELECT fill(1, 1599);
SET pgcolumnar.bulk_threshold = 1000000;
SELECT fill(1700, 1999);
SET pgcolumnar.bulk_threshold = 0;
SELECT twins('UPDATE t SET g = -1, i4 = 5, d = 1, t = ''updated'' WHERE id % 31 = 0; DELETE FROM t WHERE id % 29 = 0');
ANALYZE t; ANALYZE batch_partitions_heap.t;

EXPLAIN (COSTS OFF) SELECT g, count(*), sum(i4) FILTER (WHERE b), avg(d) FROM t WHERE id > 100 GROUP BY g HAVING count(*) > 3;
EXPLAIN (VERBOSE, COSTS OFF) SELECT g % 3, stddev(i4), avg(f8) FROM t WHERE id < 1000 GROUP BY g % 3;
-- one partition is left, none is
EXPLAIN (COSTS OFF) SELECT count(*) FROM t WHERE id < 100;
EXPLAIN (COSTS OFF) SELECT count(*) FROM t WHERE id > 5000;
EXPLAIN (COSTS OFF) SELECT DISTINCT g, b FROM t WHERE id < 1200;

-- every aggregate of every type: ungrouped, grouped, filtered, over nothing
CREATE TABLE calls (call text) USING heap;
INSERT INTO calls SELECT a || '(' || c || ')' FROM unnest('{sum,avg,variance,var_samp,var_pop,stddev,stddev_samp,stddev_pop,min,max,count}'::text[]) a, unnest('{i2,i4,i8,f4,f8,n,d}'::text[]) c;
INSERT INTO calls SELECT a || '(' || c || ')' FROM unnest('{min,max,count}'::text[]) a, unnest('{t,c,dt,ts,tz,tm,iv,m,o}'::text[]) c;
INSERT INTO calls SELECT a || '(' || c || ')' FROM unnest('{sum,avg}'::text[]) a, unnest('{iv}'::text[]) c UNION ALL SELECT 'sum(m)';
INSERT INTO calls SELECT a || '(' || c || ')' FROM unnest('{bool_and,bool_or,every,count}'::text[]) a, unnest('{b,i4 > 0,not b}'::text[]) c;
INSERT INTO calls SELECT a || '(' || c || ')' FROM unnest('{bit_and,bit_or,bit_xor}'::text[]) a, unnest('{i2,i4,i8,i4 & 255}'::text[]) c;
INSERT INTO calls VALUES ('count(*)'), ('count(1)'), ('count(NULL)'), ('count(t.*)'), ('count(u)'), ('count(y)'), ('sum(1)'), ('sum(NULL::int)'), ('sum(1.50)'), ('max(5)'), ('min(NULL::text)'), ('sum(i4 + i2)'), ('sum(i8 * 2)'), ('sum(d * 2.5)'), ('sum(-d)'), ('avg(i4::bigint)'), ('max(length(t))'), ('min(upper(c))'),
    ('sum(CASE WHEN b THEN i4 ELSE 0 END)'), ('max(date_trunc(''month'', ts))'), ('avg(extract(day FROM dt))'), ('sum(i4::float8)'), ('avg(i2::numeric)'), ('max(coalesce(t, ''none''))'), ('sum(length(md5(t)))'), ('count(DISTINCT g)'), ('sum(DISTINCT d)'), ('string_agg(c, '','' ORDER BY id)'), ('mode() WITHIN GROUP (ORDER BY g)'), ('corr(i2, i2)'), ('regr_count(f8, f4)'), ('string_agg(c, '','') IS NULL'), ('array_agg(id) IS NULL');
-- what is not folded in transition states
SELECT call FROM calls WHERE call !~ '^(string|array)_agg' AND nodes('SELECT g, ' || call || ' FROM t GROUP BY g') NOT LIKE '%ColumnarAgg%' ORDER BY call COLLATE "C";
SET extra_float_digits = -6; -- Youngs and Cramer's sums of squares depend on the order of rows
SELECT call, s FROM calls, LATERAL same('SELECT ' || call || ' FROM t') s WHERE s <> '1 rows';
SELECT call, s FROM calls, LATERAL same('SELECT g, ' || call || ' FROM t GROUP BY g') s WHERE s <> '14 rows';
SELECT call, s FROM calls, LATERAL same('SELECT ' || call || ' FROM t WHERE g * 0 <> 0') s WHERE s <> '1 rows';
SELECT call, s FROM calls, LATERAL same('SELECT ' || call || ' FROM t WHERE id / 1700 <> 0') s WHERE s <> '1 rows';
SELECT call, s FROM calls, LATERAL same('SELECT c, b, ' || call || ' FROM t WHERE i2 > 10 GROUP BY c, b') s WHERE s LIKE 'DIFFERENT%' OR s LIKE 'error%';
SELECT call, s FROM calls, LATERAL same('SELECT g, ' || call || ' FILTER (WHERE b), ' || call || ' FILTER (WHERE id < 0 OR c LIKE ''B%''), count(*) FILTER (WHERE NULL) FROM t GROUP BY g') s WHERE call !~ 'NULL$' AND s <> '14 rows';
SELECT call, s FROM calls, LATERAL same('SELECT g FROM t GROUP BY g HAVING ' || call || ' IS NOT NULL') s WHERE s LIKE 'DIFFERENT%' OR s LIKE 'error%';
-- aggregates of one transition function share a state: each must be whole
SELECT c, same(format('SELECT g, avg(%1$s), stddev(%1$s), sum(%1$s), var_pop(%1$s), count(%1$s) FROM t GROUP BY g', c)), same(format('SELECT var_samp(%1$s), sum(%1$s), avg(%1$s) FILTER (WHERE b), stddev(%1$s) FILTER (WHERE b) FROM t', c)) FROM unnest('{i2,i4,f4,f8,d,i8}'::text[]) WITH ORDINALITY AS x(c, o) ORDER BY o;
RESET extra_float_digits;

-- keys: types, expressions, constants, redundant ones
SELECT k, same('SELECT ' || k || ', count(*), sum(i4), max(id) FROM t GROUP BY ' || k) FROM unnest(ARRAY['g', 'i2', 'i8', 'f4', 'f8', 'n', 'd', 'b', 't', 'c', 'dt', 'ts', 'tz', 'tm', 'iv', 'm', 'o', 'u', 'y', 'g, b', 'b, c, g', 't, c', 'dt, b, t', 'g, i2, b, t, c, dt, o, u, y, d',
    'id, g, i2, i4, i8, f4, f8, d, b, t, c, dt, ts, tz, tm, m, o, u, y', 'g + 1', 'g % 3, b', 'g, g + 1, g * 2', 'i2 / 10', 'g + i2', '-d', 'length(t)', 'upper(t), t', 'substr(c, 1, 1)', 'c || g', 'date_trunc(''month'', ts)', 'extract(month FROM dt)', 'i4 > 0', 'b IS NULL, b', 'CASE WHEN g > 5 THEN ''high'' WHEN g < 2 THEN ''low'' END',
    'coalesce(t, c)', 'greatest(g, i2)', 'md5(t)', 't COLLATE "C"', 'g::text', 'ROW(g, b)', 'ARRAY[g, i2]', 't.*::text', 'tableoid::regclass::text']) WITH ORDINALITY AS x(k, o) ORDER BY o;
SELECT all_same('SELECT 1 AS one, count(*) FROM t GROUP BY 1', 'SELECT NULL AS n, count(*) FROM t GROUP BY 1', 'SELECT 1 AS one, count(*) FROM t WHERE i2 > 1000 GROUP BY 1', 'SELECT 1 AS a, 2 AS b FROM t GROUP BY 1, 2', 'SELECT count(*) FROM t GROUP BY ()', 'SELECT g FROM t GROUP BY g', 'SELECT 5 FROM t GROUP BY g', 'SELECT count(*) + 1, sum(i4) / count(*), g * 2, g || ''x'' FROM t GROUP BY g',
    'SELECT (g % 3) * 2, -sum(i4) FROM t GROUP BY g % 3', 'SELECT g, count(*), count(*) * 2, max(i4) - min(i4) FROM t GROUP BY g', 'SELECT g AS a, g AS b, count(*) FROM t GROUP BY a, b', 'SELECT g, b, count(*) FROM t WHERE g = 3 GROUP BY g, b', 'SELECT g, count(*) FROM t WHERE g = 3 GROUP BY g', 'SELECT g, i2, count(*), g + i2 FROM t WHERE g = i2 GROUP BY g, i2', 'SELECT g FROM t WHERE g = 3 GROUP BY g',
    'SELECT now() IS NOT NULL, count(*) FROM t GROUP BY 1', 'SELECT random() < 2 AS r, count(*) FROM t GROUP BY r', 'SELECT (SELECT max(g) FROM t) AS m, count(*) FROM t GROUP BY m', 'SELECT g, sum((SELECT 1)) FROM t GROUP BY g', 'SELECT g, (SELECT count(*) FROM t x WHERE x.g = t.g) FROM t GROUP BY g', 'SELECT g, count(*) FROM t WHERE t LIKE ''t1%'' OR md5(c) > ''8'' GROUP BY g',
    'SELECT g, count(*) FROM t WHERE now() > ''2000-01-01'' GROUP BY g', 'SELECT count(*), sum(i4) FROM t WHERE now() < ''2000-01-01''', 'SELECT g, count(*) FROM t WHERE now() < ''2000-01-01'' GROUP BY g', 'SELECT g, b, count(*), sum(i4) FROM t GROUP BY ROLLUP (g, b)', 'SELECT generate_series(1, 2), count(*) FROM t', 'SELECT count(*) FROM t, t x WHERE t.id = x.id AND t.g = 3');
-- by transition functions: states that are values, and states that are made into bytes; of users too
CREATE FUNCTION kept(int, int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT CASE WHEN $1 IS NULL OR $2 > $1 THEN $2 ELSE $1 END';
CREATE AGGREGATE kept(int) (SFUNC = kept, STYPE = int, COMBINEFUNC = kept, FINALFUNC = int4um);
CREATE FUNCTION joined(text, text) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT greatest($1 COLLATE "C", $2 COLLATE "C")';
CREATE AGGREGATE joined(text) (SFUNC = joined, STYPE = text, COMBINEFUNC = joined, INITCOND = '');
CREATE AGGREGATE alone(int) (SFUNC = kept, STYPE = int);
SELECT q, left(same(q), 300), nodes(q) FROM unnest(ARRAY['SELECT g, sum(n), avg(n), count(*) FROM t GROUP BY g', 'SELECT sum(n), var_pop(n), max(n) FROM t', 'SELECT g, regr_count(i4, i2), regr_slope(i4, i2) IS NULL, corr(i2, i2) IS NULL FROM t GROUP BY g', 'SELECT g, max(m), sum(m), sum(iv), avg(iv) FROM t GROUP BY g', 'SELECT g, kept(i4), joined(t), sum(i4) FROM t GROUP BY g', 'SELECT kept(i4), joined(t) FILTER (WHERE b) FROM t', 'SELECT kept(i4), joined(t) FROM t WHERE id < 0', 'SELECT g, alone(i4) FROM t GROUP BY g', 'SELECT id % 50, length(string_agg(c, '','')), cardinality(array_agg(id)), sum(n) FROM t GROUP BY 1', 'SELECT g, min(t), kept(i4 % 7) FROM t GROUP BY g HAVING sum(n) IS NOT NULL ORDER BY g LIMIT 3']) q;
SELECT nodes('SELECT (g % 3) * 2, -sum(i4) FROM t GROUP BY g % 3'), nodes('SELECT g, count(*) FROM t WHERE g = 3 GROUP BY g');
-- HAVING, DISTINCT, ORDER BY and LIMIT, subqueries, windows, UNION ALL
SELECT all_same('SELECT g FROM t GROUP BY g HAVING count(*) > 140', 'SELECT g, sum(i4) FROM t GROUP BY g HAVING sum(i4) > 0 AND min(c) = ''A0''', 'SELECT count(*) FROM t HAVING count(*) > 10000', 'SELECT count(*) FROM t HAVING sum(i4) IS NOT NULL', 'SELECT g FROM t GROUP BY g HAVING count(*) > (SELECT avg(g) FROM t)', 'SELECT g FROM t GROUP BY g HAVING false', 'SELECT 1 FROM t HAVING true', 'SELECT 1 FROM t HAVING false',
    'SELECT g, avg(d) FROM t GROUP BY g HAVING avg(d) > 500 OR stddev(i4) < 20000', 'SELECT DISTINCT g FROM t', 'SELECT DISTINCT g, b, c FROM t WHERE i4 > 0', 'SELECT DISTINCT n FROM t', 'SELECT DISTINCT 1 FROM t', 'SELECT DISTINCT g + 1, length(t) FROM t', 'SELECT DISTINCT * FROM t', 'SELECT DISTINCT g FROM t WHERE g = 3', 'SELECT DISTINCT ON (g) g, id FROM t ORDER BY g, id', 'SELECT DISTINCT g, count(*) FROM t GROUP BY g, b',
    'SELECT count(*) FROM (SELECT DISTINCT g, i2 FROM t) s', 'SELECT g, rank() OVER (ORDER BY count(*), g) FROM t GROUP BY g', 'SELECT max(s) FROM (SELECT g, sum(i4) AS s FROM t GROUP BY g) x', 'SELECT g FROM t GROUP BY g UNION ALL SELECT count(*)::int FROM t', 'SELECT g, count(*) FROM (SELECT g FROM t UNION ALL SELECT g FROM t1) x GROUP BY g', 'SELECT * FROM (SELECT g, count(*) AS n FROM t GROUP BY g) a JOIN (SELECT g, sum(i4) FROM t WHERE b GROUP BY g) x USING (g)',
    'SELECT g, x.n FROM generate_series(-1, 12) g, LATERAL (SELECT count(*) AS n FROM t WHERE t.g = g.g) x', 'SELECT v.i, (SELECT sum(i4) FROM t WHERE t.id < v.i) FROM (VALUES (10), (700), (1900)) v(i)', 'WITH w AS MATERIALIZED (SELECT g, count(*) AS n FROM t GROUP BY g) SELECT sum(n) FROM w');
SELECT same('SELECT g, count(*), sum(d) FROM t GROUP BY g ORDER BY g', true), same('SELECT g, count(*) FROM t GROUP BY g ORDER BY count(*) DESC, g LIMIT 5', true), same('SELECT DISTINCT c FROM t ORDER BY c DESC LIMIT 3', true), same('SELECT c, b, min(id) FROM t GROUP BY c, b ORDER BY 3 LIMIT 7 OFFSET 3', true);

-- a generic plan is pruned when it starts
PREPARE below(int) AS SELECT count(*), sum(i4), max(t) FROM t WHERE id < $1;
PREPARE groups(int, int) AS SELECT g, count(*), avg(i8) FROM t WHERE id BETWEEN $1 AND $2 AND g < 3 GROUP BY g ORDER BY g;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE below(600);
EXECUTE below(600); EXECUTE below(-1); EXECUTE below(NULL);
EXECUTE groups(400, 1100); EXECUTE groups(1500, 1650); EXECUTE groups(5000, 6000);
RESET plan_cache_mode;
SET search_path = batch_partitions_heap, batch_partitions, public;
EXECUTE below(600); EXECUTE below(-1); EXECUTE below(NULL);
EXECUTE groups(400, 1100); EXECUTE groups(1500, 1650); EXECUTE groups(5000, 6000);
SET search_path = batch_partitions, public;
DEALLOCATE ALL;

-- numbers at their ends: overflow, infinities, NaN, negative zero, scales; list partitions
SELECT twins($$CREATE TABLE edge (g int, i2 smallint, i4 int, i8 bigint, f4 real, f8 float8, n numeric, d numeric(38,0), e numeric(10,2), k numeric(6,3)) PARTITION BY LIST (g);
    CREATE TABLE edge0 PARTITION OF edge FOR VALUES IN (0, 3); CREATE TABLE edge1 PARTITION OF edge FOR VALUES IN (1); CREATE TABLE edge2 PARTITION OF edge FOR VALUES IN (2, NULL) USING heap; CREATE TABLE edge9 PARTITION OF edge DEFAULT;
    INSERT INTO edge SELECT i % 5, 32767 - i % 2, 2147483647 - i, 9223372036854775807 - i, CASE i % 7 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0' WHEN 2 THEN 0 WHEN 3 THEN 'Infinity' ELSE i::real END, CASE i % 6 WHEN 0 THEN '-0' WHEN 1 THEN '0' WHEN 2 THEN 'NaN' WHEN 3 THEN '-Infinity' ELSE (i % 9)::float8 END,
        CASE i % 5 WHEN 0 THEN 'NaN' WHEN 1 THEN 'Infinity' WHEN 2 THEN 1.10 WHEN 3 THEN 1.1 ELSE 1e300 END::numeric, (repeat('9', 38))::numeric - i, CASE i % 4 WHEN 0 THEN 'NaN' WHEN 1 THEN 99999999.99 WHEN 2 THEN -99999999.99 END::numeric, CASE WHEN i % 3 > 0 THEN i % 1000 / 8.0 - 60 END FROM generate_series(1, 600) i$$);
ANALYZE edge; ANALYZE batch_partitions_heap.edge;
SELECT all_same('SELECT sum(i2), sum(i4), sum(i8), avg(i8), sum(n), sum(d), avg(d), sum(e) FROM edge', 'SELECT i2, sum(i2), sum(i4), sum(i8), avg(i8), sum(d), avg(d), sum(e), avg(e) FROM edge GROUP BY i2', 'SELECT min(f4), max(f4), min(f8), max(f8), min(n), max(n), min(d), max(d), min(e), max(e) FROM edge', 'SELECT sum(f4), sum(f8), avg(f4), avg(f8), stddev(f8), var_pop(f4) FROM edge', 'SELECT g, sum(f8), avg(f8), stddev(f8), max(f8) FROM edge WHERE f8 <> ''NaN'' GROUP BY g',
    'SELECT f8 + 0.0, count(*) FROM edge GROUP BY 1', 'SELECT f8, f4, count(*) FROM edge WHERE f8 > 0 AND f4 > 0 GROUP BY f8, f4', 'SELECT e, count(*) FROM edge GROUP BY e', 'SELECT d, count(*) FROM edge GROUP BY d', 'SELECT stddev(i8), variance(i8), var_pop(d), stddev(e), var_samp(i2) FROM edge', 'SELECT stddev_pop(i8), var_pop(e), stddev_pop(f8) FROM edge WHERE i4 = 2147483600', 'SELECT sum(i4::bigint + 1) FROM edge',
    'SELECT sum(e) FILTER (WHERE e <> ''NaN''), avg(e) FILTER (WHERE e <> ''NaN'') FROM edge', 'SELECT i4 % 4, sum(e), avg(e), max(e) FROM edge GROUP BY 1', 'SELECT sum(k), avg(k), sum(-k), sum(k * k), avg(k * 0.001) FROM edge', 'SELECT g, sum(k), avg(k) FROM edge GROUP BY g', 'SELECT sum(k - k), avg(k - k) FROM edge', 'SELECT stddev(i4), var_pop(i4), variance(i2) FROM edge', 'SELECT avg(i4), avg(i2), avg(-i4) FROM edge');
SELECT same('SELECT sum(i4 + i4) FROM edge'), same('SELECT max(i8 + 1000) FROM edge'), same('SELECT sum(f8 * 1e308) FROM edge WHERE f8 BETWEEN 4 AND 8'), same('SELECT avg(f8 * 1e308) FROM edge WHERE f8 BETWEEN 4 AND 8'), same('SELECT avg(f8 * 1e200) FROM edge WHERE f8 BETWEEN 4 AND 8'), same('SELECT sum(1 / g) FILTER (WHERE g > 0) FROM edge');

-- inheritance: the parent has rows of its own, children have more columns, one has several parents
SELECT twins($$CREATE TABLE parent (id int, k int, v numeric(8,2)); CREATE TABLE child1 (extra text, more int) INHERITS (parent); CREATE TABLE child2 () INHERITS (parent) USING heap; CREATE TABLE grandchild (deep int) INHERITS (child1, child2); CREATE TABLE late (v numeric(8,2), id int, k int); ALTER TABLE late INHERIT parent;
    INSERT INTO parent SELECT i, i % 5, i FROM generate_series(1, 300) i; INSERT INTO child1 SELECT i, i % 5, i * 0.5, 'x' FROM generate_series(1, 300) i; INSERT INTO child2 SELECT i, i % 7, i FROM generate_series(1, 300) i; INSERT INTO grandchild SELECT i, i % 3, NULL FROM generate_series(1, 300) i; INSERT INTO late SELECT i * 2, i, i % 4 FROM generate_series(1, 300) i$$);
ANALYZE parent, child1, child2, grandchild, late;
EXPLAIN (COSTS OFF) SELECT k, count(*), sum(v) FROM parent GROUP BY k;
SELECT all_same('SELECT k, count(*), sum(v), avg(v), min(id) FROM parent GROUP BY k', 'SELECT count(*), avg(id) FROM parent', 'SELECT k % 2, (k % 2) + 1, stddev(id) FROM parent WHERE id > 50 GROUP BY 1', 'SELECT k, count(*) FROM ONLY parent GROUP BY k', 'SELECT k, count(*) FROM child1 GROUP BY k', 'SELECT more IS NULL, count(deep) FROM grandchild GROUP BY 1', 'SELECT DISTINCT k FROM parent', 'SELECT tableoid::regclass::text, count(*) FROM parent GROUP BY 1', 'SELECT count(parent), max(parent::text) FROM parent');

-- partition-wise aggregation by core: full and partial
SET enable_partitionwise_aggregate = on;
EXPLAIN (COSTS OFF) SELECT g, count(*), sum(i4) FROM edge GROUP BY g HAVING count(*) > 10;
SELECT all_same('SELECT g, count(*), sum(i4) FROM edge GROUP BY g HAVING count(*) > 10', 'SELECT g + 1, g, avg(k), max(e) FROM edge GROUP BY g', 'SELECT g, i2, count(*) FROM edge GROUP BY g, i2', 'SELECT id, count(*), sum(i4) FROM t GROUP BY id', 'SELECT g, count(*), avg(f8) FROM t GROUP BY g', 'SELECT count(*), stddev(i4) FROM t', 'SELECT id, g, max(t) FROM t WHERE id > 1200 GROUP BY id, g HAVING max(t) > ''t2''', 'SELECT g FROM edge GROUP BY g');
PREPARE ids(int) AS SELECT id, count(*), max(g) FROM t WHERE id % 100 = 7 AND id > $1 AND g < $1 GROUP BY id ORDER BY id;
SET plan_cache_mode = force_generic_plan;
EXECUTE ids(1200);
RESET plan_cache_mode; DEALLOCATE ids;
RESET enable_partitionwise_aggregate;

-- beside an index, with hashing off, in parallel, with a limit on memory, in a cursor
SELECT twins('CREATE INDEX ON t (id)');
SET cpu_tuple_cost = 0.01; SET cpu_index_tuple_cost = 0.005; SET cpu_operator_cost = 0.0025;
SELECT all_same('SELECT g, count(*), avg(d) FROM t WHERE id IN (17, 720, 1400) GROUP BY g', 'SELECT max(id), min(id) FROM t', 'SELECT g, count(*), avg(d) FROM t GROUP BY g');
SET cpu_tuple_cost = 1; SET cpu_index_tuple_cost = 1; SET cpu_operator_cost = 0.25;
SET enable_hashagg = off;
SELECT all_same('SELECT g, count(*), avg(d) FROM t GROUP BY g', 'SELECT count(*), avg(d) FROM t', 'SELECT DISTINCT g FROM t');
RESET enable_hashagg;
SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SELECT all_same('SELECT g, count(*), avg(d), sum(i8), stddev(i4) FROM t GROUP BY g', 'SELECT count(*), avg(d) FROM t', 'SELECT DISTINCT g FROM t');
RESET max_parallel_workers_per_gather;
SET max_parallel_workers_per_gather = 0; SET work_mem = '64kB';
SELECT all_same('SELECT id, t, count(*), avg(d), sum(i8) FROM t GROUP BY id, t');
RESET work_mem;
BEGIN;
DECLARE cur SCROLL CURSOR FOR SELECT g, count(*) FROM t GROUP BY g ORDER BY g;
FETCH 2 FROM cur; FETCH BACKWARD 1 FROM cur; FETCH 3 FROM cur;
COMMIT;
-- row security of the parent holds for its members
\set ECHO none
SET client_min_messages = warning;
CREATE ROLE regress_partitions_user;
\set ECHO all
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
CREATE POLICY odd ON t USING (id % 2 = 1);
GRANT USAGE ON SCHEMA batch_partitions TO regress_partitions_user; GRANT SELECT ON t TO regress_partitions_user;
SET ROLE regress_partitions_user;
SELECT count(*), min(id), max(id), bool_and(id % 2 = 1) AS odd FROM t;
RESET ROLE;
SELECT count(*), min(id), max(id) FROM t WHERE id % 2 = 1;

-- most of these queries were grouped below an Append
SELECT count(*) FILTER (WHERE nodes LIKE '%ColumnarAgg ColumnarAgg%') > 700 AS enough FROM asked;
SET client_min_messages = warning;
DROP OWNED BY regress_partitions_user; DROP ROLE regress_partitions_user;
DROP SCHEMA batch_partitions, batch_partitions_heap CASCADE;
