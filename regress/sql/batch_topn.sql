-- ColumnarTopN: ORDER BY ... LIMIT above scans and above aggregates.
\getenv dir PG_ABS_SRCDIR
\set schema batch_topn
\set start :dir '/sql/include/start.sql'
\i :start
\set batch :dir '/sql/include/batch.sql'
\i :batch
SELECT twins($$CREATE TABLE t (id int, g int, i2 smallint, i8 bigint, f float8, r real, n numeric, d numeric(8,2), b bool, t text, c text COLLATE "C", y bytea, u uuid, dt date, ts timestamptz, bp char(5), o oid, m money, iv interval);
    INSERT INTO t SELECT i, i % 7, CASE WHEN i % 9 > 0 THEN (i * 7919) % 1000 END, (i * 104729::bigint) % 5003, CASE i % 10 WHEN 0 THEN NULL WHEN 1 THEN 'NaN' WHEN 2 THEN '-0' WHEN 3 THEN '-Infinity' ELSE ((i * 31) % 701 / 4.0)::float8 END, CASE i % 8 WHEN 0 THEN NULL WHEN 1 THEN 'Infinity'::real ELSE (i * 17) % 503 END, CASE i % 6 WHEN 0 THEN NULL WHEN 1 THEN 'NaN' ELSE (i * 37) % 911 / 7.0 END, CASE WHEN i % 12 > 0 THEN (i * 53) % 1201 / 8.0 END,
        CASE i % 3 WHEN 0 THEN NULL ELSE i % 3 = 1 END, CASE WHEN i % 15 > 0 THEN 't' || (i * 61) % 400 END, chr(65 + (i * 11) % 26) || (i * 3) % 100, decode(md5((i % 300)::text), 'hex'), md5((i % 200)::text)::uuid, date '2020-01-01' + (i * 41) % 600, timestamptz '2020-01-01 00:00 UTC' + (i * 73) % 900 * interval '1 hour', 'p' || (i * 13) % 60, 4294967295 - (i * 19) % 70, ((i * 29) % 333)::numeric::money, (i * 23) % 77 * interval '1 hour' FROM generate_series(1, 2000) i$$);
SET pgcolumnar.bulk_threshold = 1000000;
SELECT twins('INSERT INTO t SELECT * FROM (SELECT * FROM t ORDER BY id LIMIT 300) s; DELETE FROM t WHERE id % 23 = 0; UPDATE t SET i8 = 6000, c = ''ZZ'' WHERE id % 201 = 0');
SET pgcolumnar.bulk_threshold = 0;
ANALYZE t; ANALYZE batch_topn_heap.t;
EXPLAIN (COSTS OFF) SELECT id, c FROM t WHERE g < 5 ORDER BY i8 DESC, id LIMIT 10;
EXPLAIN (COSTS OFF) SELECT g, count(*) FROM t GROUP BY g ORDER BY count(*) DESC, g LIMIT 3;

-- every type and order; id and ctid do not tell ties apart, so the rows shown are all sort keys
SELECT k, o, same(format('SELECT %s FROM t ORDER BY %s %s LIMIT 37', k, k, o), true) FROM unnest('{g,i2,i8,f,r,n,d,b,t,c,y,u,dt,ts,bp,o,m,iv}'::text[]) WITH ORDINALITY AS x(k, p), unnest('{ASC,DESC,ASC NULLS FIRST,DESC NULLS LAST}'::text[]) o WHERE same(format('SELECT %s FROM t ORDER BY %s %s LIMIT 37', k, k, o), true) <> '37 rows' ORDER BY p;
SELECT k, same(format('SELECT %s FROM t ORDER BY %1$s LIMIT 25', k), true) AS first, same(format('SELECT %s FROM t WHERE g > 2 AND c LIKE ''_1%%'' ORDER BY %1$s LIMIT 25', k), true) AS filtered, same(format('SELECT %s FROM t ORDER BY %1$s OFFSET 200 LIMIT 25', k), true) AS later
FROM unnest(ARRAY['i8, id', 'g, i8, id', 'g, c', 'b, d, id', 'f, id', 'r, f, id', 'dt, ts, id', 'c, g, i2', 'length(c), id', 'i8 + id, id', '-i8, id', '-f, id', 'abs(i2), id', 'upper(c), id', 'substr(c, 2), id', 'i8 % 10, id', 'date_trunc(''month'', ts), id', 'extract(year FROM dt), id', 'CASE WHEN g = 3 THEN 0 ELSE i8 END, id', 'coalesce(i2, -1), id', 'g IS NULL, id', 'i8 > 2500, id', 'md5(c), id', 'n, id', 't, id', 't COLLATE "C", id', '1, id', 'c || g, id', 'y, u, id', 'd * 2, id', 'd::float8, id', 'nullif(g, 3), id'])
WITH ORDINALITY AS x(k, p) ORDER BY p;
-- other columns than the keys, whole rows, ctid, nothing
SELECT all_same('SELECT * FROM t WHERE id < 300 AND g = 1 ORDER BY i8 DESC LIMIT 7', 'SELECT c, n, u FROM t WHERE id > 300 ORDER BY id LIMIT 9', 'SELECT t FROM t WHERE id > 300 ORDER BY id DESC LIMIT 3', 'SELECT t.* FROM t WHERE id > 300 ORDER BY id DESC LIMIT 3', 'SELECT 1 FROM t ORDER BY id LIMIT 3', 'SELECT FROM t ORDER BY id LIMIT 3', 'SELECT ctid IS NULL FROM t ORDER BY id LIMIT 3', 'SELECT id, tableoid = ''t''::regclass FROM t WHERE id > 300 ORDER BY id LIMIT 3',
    'SELECT id + 1, upper(c) FROM t WHERE id > 300 ORDER BY i8 + 1, id LIMIT 4', 'SELECT id, row_number() OVER (ORDER BY id) FROM t WHERE id > 300 ORDER BY id LIMIT 4', 'SELECT xmin IS NULL FROM t ORDER BY id LIMIT 2');
-- limits
SELECT l, same('SELECT id FROM t WHERE id > 300 ORDER BY i8 DESC, id ' || l, true) FROM unnest(ARRAY['LIMIT 0', 'LIMIT 1', 'LIMIT 5', 'LIMIT 100000', 'LIMIT 5000000000', 'LIMIT ALL', 'LIMIT NULL', 'OFFSET 5 LIMIT 5', 'OFFSET 1600 LIMIT 50', 'OFFSET 5000 LIMIT 5', 'OFFSET 3', 'OFFSET NULL LIMIT 4', 'LIMIT (SELECT 3)', 'LIMIT 2 + 3', 'FETCH FIRST ROW ONLY', 'FETCH FIRST 5 ROWS ONLY', 'LIMIT -1', 'OFFSET -1']) WITH ORDINALITY AS x(l, p) ORDER BY p;
SELECT k, same(format('SELECT %s FROM t ORDER BY %1$s FETCH FIRST 20 ROWS WITH TIES', k), true) FROM unnest('{g,d,c,dt,bp}'::text[]) k;
-- a filter that lets few or no rows pass, ties over the edge
SELECT all_same('SELECT id FROM t WHERE id = 301 ORDER BY i8 LIMIT 5', 'SELECT id FROM t WHERE id < 0 ORDER BY i8 LIMIT 5', 'SELECT g FROM t WHERE g = 3 ORDER BY g LIMIT 50', 'SELECT g FROM t ORDER BY g DESC LIMIT 500', 'SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM t WHERE id > 300 ORDER BY g LIMIT 500) s', 'SELECT i2 IS NULL FROM t ORDER BY i2 NULLS FIRST LIMIT 300', 'SELECT b FROM t ORDER BY b DESC NULLS LAST LIMIT 1200');
-- locks: core sorts, since rows may change or go
SELECT nodes('SELECT id FROM t ORDER BY i8, id LIMIT 3 FOR UPDATE'), nodes('SELECT id FROM t ORDER BY i8, id LIMIT 3');
SELECT same('SELECT id FROM t WHERE id > 300 ORDER BY i8, id LIMIT 3 FOR UPDATE', true), same('SELECT id FROM t WHERE id > 300 ORDER BY i8, id LIMIT 3 FOR SHARE SKIP LOCKED', true);

-- above aggregates
SELECT k, same('SELECT g, c, count(*), sum(i2), min(d), max(t COLLATE "C"), avg(i8) FROM t GROUP BY g, c ORDER BY ' || k || ', g, c LIMIT 11', true) AS first, same('SELECT c, g FROM t GROUP BY g, c HAVING min(id) > 10 ORDER BY ' || k || ', g, c OFFSET 20 LIMIT 11', true) AS later
FROM unnest(ARRAY['count(*)', 'count(*) DESC', 'sum(i2)', 'sum(i2) DESC', 'sum(i2) DESC NULLS LAST', 'sum(i2) NULLS FIRST', 'min(d)', 'min(d) DESC', 'max(t COLLATE "C")', 'max(t)', 'avg(i8) DESC', 'avg(f)', 'stddev(i8)', 'sum(i8) DESC', 'sum(d)', 'g', 'g DESC', 'c DESC', 'count(DISTINCT id) DESC', 'count(*) FILTER (WHERE b)', 'bool_or(b)', 'max(dt) DESC', 'min(r)', 'count(*) + 1', 'sum(i8) / count(*)', 'g + 1', 'length(c)', '1', 'random() > 2', 'max(f)', 'max(n) DESC', 'sum(f) FILTER (WHERE f > 0 AND f < 100)', 'min(u::text) DESC']) WITH ORDINALITY AS x(k, p) ORDER BY p;
SELECT all_same('SELECT c, count(*) FROM t GROUP BY c ORDER BY count(*) DESC LIMIT 0', 'SELECT count(*) FROM t ORDER BY 1 LIMIT 1', 'SELECT count(*) FROM t WHERE false ORDER BY 1 LIMIT 1', 'SELECT g FROM t WHERE false GROUP BY g ORDER BY g LIMIT 1', 'SELECT DISTINCT g FROM t ORDER BY g DESC LIMIT 3', 'SELECT DISTINCT g, b FROM t ORDER BY b NULLS FIRST, g LIMIT 9', 'SELECT DISTINCT c FROM t ORDER BY c OFFSET 5 LIMIT 5', 'SELECT i2, i8, d, count(*) FROM t GROUP BY i2, i8, d ORDER BY i8, i2, d LIMIT 20', 'SELECT f, count(*) FROM t WHERE f <> 0 GROUP BY f ORDER BY f DESC LIMIT 5',
    'SELECT bp, count(*) FROM t GROUP BY bp ORDER BY bp LIMIT 5', 'SELECT n, count(*) FROM t GROUP BY n ORDER BY n DESC LIMIT 5', 'SELECT 1 AS a, g, count(*) FROM t GROUP BY a, g ORDER BY a, g LIMIT 2', 'SELECT g, count(*) FROM t GROUP BY g ORDER BY (SELECT 1), g LIMIT 2', 'SELECT g, count(*) AS n FROM t GROUP BY g ORDER BY n DESC, g FETCH FIRST 2 ROWS WITH TIES', 'SELECT g, generate_series(1, 2) FROM t GROUP BY g ORDER BY g DESC LIMIT 3');

-- within queries
SELECT all_same('SELECT s.id, x.c FROM (SELECT id FROM t WHERE id > 300 ORDER BY i8 DESC, id LIMIT 5) s JOIN t x USING (id)', 'SELECT k, s.* FROM generate_series(0, 6) k, LATERAL (SELECT id FROM t WHERE id > 300 AND g = k ORDER BY d DESC NULLS LAST, id LIMIT 2) s', 'SELECT k, s.* FROM generate_series(0, 6) k, LATERAL (SELECT id FROM t WHERE id > 300 ORDER BY abs(id - k * 200), id LIMIT 2) s', 'SELECT k, s.* FROM generate_series(0, 3) k, LATERAL (SELECT g + k, count(*) FROM t GROUP BY g + k ORDER BY 2, 1 LIMIT 2) s', 'SELECT id FROM t WHERE id IN (SELECT id FROM t ORDER BY i8 DESC, id LIMIT 5)',
    'SELECT (SELECT id FROM t x WHERE x.g = t.g AND x.id > 300 ORDER BY i8, id LIMIT 1) FROM t WHERE id < 20', '(SELECT id FROM t ORDER BY id LIMIT 3) UNION ALL (SELECT id FROM t ORDER BY id DESC LIMIT 3)', 'WITH w AS (SELECT id, i8 FROM t WHERE id > 300 ORDER BY i8, id LIMIT 20) SELECT * FROM w ORDER BY id LIMIT 3', 'SELECT sum(i8) FROM (SELECT i8 FROM t ORDER BY i8 DESC LIMIT 100) s', 'SELECT id FROM t WHERE i8 < (SELECT i8 FROM t ORDER BY i8 OFFSET 30 LIMIT 1)', 'SELECT ARRAY(SELECT id FROM t WHERE id > 300 ORDER BY d, id LIMIT 5)');
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id, i8 FROM t WHERE id > 300 ORDER BY i8 DESC, id LIMIT 5;
FETCH LAST FROM c; FETCH FIRST FROM c; FETCH ALL FROM c; FETCH PRIOR FROM c;
-- winners are those of the snapshot, and fetched from it
DECLARE late CURSOR FOR SELECT id, c FROM t WHERE id > 300 ORDER BY i8 DESC, id LIMIT 5;
FETCH 1 FROM late;
UPDATE t SET c = 'new', i8 = 0 WHERE i8 > 5000; DELETE FROM t WHERE i8 > 4990;
FETCH ALL FROM late;
ROLLBACK;
-- rows of the own transaction, in the buffer and on row pages
BEGIN;
SELECT twins($$INSERT INTO t (id, g, i8, c) SELECT i, 3, 10000 - i % 100, 'own' || i FROM generate_series(10001, 10500) i; UPDATE t SET i8 = 20000 WHERE id BETWEEN 10005 AND 10008; DELETE FROM t WHERE id = 10006$$);
SELECT same('SELECT id, c FROM t ORDER BY i8 DESC, id LIMIT 30', true), same('SELECT i8, count(*) FROM t GROUP BY i8 ORDER BY 2 DESC, 1 LIMIT 9', true);
SAVEPOINT a;
SELECT twins('DELETE FROM t WHERE i8 > 9000');
SELECT same('SELECT id, c FROM t WHERE id > 300 ORDER BY i8 DESC, id LIMIT 30', true);
ROLLBACK TO a;
SELECT same('SELECT id, c FROM t ORDER BY i8 DESC, id LIMIT 30', true);
ROLLBACK;
-- the first rows make later groups unread
SELECT twins('CREATE TABLE line (a int, b text)');
SELECT twins($$INSERT INTO line SELECT i, 'b' || i FROM generate_series(1, 5120) i$$);
SELECT same('SELECT b FROM line ORDER BY a LIMIT 5', true), same('SELECT b FROM line ORDER BY a DESC LIMIT 5', true), same('SELECT b FROM line WHERE a < 2000 ORDER BY a DESC LIMIT 5', true);
-- winners that are large
SELECT twins($$CREATE TABLE large (id int, v text); INSERT INTO large SELECT i, repeat(md5(i::text), 1000) FROM generate_series(1, 300) i$$);
SELECT same('SELECT id, md5(v) FROM large ORDER BY id DESC LIMIT 10', true), same('SELECT id, length(v) FROM large ORDER BY v COLLATE "C" LIMIT 10', true);
-- partitions
SELECT twins($$CREATE TABLE part (k int, v int) PARTITION BY LIST (k); CREATE TABLE part0 PARTITION OF part FOR VALUES IN (0, 1); CREATE TABLE part2 PARTITION OF part DEFAULT; INSERT INTO part SELECT i % 5, (i * 7919) % 10007 FROM generate_series(1, 1500) i$$);
SELECT same('SELECT * FROM part ORDER BY v DESC LIMIT 8', true), same('SELECT * FROM part WHERE k = 1 ORDER BY v LIMIT 8', true), same('SELECT k, sum(v) FROM part GROUP BY k ORDER BY 2 DESC LIMIT 3', true);

SELECT count(*) FILTER (WHERE nodes LIKE '%ColumnarTopN%') * 2 >= count(*) AS enough, count(*) FILTER (WHERE nodes <> '') * 20 >= count(*) * 18 AS enough FROM asked;
SET client_min_messages = warning;
DROP SCHEMA batch_topn, batch_topn_heap CASCADE;
