-- Results are the same however many threads there are, with spilling, with errors in threads, and where work stops early.
\getenv dir PG_ABS_SRCDIR
\set schema batch_threads
\set start :dir '/sql/include/start.sql'
\i :start
\set batch :dir '/sql/include/batch.sql'
\i :batch
SELECT twins('CREATE TABLE t (id int, k int, g int, n numeric(12,2), f float8, s text, c text COLLATE "C", d date)');
SET pgcolumnar.row_group_rows = 6000; SET pgcolumnar.vector_rows = 1000;
SELECT twins($$INSERT INTO t SELECT i, i * 7919 % 5003, CASE WHEN i % 31 > 0 THEN i % 17 END, CASE WHEN i % 13 > 0 THEN i / 4.0 END, i % 1000 / 8.0, 'text ' || i * 31 % 2011, 'c' || i % 77, date '2024-01-01' + i % 300 FROM generate_series(1, 60000) i; DELETE FROM t WHERE id % 101 = 0$$);
SET pgcolumnar.bulk_threshold = 1000000;
SELECT twins($$INSERT INTO t SELECT i, i % 5003, 3, i, i, 'page' || i % 7, 'c', '2024-01-01' FROM generate_series(60001, 60300) i; UPDATE t SET n = 7 WHERE id % 997 = 0$$);
SET pgcolumnar.bulk_threshold = 0;
ANALYZE t; ANALYZE batch_threads_heap.t;
-- What heap answers, once.
CREATE TABLE wanted (query text, ordered bool, answer text[]) USING heap;
INSERT INTO wanted SELECT unnest(ARRAY['SELECT count(*), count(n), sum(n), avg(f), min(s), max(d) FROM t', 'SELECT g, count(*), sum(n), avg(n), min(c), max(id), stddev(k), sum(f) FROM t GROUP BY g', 'SELECT k, count(*), sum(n), max(d) FROM t GROUP BY k', 'SELECT s, g, count(*), sum(id) FROM t GROUP BY s, g', 'SELECT g, count(DISTINCT k), count(DISTINCT s), sum(DISTINCT n) FROM t GROUP BY g', 'SELECT count(DISTINCT id), count(DISTINCT s) FROM t', 'SELECT DISTINCT s, g FROM t', 'SELECT s, k, id, count(*), sum(n), min(c), avg(n), count(DISTINCT f) FROM t GROUP BY s, k, id', 'SELECT id, n FROM t WHERE s LIKE ''%77'' AND id % 2 = 1', 'SELECT * FROM t WHERE g = 5 AND f > 100', 'SELECT count(*) FROM t WHERE c = ''c5'' OR n IS NULL', 'SELECT g, count(*) FILTER (WHERE f > 50), max(c) FILTER (WHERE k = 3) FROM t GROUP BY g HAVING count(*) > 100',
        'SELECT upper(c), length(s), count(*) FROM t GROUP BY 1, 2', 'SELECT id FROM t WHERE md5(c) > ''8''', 'SELECT date_trunc(''month'', d), sum(n) FROM t GROUP BY 1', 'SELECT a.g, count(*), sum(b.n) FROM t a JOIN t b ON a.id = b.id + 1 GROUP BY a.g', 'SELECT sum(id) FROM (SELECT id FROM t WHERE g = (SELECT min(g) FROM t)) x', 'SELECT x, (SELECT count(*) FROM t WHERE g = x) FROM generate_series(0, 3) x', 'SELECT count(*) FROM (SELECT id FROM t WHERE f > 3 LIMIT 2000) x', 'SELECT sum(1 / (id - 30000)) FROM t', 'SELECT id FROM t WHERE 1 / (id - 59990) > 5', 'SELECT k * 1000000 FROM t WHERE id > 100', 'SELECT g, sum(k * 1000000) FROM t GROUP BY g']), false;
INSERT INTO wanted SELECT unnest(ARRAY['SELECT * FROM t ORDER BY f DESC, id LIMIT 30', 'SELECT id, c FROM t WHERE g = 3 ORDER BY c, id DESC OFFSET 50 LIMIT 30', 'SELECT id FROM t ORDER BY n NULLS FIRST, id LIMIT 300', 'SELECT f FROM t ORDER BY f LIMIT 500', 'SELECT id FROM t ORDER BY id DESC LIMIT 3', 'SELECT k, sum(n) FROM t GROUP BY k ORDER BY 2 DESC NULLS LAST, 1 LIMIT 25', 'SELECT c, count(*), min(s COLLATE "C") FROM t GROUP BY c ORDER BY 3, 1 LIMIT 9', 'SELECT DISTINCT d FROM t ORDER BY d LIMIT 5', 'SELECT id FROM t ORDER BY 1 / (id - 30001), id LIMIT 3']), true;
SET search_path = batch_threads_heap, batch_threads, public;
UPDATE wanted SET answer = answer(query);
SET search_path = batch_threads, public;
SELECT query, answer[1] FROM wanted WHERE answer[1] LIKE 'error%' ORDER BY query COLLATE "C";
SELECT count(*) FROM wanted WHERE nodes(query) = '';
CREATE FUNCTION wrong() RETURNS TABLE (question text, difference text) LANGUAGE sql AS $$
    SELECT query, d FROM wanted, LATERAL differing('now', answer(query), answer, ordered) d WHERE d <> '';
$$;
SET pgcolumnar.max_threads = 0;
SELECT counted('Threads', 'SELECT k, count(*) FROM t GROUP BY k'), counted('Threads', 'SELECT id FROM t WHERE g = 5');
SELECT * FROM wrong();
SET pgcolumnar.max_threads = 1;
SELECT counted('Threads', 'SELECT k, count(*) FROM t GROUP BY k'), counted('Threads', 'SELECT id FROM t WHERE g = 5');
SELECT * FROM wrong();
SET pgcolumnar.max_threads = 2;
SELECT * FROM wrong();
-- what PostgreSQL evaluates, is not given to threads
SELECT counted('Threads', 'SELECT count(*) FROM t WHERE md5(c) > ''5''');
SET pgcolumnar.max_threads = -1; SET max_parallel_workers_per_gather = 0;
SELECT counted('Threads', 'SELECT k, count(*) FROM t GROUP BY k');
SET max_parallel_workers_per_gather = 1;
SELECT counted('Threads', 'SELECT k, count(*) FROM t GROUP BY k');
SET pgcolumnar.max_threads = 2; SET work_mem = '64kB'; SET hash_mem_multiplier = 1;
SELECT counted('Spilled', 'SELECT s, k, id, count(*), sum(n), min(c), avg(n), count(DISTINCT f) FROM t GROUP BY s, k, id') > 0 AS spilled;
SELECT * FROM wrong();
RESET work_mem; RESET hash_mem_multiplier;
-- several scans with threads at once, stopped anywhere
BEGIN;
DECLARE a CURSOR FOR SELECT id FROM t WHERE f >= 0; DECLARE b CURSOR FOR SELECT id FROM t WHERE g = 5; DECLARE c CURSOR FOR SELECT k, count(*) FROM t GROUP BY k; DECLARE d CURSOR FOR SELECT id FROM t ORDER BY f DESC, id LIMIT 10;
MOVE 3 IN a; MOVE 5000 IN b; MOVE 7 IN c; MOVE 2 IN d;
DELETE FROM t WHERE id > 59000;
MOVE 10000 IN a; MOVE ALL IN b; MOVE ALL IN c; MOVE ALL IN d;
SAVEPOINT s;
DECLARE e CURSOR FOR SELECT 1 / (id - 40000) FROM t WHERE f >= 0;
MOVE 100 IN e; MOVE ALL IN e;
ROLLBACK TO s;
MOVE ALL IN a; CLOSE a;
SELECT count(*), sum(id) FROM t;
ROLLBACK;
SELECT count(*) FROM (SELECT id FROM t WHERE f >= 0 LIMIT 1) x;
SELECT count(*) FROM t a, LATERAL (SELECT id FROM t b WHERE b.id > a.id LIMIT 1) x WHERE a.id IN (5, 500, 50000);
SET statement_timeout = '1ms';
SELECT s, k, count(*), sum(id) FROM t GROUP BY s, k;
RESET statement_timeout;
SELECT * FROM wrong();
DO $$ BEGIN PERFORM sum(1 / (id - 30000)) FROM t; EXCEPTION WHEN division_by_zero THEN RAISE NOTICE 'caught'; END $$;
SELECT same('SELECT count(*), sum(id) FROM t');
SET client_min_messages = warning;
DROP SCHEMA batch_threads, batch_threads_heap CASCADE;
