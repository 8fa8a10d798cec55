-- Indexes of every kind over rows in every state.
\getenv dir PG_ABS_SRCDIR
\set schema indexes
\set start :dir '/sql/include/start.sql'
\i :start
CREATE TABLE rows (id int, state text, k int, v text, n numeric, p point, tags int[], r int4range);
\set t rows
-- built before the rows: maintained; built after them: scanned
CREATE INDEX before_id ON rows (id);
CREATE INDEX before_hash ON rows USING hash (k);
CREATE INDEX before_expr ON rows ((n * 2), lower(v));
CREATE INDEX before_part ON rows (id) WHERE k = 3;
CREATE INDEX before_incl ON rows (k, id) INCLUDE (v);
CREATE INDEX before_gin ON rows USING gin (tags);
CREATE INDEX before_gist ON rows USING gist (p);
CREATE INDEX before_spgist ON rows USING spgist (r);
ALTER TABLE rows ALTER tags SET DEFAULT '{1,2}', ALTER p SET DEFAULT '(5,5)', ALTER r SET DEFAULT '[1,5)';
\i :states
UPDATE rows SET p = point(id % 50, id % 20), tags = ARRAY[id % 10, id % 11], r = int4range(id, id + 5) WHERE id % 3 = 0;
-- Queries whose answer differs between a plain scan and scans of several kinds over the indexes.
CREATE FUNCTION check_indexes() RETURNS TABLE (query text, wanted text, found text) LANGUAGE plpgsql AS $$
DECLARE q text; way text[]; summary text := 'SELECT count(*) || '' rows '' || coalesce(sum(hashtextextended(q::text, 0)::numeric), 0) FROM (%s) q';
BEGIN
    FOREACH q IN ARRAY ARRAY[
        'SELECT * FROM rows WHERE id = 3050', 'SELECT id, v FROM rows WHERE id BETWEEN 1000 AND 8050', 'SELECT * FROM rows WHERE id IN (1050, 2050, 3050, 4050, 5050, 6050, 7050, 8050, 9050, 10050)',
        'SELECT id FROM rows WHERE id > 2000', 'SELECT count(*) FROM rows WHERE id > 0', 'SELECT * FROM rows WHERE k = 4', 'SELECT id, k, v FROM rows WHERE k = 4', 'SELECT k, count(*), min(v), max(id) FROM rows WHERE k < 5 GROUP BY k',
        'SELECT * FROM rows WHERE n * 2 = 7627.50', 'SELECT * FROM rows WHERE n * 2 > 5000 AND lower(v) = ''v3''', 'SELECT * FROM rows WHERE n IS NULL AND n * 2 IS NULL',
        'SELECT id FROM rows WHERE k = 3 AND id > 2000', 'SELECT * FROM rows WHERE tags @> ''{3}''', 'SELECT * FROM rows WHERE tags && ''{1,9}''', 'SELECT * FROM rows WHERE p <@ box ''(10,10),(0,0)''',
        'SELECT id, p FROM rows ORDER BY p <-> ''(7,7)'', id LIMIT 0', 'SELECT * FROM rows WHERE r && ''[3003,4010)''', 'SELECT * FROM rows WHERE r @> 3050', 'SELECT * FROM rows WHERE id = 3050 OR k = 5 OR tags @> ''{7}''',
        'SELECT * FROM rows WHERE k = 5 AND tags @> ''{7}''', 'SELECT id FROM rows WHERE id BETWEEN 4000 AND 7200 AND k = 2',
        'SELECT a.id, b.v FROM rows a JOIN rows b ON a.id = b.id - 1000 WHERE a.k = 1', 'SELECT max(id), min(id) FROM rows'] LOOP
        FOREACH way SLICE 1 IN ARRAY ARRAY[['enable_seqscan=off', 'enable_bitmapscan=off', 'enable_indexonlyscan=off', 'enable_hashjoin=off'], ['enable_seqscan=off', 'enable_bitmapscan=off', 'enable_mergejoin=off', 'enable_hashjoin=off'],
            ['enable_seqscan=off', 'enable_indexscan=off', 'enable_indexonlyscan=off', 'work_mem=4MB'], ['enable_seqscan=off', 'enable_indexscan=off', 'enable_indexonlyscan=off', 'work_mem=64kB']] LOOP
            query := array_to_string(way, ' ') || ': ' || q;
            PERFORM set_config('enable_indexscan', 'off', true), set_config('enable_bitmapscan', 'off', true), set_config('enable_indexonlyscan', 'off', true);
            EXECUTE format(summary, q) INTO wanted;
            RESET enable_indexscan; RESET enable_bitmapscan; RESET enable_indexonlyscan;
            PERFORM set_config(split_part(w, '=', 1), split_part(w, '=', 2), true) FROM unnest(way) w;
            EXECUTE format(summary, q) INTO found;
            RESET enable_indexscan; RESET enable_bitmapscan; RESET enable_indexonlyscan; RESET enable_seqscan; RESET enable_hashjoin; RESET enable_mergejoin; RESET work_mem;
            IF found <> wanted THEN RETURN NEXT; END IF;
        END LOOP;
    END LOOP;
END $$;
SELECT * FROM check_indexes();
SELECT count(*), sum(id), count(tags), count(n), sum(n) FROM rows WHERE id % 3 = 0;
BEGIN;
\i :buffer
SELECT * FROM check_indexes();
UPDATE rows SET k = k + 1, id = id + 20000, tags = '{7}' WHERE id % 100 = 20;
DELETE FROM rows WHERE id % 100 = 21;
SELECT * FROM check_indexes();
ROLLBACK;
SELECT * FROM check_indexes();
VACUUM (FREEZE) rows;
SELECT * FROM check_indexes();
DELETE FROM rows WHERE id % 7 = 0;
UPDATE rows SET v = v || 'x' WHERE id % 11 = 0;
SELECT * FROM check_indexes();
VACUUM rows;
SELECT * FROM check_indexes();

-- the same indexes built over the rows
DROP INDEX before_id, before_hash, before_expr, before_part, before_incl, before_gin, before_gist, before_spgist;
INSERT INTO rows (id, state, k, v, n) SELECT i, 'b new', i % 10, 'v' || i % 7, i FROM generate_series(11001, 11300) i;
UPDATE rows SET v = v || 'y', k = k + 1 WHERE id % 13 = 0;
DELETE FROM rows WHERE id % 17 = 0;
CREATE INDEX after_id ON rows (id);
CREATE INDEX after_hash ON rows USING hash (k);
CREATE INDEX after_expr ON rows ((n * 2), lower(v));
CREATE INDEX after_part ON rows (id) WHERE k = 3;
CREATE INDEX after_incl ON rows (k, id) INCLUDE (v);
CREATE INDEX after_gin ON rows USING gin (tags);
CREATE INDEX after_gist ON rows USING gist (p);
CREATE INDEX after_spgist ON rows USING spgist (r);
SELECT * FROM check_indexes();
UPDATE rows SET v = v || 'z', k = k + 1 WHERE id % 19 = 0;
SELECT * FROM check_indexes();
REINDEX TABLE rows;
SELECT * FROM check_indexes();
REINDEX TABLE CONCURRENTLY rows;
SELECT * FROM check_indexes();
DROP INDEX after_id, after_incl, after_gin;
CREATE INDEX CONCURRENTLY after_id ON rows (id);
CREATE INDEX CONCURRENTLY after_incl ON rows (k, id) INCLUDE (v);
CREATE INDEX CONCURRENTLY after_gin ON rows USING gin (tags);
SELECT * FROM check_indexes();
SELECT count(*), sum(id), sum(k), sum(n), count(*) FILTER (WHERE v LIKE '%y%'), count(*) FILTER (WHERE v LIKE '%z') FROM rows;

-- built in the transaction that wrote and changed the rows, some in an undone savepoint
DROP INDEX after_id, after_hash, after_expr, after_part, after_incl, after_gin, after_gist, after_spgist;
BEGIN;
\i :buffer
UPDATE rows SET v = v || 'w' WHERE id % 23 = 0;
SAVEPOINT a;
DELETE FROM rows WHERE id % 29 = 0;
INSERT INTO rows (id, state, k) SELECT i, 'undone', 1 FROM generate_series(20001, 20300) i;
ROLLBACK TO a;
UPDATE rows SET k = k - 1 WHERE id % 31 = 0;
CREATE INDEX own_id ON rows (id);
CREATE INDEX own_incl ON rows (k, id) INCLUDE (v);
CREATE INDEX own_gin ON rows USING gin (tags);
SELECT * FROM check_indexes();
INSERT INTO rows (id, state, k) SELECT i, 'more', 1 FROM generate_series(20001, 20300) i;
SELECT * FROM check_indexes();
COMMIT;
SELECT * FROM check_indexes();

-- order forward and backward, with marks (merge join), limits and changing direction
SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off;
SELECT id, state FROM rows ORDER BY id LIMIT 5;
SELECT id, state FROM rows ORDER BY id DESC LIMIT 5;
SELECT id, k FROM rows WHERE k BETWEEN 2 AND 3 ORDER BY k DESC, id DESC LIMIT 3;
SELECT id, state FROM rows WHERE id < 5003 ORDER BY id DESC OFFSET 1 LIMIT 3;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id FROM rows WHERE id > 2290 ORDER BY id;
FETCH 8 FROM c;
FETCH BACKWARD 5 FROM c;
FETCH FORWARD 3 FROM c;
COMMIT;
SET enable_hashjoin = off; SET enable_nestloop = off;
SELECT count(*), sum(a.id), sum(b.id) FROM rows a JOIN rows b USING (k, id);
SELECT count(*) FROM rows a JOIN rows b ON a.id = b.id AND a.k + 1 = b.k + 1;
RESET enable_hashjoin; RESET enable_nestloop;
SELECT DISTINCT k FROM rows WHERE k < 12 ORDER BY k;
SELECT id, p <-> '(7,7)' < 3 AS near FROM rows WHERE p ~= '(7,7)' AND id % 1000 < 60 ORDER BY id LIMIT 3;
RESET enable_seqscan; RESET enable_bitmapscan; RESET enable_sort;

-- index-only scans after each kind of change, with an all-visible table
CREATE TABLE only_ (a int, b int);
INSERT INTO only_ SELECT i, i % 100 FROM generate_series(1, 1000) i;
CREATE INDEX only_i ON only_ (a, b);
VACUUM (FREEZE, ANALYZE) only_;
SET enable_seqscan = off; SET enable_bitmapscan = off;
SELECT count(*), sum(a), sum(b) FROM only_ WHERE a > 0;
DELETE FROM only_ WHERE a = 500;
UPDATE only_ SET b = -1 WHERE a = 600;
SELECT count(*), sum(a), sum(b) FROM only_ WHERE a > 0;
SELECT a, b FROM only_ WHERE a IN (500, 600) ORDER BY a;
BEGIN;
DELETE FROM only_ WHERE a = 700;
SELECT count(*), sum(a), sum(b) FROM only_ WHERE a > 0;
ROLLBACK;
BEGIN;
INSERT INTO only_ VALUES (2000, 0);
SELECT count(*), sum(a), sum(b) FROM only_ WHERE a > 0;
ROLLBACK;
SELECT count(*), sum(a), sum(b) FROM only_ WHERE a > 0;
VACUUM only_;
SELECT count(*), sum(a), sum(b) FROM only_ WHERE a > 0;
SELECT a, b FROM only_ WHERE a IN (500, 600, 700) ORDER BY a;
-- an index made after HOT updates of rows of a group
UPDATE only_ SET b = b + 1 WHERE a % 10 = 0;
UPDATE only_ SET b = b + 1 WHERE a % 20 = 0;
CREATE INDEX only_b ON only_ (b);
SELECT count(*), sum(a) FROM only_ WHERE b = 52;
SELECT a, b FROM only_ WHERE b < 1 ORDER BY a, b LIMIT 3;
DROP INDEX only_i;
UPDATE only_ SET a = a + 5000 WHERE b = 33;
SELECT count(*), sum(a) FROM only_ WHERE b = 33;
CREATE INDEX only_i ON only_ (a);
SELECT count(*), sum(b) FROM only_ WHERE a > 5000;
RESET enable_seqscan; RESET enable_bitmapscan;

-- an index scan drops the entries of rows that a subtransaction rolled back, also of rows that were meant for a row group
BEGIN;
SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_indexonlyscan = off;
SET LOCAL pgcolumnar.bulk_threshold = 0;
CREATE TABLE undone (a int, b text) USING pgcolumnar;
CREATE INDEX undone_a ON undone (a);
INSERT INTO undone VALUES (-1, 'stays');
SELECT pg_relation_size('undone_a') AS before \gset
DO $$
BEGIN
    FOR i IN 1..100 LOOP
        BEGIN
            IF EXISTS (SELECT * FROM undone WHERE a > 0 AND a < 100) THEN RAISE 'a row that was rolled back'; END IF;
            INSERT INTO undone SELECT g, 'goes' FROM generate_series(1, 100) g;
            RAISE division_by_zero;
        EXCEPTION WHEN division_by_zero THEN
        END;
    END LOOP;
END $$;
SELECT pg_relation_size('undone_a') = :before AS as_large_as_before, (SELECT count(*) FROM undone WHERE a > -5) AS rows;
ROLLBACK;

-- entries and rows agree
SELECT count(*) > 0 AS have_amcheck FROM pg_available_extensions WHERE name = 'amcheck' \gset
\if :have_amcheck
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS amcheck SCHEMA public;
RESET client_min_messages;
SELECT bt_index_parent_check(c.oid, true) FROM pg_class c JOIN pg_index i ON indexrelid = c.oid JOIN pg_am a ON a.oid = relam
    WHERE relnamespace = 'indexes'::regnamespace AND amname = 'btree' ORDER BY relname;
\endif

SET client_min_messages = warning;
DROP SCHEMA indexes CASCADE;
