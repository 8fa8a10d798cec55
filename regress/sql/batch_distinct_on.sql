-- ColumnarDistinctOn: DISTINCT ON over one table.
\getenv dir PG_ABS_SRCDIR
\set schema batch_distinct_on
\set start :dir '/sql/include/start.sql'
\i :start
\set batch :dir '/sql/include/batch.sql'
\i :batch
SELECT twins($$CREATE TABLE t (id int, g int, i2 smallint, i8 bigint, f float8, r real, n numeric, d numeric(8,2), b bool, t text, c text COLLATE "C", y bytea, u uuid, dt date, ts timestamptz, bp char(5), o oid, m money, iv interval);
    INSERT INTO t SELECT i, i % 7, CASE WHEN i % 9 > 0 THEN (i * 7919) % 1000 END, (i * 104729::bigint) % 5003, CASE i % 10 WHEN 0 THEN NULL WHEN 1 THEN 'NaN' WHEN 2 THEN '-0' WHEN 3 THEN '-Infinity' WHEN 4 THEN 0 ELSE ((i * 31) % 701 / 4.0)::float8 END, CASE i % 8 WHEN 0 THEN NULL WHEN 1 THEN 'Infinity'::real ELSE (i * 17) % 503 END, CASE i % 6 WHEN 0 THEN NULL WHEN 1 THEN 'NaN' ELSE (i * 37) % 911 / 7.0 END, CASE WHEN i % 12 > 0 THEN (i * 53) % 1201 / 8.0 END,
        CASE i % 3 WHEN 0 THEN NULL ELSE i % 3 = 1 END, CASE WHEN i % 15 > 0 THEN 't' || (i * 61) % 40 END, chr(65 + (i * 11) % 26) || (i * 3) % 10, decode(md5((i % 300)::text), 'hex'), md5((i % 200)::text)::uuid, date '2020-01-01' + (i * 41) % 60, timestamptz '2020-01-01 00:00 UTC' + (i * 73) % 900 * interval '1 hour', 'p' || (i * 13) % 60, 4294967295 - (i * 19) % 70, ((i * 29) % 333)::numeric::money, (i * 23) % 77 * interval '1 hour' FROM generate_series(1, 2000) i$$);
SET pgcolumnar.bulk_threshold = 1000000;
SELECT twins('INSERT INTO t SELECT * FROM (SELECT * FROM t ORDER BY id LIMIT 300) s; UPDATE t SET id = id + 3000 WHERE id <= 300 AND ctid IN (SELECT max(ctid) FROM t GROUP BY id); DELETE FROM t WHERE id % 23 = 0; UPDATE t SET i8 = 6000, c = ''ZZ'' WHERE id % 201 = 0');
SET pgcolumnar.bulk_threshold = 0;
ANALYZE t; ANALYZE batch_distinct_on_heap.t;
EXPLAIN (COSTS OFF) SELECT DISTINCT ON (g) g, c, id FROM t WHERE i8 > 100 ORDER BY g, i8 DESC, id;
EXPLAIN (COSTS OFF, VERBOSE) SELECT DISTINCT ON (g, length(c)) * FROM t WHERE i8 > 100 ORDER BY length(c) DESC, g NULLS FIRST, i2 DESC NULLS LAST, b NULLS FIRST, id LIMIT 5;
EXPLAIN (COSTS OFF) SELECT DISTINCT ON (g) id FROM t;
SELECT counted('Rows Removed by Columnar Filter', q) AS removed, counted('Hash Memory', q) BETWEEN 1 AND 200 AS memory, counted('Rows from Row Pages', q) > 0 AS pages FROM (VALUES ('SELECT DISTINCT ON (g) g, id FROM t WHERE id > 300 ORDER BY g, id')) x(q);

-- every type as key, and within groups, in every order
SELECT k, same(format('SELECT DISTINCT ON (%s) id, c, %1$s FROM t ORDER BY %1$s, id', k), true) AS first, same(format('SELECT DISTINCT ON (%s) * FROM t WHERE g > 2 ORDER BY %1$s DESC NULLS LAST, id DESC', k), true) AS last, nodes(format('SELECT DISTINCT ON (%s) id FROM t ORDER BY %1$s, id', k))
FROM unnest('{g,i2,i8,f,r,n,d,b,t,c,y,u,dt,ts,bp,o,m,iv}'::text[]) WITH ORDINALITY AS x(k, p) ORDER BY p;
SELECT k, o, same(format('SELECT DISTINCT ON (g) g, id, %s FROM t ORDER BY g, %1$s %s, id', k, o), true) FROM unnest('{i2,i8,f,r,n,d,b,t,c,y,u,dt,ts,bp,o,m,iv}'::text[]) WITH ORDINALITY AS x(k, p), unnest('{ASC,DESC,ASC NULLS FIRST,DESC NULLS LAST}'::text[]) o WHERE same(format('SELECT DISTINCT ON (g) g, id, %s FROM t ORDER BY g, %1$s %s, id', k, o), true) <> '7 rows' ORDER BY p;
SELECT k, nodes(format('SELECT DISTINCT ON (g) id FROM t ORDER BY g, %s, id', k)) FROM unnest('{i2,n,d,t,c,bp,f,iv}'::text[]) k;
-- several keys, expressions
SELECT k, o, same(format('SELECT DISTINCT ON (%s) *, upper(c), i8 + 1 FROM t ORDER BY %s, id', k, o), true) AS whole, same(format('SELECT DISTINCT ON (%s) id FROM t WHERE c LIKE ''_1%%'' OR i2 < 500 ORDER BY %s, id LIMIT 7 OFFSET 2', k, o), true) AS some
FROM (VALUES ('g, b', 'b DESC, g'), ('g, b', 'g, b NULLS FIRST, i8'), ('g, c', 'c, g DESC, d DESC'), ('b, i2', 'i2, b, f DESC, r'), ('length(c)', 'length(c), c'), ('g % 3, b', 'b, g % 3, i8 % 10'), ('upper(t)', 'upper(t), -i8'), ('substr(c, 1, 1)', 'substr(c, 1, 1), substr(c, 2) DESC'), ('date_trunc(''month'', ts)', 'date_trunc(''month'', ts) DESC, ts'), ('CASE WHEN g = 3 THEN 0 ELSE 1 END', 'CASE WHEN g = 3 THEN 0 ELSE 1 END, abs(i2)'), ('g IS NULL, b', 'b, g IS NULL, coalesce(i2, -1)'), ('g, g', 'g'), ('md5(c)', 'md5(c)'), ('1, g', 'g'), ('f, r', 'r, f DESC'), ('t.g', 't.g, ctid'), ('g', 'g, g, i8, i8 DESC'), ('dt, o', 'dt, o, ts, u')) AS x(k, o);
-- any first row where no order is asked for
SELECT all_same('SELECT count(*), count(DISTINCT g) FROM (SELECT DISTINCT ON (g) * FROM t) s', 'SELECT count(*), count(g), sum(g) FROM (SELECT DISTINCT ON (g, b) g, b FROM t ORDER BY g) s', 'SELECT DISTINCT ON (g) g FROM t', 'SELECT DISTINCT ON (g, b) g, b FROM t ORDER BY b', 'SELECT DISTINCT ON (g) g, i8 FROM t ORDER BY g, i8', 'SELECT DISTINCT ON (1) 1 FROM t', 'SELECT count(*) FROM (SELECT DISTINCT ON (f) f FROM t) s', 'SELECT DISTINCT ON (g) g, b FROM t ORDER BY g, b LIMIT 1');
-- nothing, one group, limits, targets
SELECT all_same('SELECT DISTINCT ON (g) id FROM t WHERE false ORDER BY g, id', 'SELECT DISTINCT ON (g) id FROM t WHERE id < 0 ORDER BY g, id', 'SELECT DISTINCT ON (g) id FROM t WHERE g = 3 ORDER BY g, id', 'SELECT DISTINCT ON (g, b) id FROM t WHERE g = 3 ORDER BY g, b, id', 'SELECT DISTINCT ON (g) id FROM t ORDER BY g, id LIMIT 0', 'SELECT DISTINCT ON (g) id FROM t ORDER BY g, id DESC OFFSET 2 LIMIT 3', 'SELECT DISTINCT ON (g) id FROM t ORDER BY g, id DESC OFFSET 3', 'SELECT DISTINCT ON (g) g FROM t ORDER BY g FETCH FIRST 2 ROWS WITH TIES',
    'SELECT DISTINCT ON (g) t FROM t ORDER BY g, id', 'SELECT DISTINCT ON (g) t.* FROM t ORDER BY g, id', 'SELECT DISTINCT ON (g) ctid IS NULL, tableoid = ''t''::regclass FROM t ORDER BY g, id', 'SELECT DISTINCT ON (g) xmin IS NULL FROM t ORDER BY g, id', 'SELECT DISTINCT ON (g) id + 1, upper(c), (SELECT max(id) FROM t x WHERE x.g = t.g) FROM t ORDER BY g, id', 'SELECT DISTINCT ON (g) id, random() > 2 FROM t ORDER BY g, id', 'SELECT DISTINCT ON (g) id, generate_series(1, 2) FROM t ORDER BY g, id', 'SELECT DISTINCT ON (g) g, count(*) FROM t GROUP BY g, b ORDER BY g, 2', 'SELECT DISTINCT ON (g) g, row_number() OVER (ORDER BY id) FROM t ORDER BY g, 2', 'SELECT DISTINCT ON (g) id, g / (id - id) FROM t ORDER BY g, id');
-- within queries
SELECT all_same('SELECT s.id, x.c FROM (SELECT DISTINCT ON (g) id FROM t WHERE id > 300 ORDER BY g, i8 DESC, id) s JOIN t x USING (id)', 'SELECT k, s.* FROM generate_series(0, 6) k, LATERAL (SELECT DISTINCT ON (b) b, id FROM t WHERE g = k ORDER BY b, d DESC NULLS LAST, id) s', 'SELECT k, s.* FROM generate_series(0, 3) k, LATERAL (SELECT DISTINCT ON (g) g, id FROM t ORDER BY g, abs(id - k * 200), id) s', 'SELECT k, s.* FROM generate_series(1, 3) k, LATERAL (SELECT DISTINCT ON (g % k) g % k, id FROM t ORDER BY g % k, id) s', 'SELECT (SELECT array_agg(s.id) FROM (SELECT DISTINCT ON (b) id FROM t x WHERE x.g = t.g ORDER BY b, id) s) FROM t WHERE id < 20',
    '(SELECT DISTINCT ON (g) id FROM t ORDER BY g, id) UNION ALL (SELECT DISTINCT ON (b) id FROM t ORDER BY b, id)', 'WITH w AS MATERIALIZED (SELECT DISTINCT ON (g) g, id FROM t ORDER BY g, id) SELECT * FROM w a JOIN w b USING (g)', 'SELECT sum(i8) FROM (SELECT DISTINCT ON (c) i8 FROM t ORDER BY c, id) s', 'SELECT id FROM t WHERE (g, id) IN (SELECT DISTINCT ON (g) g, id FROM t ORDER BY g, id)', 'SELECT * FROM (SELECT DISTINCT ON (g) g, id FROM t ORDER BY g, id) s WHERE id % 2 = 0', 'SELECT * FROM (SELECT DISTINCT ON (g) g, id FROM t ORDER BY g, id) s WHERE g > 3 ORDER BY id', 'SELECT DISTINCT ON (a.g) a.id, b.i8 FROM t a JOIN t b USING (id) ORDER BY a.g, a.id');
SELECT all_same('SELECT id FROM t WHERE id IN (SELECT id FROM (SELECT DISTINCT ON (g) id FROM t ORDER BY g, id) s) FOR UPDATE');
PREPARE first(int, text) AS SELECT DISTINCT ON (g % $1) g % $1, id FROM t WHERE c > $2 ORDER BY g % $1, i8 DESC, id;
SET plan_cache_mode = force_generic_plan;
EXECUTE first(3, 'C'); EXECUTE first(2, 'Y'); EXECUTE first(NULL, 'C'); EXECUTE first(0, 'C');
RESET plan_cache_mode;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT DISTINCT ON (g) g, id FROM t ORDER BY g, i8 DESC, id;
FETCH LAST FROM c; FETCH FIRST FROM c; FETCH ALL FROM c; FETCH PRIOR FROM c;
DECLARE late CURSOR FOR SELECT DISTINCT ON (g) id, c FROM t;
SELECT twins('UPDATE t SET c = ''new'', i8 = 0 WHERE id % 2 = 0; DELETE FROM t WHERE id % 5 = 1');
MOVE ALL FROM late;
SELECT same('SELECT DISTINCT ON (g) g, id, c FROM t ORDER BY g, i8, id', true);
SELECT twins('INSERT INTO t (id, g, i8, c) SELECT i, i % 11, 10000 - i % 100, ''own'' || i FROM generate_series(10001, 10500) i');
SELECT same('SELECT DISTINCT ON (g) g, id, c FROM t ORDER BY g, i8 DESC, id', true);
ROLLBACK;
-- row security, and a filter that fails
SELECT twins($$CREATE VIEW v WITH (security_barrier) AS SELECT * FROM t WHERE g <> 4$$);
SELECT all_same('SELECT DISTINCT ON (g) g, id FROM v WHERE 10 / (g - 4) > -100 ORDER BY g, id', 'SELECT DISTINCT ON (g) g, id FROM t WHERE 10 / (g - 4) > -100 ORDER BY g, id', 'SELECT DISTINCT ON (10 / (g - 4)) g, id FROM t ORDER BY 10 / (g - 4), id');

-- orders of other families, collations, system columns: reasons
CREATE FUNCTION why(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text; found text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF, VERBOSE) ' || query LOOP
        found := coalesce(found, substring(line FROM 'Not In Batches: (.*)'));
    END LOOP;
    RETURN found;
END $$;
SELECT q, why('SELECT DISTINCT ON ' || q) FROM unnest(ARRAY['(g) id FROM t ORDER BY g, t COLLATE "en-x-icu"', '(c) id FROM t ORDER BY c USING ~<~, id', '(g) id FROM t ORDER BY g, c USING ~>~', '(g) xmin FROM t ORDER BY g, id', '(g) id, random() FROM t ORDER BY g, id', '(n) id FROM t ORDER BY n', '(g) id, generate_series(1, 2) FROM t ORDER BY g', '(a.g) a.id FROM t a JOIN t b USING (id) ORDER BY a.g', '(g) id FROM t WHERE g = 1 ORDER BY g, id']) q;

-- values that batches cannot hold are found while rows are read: core's plan takes over
SELECT twins($$CREATE TABLE w (id int, g int, k int GENERATED ALWAYS AS (g + 1) STORED, x text, n numeric(18,2), gone int); INSERT INTO w (id, g, x, n) SELECT i, i % 5, 'x' || i, i FROM generate_series(1, 500) i; ALTER TABLE w DROP gone; UPDATE w SET n = 9999999999999999.00 WHERE id = 400$$);
SELECT all_same('SELECT DISTINCT ON (g) id, x, k, n FROM w WHERE n * n * n > 25 ORDER BY g, id DESC', 'SELECT DISTINCT ON (g) w FROM w WHERE n * n * n > 25 ORDER BY g, id', 'SELECT DISTINCT ON (g) x, tableoid = ''w''::regclass FROM w WHERE n * n * n > 25 ORDER BY g, id', 'SELECT DISTINCT ON (g, n * n * n > 100) id FROM w ORDER BY g, n * n * n > 100 DESC, id', 'SELECT k, s.* FROM generate_series(1, 3) k, LATERAL (SELECT DISTINCT ON (g) g, id FROM w WHERE n * n * n > k ORDER BY g, id) s');
SELECT counted('Left to PostgreSQL', 'SELECT DISTINCT ON (g) id, x, k, n FROM w WHERE n * n * n > 25 ORDER BY g, id DESC');
-- more groups than memory holds: not offered where that is known, left to core where it is not
SELECT twins('CREATE TABLE many AS SELECT i AS id, (i::bigint * 7919) % 60000 AS g, (i * 31) % 1000 AS v, ''text '' || i AS x FROM generate_series(1, 120000) i');
ALTER TABLE many SET (autovacuum_enabled = off);
SET work_mem = '64kB'; SET hash_mem_multiplier = 1;
SELECT nodes('SELECT DISTINCT ON (g % 5) x FROM many ORDER BY g % 5, v, id'), same('SELECT DISTINCT ON (g % 5) x FROM many ORDER BY g % 5, v, id', true);
ALTER TABLE many ALTER g SET (n_distinct = 100);
ANALYZE many;
SELECT nodes('SELECT DISTINCT ON (g) x FROM many ORDER BY g, v, id'), counted('Left to PostgreSQL', 'SELECT DISTINCT ON (g) x FROM many ORDER BY g, v, id'), same('SELECT DISTINCT ON (g) x, v FROM many ORDER BY g, v DESC, id', true);
ALTER TABLE many ALTER g RESET (n_distinct);
ANALYZE many;
SELECT why('SELECT DISTINCT ON (g) x FROM many ORDER BY g, v, id');
RESET work_mem; RESET hash_mem_multiplier;
-- threads
SET work_mem = '64MB';
SELECT threads, set_config('pgcolumnar.max_threads', threads, false) = threads AS set, same('SELECT DISTINCT ON (g) x, v FROM many ORDER BY g, v DESC, id', true), same('SELECT DISTINCT ON (v) v, x FROM many ORDER BY v, g DESC, id', true) FROM unnest('{0,1,2,4}'::text[]) threads;
RESET pgcolumnar.max_threads; RESET work_mem;
-- an index that gives the order is cheaper for the first rows
RESET cpu_tuple_cost; RESET cpu_index_tuple_cost; RESET cpu_operator_cost;
CREATE INDEX ON many (g, v);
ANALYZE many;
SELECT nodes('SELECT DISTINCT ON (v) g FROM many ORDER BY v, g'), nodes('SELECT DISTINCT ON (g) v FROM many ORDER BY g, v LIMIT 3');
SELECT count(*) FILTER (WHERE nodes ~ 'ColumnarDistinctOn') * 4 >= count(*) * 3 AS enough FROM asked;
SET client_min_messages = warning;
DROP SCHEMA batch_distinct_on, batch_distinct_on_heap CASCADE;
