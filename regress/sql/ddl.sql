-- Tables that change while they hold rows in every state.
\getenv dir PG_ABS_SRCDIR
\set schema ddl
\set start :dir '/sql/include/start.sql'
\i :start
CREATE TABLE rows (id int PRIMARY KEY, state text, k int, v text, n numeric);
\set t rows
\i :states

-- columns with defaults of which stored rows know nothing; NULL is not the default
ALTER TABLE rows ADD COLUMN a int, ADD COLUMN b int DEFAULT 5, ADD COLUMN c text NOT NULL DEFAULT 'default', ADD COLUMN d date DEFAULT date '2020-01-01' + extract(year FROM now())::int * 0, ADD COLUMN e numeric[] DEFAULT '{1.50,NULL}';
SELECT state, count(a), count(b), sum(b), count(c), min(c), count(DISTINCT d), min(e::text), max(e::text) FROM rows GROUP BY state ORDER BY state;
INSERT INTO rows (id, state, b, c) SELECT i, 'b new', NULL, 'given' FROM generate_series(11001, 11300) i;
INSERT INTO rows (id, state) SELECT i, 'c new' FROM generate_series(12001, 12300) i;
UPDATE rows SET b = NULL WHERE id % 100 = 10;
UPDATE rows SET a = 1 WHERE id % 100 = 11;
ALTER TABLE rows ALTER b SET DEFAULT 6, ALTER c DROP DEFAULT;
INSERT INTO rows (id, state, c) SELECT i, 'd new', 'given' FROM generate_series(13001, 13300) i;
SELECT state, count(a), count(b), sum(b), min(c), max(c), count(e) FROM rows GROUP BY state ORDER BY state;
SELECT count(*) FROM rows WHERE b IS NULL;
SELECT count(*) FROM rows WHERE b = 5;
CREATE INDEX ON rows (b, id);
SET enable_seqscan = off;
SELECT count(*), sum(id) FROM rows WHERE b = 5;
SELECT count(*), sum(id) FROM rows WHERE b IS NULL;
RESET enable_seqscan;
BEGIN;
INSERT INTO rows (id, state, c) SELECT i, 'e new', 'before' FROM generate_series(14001, 14100) i;
ALTER TABLE rows ADD COLUMN f int DEFAULT 7;
INSERT INTO rows (id, state, c, f) SELECT i, 'e new', 'after', 8 FROM generate_series(14101, 14200) i;
SELECT c, f, count(*) FROM rows WHERE state = 'e new' GROUP BY c, f ORDER BY c, f;
ROLLBACK;
SELECT count(*) FROM rows WHERE state = 'e new';
-- dropped and added again under the same name
ALTER TABLE rows DROP COLUMN v;
INSERT INTO rows (id, state, c) SELECT i, 'f new', 'given' FROM generate_series(15001, 15300) i;
ALTER TABLE rows ADD COLUMN v text DEFAULT 'again';
SELECT v, count(*) FROM rows GROUP BY v;
UPDATE rows SET v = 'x' WHERE id % 100 = 12;
INSERT INTO rows (id, state, c, v) VALUES (16001, 'g new', 'given', NULL);
SELECT v, count(*), sum(id) FROM rows GROUP BY v ORDER BY v;
BEGIN;
INSERT INTO rows (id, state, c) SELECT i, 'h new', 'given' FROM generate_series(17001, 17010) i;
ALTER TABLE rows DROP COLUMN n;
INSERT INTO rows (id, state, c) SELECT i, 'h new', 'given' FROM generate_series(17011, 17020) i;
SELECT count(*), min(c), count(rows) FROM rows WHERE state = 'h new';
COMMIT;
ALTER TABLE rows RENAME COLUMN c TO cc;
SELECT rows FROM rows WHERE id IN (3010, 5012, 9050, 11001, 16001) ORDER BY id;
-- rewrites
ALTER TABLE rows ALTER COLUMN k TYPE text USING 'k' || k, ALTER COLUMN id TYPE bigint;
SELECT state, count(*), sum(id), min(k), max(k), sum(b) FROM rows GROUP BY state ORDER BY state;
ALTER TABLE rows ALTER COLUMN cc TYPE varchar(100), ADD COLUMN g float8 DEFAULT random();
SELECT count(DISTINCT g) > 5 AS rewritten, count(g) = count(*) AS filled FROM rows;
BEGIN;
INSERT INTO rows (id, state, cc) SELECT i, 'i new', 'given' FROM generate_series(18001, 18100) i;
ALTER TABLE rows ALTER COLUMN id TYPE numeric;
SELECT count(*), sum(id) FROM rows;
ROLLBACK;
SELECT count(*), sum(id) FROM rows;

-- to heap and back, with a buffer, undone and not
CREATE TABLE wanted USING heap AS SELECT * FROM rows;
ALTER TABLE rows SET ACCESS METHOD heap;
SELECT differences('rows', 'wanted');
ALTER TABLE rows SET ACCESS METHOD :am;
SELECT differences('rows', 'wanted');
BEGIN;
INSERT INTO rows (id, state, cc) SELECT i, 'i new', 'given' FROM generate_series(18001, 18100) i;
ALTER TABLE rows SET ACCESS METHOD heap;
SELECT count(*), sum(id) FROM rows;
INSERT INTO rows (id, state, cc) SELECT i, 'i new', 'given' FROM generate_series(18101, 18200) i;
ALTER TABLE rows SET ACCESS METHOD :am;
INSERT INTO rows (id, state, cc) SELECT i, 'i new', 'given' FROM generate_series(18201, 18300) i;
SELECT count(*), sum(id) FROM rows;
ROLLBACK;
SELECT differences('rows', 'wanted');
DELETE FROM rows WHERE id > 11000; DELETE FROM wanted WHERE id > 11000;
UPDATE rows SET cc = 'u' WHERE id % 10 = 0; UPDATE wanted SET cc = 'u' WHERE id % 10 = 0;
-- to another tablespace
SET allow_in_place_tablespaces = on;
SET client_min_messages = warning;
DROP TABLESPACE IF EXISTS regress_columnar_space;
RESET client_min_messages;
CREATE TABLESPACE regress_columnar_space LOCATION '';
ALTER TABLE rows SET TABLESPACE regress_columnar_space;
SELECT differences('rows', 'wanted');
ALTER INDEX rows_pkey SET TABLESPACE regress_columnar_space;
INSERT INTO rows (id, state, cc) SELECT 20000 + i, 'in space', '' FROM generate_series(1, 300) i;
UPDATE rows SET cc = 'x' WHERE id = 20010;
BEGIN;
INSERT INTO rows (id, state, cc) SELECT 20300 + i, 'in space', '' FROM generate_series(1, 100) i;
ALTER TABLE rows SET TABLESPACE pg_default;
SELECT count(*), count(*) FILTER (WHERE cc = 'x') FROM rows WHERE state = 'in space';
COMMIT;
SELECT count(*), count(*) FILTER (WHERE cc = 'x') FROM rows WHERE state = 'in space';
ALTER INDEX rows_pkey SET TABLESPACE pg_default;
SET client_min_messages = warning;
DROP TABLESPACE regress_columnar_space;
RESET client_min_messages;
ALTER TABLE rows SET UNLOGGED;
SELECT count(*), sum(id) FROM rows;
ALTER TABLE rows SET LOGGED;
SELECT count(*), sum(id) FROM rows;

-- truncate: undone, in the creating transaction, in a savepoint, before and after buffered rows
BEGIN;
TRUNCATE rows;
SELECT count(*) FROM rows;
INSERT INTO rows (id, state, cc) SELECT i, 'truncated', 'given' FROM generate_series(1, 300) i;
SELECT count(*), sum(id) FROM rows;
ROLLBACK;
SELECT count(*), sum(id) FROM rows;
BEGIN;
CREATE TABLE fresh (a int PRIMARY KEY, b text);
INSERT INTO fresh SELECT i, 'first' FROM generate_series(1, 300) i;
TRUNCATE fresh;
INSERT INTO fresh SELECT i, 'second' FROM generate_series(1, 400) i;
SAVEPOINT a;
TRUNCATE fresh;
INSERT INTO fresh SELECT i, 'third' FROM generate_series(1, 500) i;
SELECT b, count(*) FROM fresh GROUP BY b;
ROLLBACK TO a;
SELECT b, count(*) FROM fresh GROUP BY b;
INSERT INTO fresh SELECT i, 'fourth' FROM generate_series(401, 600) i;
COPY fresh FROM stdin;
601	copied
602	copied
\.
COMMIT;
SELECT b, count(*) FROM fresh GROUP BY b ORDER BY b;
BEGIN;
TRUNCATE fresh;
COPY fresh FROM stdin WITH (FREEZE);
1	frozen
2	frozen
\.
SELECT * FROM fresh ORDER BY a;
COMMIT;
SELECT * FROM fresh ORDER BY a;
BEGIN;
SAVEPOINT a;
CREATE TABLE gone (a int);
INSERT INTO gone SELECT generate_series(1, 300);
ROLLBACK TO a;
CREATE TABLE gone (a int);
INSERT INTO gone SELECT generate_series(1, 200);
COMMIT;
SELECT count(*) FROM gone;
BEGIN;
INSERT INTO gone SELECT generate_series(1, 200);
DROP TABLE gone;
COMMIT;
BEGIN;
INSERT INTO fresh SELECT i, 'buffered' FROM generate_series(1001, 1100) i;
ALTER TABLE fresh RENAME TO fresher;
CREATE TABLE fresh (LIKE fresher INCLUDING ALL);
INSERT INTO fresh SELECT i, 'like' FROM generate_series(1, 100) i;
COMMIT;
SELECT (SELECT count(*) FROM fresh), (SELECT count(*) FROM fresher);
CREATE INDEX ON fresh (b);
CREATE TABLE fresh_like (LIKE fresh INCLUDING ALL EXCLUDING INDEXES, c int DEFAULT 1) WITH (autovacuum_enabled = off);
INSERT INTO fresh_like SELECT * FROM fresh;
SELECT count(*), sum(c) FROM fresh_like;

-- create table as, select into, materialized views
CREATE TABLE made AS SELECT * FROM rows WHERE id < 5000 WITH NO DATA;
SELECT count(*) FROM made;
CREATE TABLE made2 AS TABLE rows;
SELECT differences('made2', 'rows');
SELECT * INTO made3 FROM made2 WHERE id % 2 = 0;
SELECT count(*), sum(id) FROM made3;
PREPARE q AS SELECT id, k FROM rows WHERE id < $1;
CREATE TABLE made4 AS EXECUTE q(2100);
SELECT count(*), sum(id) FROM made4;
CREATE MATERIALIZED VIEW seen AS SELECT id, state, cc, b FROM rows WHERE id % 2 = 0;
CREATE UNIQUE INDEX ON seen (id);
SELECT count(*), sum(id) FROM seen;
UPDATE rows SET b = 77 WHERE id % 20 = 0;
DELETE FROM rows WHERE id % 30 = 0;
INSERT INTO rows (id, state, cc) SELECT 30000 + i, 'viewed', '' FROM generate_series(1, 300) i;
REFRESH MATERIALIZED VIEW CONCURRENTLY seen;
SELECT count(*), sum(id), sum(b) FROM seen;
UPDATE rows SET b = 78 WHERE id % 20 = 0;
REFRESH MATERIALIZED VIEW seen;
SELECT count(*), sum(id), sum(b) FROM seen;
REFRESH MATERIALIZED VIEW seen WITH NO DATA;
SELECT count(*) FROM seen;
REFRESH MATERIALIZED VIEW seen;
SELECT count(*), sum(id), sum(b) FROM seen;

-- partitions of several access methods; rows move
CREATE TABLE parts (id int, state text, k int, v text, n numeric, PRIMARY KEY (id)) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (3000);
CREATE TABLE parts_2 (v text, id int NOT NULL, gone int, n numeric, k int, state text) USING heap;
ALTER TABLE parts_2 DROP COLUMN gone;
ALTER TABLE parts ATTACH PARTITION parts_2 FOR VALUES FROM (3000) TO (6000);
CREATE TABLE parts_3 (n numeric, v text, gone int, k int, id int NOT NULL, state text);
ALTER TABLE parts_3 DROP COLUMN gone;
ALTER TABLE parts ATTACH PARTITION parts_3 FOR VALUES FROM (6000) TO (9200);
CREATE TABLE parts_4 PARTITION OF parts DEFAULT;
\set t parts
\i :states
SELECT state, count(*), sum(id), sum(k), sum(n), min(v) FROM parts GROUP BY state ORDER BY state;
SELECT tableoid::regclass, count(*), sum(id) FROM parts GROUP BY tableoid ORDER BY tableoid::regclass::text;
BEGIN;
\i :buffer
UPDATE parts SET id = id + 3504 WHERE k = 3;
SELECT tableoid::regclass, count(*), sum(id) FROM parts GROUP BY tableoid ORDER BY tableoid::regclass::text;
UPDATE parts SET id = id - 3001 WHERE k = 3 AND id > 4500;
SELECT tableoid::regclass, count(*), sum(id) FROM parts GROUP BY tableoid ORDER BY tableoid::regclass::text;
DELETE FROM parts WHERE k = 4;
INSERT INTO parts SELECT id, 'conflict', 0, 'conflict', 0 FROM parts WHERE k = 5 ON CONFLICT (id) DO UPDATE SET v = excluded.v;
SELECT tableoid::regclass, count(*), count(*) FILTER (WHERE v = 'conflict') FROM parts GROUP BY tableoid ORDER BY tableoid::regclass::text;
COMMIT;
SELECT id, v FROM parts WHERE id IN (1005, 3005, 6005, 9005) ORDER BY id;
ALTER TABLE parts DETACH PARTITION parts_3;
SELECT count(*), sum(id) FROM parts;
ALTER TABLE parts ATTACH PARTITION parts_3 FOR VALUES FROM (6000) TO (9200);
COPY parts (id, state, k) FROM stdin;
1	copied	1
3301	copied	1
6301	copied	1
50001	copied	1
\.
SELECT tableoid::regclass, * FROM parts WHERE state = 'copied' ORDER BY id;
-- inheritance with other column orders
CREATE TABLE parent (a int, b text, c int);
CREATE TABLE child (c int, d float8, a int, b text);
ALTER TABLE child INHERIT parent;
CREATE TABLE grandchild (e text) INHERITS (child);
INSERT INTO parent SELECT i, 'p' || i, i FROM generate_series(1, 300) i;
INSERT INTO child SELECT i, i, i + 1000, 'c' || i FROM generate_series(1, 300) i;
INSERT INTO grandchild SELECT i, i, i + 2000, 'g' || i, 'e' FROM generate_series(1, 300) i;
UPDATE parent SET c = c + 1 WHERE a % 100 = 5;
DELETE FROM parent WHERE a % 100 = 6;
SELECT tableoid::regclass, count(*), sum(a), sum(c), max(b) FROM parent GROUP BY 1 ORDER BY 1;
ALTER TABLE parent ADD COLUMN f int DEFAULT 9;
SELECT tableoid::regclass, * FROM parent WHERE a % 1000 = 105 ORDER BY a;
SELECT * FROM grandchild WHERE a = 2105;

-- temporary and unlogged tables
BEGIN;
CREATE TEMP TABLE t_drop (a int) ON COMMIT DROP;
CREATE TEMP TABLE t_delete (a int PRIMARY KEY) ON COMMIT DELETE ROWS;
CREATE TEMP TABLE t_keep (a int PRIMARY KEY, b text);
INSERT INTO t_drop SELECT generate_series(1, 300);
INSERT INTO t_delete SELECT generate_series(1, 300);
INSERT INTO t_keep SELECT i, 'x' FROM generate_series(1, 300) i;
COMMIT;
SELECT (SELECT count(*) FROM t_delete), (SELECT count(*) FROM t_keep);
BEGIN;
INSERT INTO t_delete SELECT generate_series(1, 300);
UPDATE t_delete SET a = a + 1000 WHERE a < 100;
SELECT count(*), sum(a) FROM t_delete;
COMMIT;
SELECT count(*) FROM t_delete;
UPDATE t_keep SET b = 'y' WHERE a % 2 = 0;
BEGIN;
DELETE FROM t_keep;
INSERT INTO t_keep SELECT i, 'z' FROM generate_series(1, 300) i;
ROLLBACK;
SELECT b, count(*) FROM t_keep GROUP BY b ORDER BY b;
VACUUM t_keep;
SELECT b, count(*) FROM t_keep GROUP BY b ORDER BY b;
CREATE UNLOGGED TABLE u (a int PRIMARY KEY, b text);
INSERT INTO u SELECT i, 'x' FROM generate_series(1, 300) i;
UPDATE u SET b = 'y' WHERE a < 10;
SELECT b, count(*) FROM u GROUP BY b ORDER BY b;
-- rows that come after a rewrite in the same transaction
CREATE TABLE w (a int, b int);
INSERT INTO w SELECT i, i FROM generate_series(1, 300) i;
BEGIN; ALTER TABLE w ALTER b TYPE bigint; INSERT INTO w SELECT i, i FROM generate_series(301, 700) i; COMMIT;
SELECT count(*), sum(a), sum(b) FROM w;
BEGIN; INSERT INTO w SELECT i, i FROM generate_series(701, 720) i; SAVEPOINT s; ALTER TABLE w ADD c int GENERATED ALWAYS AS (a + 1) STORED; INSERT INTO w SELECT i, i FROM generate_series(1, 50) i; ROLLBACK TO s; INSERT INTO w SELECT i, i FROM generate_series(721, 800) i; COMMIT;
SELECT count(*), sum(a), sum(b) FROM w;
SET default_table_access_method = heap;
SET client_min_messages = warning;
DROP SCHEMA ddl CASCADE;
