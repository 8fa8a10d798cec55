-- Prepared statements over changing tables, and two-phase commit of buffered rows.
\getenv dir PG_ABS_SRCDIR
\set schema prepared
\set start :dir '/sql/include/start.sql'
\i :start
CREATE TABLE rows (id int PRIMARY KEY, state text, k int, v text, n numeric);
\set t rows
\i :states
SET plan_cache_mode = force_generic_plan;
PREPARE by_id(int) AS SELECT id, state, k, v, n FROM rows WHERE id = $1;
PREPARE by_k(int) AS SELECT count(*), sum(id), sum(n) FROM rows WHERE k = $1;
PREPARE by_v(text, int) AS SELECT state, count(*) FROM rows WHERE v = $1 AND id > $2 GROUP BY state ORDER BY state;
PREPARE in_list(int[]) AS SELECT count(*), sum(id) FROM rows WHERE id = ANY ($1);
PREPARE change(int, text) AS UPDATE rows SET v = $2 WHERE id = $1 RETURNING v;
PREPARE remove(int) AS DELETE FROM rows WHERE id = $1;
PREPARE put(int, int) AS INSERT INTO rows SELECT i, 'b put', i % 10, 'put', i FROM generate_series($1, $2) i;
PREPARE limited(int) AS SELECT count(*) FROM (SELECT FROM rows LIMIT $1) l;
EXECUTE by_id(3050); EXECUTE by_id(10050); EXECUTE by_id(NULL);
EXECUTE by_k(3); EXECUTE by_k(99); EXECUTE by_k(NULL);
EXECUTE by_v('v3', 4000);
EXECUTE in_list('{3050,NULL,5050,10050}'); EXECUTE in_list(NULL);
EXECUTE limited(10); EXECUTE limited(1000); EXECUTE limited(NULL);
BEGIN;
EXECUTE put(10001, 10100);
EXECUTE by_id(10050);
EXECUTE by_k(3);
EXECUTE change(10050, 'changed'); EXECUTE change(3050, 'changed');
EXECUTE by_id(10050); EXECUTE by_id(3050);
EXECUTE remove(10050); EXECUTE remove(3050);
EXECUTE by_id(10050); EXECUTE by_id(3050);
SAVEPOINT a;
EXECUTE put(10101, 10400);
EXECUTE by_k(3);
ROLLBACK TO a;
EXECUTE by_k(3);
ROLLBACK;
EXECUTE by_k(3);
ALTER TABLE rows ADD COLUMN extra int DEFAULT 1;
EXECUTE by_id(3050);
PREPARE star AS SELECT * FROM rows WHERE id = 3050;
EXECUTE star;
ALTER TABLE rows DROP COLUMN extra;
EXECUTE star;
CREATE INDEX ON rows (k);
EXECUTE by_k(3);
EXECUTE put(10001, 10300);
EXECUTE by_k(3);
VACUUM rows;
EXECUTE by_k(3); EXECUTE by_id(10001);
TRUNCATE rows;
EXECUTE by_k(3); EXECUTE by_id(10001);
EXECUTE put(1, 300);
EXECUTE by_k(3); EXECUTE by_id(1);
DEALLOCATE ALL;
CREATE FUNCTION looped(i int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE n bigint; total bigint := 0;
BEGIN
    FOR j IN 1 .. 8 LOOP
        SELECT sum(id) INTO n FROM rows WHERE k = j AND id < i;
        total := total + n;
    END LOOP;
    RETURN total;
END $$;
SELECT looped(100), looped(200), looped(1000);
RESET plan_cache_mode;

-- two-phase commit
SELECT current_setting('max_prepared_transactions')::int > 0 AS two_phase \gset
\if :two_phase
TRUNCATE rows;
\i :states
BEGIN;
\i :buffer
UPDATE rows SET v = 'prepared' WHERE id % 1000 = 100;
DELETE FROM rows WHERE id % 1000 = 101;
SELECT count(*) FROM (SELECT FROM rows WHERE id % 1000 = 102 FOR UPDATE) l;
PREPARE TRANSACTION 'columnar one';
SELECT state, count(*), count(*) FILTER (WHERE v = 'prepared') FROM rows GROUP BY state ORDER BY state;
\set VERBOSITY terse
SET lock_timeout = '20ms';
UPDATE rows SET v = 'blocked' WHERE id = 3100;
DELETE FROM rows WHERE id = 3101;
SELECT id FROM rows WHERE id = 3102 FOR KEY SHARE;
SELECT id FROM rows WHERE id = 3102 FOR UPDATE SKIP LOCKED;
SELECT id FROM rows WHERE id = 3102 FOR UPDATE NOWAIT;
INSERT INTO rows (id) VALUES (10050);
INSERT INTO rows (id) VALUES (10050) ON CONFLICT DO NOTHING;
INSERT INTO rows (id) VALUES (10101) ON CONFLICT DO NOTHING;
RESET lock_timeout;
\set VERBOSITY default
VACUUM rows;
CHECKPOINT;
COMMIT PREPARED 'columnar one';
SELECT state, count(*), count(*) FILTER (WHERE v = 'prepared') FROM rows GROUP BY state ORDER BY state;
INSERT INTO rows (id) VALUES (10050);
DELETE FROM rows WHERE id > 10000;
UPDATE rows SET v = 'v' || id % 7 WHERE v = 'prepared';
BEGIN;
\i :buffer
UPDATE rows SET v = 'prepared' WHERE id % 1000 = 110;
DELETE FROM rows WHERE id % 1000 = 111;
SAVEPOINT a;
INSERT INTO rows SELECT i, 'b sub', 0, 'b', 0 FROM generate_series(20001, 20300) i;
PREPARE TRANSACTION 'columnar two';
VACUUM rows;
ROLLBACK PREPARED 'columnar two';
SELECT state, count(*), count(*) FILTER (WHERE v = 'prepared') FROM rows GROUP BY state ORDER BY state;
INSERT INTO rows (id) SELECT i FROM generate_series(10001, 10300) i;
UPDATE rows SET v = 'after' WHERE id % 1000 = 110;
DELETE FROM rows WHERE id % 1000 = 111;
SELECT count(*), count(*) FILTER (WHERE v = 'after') FROM rows;
BEGIN;
CREATE TABLE made (a int PRIMARY KEY);
INSERT INTO made SELECT generate_series(1, 300);
PREPARE TRANSACTION 'columnar three';
COMMIT PREPARED 'columnar three';
SELECT count(*), sum(a) FROM made;
BEGIN;
TRUNCATE made;
INSERT INTO made SELECT generate_series(1, 20);
PREPARE TRANSACTION 'columnar four';
ROLLBACK PREPARED 'columnar four';
SELECT count(*), sum(a) FROM made;
\endif

SET client_min_messages = warning;
DROP SCHEMA prepared CASCADE;
