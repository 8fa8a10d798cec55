-- Filters of barriers come before all that could tell of the rows they hide: row security, security barrier views, in every node.
\getenv dir PG_ABS_SRCDIR
\set schema batch_security
\set start :dir '/sql/include/start.sql'
\i :start
\set batch :dir '/sql/include/batch.sql'
\i :batch
SET client_min_messages = warning;
DROP ROLE IF EXISTS regress_batch_reader;
RESET client_min_messages;
CREATE ROLE regress_batch_reader;
SELECT twins($$CREATE TABLE t (id int, owner text, secret text, n int); INSERT INTO t SELECT i, CASE WHEN i % 3 = 0 THEN 'regress_batch_reader' ELSE 'other' END, CASE WHEN i % 3 = 0 THEN 'mine' ELSE 'hidden' END || i, CASE WHEN i % 3 = 0 THEN i ELSE 0 END FROM generate_series(1, 600) i$$);
SET pgcolumnar.bulk_threshold = 1000000;
SELECT twins($$INSERT INTO t SELECT i, CASE WHEN i % 3 = 0 THEN 'regress_batch_reader' ELSE 'other' END, CASE WHEN i % 3 = 0 THEN 'mine' ELSE 'hidden' END || i, CASE WHEN i % 3 = 0 THEN i ELSE 0 END FROM generate_series(601, 700) i$$);
SET pgcolumnar.bulk_threshold = 0;
-- functions that tell what they are shown, or fail at it; one is cheap, one is said to be leakproof and is not asked to keep secrets
CREATE FUNCTION leak(text) RETURNS bool LANGUAGE plpgsql COST 0.0000001 AS $$ BEGIN IF $1 LIKE 'hidden%' THEN RAISE NOTICE 'leaked %', $1; END IF; RETURN true; END $$;
CREATE FUNCTION leak_key(text) RETURNS text LANGUAGE plpgsql IMMUTABLE COST 0.0000001 AS $$ BEGIN IF $1 LIKE 'hidden%' THEN RAISE NOTICE 'leaked %', $1; END IF; RETURN left($1, 4); END $$;
CREATE VIEW barrier WITH (security_barrier) AS SELECT id, secret, n FROM t WHERE owner = 'regress_batch_reader';
CREATE VIEW heap_barrier WITH (security_barrier) AS SELECT id, secret, n FROM batch_security_heap.t WHERE owner = 'regress_batch_reader';
CREATE VIEW leaky_barrier WITH (security_barrier) AS SELECT id, secret, n FROM t WHERE owner || '' = 'regress_batch_reader';
GRANT USAGE ON SCHEMA batch_security, batch_security_heap TO regress_batch_reader;
GRANT SELECT ON t, batch_security_heap.t, barrier, heap_barrier, leaky_barrier TO regress_batch_reader;
GRANT ALL ON asked TO regress_batch_reader;
SELECT twins('ALTER TABLE t ENABLE ROW LEVEL SECURITY; CREATE POLICY own ON t TO regress_batch_reader USING (owner = current_user)');
SET ROLE regress_batch_reader;
SELECT nodes('SELECT id FROM t WHERE leak(secret)'), nodes('SELECT count(*) FROM t WHERE leak(secret)'), nodes('SELECT leak_key(secret), count(*) FROM t GROUP BY 1'), nodes('SELECT id FROM t WHERE leak(secret) ORDER BY n LIMIT 3');
SELECT count(*), min(id), max(id) FROM t;
SELECT q, same(q) FROM unnest(ARRAY['SELECT id FROM t WHERE leak(secret)', 'SELECT count(*), sum(n) FROM t WHERE leak(secret)', 'SELECT leak_key(secret), count(*) FROM t GROUP BY 1', 'SELECT count(*) FROM t WHERE leak_key(secret) <> ''x'' AND n > 5', 'SELECT id FROM t WHERE leak(secret) ORDER BY n DESC LIMIT 5', 'SELECT id FROM t ORDER BY leak_key(secret), id LIMIT 5', 'SELECT leak_key(secret), count(*) FROM t GROUP BY 1 ORDER BY 2 DESC LIMIT 2', 'SELECT max(leak_key(secret)) FROM t', 'SELECT count(*) FILTER (WHERE leak(secret)) FROM t', 'SELECT DISTINCT leak_key(secret) FROM t', 'SELECT g, (SELECT count(*) FROM t WHERE leak(secret) AND n > g * 100) FROM generate_series(1, 3) g',
    'SELECT id FROM t WHERE 1000 / n > 5', 'SELECT count(*) FROM t WHERE 1000 / n > 5', 'SELECT sum(1000 / n) FROM t', 'SELECT 1000 / n, count(*) FROM t GROUP BY 1', 'SELECT id FROM t ORDER BY 1000 / n, id LIMIT 5', 'SELECT id FROM t WHERE n = 0', 'SELECT count(*) FROM t WHERE n = 0 OR secret LIKE ''hidden%''', 'SELECT id FROM t WHERE id = 1', 'SELECT id FROM t WHERE id IN (1, 3) AND leak(secret)', 'SELECT max(secret) FROM t', 'SELECT count(*) FROM t', 'SELECT (SELECT max(n) FROM t), min(n) FROM t',
    'SELECT t FROM t WHERE leak(t::text)', 'SELECT count(*) FROM t WHERE (t).secret LIKE ''hidden%''', 'SELECT secret::int FROM t WHERE id = 1', 'SELECT count(*) FROM t TABLESAMPLE bernoulli (100) WHERE leak(secret)']) WITH ORDINALITY AS x(q, n) ORDER BY n;
-- the barrier's own condition may be one that no kernel does
SELECT count(*), count(*) FILTER (WHERE leak(secret)) FROM barrier WHERE leak(secret);
SELECT count(*), sum(1000 / n) FROM barrier WHERE 1000 / n > 0;
SELECT count(*), count(*) FILTER (WHERE leak(secret)) FROM leaky_barrier WHERE leak(secret);
SELECT count(*) FROM leaky_barrier WHERE 1000 / n > 5 AND leak_key(secret) = 'mine';
SELECT id FROM leaky_barrier WHERE leak(secret) AND n % 2 = 1 ORDER BY n LIMIT 3;
SELECT leak_key(secret), count(*) FROM leaky_barrier WHERE 1000 / n >= 0 GROUP BY 1;
SELECT count(*) FROM (SELECT id, n, secret FROM barrier WHERE leak(secret) EXCEPT ALL SELECT id, n, secret FROM heap_barrier) d;
SELECT count(*) FROM barrier b JOIN t USING (id) WHERE leak(b.secret) AND leak(t.secret);
-- a plan is made anew for whom it does not hold
SET plan_cache_mode = force_generic_plan;
PREPARE p AS SELECT count(*), min(secret) FROM t WHERE leak(secret) AND owner <> 'x';
EXECUTE p;
RESET ROLE;
SET client_min_messages = warning;
EXECUTE p;
SET ROLE regress_batch_reader;
RESET client_min_messages;
EXECUTE p;
RESET ROLE;
-- a policy that asks a table, and one without effect for its owner
SELECT twins('CREATE TABLE may (id int); INSERT INTO may SELECT i * 5 FROM generate_series(1, 300) i; ALTER POLICY own ON t USING (id IN (SELECT id FROM may))');
GRANT SELECT ON may, batch_security_heap.may TO regress_batch_reader;
SET ROLE regress_batch_reader;
SELECT same('SELECT id FROM t'), same('SELECT count(*), sum(n) FROM t'), same('SELECT id FROM t ORDER BY id DESC LIMIT 3'), same('SELECT n, count(*) FROM t GROUP BY n');
RESET ROLE;
-- column privileges
REVOKE SELECT ON t FROM regress_batch_reader;
GRANT SELECT (id, n) ON t TO regress_batch_reader;
ALTER TABLE t DISABLE ROW LEVEL SECURITY;
SET ROLE regress_batch_reader;
SELECT count(*), sum(n) FROM t;
SELECT count(secret) FROM t;
SELECT n FROM t WHERE secret = 'x';
SELECT n, count(*) FROM t WHERE n > 690 GROUP BY n ORDER BY count(secret) LIMIT 1;
SELECT n, count(*) FROM t WHERE n > 690 GROUP BY n ORDER BY n DESC LIMIT 1;
RESET ROLE;
SET client_min_messages = warning;
DROP SCHEMA batch_security, batch_security_heap CASCADE;
DROP OWNED BY regress_batch_reader; DROP ROLE regress_batch_reader;
