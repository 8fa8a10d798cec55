-- Row level security, column privileges, security barrier views.
\getenv dir PG_ABS_SRCDIR
\set schema security
\set start :dir '/sql/include/start.sql'
\i :start
SET client_min_messages = warning;
DROP ROLE IF EXISTS regress_columnar_a, regress_columnar_b;
RESET client_min_messages;
CREATE ROLE regress_columnar_a;
CREATE ROLE regress_columnar_b;
GRANT USAGE ON SCHEMA security TO regress_columnar_a, regress_columnar_b;
CREATE TABLE rows (id int PRIMARY KEY, state text, k int, v text, n numeric);
CREATE INDEX ON rows (k);
\set t rows
\i :states
ALTER TABLE rows ENABLE ROW LEVEL SECURITY;
CREATE POLICY a_reads ON rows FOR SELECT TO regress_columnar_a USING (k IN (1, 2));
CREATE POLICY a_writes ON rows FOR UPDATE TO regress_columnar_a USING (k = 1) WITH CHECK (k IN (1, 2));
CREATE POLICY a_inserts ON rows FOR INSERT TO regress_columnar_a WITH CHECK (k = 1);
GRANT SELECT, INSERT, UPDATE, DELETE ON rows TO regress_columnar_a;
GRANT SELECT (id, state) ON rows TO regress_columnar_b;
CREATE POLICY b_reads ON rows FOR SELECT TO regress_columnar_b USING (true);
-- a function that tells what it is shown
CREATE FUNCTION leak(text) RETURNS bool LANGUAGE plpgsql COST 0.0000001 AS $$ BEGIN IF $1 NOT IN ('v1', 'v2') THEN RAISE NOTICE 'leaked %', $1; END IF; RETURN true; END $$;
GRANT EXECUTE ON FUNCTION leak TO public;
SET ROLE regress_columnar_a;
SELECT state, count(*), min(k), max(k) FROM rows GROUP BY state ORDER BY state;
SELECT count(*) FROM rows WHERE k = 3;
SELECT count(*) FROM rows WHERE id = 3003;
SELECT id, k FROM rows WHERE id IN (3001, 3003, 5002, 9001) ORDER BY id;
UPDATE rows SET v = 'a' WHERE id % 1000 < 20;
SELECT id, k, v FROM rows WHERE v = 'a' ORDER BY id;
UPDATE rows SET k = 5 WHERE id = 3001;
UPDATE rows SET k = 2 WHERE id = 3001;
UPDATE rows SET k = 1 WHERE id = 3001;
DELETE FROM rows WHERE id < 5000;
INSERT INTO rows SELECT i, 'a', 1, 'a', 0 FROM generate_series(20001, 20300) i;
INSERT INTO rows SELECT i, 'a', 1 + i / 20590, 'a', 0 FROM generate_series(20301, 20600) i;
INSERT INTO rows VALUES (3003, 'a', 1, 'a', 0) ON CONFLICT (id) DO UPDATE SET v = 'seen';
SELECT count(*) FROM rows WHERE state = 'a';
COPY rows (id) TO stdout WITH (FORMAT csv, HEADER) \g /dev/null
SET ROLE regress_columnar_b;
SELECT count(id), count(state), min(id) FROM rows;
SELECT count(*) FROM rows;
SELECT v FROM rows;
SELECT count(*) FROM rows WHERE k = 1;
SELECT rows FROM rows;
UPDATE rows SET state = 'b';
SELECT count(*) FROM rows FOR UPDATE;
RESET ROLE;
-- what a leaky function may see
CREATE VIEW barrier WITH (security_barrier) AS SELECT id, v FROM rows WHERE k = 1 AND v IN ('v1', 'v2') AND id < 9500;
CREATE VIEW plain AS SELECT id, v FROM rows WHERE v IN ('v1', 'v2');
GRANT SELECT ON barrier, plain TO regress_columnar_b;
SET ROLE regress_columnar_b;
SELECT count(*) FROM barrier WHERE leak(v);
SELECT count(*), sum(id) FROM plain;
RESET ROLE;
ALTER POLICY a_reads ON rows USING (k IN (1, 2) AND v IN ('v1', 'v2'));
SET ROLE regress_columnar_a;
SELECT count(*) FROM rows WHERE leak(v);
SELECT count(*) FROM rows WHERE id BETWEEN 3000 AND 4000 AND leak(v);
RESET ROLE;
PREPARE counted AS SELECT count(*) FROM rows;
EXECUTE counted;
SET ROLE regress_columnar_a;
EXECUTE counted;
RESET ROLE;
EXECUTE counted;
ALTER TABLE rows FORCE ROW LEVEL SECURITY;
SELECT count(*) > 2700 FROM rows;
SET client_min_messages = warning;
DROP SCHEMA security CASCADE;
DROP ROLE regress_columnar_a, regress_columnar_b;
