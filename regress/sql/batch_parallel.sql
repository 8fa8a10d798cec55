-- Workers of a Gather share a ColumnarScan: each row is read once, whatever the plan above; and core's own scans of a table
-- decode the columns that are read.
\getenv dir PG_ABS_SRCDIR
\set schema batch_parallel
\set start :dir '/sql/include/start.sql'
\i :start
\set batch :dir '/sql/include/batch.sql'
\i :batch
SELECT twins('CREATE TABLE t (id int, k int, n numeric(12,2), s text, d date); CREATE TABLE small (k int, name text)');
SET pgcolumnar.row_group_rows = 500; SET pgcolumnar.vector_rows = 100; SET pgcolumnar.bulk_threshold = 0;
SELECT twins($$INSERT INTO t SELECT i, i * 7919 % 503, CASE WHEN i % 13 > 0 THEN i / 4.0 END, CASE WHEN i % 11 > 0 THEN 'text ' || i * 31 % 211 END, date '2024-01-01' + i % 300 FROM generate_series(1, 45000) i; INSERT INTO small SELECT i, 'name ' || i % 7 FROM generate_series(0, 502) i; DELETE FROM t WHERE id % 101 = 0$$);
SET pgcolumnar.bulk_threshold = 1000000;
SELECT twins($$INSERT INTO t SELECT i, i % 503, 3, 'page', '2024-01-01' FROM generate_series(45001, 45700) i; UPDATE t SET n = 7 WHERE id % 97 = 0$$);
SET pgcolumnar.bulk_threshold = 0;
ANALYZE t; ANALYZE small; ANALYZE batch_parallel_heap.t; ANALYZE batch_parallel_heap.small;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 3;
CREATE FUNCTION parallel_scans(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    RETURN (SELECT count(*) FROM regexp_matches(plan::text, '"Node Type": "Custom Scan",[^{}]*"Parallel Aware": true', 'g'));
END $$;
EXPLAIN (COSTS OFF) SELECT name, count(*), sum(id) FROM t JOIN small USING (k) WHERE id % 3 = 0 GROUP BY name;
EXPLAIN (COSTS OFF) SELECT count(*) FROM t a JOIN t b USING (id);
SELECT q, parallel_scans(q), same(q) FROM unnest(ARRAY['SELECT name, count(*), sum(id), avg(n), max(s) FROM t JOIN small USING (k) WHERE id % 3 = 0 GROUP BY name', 'SELECT count(*), sum(a.id), sum(b.n) FROM t a JOIN t b USING (id)', 'SELECT a.k, count(b.s) FROM t a LEFT JOIN t b ON a.id = b.id + 7 AND b.n > 100 GROUP BY a.k', 'SELECT count(*) FROM t WHERE EXISTS (SELECT FROM small WHERE small.k = t.k AND name = ''name 3'')', 'SELECT id, s FROM t WHERE md5(s) LIKE ''a%'' AND id % 7 = 0', 'SELECT x.* FROM (SELECT id, n, row_number() OVER (ORDER BY id) r FROM t WHERE d = ''2024-02-02'') x WHERE r < 60', 'SELECT id, sum(n) OVER (PARTITION BY k) FROM t WHERE k < 3', 'SELECT t.* FROM t JOIN small USING (k) WHERE id > 44990', 'SELECT count(t), count(t.s) FROM t JOIN small USING (k)', 'SELECT count(*) FROM t JOIN small USING (k) WHERE t.tableoid > 0 AND t.ctid IS NOT NULL', 'SELECT 1 / (id - 40000) FROM t JOIN small USING (k)']) q;
-- the workers' counters are the leader's
SELECT counted('Row Groups', 'SELECT count(*) FROM t a JOIN t b USING (id)') = 2 * count(DISTINCT group_id) AS groups FROM pgcolumnar.storage_info('t');
SELECT counted('Rows Removed by Columnar Filter', 'SELECT name, count(*) FROM t JOIN small USING (k) WHERE id % 3 = 0 GROUP BY name') = (SELECT count(*) FROM t WHERE id % 3 <> 0) AS removed;
SET parallel_leader_participation = off;
SELECT counted('Rows Removed by Columnar Filter', 'SELECT name, count(*) FROM t JOIN small USING (k) WHERE id % 3 = 0 GROUP BY name') = (SELECT count(*) FROM t WHERE id % 3 <> 0) AS removed;
SELECT all_same('SELECT count(*), sum(a.id), sum(b.n) FROM t a JOIN t b USING (id)', 'SELECT name, count(*), sum(id) FROM t JOIN small USING (k) WHERE id % 3 = 0 GROUP BY name');
RESET parallel_leader_participation;
-- stopped early, started over, without workers
SELECT count(*) FROM (SELECT t.id FROM t JOIN small USING (k) LIMIT 5) x;
SET enable_material = off; SET enable_hashjoin = off; SET enable_mergejoin = off;
SELECT all_same('SELECT x, count(*), sum(id) FROM generate_series(1, 4) x LEFT JOIN (SELECT t.id, t.k FROM t WHERE md5(s) LIKE ''a%'' OFFSET 0) y ON y.k % 5 = x GROUP BY x', 'SELECT small.k, y.c FROM small, LATERAL (SELECT count(*) AS c FROM t WHERE md5(t.s) LIKE ''a%'' AND t.k = small.k) y WHERE small.k < 20');
RESET enable_material; RESET enable_hashjoin; RESET enable_mergejoin;
SET max_parallel_workers = 0;
SELECT all_same('SELECT count(*), sum(a.id), sum(b.n) FROM t a JOIN t b USING (id)');
RESET max_parallel_workers;
-- rows of one's own transaction, and of a subtransaction rolled back
BEGIN;
SELECT twins('INSERT INTO t SELECT i, 1, 1, ''new'', ''2024-03-03'' FROM generate_series(50001, 50900) i');
SAVEPOINT s;
SELECT twins('DELETE FROM t WHERE id % 2 = 0');
ROLLBACK TO s;
SELECT all_same('SELECT count(*), sum(a.id), sum(b.n) FROM t a JOIN t b USING (id)');
ROLLBACK;
-- partitions and inheritance: each child is shared by workers
SELECT twins('CREATE TABLE parts (id int, k int, s text) PARTITION BY RANGE (id); CREATE TABLE p1 PARTITION OF parts FOR VALUES FROM (0) TO (20000); CREATE TABLE p2 PARTITION OF parts FOR VALUES FROM (20000) TO (50000); INSERT INTO parts SELECT id, k, s FROM t; ANALYZE parts');
SELECT q, parallel_scans(q) > 0 AS parallel, same(q) FROM unnest(ARRAY['SELECT name, count(*), sum(id) FROM parts JOIN small USING (k) GROUP BY name']) q;
RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size; SET max_parallel_workers_per_gather = 0;

-- Core's scans: columns between those that are read are passed over, and are there where a row is copied as a whole.
SELECT twins('CREATE INDEX ON t (id); CREATE INDEX ON t (k)');
RESET cpu_tuple_cost; RESET cpu_index_tuple_cost; RESET cpu_operator_cost;
SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_seqscan = off;
SELECT q, nodes(q), same(q) FROM unnest(ARRAY['SELECT d FROM t WHERE id = 777', 'SELECT id, d FROM t WHERE id BETWEEN 100 AND 140', 'SELECT t FROM t WHERE id = 777', 'SELECT t.*, t FROM t WHERE id = 777', 'SELECT small.name, t.d FROM small JOIN t ON t.id = small.k WHERE small.k < 50', 'SELECT small.name, t.s, t FROM small JOIN t ON t.id = small.k WHERE small.k < 50', 'SELECT count(*) FROM t WHERE id < 300', 'SELECT d, s FROM t WHERE id < 300 ORDER BY d, s, id LIMIT 20', 'SELECT k, max(d) FROM t WHERE k = 5 GROUP BY k', 'SELECT (SELECT d FROM t WHERE t.id = small.k) FROM small WHERE k < 40', 'SELECT DISTINCT d FROM t WHERE k IN (3, 4)']) q;
-- a row of a wide table: pages of one column are read, or those of all
SET pgcolumnar.cache_size = '64kB';
CREATE TABLE wide (id int, a text, b text, c text, d text, e text, f text, g text, h text) USING pgcolumnar;
INSERT INTO wide SELECT i, m || 1, m || 2, m || 3, m || 4, m || 5, m || 6, m || 7, m || 8 FROM (SELECT i, md5(i::text) || md5(i || 'x') AS m FROM generate_series(1, 2000) i) x;
CREATE INDEX ON wide (id); ANALYZE wide;
CREATE FUNCTION pages(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ' || query INTO plan;
    RETURN (plan->0->'Plan'->>'Shared Hit Blocks')::int + (plan->0->'Plan'->>'Shared Read Blocks')::int;
END $$;
SELECT pages('SELECT count(wide) FROM wide WHERE id = 1200') > 0 AS warm;
SELECT pages('SELECT count(h) FROM wide WHERE id = 700') + 6 < pages('SELECT count(wide) FROM wide WHERE id = 1700') AS fewer;
RESET pgcolumnar.cache_size;
BEGIN;
SELECT s FROM t WHERE id = 778 FOR UPDATE;
SELECT twins('UPDATE t SET d = d + 1 WHERE id IN (778, 45010)'); SELECT twins('UPDATE t SET s = s || k WHERE k = 9 AND id < 2000'); SELECT twins('DELETE FROM t WHERE id = 779');
SELECT all_same('SELECT * FROM t WHERE id BETWEEN 770 AND 790', 'SELECT * FROM t WHERE k = 9', 'SELECT * FROM t WHERE id = 45010');
DECLARE c CURSOR FOR SELECT d FROM t WHERE id IN (800, 801, 45020) FOR UPDATE;
FETCH 2 FROM c;
UPDATE t SET n = -1 WHERE CURRENT OF c RETURNING *;
ROLLBACK;
CREATE TABLE copied (LIKE t) USING pgcolumnar; CREATE TABLE log (old_row text, new_row text) USING heap;
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO log VALUES (OLD::text, NEW::text); RETURN NEW; END $$;
CREATE TRIGGER note AFTER UPDATE ON t FOR EACH ROW EXECUTE FUNCTION note();
UPDATE t SET d = '2025-01-01' WHERE id = 4711;
SELECT * FROM log;
INSERT INTO copied SELECT * FROM t WHERE id BETWEEN 4705 AND 4715 RETURNING *;
SELECT count(*) FROM (SELECT * FROM copied EXCEPT SELECT * FROM t) x;
-- a plan made for one shape of the table, used for another
PREPARE p AS SELECT s, d FROM t WHERE id = $1;
SET plan_cache_mode = force_generic_plan;
EXECUTE p(4711);
ALTER TABLE t ADD COLUMN added int DEFAULT 42; ALTER TABLE t DROP COLUMN n;
EXECUTE p(4711);
SELECT added, s FROM t WHERE id = 4711;
SELECT t FROM t WHERE id = 4711;
