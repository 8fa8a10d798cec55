-- What only newer servers know: skipped before PostgreSQL 18.
\getenv dir PG_ABS_SRCDIR
\set schema pg18
\set start :dir '/sql/include/start.sql'
\i :start
\if :pg18
\else
DROP SCHEMA pg18 CASCADE;
\quit
\endif
CREATE TABLE rows (id int PRIMARY KEY, state text, k int, v text, n numeric);
\set t rows
\i :states
-- virtual generated columns
ALTER TABLE rows ADD COLUMN g int GENERATED ALWAYS AS (id * 10 + k) VIRTUAL;
SELECT state, count(g), sum(g) FROM rows GROUP BY state ORDER BY state;
SELECT count(*) FROM rows WHERE g = 30101;
-- old and new versions in RETURNING
BEGIN;
\i :buffer
WITH r AS (UPDATE rows SET v = 'new', k = k + 1 WHERE id % 1000 = 10 RETURNING WITH (OLD AS o, NEW AS n) o.id, o.v AS ov, n.v AS nv, o.k AS ok, n.k AS nk, o.g AS og, n.g AS ng, o AS o) SELECT * FROM r ORDER BY id;
WITH r AS (DELETE FROM rows WHERE id % 1000 = 11 RETURNING old.id, old.v, new.v) SELECT * FROM r ORDER BY id;
WITH r AS (INSERT INTO rows (id, v) SELECT i, 'put' FROM generate_series(1012, 11012, 1000) i ON CONFLICT (id) DO UPDATE SET v = excluded.v RETURNING new.id, old.v AS ov, new.v AS nv) SELECT * FROM r ORDER BY id;
WITH r AS (MERGE INTO rows USING (SELECT i FROM generate_series(1013, 11013, 1000) i) s ON rows.id = s.i
    WHEN MATCHED AND k = 3 AND id < 5000 THEN DELETE WHEN MATCHED THEN UPDATE SET v = 'merged' WHEN NOT MATCHED THEN INSERT (id, v) VALUES (i, 'merged')
    RETURNING merge_action() AS action, old.id AS oi, new.id AS ni, old.v AS ov, new.v AS nv) SELECT * FROM r ORDER BY coalesce(oi, ni);
MERGE INTO rows USING (SELECT i FROM generate_series(1, 2700) i) s ON rows.id = s.i WHEN NOT MATCHED BY SOURCE AND rows.k = 5 THEN DELETE WHEN NOT MATCHED BY SOURCE AND rows.k = 6 THEN UPDATE SET v = 'no source';
SELECT state, count(*), count(*) FILTER (WHERE v = 'no source') FROM rows GROUP BY state ORDER BY state;
ROLLBACK;
-- temporal keys
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS btree_gist SCHEMA public;
RESET client_min_messages;
SET datestyle = 'ISO';
CREATE TABLE periods (id int, during daterange, v text, PRIMARY KEY (id, during WITHOUT OVERLAPS));
INSERT INTO periods SELECT i, daterange('2020-01-01', '2021-01-01') FROM generate_series(1, 300) i;
INSERT INTO periods VALUES (5, '[2020-06-01,2022-01-01)');
INSERT INTO periods SELECT i, daterange('2021-01-01', '2022-01-01') FROM generate_series(1, 300) i;
CREATE TABLE period_refs (id int PRIMARY KEY, p int, during daterange, FOREIGN KEY (p, PERIOD during) REFERENCES periods (id, PERIOD during));
INSERT INTO period_refs SELECT i, i, daterange('2020-05-01', '2021-05-01') FROM generate_series(1, 300) i;
INSERT INTO period_refs VALUES (1000, 5, '[2019-01-01,2020-02-01)');
DELETE FROM periods WHERE id = 5 AND during @> date '2020-02-01';
UPDATE periods SET v = 'x' WHERE id = 5;
-- partitions take their parent's access method; NOT NULL not valid
CREATE TABLE parts (a int) PARTITION BY LIST (a) USING heap;
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN (1);
SELECT amname FROM pg_class c JOIN pg_am a ON a.oid = relam WHERE relname = 'parts_1';
ALTER TABLE rows ADD CONSTRAINT n_there NOT NULL n NOT VALID;
UPDATE rows SET v = 'y' WHERE id = 1001;
ALTER TABLE rows VALIDATE CONSTRAINT n_there;
-- skip scans, parallel GIN builds
CREATE INDEX rows_k ON rows (k, id);
SET enable_seqscan = off;
SELECT count(*), sum(k) FROM rows WHERE id = 3050;
SELECT count(*), sum(k) FROM rows WHERE id IN (1001, 5050, 8100, 9050);
RESET enable_seqscan;
SET max_parallel_maintenance_workers = 2; SET min_parallel_table_scan_size = 0;
CREATE INDEX rows_gin ON rows USING gin (to_tsvector('simple', v));
SELECT count(*) FROM rows WHERE to_tsvector('simple', v) @@ 'v3';
SET client_min_messages = warning;
DROP SCHEMA pg18 CASCADE;
