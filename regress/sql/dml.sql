-- Changes of rows in every state.
\getenv dir PG_ABS_SRCDIR
\set schema dml
\set start :dir '/sql/include/start.sql'
\i :start
CREATE TABLE rows (id int PRIMARY KEY, state text, k int, v text, n numeric);
CREATE INDEX ON rows (k);
\set t rows
\i :states
SELECT state, count(*), sum(id), sum(k), count(n), sum(n), min(v), max(v) FROM rows GROUP BY state ORDER BY state;
SELECT count(*) FROM rows WHERE v = 'wrong' OR k < 0;

-- update, delete, each also of rows that are still in the write buffer, then undone
BEGIN;
\i :buffer
UPDATE rows SET v = 'new', n = n + 1 WHERE k = 3;
SELECT state, count(*), sum(n) FROM rows WHERE v = 'new' GROUP BY state ORDER BY state;
UPDATE rows SET k = 30 WHERE k = 3;
SELECT state, count(*), sum(id) FROM rows WHERE k = 30 GROUP BY state ORDER BY state;
UPDATE rows SET id = -id WHERE k = 30;
SELECT state, count(*), sum(id) FROM rows WHERE id < 0 GROUP BY state ORDER BY state;
DELETE FROM rows WHERE k IN (4, 30);
SELECT state, count(*), sum(id), sum(n) FROM rows GROUP BY state ORDER BY state;
ROLLBACK;
SELECT state, count(*), sum(id), sum(n) FROM rows GROUP BY state ORDER BY state;

-- the same, one row at a time by key, with RETURNING
BEGIN;
\i :buffer
WITH r AS (UPDATE rows SET v = v || '!' WHERE id IN (1010, 2010, 3010, 4010, 5010, 6010, 7010, 8010, 9010, 10010) RETURNING id, state, k, v, n) SELECT * FROM r ORDER BY id;
WITH r AS (DELETE FROM rows WHERE id IN (1010, 2010, 3010, 4010, 5010, 6010, 7010, 8010, 9010, 10010) RETURNING id, v, n) SELECT * FROM r ORDER BY id;
DELETE FROM rows WHERE id IN (1010, 2010, 3010, 4010, 5010, 6010, 7010, 8010, 9010, 10010) RETURNING id;
INSERT INTO rows SELECT i, 'again', 0, 'again', i FROM generate_series(1010, 10010, 1000) i RETURNING *;
SELECT * FROM rows WHERE id % 1000 = 10 ORDER BY id;
ROLLBACK;

-- update from a join that finds a row twice, delete using
BEGIN;
\i :buffer
UPDATE rows SET v = j.v FROM (VALUES (7, 'seven'), (7, 'seven'), (8, 'eight')) j (k, v) WHERE rows.k = j.k AND id % 1000 < 20;
SELECT id, v FROM rows WHERE v IN ('seven', 'eight') ORDER BY id;
DELETE FROM rows USING rows other WHERE rows.id = other.id + 1000 AND other.k = 5;
SELECT state, count(*) FROM rows GROUP BY state ORDER BY state;
ROLLBACK;

-- on conflict
BEGIN;
\i :buffer
INSERT INTO rows SELECT i, 'conflict', 0, 'conflict', 0 FROM generate_series(1007, 11007, 1000) i ON CONFLICT DO NOTHING RETURNING id;
INSERT INTO rows SELECT i, 'conflict', 0, 'conflict', 0 FROM generate_series(1008, 11008, 1000) i
    ON CONFLICT (id) DO UPDATE SET v = rows.v || excluded.v, k = excluded.k WHERE rows.k = 8 RETURNING *;
INSERT INTO rows SELECT i, 'conflict', 0, 'conflict', 0 FROM generate_series(1008, 11008, 1000) i
    ON CONFLICT (id) DO UPDATE SET v = 'twice' WHERE rows.k = 8 RETURNING *;
SELECT * FROM rows WHERE id % 1000 IN (7, 8) ORDER BY id;
ROLLBACK;
INSERT INTO rows VALUES (20001, 'new', 0, 'a', 0), (20001, 'new', 0, 'b', 0) ON CONFLICT (id) DO UPDATE SET v = 'c';
INSERT INTO rows VALUES (20001, 'new', 0, 'a', 0), (20001, 'new', 0, 'b', 0) ON CONFLICT DO NOTHING RETURNING v;
DELETE FROM rows WHERE id = 20001;

-- merge
BEGIN;
\i :buffer
MERGE INTO rows USING (SELECT i FROM generate_series(1005, 12005, 500) i) s ON rows.id = s.i
    WHEN MATCHED AND k = 5 AND state LIKE '%group' THEN DELETE
    WHEN MATCHED AND k = 5 THEN UPDATE SET v = 'merged', k = 55
    WHEN MATCHED THEN DO NOTHING
    WHEN NOT MATCHED THEN INSERT VALUES (i, 'merged', 0, 'inserted', NULL);
SELECT * FROM rows WHERE v IN ('merged', 'inserted') ORDER BY id;
SELECT state, count(*) FROM rows GROUP BY state ORDER BY state;
MERGE INTO rows USING (VALUES (3100), (3100)) s (i) ON rows.id = s.i WHEN MATCHED THEN UPDATE SET v = 'twice';
ROLLBACK;

-- the same row changed several times in one transaction and over savepoints
BEGIN;
\i :buffer
UPDATE rows SET v = 'one' WHERE id % 1000 = 50;
SAVEPOINT a;
UPDATE rows SET v = v || ' two' WHERE id % 1000 = 50;
SAVEPOINT b;
DELETE FROM rows WHERE id % 1000 = 50;
SELECT count(*) FROM rows WHERE id % 1000 = 50;
ROLLBACK TO b;
SELECT id, v FROM rows WHERE id % 1000 = 50 ORDER BY id;
ROLLBACK TO a;
UPDATE rows SET k = k + 100, v = v || ' three' WHERE id % 1000 = 50;
SELECT id, k, v FROM rows WHERE id % 1000 = 50 ORDER BY id;
COMMIT;
SELECT id, k, v FROM rows WHERE k = 100 ORDER BY id;
DELETE FROM rows WHERE id > 10000;
UPDATE rows SET v = 'v' || id % 7, k = id % 10 WHERE k = 100;

-- row triggers see and change old and new versions
CREATE TABLE log (n int GENERATED ALWAYS AS IDENTITY, what text, old text, new text) USING heap;
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO log (what, old, new) VALUES (TG_WHEN || ' ' || TG_OP || ' ' || TG_LEVEL,
        CASE WHEN TG_LEVEL = 'ROW' AND TG_OP <> 'INSERT' THEN old::text END, CASE WHEN TG_LEVEL = 'ROW' AND TG_OP <> 'DELETE' THEN new::text END);
    RETURN CASE WHEN TG_OP = 'DELETE' THEN old ELSE new END;
END $$;
CREATE TRIGGER a BEFORE INSERT OR UPDATE OR DELETE ON rows FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION note();
CREATE TRIGGER b AFTER INSERT OR UPDATE OR DELETE ON rows FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER c AFTER INSERT OR UPDATE OR DELETE ON rows FOR EACH STATEMENT EXECUTE FUNCTION note();
UPDATE rows SET v = 'triggered', n = NULL WHERE id % 1000 = 60;
DELETE FROM rows WHERE id % 1000 = 61;
INSERT INTO rows SELECT i, 'triggered', 0, 'triggered', 0 FROM generate_series(20001, 20005) i;
SELECT what, old, new FROM log ORDER BY what COLLATE "C", old, new;
TRUNCATE log;
-- after-row triggers of one statement and transaction read rows that are inserted, buffered and changed again
BEGIN;
INSERT INTO rows SELECT i, 'a buffered', i % 10, 'first', NULL FROM generate_series(10001, 10003) i;
UPDATE rows SET v = 'second' WHERE id = 10001;
DELETE FROM rows WHERE id IN (10001, 10002);
COMMIT;
SELECT what, old, new FROM log ORDER BY what COLLATE "C", old, new;
TRUNCATE log;
DROP TRIGGER a ON rows; DROP TRIGGER b ON rows; DROP TRIGGER c ON rows;
CREATE CONSTRAINT TRIGGER d AFTER INSERT OR UPDATE OR DELETE ON rows DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note();
BEGIN;
INSERT INTO rows SELECT i, 'a buffered', i % 10, 'first', NULL FROM generate_series(10004, 10006) i;
UPDATE rows SET v = 'second' WHERE id IN (10004, 3070);
DELETE FROM rows WHERE id IN (10004, 3071);
SELECT count(*) FROM log;
COMMIT;
SELECT what, old, new FROM log ORDER BY what COLLATE "C", old, new;
TRUNCATE log;
DROP TRIGGER d ON rows;
-- transition tables
CREATE FUNCTION transit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN INSERT INTO log (what, new) SELECT TG_OP, count(*) || ' ' || sum(id) || ' ' || min(v) FROM new_rows;
    ELSIF TG_OP = 'DELETE' THEN INSERT INTO log (what, old) SELECT TG_OP, count(*) || ' ' || sum(id) || ' ' || min(v) FROM old_rows;
    ELSE INSERT INTO log (what, old, new) SELECT TG_OP, count(*) || ' ' || sum(o.id) || ' ' || min(o.v), count(*) || ' ' || sum(n.id) || ' ' || min(n.v)
        FROM old_rows o FULL JOIN new_rows n USING (id);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER i AFTER INSERT ON rows REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION transit();
CREATE TRIGGER u AFTER UPDATE ON rows REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION transit();
CREATE TRIGGER x AFTER DELETE ON rows REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION transit();
BEGIN;
INSERT INTO rows SELECT i, 'transit', i % 10, 'transit', i FROM generate_series(30001, 31000) i;
UPDATE rows SET v = 'transit 2' WHERE k = 9;
DELETE FROM rows WHERE k = 8 OR v = 'transit 2';
ROLLBACK;
UPDATE rows SET v = 'transit 2' WHERE k = 9;
DELETE FROM rows WHERE k = 8 OR v = 'transit 2';
WITH gone AS (DELETE FROM rows WHERE k = 7 RETURNING *), came AS (INSERT INTO rows SELECT id + 50000, state, k, v, n FROM gone RETURNING id)
    SELECT count(*), sum(id) FROM came;
SELECT what, old, new FROM log ORDER BY n;
DROP TRIGGER i ON rows; DROP TRIGGER u ON rows; DROP TRIGGER x ON rows;
SELECT state, count(*), sum(id), sum(k), count(n), sum(n) FROM rows GROUP BY state ORDER BY state;

-- defaults, identity, generated columns
CREATE TABLE made (a int GENERATED ALWAYS AS IDENTITY, b serial, c int DEFAULT 7, d int GENERATED ALWAYS AS (c * 2) STORED, e text DEFAULT upper('default'), f timestamptz DEFAULT '2020-01-01 00:00+00');
INSERT INTO made DEFAULT VALUES;
INSERT INTO made (c) SELECT i FROM generate_series(1, 500) i;
INSERT INTO made (a) VALUES (1);
INSERT INTO made (a, d) OVERRIDING SYSTEM VALUE VALUES (1000, DEFAULT);
UPDATE made SET c = c + 1 WHERE a % 100 = 0;
UPDATE made SET d = 1;
SELECT count(*), sum(a), sum(b), sum(c), sum(d), min(e), max(f) = '2020-01-01 00:00+00' FROM made;
SELECT a, b, c, d, e FROM made WHERE a % 100 = 0 ORDER BY a;
-- copy
COPY rows (id, v) FROM stdin;
70001	copied
70002	\N
\.
COPY rows (id, v) FROM stdin WITH (FORMAT csv, FORCE_NULL (v));
70003,""
70001,duplicate
\.
COPY (SELECT id, v, n FROM rows WHERE id BETWEEN 3020 AND 3030 OR id > 70000 ORDER BY id) TO stdout;
COPY (DELETE FROM rows WHERE id > 70000 RETURNING id, v) TO stdout;

SET client_min_messages = warning;
DROP SCHEMA dml CASCADE;
