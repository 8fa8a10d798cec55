-- VACUUM, VACUUM FREEZE, VACUUM FULL, CLUSTER and ANALYZE of tables with rows in every state.
\getenv dir PG_ABS_SRCDIR
\set schema maintenance
\set start :dir '/sql/include/start.sql'
\i :start
CREATE TABLE rows (id int PRIMARY KEY, state text, k int, v text, n numeric, long text);
CREATE INDEX rows_k ON rows (k);
CREATE TABLE wanted (LIKE rows) USING heap;
\set t wanted
\i :states
\set t rows
\i :states
UPDATE rows SET long = repeat(id::text, 2000) WHERE id % 100 = 7;
UPDATE wanted SET long = repeat(id::text, 2000) WHERE id % 100 = 7;
CREATE FUNCTION check_all() RETURNS TABLE (by_scan bigint, by_key bigint, by_k bigint) LANGUAGE plpgsql AS $$
BEGIN
    by_scan := differences('rows', 'wanted');
    SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off;
    SELECT count(*) INTO by_key FROM wanted w LEFT JOIN LATERAL (SELECT * FROM rows r WHERE r.id = w.id) r ON true WHERE r::text IS DISTINCT FROM w::text;
    SET LOCAL enable_bitmapscan = on; SET LOCAL enable_indexscan = off;
    CREATE TEMP TABLE found USING heap AS SELECT * FROM rows WHERE k BETWEEN -100000 AND 100000;
    by_k := differences('found', 'wanted');
    DROP TABLE found;
    RESET enable_seqscan; RESET enable_indexscan; RESET enable_bitmapscan;
    RETURN NEXT;
END $$;
SELECT * FROM check_all();
VACUUM rows;
SELECT * FROM check_all();
VACUUM (FREEZE) rows;
SELECT * FROM check_all();
SELECT age(relfrozenxid) < 1000000 AS frozen, relfrozenxid <> '0' AS set FROM pg_class WHERE oid = 'rows'::regclass;
DELETE FROM rows WHERE id % 5 = 0; DELETE FROM wanted WHERE id % 5 = 0;
UPDATE rows SET v = v || '+' WHERE id % 7 = 0; UPDATE wanted SET v = v || '+' WHERE id % 7 = 0;
UPDATE rows SET k = k + 10 WHERE id % 11 = 0; UPDATE wanted SET k = k + 10 WHERE id % 11 = 0;
SELECT * FROM check_all();
VACUUM (INDEX_CLEANUP off) rows;
SELECT * FROM check_all();
VACUUM (TRUNCATE on) rows;
SELECT * FROM check_all();
INSERT INTO rows SELECT i, 'b new', i, 'b', i FROM generate_series(11001, 11300) i; INSERT INTO wanted SELECT i, 'b new', i, 'b', i FROM generate_series(11001, 11300) i;
UPDATE rows SET v = v || '-' WHERE id % 3 = 0; UPDATE wanted SET v = v || '-' WHERE id % 3 = 0;
SELECT * FROM check_all();
VACUUM (FREEZE, ANALYZE, DISABLE_PAGE_SKIPPING) rows;
SELECT * FROM check_all();
VACUUM (PARALLEL 2, VERBOSE false) rows;
VACUUM (FULL) rows;
SELECT * FROM check_all();
UPDATE rows SET v = v || '*' WHERE id % 13 = 0; UPDATE wanted SET v = v || '*' WHERE id % 13 = 0;
DELETE FROM rows WHERE id % 17 = 0; DELETE FROM wanted WHERE id % 17 = 0;
VACUUM FULL rows;
SELECT * FROM check_all();
CLUSTER rows USING rows_pkey;
SELECT * FROM check_all();
UPDATE rows SET k = -k WHERE id % 19 = 0; UPDATE wanted SET k = -k WHERE id % 19 = 0;
CLUSTER rows USING rows_k;
SELECT * FROM check_all();
CLUSTER rows;
SELECT count(*) FILTER (WHERE k < before) FROM (SELECT k, lag(k) OVER () AS before FROM (SELECT k FROM rows) o) p;
VACUUM (FULL, FREEZE, ANALYZE) rows;
SELECT * FROM check_all();
-- in a transaction that has written: what may not run says so, what may does
BEGIN;
INSERT INTO rows SELECT i, 'c new', i, 'c', i FROM generate_series(12001, 12100) i;
CLUSTER rows USING rows_pkey;
ANALYZE rows;
SELECT count(*) FROM rows WHERE state = 'c new';
VACUUM rows;
ROLLBACK;
BEGIN;
INSERT INTO rows SELECT i, 'c new', i, 'c', i FROM generate_series(12001, 12100) i; 
DELETE FROM rows WHERE id % 1000 = 1;
CLUSTER rows USING rows_k;
SELECT count(*), count(*) FILTER (WHERE state = 'c new') FROM rows;
ROLLBACK;
SELECT * FROM check_all();
-- all rows deleted: vacuumed away, and the numbers used again
DELETE FROM rows; DELETE FROM wanted;
VACUUM rows;
SELECT * FROM check_all();
INSERT INTO rows SELECT i, 'd new', i, 'd', i FROM generate_series(1, 700) i; INSERT INTO wanted SELECT i, 'd new', i, 'd', i FROM generate_series(1, 700) i;
SELECT * FROM check_all();
UPDATE rows SET v = 'e'; UPDATE wanted SET v = 'e';
VACUUM rows;
UPDATE rows SET v = 'f'; UPDATE wanted SET v = 'f';
VACUUM rows;
SELECT * FROM check_all();

-- statistics are near those of heap
CREATE TABLE stat_heap (a int, b text, c numeric, d int, e date) USING heap;
INSERT INTO stat_heap SELECT i, 'value ' || i % 50, CASE WHEN i % 4 > 0 THEN i END, i * 7919 % 10007, date '2013-01-01' + i / 100 FROM generate_series(1, 10000) i;
CREATE TABLE stat_groups (LIKE stat_heap);
INSERT INTO stat_groups TABLE stat_heap;
SET pgcolumnar.bulk_threshold = 1000000;
CREATE TABLE stat_pages (LIKE stat_heap);
INSERT INTO stat_pages TABLE stat_heap;
SET pgcolumnar.bulk_threshold = 5000;
CREATE TABLE stat_mixed (LIKE stat_heap);
INSERT INTO stat_mixed TABLE stat_heap;
SET pgcolumnar.bulk_threshold = 0;
ANALYZE stat_heap, stat_groups, stat_pages, stat_mixed;
SELECT relname, reltuples FROM pg_class WHERE relname LIKE 'stat\_%' AND relkind = 'r' AND relnamespace = 'maintenance'::regnamespace ORDER BY relname;
SELECT h.attname, s.tablename, h.null_frac = s.null_frac AS nulls, h.n_distinct = s.n_distinct AS distinct, h.avg_width = s.avg_width AS width, round(s.correlation::numeric, 2) = round(h.correlation::numeric, 2) AS correlation,
    h.histogram_bounds::text IS NOT DISTINCT FROM s.histogram_bounds::text AS histogram, array_length(h.most_common_freqs, 1) IS NOT DISTINCT FROM array_length(s.most_common_freqs, 1) AS common
    FROM pg_stats h JOIN pg_stats s USING (schemaname, attname) WHERE h.tablename = 'stat_heap' AND s.tablename <> 'stat_heap' AND schemaname = 'maintenance' AND s.tablename LIKE 'stat%' ORDER BY 1, 2;
DELETE FROM stat_heap WHERE a % 4 = 0; DELETE FROM stat_groups WHERE a % 4 = 0; DELETE FROM stat_pages WHERE a % 4 = 0; DELETE FROM stat_mixed WHERE a % 4 = 0;
INSERT INTO stat_heap SELECT i, 'x' FROM generate_series(10001, 11000) i; INSERT INTO stat_groups SELECT i, 'x' FROM generate_series(10001, 11000) i;
INSERT INTO stat_pages SELECT i, 'x' FROM generate_series(10001, 11000) i; INSERT INTO stat_mixed SELECT i, 'x' FROM generate_series(10001, 11000) i;
SELECT pg_stat_force_next_flush();
ANALYZE stat_heap, stat_groups, stat_pages, stat_mixed;
SELECT relname, reltuples FROM pg_class WHERE relname LIKE 'stat\_%' AND relkind = 'r' AND relnamespace = 'maintenance'::regnamespace ORDER BY relname;
VACUUM stat_heap, stat_groups, stat_pages, stat_mixed;
SELECT relname, reltuples FROM pg_class WHERE relname LIKE 'stat\_%' AND relkind = 'r' AND relnamespace = 'maintenance'::regnamespace ORDER BY relname;
-- a sample of a larger table counts its rows
SET default_statistics_target = 1;
ANALYZE stat_groups; ANALYZE stat_mixed;
SELECT relname, reltuples BETWEEN 7600 AND 9400 AS near FROM pg_class WHERE relname IN ('stat_groups', 'stat_mixed') AND relnamespace = 'maintenance'::regnamespace ORDER BY relname;
RESET default_statistics_target;
-- estimates without ANALYZE
CREATE TABLE estimated (a int) WITH (autovacuum_enabled = off);
INSERT INTO estimated SELECT generate_series(1, 5000);
CREATE FUNCTION estimate(query text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE plan json; BEGIN EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan; RETURN plan -> 0 -> 'Plan' ->> 'Plan Rows'; END $$;
SELECT estimate('SELECT * FROM estimated') BETWEEN 2000 AND 10000 AS near;
-- counters
UPDATE stat_heap SET b = 'y' WHERE a < 100; UPDATE stat_groups SET b = 'y' WHERE a < 100; UPDATE stat_pages SET b = 'y' WHERE a < 100;
BEGIN; DELETE FROM stat_heap WHERE a < 50; DELETE FROM stat_groups WHERE a < 50; DELETE FROM stat_pages WHERE a < 50; ROLLBACK;
BEGIN; INSERT INTO stat_heap (a) VALUES (1), (2); INSERT INTO stat_groups (a) VALUES (1), (2); INSERT INTO stat_pages (a) VALUES (1), (2); ROLLBACK;
SELECT pg_stat_force_next_flush();
SELECT relname, n_tup_ins, n_tup_upd, n_tup_del, n_live_tup, n_dead_tup > 0 AS dead FROM pg_stat_user_tables WHERE relname IN ('stat_heap', 'stat_groups', 'stat_pages') AND schemaname = 'maintenance' ORDER BY relname;

SET client_min_messages = warning;
DROP SCHEMA maintenance CASCADE;
