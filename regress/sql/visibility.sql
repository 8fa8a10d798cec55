-- Which commands see which rows: savepoints, cursors, functions, commands that read what they write.
\getenv dir PG_ABS_SRCDIR
\set schema visibility
\set start :dir '/sql/include/start.sql'
\i :start
CREATE TABLE rows (id int PRIMARY KEY, state text, k int, v text, n numeric);
\set t rows
\i :states

-- bulk inserts in savepoints: kept, undone, nested; ids used again after they were undone
BEGIN;
INSERT INTO rows (id, state, k) SELECT i, 'outer', 1 FROM generate_series(10001, 10100) i;
SAVEPOINT a;
INSERT INTO rows (id, state, k) SELECT i, 'a', 1 FROM generate_series(10101, 10200) i;
SAVEPOINT b;
INSERT INTO rows (id, state, k) SELECT i, 'b', 1 FROM generate_series(10201, 10700) i;
SELECT state, count(*) FROM rows WHERE id > 10000 GROUP BY state ORDER BY state;
UPDATE rows SET k = 2 WHERE id BETWEEN 10050 AND 10250;
SELECT state, k, count(*) FROM rows WHERE id > 10000 GROUP BY state, k ORDER BY state, k;
ROLLBACK TO b;
SELECT state, k, count(*) FROM rows WHERE id > 10000 GROUP BY state, k ORDER BY state, k;
SELECT id, state, k FROM rows WHERE id IN (10100, 10101, 10200, 10201) ORDER BY id;
INSERT INTO rows (id, state, k) SELECT i, 'b again', 1 FROM generate_series(10201, 10300) i;
RELEASE a;
SELECT state, k, count(*) FROM rows WHERE id > 10000 GROUP BY state, k ORDER BY state, k;
SAVEPOINT c;
INSERT INTO rows (id, state, k) VALUES (10301, 'c', 1), (10201, 'c', 1);
ROLLBACK TO c;
INSERT INTO rows (id, state, k) VALUES (10301, 'c', 1);
COMMIT;
SELECT state, k, count(*) FROM rows WHERE id > 10000 GROUP BY state, k ORDER BY state, k;
-- a savepoint undone with nothing but buffered rows, then commit
BEGIN;
SAVEPOINT a;
INSERT INTO rows (id, state, k) SELECT i, 'undone', 1 FROM generate_series(11001, 11100) i;
ROLLBACK TO a;
COMMIT;
SELECT count(*) FROM rows WHERE state = 'undone';
-- undone between buffered rows of the same command id, looked up by key while buffered
BEGIN;
INSERT INTO rows (id, state) VALUES (11001, 'kept');
SAVEPOINT a;
INSERT INTO rows (id, state) VALUES (11002, 'undone');
ROLLBACK TO a;
INSERT INTO rows (id, state) VALUES (11003, 'kept');
SET LOCAL enable_seqscan = off;
SELECT id, state FROM rows WHERE id = 11002;
SELECT id, state FROM rows WHERE id BETWEEN 11000 AND 11010 ORDER BY id;
INSERT INTO rows (id, state) VALUES (11002, 'again');
COMMIT;
SELECT id, state FROM rows WHERE id BETWEEN 11000 AND 11010 ORDER BY id;
-- errors in bulk statements inside of functions are undone row for row
CREATE FUNCTION try(query text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE query;
    RETURN 'done';
EXCEPTION WHEN OTHERS THEN RETURN sqlerrm;
END $$;
BEGIN;
SELECT try('INSERT INTO rows (id, state) SELECT i, ''tried'' FROM generate_series(12001, 12400) i');
SELECT try('INSERT INTO rows (id, state) SELECT 12800 - i, ''tried again'' FROM generate_series(1, 400) i');
SELECT try('INSERT INTO rows (id, state) SELECT i, ''tried'' FROM generate_series(12401, 12405) i');
SELECT state, count(*), sum(id) FROM rows WHERE id > 12000 GROUP BY state ORDER BY state;
COMMIT;
SELECT state, count(*), sum(id) FROM rows WHERE id > 12000 GROUP BY state ORDER BY state;
-- many subtransactions in one group
DO $$
BEGIN
    FOR i IN 1 .. 400 LOOP
        BEGIN
            INSERT INTO rows (id, state) VALUES (13000 + i, 'many');
            IF i % 3 = 0 THEN RAISE EXCEPTION 'undo'; END IF;
        EXCEPTION WHEN raise_exception THEN NULL;
        END;
    END LOOP;
END $$;
SELECT count(*), sum(id) FROM rows WHERE id > 13000;
DELETE FROM rows WHERE id > 10000;

-- cursors keep to the rows of their snapshot
BEGIN;
\i :buffer
DECLARE c SCROLL CURSOR FOR SELECT id, state, k FROM rows WHERE id % 100 = 50 ORDER BY id;
DECLARE u NO SCROLL CURSOR FOR SELECT count(*), sum(k), count(*) FILTER (WHERE v LIKE 'v%') FROM rows;
DECLARE h CURSOR WITH HOLD FOR SELECT state, count(*), sum(k) FROM rows GROUP BY state ORDER BY state;
FETCH 3 FROM c;
UPDATE rows SET k = k + 100, v = 'after' WHERE id % 100 = 50;
DELETE FROM rows WHERE id % 1000 < 10;
INSERT INTO rows SELECT i, 'after', 0, 'after', 0 FROM generate_series(20001, 20300) i;
FETCH ALL FROM c;
FETCH BACKWARD 2 FROM c;
FETCH ABSOLUTE 5 FROM c;
FETCH RELATIVE -2 FROM c;
FETCH LAST FROM c;
FETCH FIRST FROM c;
MOVE BACKWARD ALL IN c;
FETCH NEXT FROM c;
FETCH ALL FROM u;
DECLARE d CURSOR FOR SELECT count(*), sum(k), count(*) FILTER (WHERE v LIKE 'v%') FROM rows;
FETCH ALL FROM d;
COMMIT;
FETCH ALL FROM h;
CLOSE h;
UPDATE rows SET k = k - 100, v = 'v' || id % 7 WHERE id % 100 = 50;
DELETE FROM rows WHERE id > 10000;

-- scrolling over plain scans of all row states: forward, backward, over the ends
BEGIN;
\i :buffer
DECLARE s SCROLL CURSOR FOR SELECT id FROM rows;
CREATE TEMP TABLE seen (pass int, id int) USING heap;
CREATE FUNCTION collect(c refcursor, direction text, pass int, most int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE id int; n int := 0;
BEGIN
    WHILE n < most LOOP
        IF direction = 'forward' THEN FETCH FORWARD FROM c INTO id; ELSE FETCH BACKWARD FROM c INTO id; END IF;
        EXIT WHEN NOT FOUND;
        n := n + 1;
        INSERT INTO seen VALUES (pass, id);
    END LOOP;
    RETURN n;
END $$;
SELECT collect('s', 'forward', 1, 100000), collect('s', 'backward', 2, 100000), collect('s', 'forward', 3, 1500), collect('s', 'backward', 4, 700),
    collect('s', 'forward', 5, 100000), collect('s', 'forward', 6, 10), collect('s', 'backward', 7, 100000), collect('s', 'backward', 8, 10);
SELECT pass, count(*), count(DISTINCT id), CASE WHEN pass IN (1, 2, 7) THEN sum(id) END FROM seen GROUP BY pass ORDER BY pass;
ROLLBACK;

-- where current of
BEGIN;
\i :buffer
DECLARE w CURSOR FOR SELECT id, k FROM rows WHERE id % 1000 IN (70, 71) FOR UPDATE;
CREATE FUNCTION walk(c refcursor) RETURNS int LANGUAGE plpgsql AS $$
DECLARE r record; n int := 0;
BEGIN
    LOOP
        FETCH c INTO r;
        EXIT WHEN NOT FOUND;
        n := n + 1;
        IF r.id % 1000 = 70 THEN
            UPDATE rows SET k = k + 1000 WHERE CURRENT OF c;
            UPDATE rows SET v = v || ' current' WHERE CURRENT OF c;
        ELSE
            DELETE FROM rows WHERE CURRENT OF c;
        END IF;
    END LOOP;
    RETURN n;
END $$;
SELECT walk('w');
SELECT id, k, v FROM rows WHERE id % 1000 IN (70, 71) ORDER BY id;
ROLLBACK;
BEGIN;
\i :buffer
DECLARE w CURSOR FOR SELECT id, k FROM rows WHERE id = 3071;
FETCH w;
DELETE FROM rows WHERE CURRENT OF w;
DELETE FROM rows WHERE CURRENT OF w;
FETCH PRIOR FROM w;
ROLLBACK;
BEGIN;
\i :buffer
DECLARE w CURSOR FOR SELECT id, k FROM rows WHERE id = 10050;
FETCH w;
UPDATE rows SET v = 'current' WHERE CURRENT OF w RETURNING id, v;
ROLLBACK;

-- a statement does not see what it writes itself
BEGIN;
\i :buffer
INSERT INTO rows SELECT id + 20000, state, k, v, n FROM rows;
SELECT state, count(*), sum(id) FROM rows GROUP BY state ORDER BY state;
INSERT INTO rows SELECT id + 40000, state, k, v, n FROM rows ORDER BY id DESC;
SELECT state, count(*), sum(id) FROM rows GROUP BY state ORDER BY state;
UPDATE rows SET id = id + 100000, k = k + 1;
SELECT state, count(*), sum(id), sum(k) FROM rows GROUP BY state ORDER BY state;
SET LOCAL enable_seqscan = off;
SET LOCAL enable_bitmapscan = off;
UPDATE rows SET id = id + 1000000 WHERE id > 0;
SELECT state, count(*), sum(id), sum(k) FROM rows GROUP BY state ORDER BY state;
ROLLBACK;
BEGIN;
\i :buffer
WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r WHERE i < 5),
    put AS (INSERT INTO rows SELECT 20000 + i, 'cte', 0, 'cte', 0 FROM r RETURNING id),
    cut AS (DELETE FROM rows WHERE id % 1000 = 1 RETURNING id),
    new AS (UPDATE rows SET v = 'cte' WHERE id % 1000 = 2 RETURNING id)
SELECT (SELECT count(*) FROM rows), (SELECT count(*) FROM put), (SELECT count(*) FROM cut), (SELECT count(*) FROM new), (SELECT count(*) FROM rows WHERE v = 'cte');
SELECT count(*), count(*) FILTER (WHERE v = 'cte') FROM rows;
ROLLBACK;

-- functions that read the table being written: volatile ones see the rows so far, stable ones those of before
CREATE FUNCTION count_volatile() RETURNS bigint LANGUAGE plpgsql VOLATILE AS 'BEGIN RETURN (SELECT count(*) FROM rows WHERE id > 20000); END';
CREATE FUNCTION count_stable() RETURNS bigint LANGUAGE plpgsql STABLE AS 'BEGIN RETURN (SELECT count(*) FROM rows WHERE id > 20000); END';
CREATE FUNCTION find_volatile(i int) RETURNS text LANGUAGE plpgsql VOLATILE AS 'BEGIN RETURN (SELECT v FROM rows WHERE id = i); END';
CREATE FUNCTION find_stable(i int) RETURNS text LANGUAGE plpgsql STABLE AS 'BEGIN RETURN (SELECT v FROM rows WHERE id = i); END';
BEGIN;
\i :buffer
INSERT INTO rows SELECT i, 'counted', count_volatile(), count_stable()::text, 0 FROM generate_series(20001, 20040) i;
SELECT min(k), max(k), sum(k), count(DISTINCT k), min(v), max(v) FROM rows WHERE state = 'counted';
INSERT INTO rows SELECT i, 'found', 0, coalesce(find_volatile(i - 1), 'none') || coalesce(find_stable(i - 1), '-'), 0 FROM generate_series(30001, 30005) i;
SELECT id, v FROM rows WHERE state = 'found' ORDER BY id;
INSERT INTO rows SELECT i, 'pages', count_volatile(), count_stable()::text, 0 FROM generate_series(40001, 40003) i;
SELECT k, v FROM rows WHERE state = 'pages' ORDER BY k;
UPDATE rows SET k = count_volatile(), v = count_stable() WHERE id IN (3100, 20030, 40001);
SELECT id, k, v FROM rows WHERE id IN (3100, 20030, 40001) ORDER BY id;
ROLLBACK;
-- a loop that reads after each write
BEGIN;
DO $$
DECLARE n bigint;
BEGIN
    FOR i IN 20001 .. 20010 LOOP
        INSERT INTO rows VALUES (i, 'loop', i, 'loop', 0);
        SELECT count(*) INTO n FROM rows WHERE state = 'loop';
        ASSERT n = i - 20000, 'own rows';
        PERFORM FROM rows WHERE id = i;
        ASSERT FOUND, 'by key';
        UPDATE rows SET k = k + 1 WHERE id = i;
        DELETE FROM rows WHERE id = i - 1 AND state = 'old';
    END LOOP;
END $$;
SELECT count(*), sum(k) FROM rows WHERE state = 'loop';
ROLLBACK;
DO $$
DECLARE n bigint;
BEGIN
    FOR i IN 1 .. 5 LOOP
        INSERT INTO rows SELECT 20000 + i * 1000 + j, 'deal', j, 'deal', 0 FROM generate_series(1, 300) j;
        IF i % 2 = 0 THEN ROLLBACK; ELSE COMMIT; END IF;
    END LOOP;
END $$;
SELECT count(*), sum(id) FROM rows WHERE state = 'deal';
DELETE FROM rows WHERE state = 'deal';

-- buffered rows by key: locked, changed, read by a cursor while the buffer is written
BEGIN;
\i :buffer
SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off;
SELECT id, v FROM rows WHERE id = 10020 FOR UPDATE;
SELECT id, v FROM rows WHERE id = 10021 FOR KEY SHARE;
UPDATE rows SET v = 'l' WHERE id = 10020 RETURNING id, v;
DELETE FROM rows WHERE id = 10021 RETURNING id, v;
SELECT count(*) FROM rows WHERE id > 10000;
INSERT INTO rows (id, v) SELECT i, 'm' FROM generate_series(10101, 10110) i;
DECLARE q CURSOR FOR SELECT id, v FROM rows WHERE id > 10098 ORDER BY id;
FETCH 4 FROM q;
UPDATE rows SET v = 'cur' WHERE CURRENT OF q;
UPDATE rows SET id = id + 1000 WHERE id > 10105;
FETCH 20 FROM q;
SELECT id, v FROM rows WHERE id > 10100 ORDER BY id;
ROLLBACK;
-- triggers that read the table while rows come in, one by one and copied
CREATE TABLE seen (id int, w int);
CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT count(*) FROM seen) % 2 = 1 THEN new.w := (SELECT max(id) FROM seen); END IF;
    RETURN new;
END $$;
CREATE TRIGGER look BEFORE INSERT ON seen FOR EACH ROW EXECUTE FUNCTION look();
INSERT INTO seen SELECT i FROM generate_series(11, 20) i;
COPY seen (id) FROM stdin;
100
101
102
\.
SELECT * FROM seen ORDER BY id;

-- repeatable read and a read-only transaction
BEGIN ISOLATION LEVEL REPEATABLE READ;
\i :buffer
SELECT state, count(*), sum(id) FROM rows GROUP BY state ORDER BY state;
UPDATE rows SET v = 'rr' WHERE id % 1000 = 5;
SELECT id, v FROM rows WHERE v = 'rr' ORDER BY id;
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
\i :buffer
UPDATE rows SET v = 'ser' WHERE id % 1000 = 5;
DELETE FROM rows WHERE id % 1000 = 6;
SELECT count(*), count(*) FILTER (WHERE v = 'ser') FROM rows;
COMMIT;
SELECT count(*), count(*) FILTER (WHERE v = 'ser') FROM rows;
BEGIN READ ONLY;
SELECT count(*) FROM rows;
INSERT INTO rows VALUES (1);
ROLLBACK;

SET client_min_messages = warning;
DROP SCHEMA visibility CASCADE;
