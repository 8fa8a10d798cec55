-- VACUUM moves rows of row pages to row groups: they stay what they were, under their TIDs, for old readers too.
\getenv dir PG_ABS_SRCDIR
\set schema merge
\set start :dir '/sql/include/start.sql'
\i :start
SET pgcolumnar.merge_threshold = 1;
SET pgcolumnar.bulk_threshold = 1000000;
CREATE TABLE rows (id int PRIMARY KEY, k int, v text, n numeric, long text);
CREATE INDEX rows_k ON rows (k);
CREATE INDEX rows_v ON rows USING gin (to_tsvector('simple', v));
CREATE TABLE wanted (LIKE rows) USING heap;
CREATE FUNCTION on_both(query text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN EXECUTE replace(query, '@', 'rows'); EXECUTE replace(query, '@', 'wanted'); END $$;
CREATE FUNCTION check_all() RETURNS TABLE (by_scan bigint, by_key bigint, by_k bigint, by_tid bigint) LANGUAGE plpgsql AS $$
BEGIN
    by_scan := differences('rows', 'wanted');
    SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off;
    SELECT count(*) INTO by_key FROM wanted w LEFT JOIN LATERAL (SELECT * FROM rows r WHERE r.id = w.id) r ON true WHERE r::text IS DISTINCT FROM w::text;
    SET LOCAL enable_bitmapscan = on; SET LOCAL enable_indexscan = off;
    CREATE TEMP TABLE found USING heap AS SELECT * FROM rows WHERE k BETWEEN -100000 AND 100000;
    by_k := differences('found', 'wanted');
    DROP TABLE found;
    RESET enable_seqscan; RESET enable_indexscan; RESET enable_bitmapscan;
    SELECT count(*) INTO by_tid FROM rows a WHERE NOT EXISTS (SELECT FROM rows b WHERE b.ctid = a.ctid AND b.id = a.id);
    RETURN NEXT;
END $$;
SELECT on_both('INSERT INTO @ SELECT i, i % 10, ''v'' || i % 7, i * 0.25, CASE WHEN i % 100 = 1 THEN repeat(md5(i::text), 200) END FROM generate_series(1, 3000) i');
CREATE TABLE tids USING heap AS SELECT id, ctid AS tid FROM rows;
VACUUM rows;
SELECT * FROM check_all();
SELECT count(*) FROM rows r JOIN tids t USING (id) WHERE r.ctid <> t.tid;
-- changed again in every way
SELECT on_both('UPDATE @ SET v = ''w'' || id % 7 WHERE id % 11 = 0');
SELECT on_both('UPDATE @ SET k = k + 1 WHERE id % 13 = 0');
SELECT on_both('DELETE FROM @ WHERE id % 17 = 0');
SELECT on_both('INSERT INTO @ SELECT i, i % 10, ''v'' || i % 7, i * 0.25 FROM generate_series(3001, 4000) i');
SELECT * FROM check_all();
VACUUM rows;
SELECT * FROM check_all();
VACUUM rows;
SELECT * FROM check_all();
SELECT on_both('UPDATE @ SET long = repeat(md5(id::text), 100) WHERE id % 50 = 2');
SELECT on_both('UPDATE @ SET id = id + 10000 WHERE id % 19 = 0');
BEGIN;
SELECT count(*) FROM (SELECT FROM rows WHERE k = 3 FOR UPDATE) l;
UPDATE rows SET v = 'undone' WHERE k = 4;
DELETE FROM rows WHERE k = 5;
INSERT INTO rows SELECT i FROM generate_series(50001, 50100) i;
ROLLBACK;
VACUUM (FREEZE) rows;
SELECT * FROM check_all();
-- groups and pages mixed, deleted regions, several rounds
SET pgcolumnar.bulk_threshold = 100;
DO $$
BEGIN
    FOR i IN 1 .. 8 LOOP
        PERFORM on_both(format('INSERT INTO @ SELECT i, i %% 10, ''round %1$s'', i FROM generate_series(%2$s, %2$s + 499) i', i, 20000 + i * 1000));
        PERFORM on_both(format('DELETE FROM @ WHERE id BETWEEN %s AND %s', 19000 + i * 1000, 19000 + i * 1000 + i * 50));
        PERFORM on_both(format('UPDATE @ SET v = v || ''%s'' WHERE id %% 29 = %s', i, i));
        COMMIT;
    END LOOP;
END $$;
VACUUM rows;
SELECT * FROM check_all();
SELECT on_both('DELETE FROM @ WHERE id < 2000');
VACUUM rows;
SELECT * FROM check_all();
VACUUM (FREEZE, TRUNCATE) rows;
SELECT * FROM check_all();
SELECT count(*) FROM rows WHERE to_tsvector('simple', v) @@ 'w3';
REINDEX TABLE rows;
SELECT * FROM check_all();
REINDEX TABLE CONCURRENTLY rows;
SELECT * FROM check_all();
CREATE INDEX CONCURRENTLY rows_k2 ON rows (k, id);
INSERT INTO rows VALUES (2350);
INSERT INTO rows SELECT id, 0, 'conflict' FROM rows WHERE id % 100 = 50 ON CONFLICT (id) DO UPDATE SET v = excluded.v;
INSERT INTO wanted SELECT id + 1000000 FROM wanted WHERE false;
SELECT count(*) FROM rows WHERE v = 'conflict';
UPDATE wanted SET v = 'conflict' WHERE id % 100 = 50;
SELECT * FROM check_all();
VACUUM FULL rows;
SELECT * FROM check_all();
SELECT count(*) > 0 AS have_amcheck FROM pg_available_extensions WHERE name = 'amcheck' \gset
\if :have_amcheck
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS amcheck SCHEMA public;
RESET client_min_messages;
SELECT bt_index_parent_check(c.oid, true) FROM pg_class c JOIN pg_index i ON indexrelid = c.oid JOIN pg_am a ON a.oid = relam
    WHERE relnamespace = 'merge'::regnamespace AND amname = 'btree' ORDER BY relname;
\endif
-- columns added and dropped between insertion and merge
SET pgcolumnar.bulk_threshold = 1000000;
SELECT on_both('ALTER TABLE @ DROP COLUMN n, ADD COLUMN d int DEFAULT 5');
SELECT on_both('INSERT INTO @ (id, d) SELECT i, NULL FROM generate_series(60001, 60300) i');
SELECT on_both('ALTER TABLE @ ADD COLUMN e text DEFAULT ''e''');
VACUUM rows;
SELECT * FROM check_all();
SELECT on_both('UPDATE @ SET e = NULL WHERE id % 23 = 0');
VACUUM rows;
SELECT * FROM check_all();

SET client_min_messages = warning;
DROP SCHEMA merge CASCADE;
