-- Ways to read a table with rows in every state.
\getenv dir PG_ABS_SRCDIR
\set schema scans
\set start :dir '/sql/include/start.sql'
\i :start
CREATE TABLE rows (id int, state text, k int, v text, n numeric);
\set t rows
\i :states
CREATE TABLE wanted (LIKE rows) USING heap;
\set t wanted
\i :states
\set t rows
ANALYZE rows, wanted;
SELECT differences('rows', 'wanted');

-- projections, whole rows, system columns
SELECT count(*) FROM rows;
SELECT count(*), count(rows), count(rows.*) FROM rows;
SELECT sum(k) FROM rows;
SELECT min(v), max(n), count(n) FROM rows;
SELECT DISTINCT tableoid = 'rows'::regclass AS own, xmin = '0' AS none, cmin IS NULL AS c, ctid IS NULL AS t FROM rows;
SELECT rows FROM rows WHERE id % 1000 = 33 ORDER BY id;
SELECT row_to_json(r) FROM rows r WHERE id IN (3033, 5033) ORDER BY id;
SELECT count(*), count(DISTINCT ctid) FROM rows;
SELECT count(DISTINCT xmin::text) > 3 AS several, bool_or(xmax::text <> '0') AS locked FROM rows;
BEGIN;
\i :buffer
SELECT count(*), count(DISTINCT ctid), count(DISTINCT xmin::text) FROM rows WHERE id > 10000;
SELECT DISTINCT xmin::text = pg_current_xact_id()::xid::text AS own, xmax, cmin IS NULL AS c FROM rows WHERE id > 10000;
ROLLBACK;

-- by TID
SELECT state, count(*) FROM rows r WHERE EXISTS (SELECT FROM rows o WHERE o.ctid = r.ctid AND o.id = r.id) GROUP BY state ORDER BY state;
DO $$
DECLARE r record; found record;
BEGIN
    FOR r IN SELECT ctid, id FROM rows WHERE id % 10 = 1 LOOP
        SELECT id INTO found FROM rows WHERE ctid = r.ctid;
        IF found.id IS DISTINCT FROM r.id THEN RAISE NOTICE 'row % has another id: %', r.id, found.id; END IF;
        IF currtid2('rows', r.ctid) <> r.ctid THEN RAISE NOTICE 'row % has another TID', r.id; END IF;
    END LOOP;
END $$;
SELECT id FROM rows WHERE ctid = '(4000000000,1)' OR ctid = '(0,0)' OR ctid = '(1024,65535)';
SELECT count(*) FROM rows WHERE ctid = ANY (ARRAY(SELECT ctid FROM rows WHERE k = 3));
SELECT count(*) FROM rows WHERE ctid >= '(0,0)';
SELECT count(*) FROM rows WHERE ctid < '(0,1)';
SELECT (SELECT count(*) FROM rows WHERE ctid < m.t) + (SELECT count(*) FROM rows WHERE ctid >= m.t) FROM (SELECT ctid AS t FROM rows WHERE id = 3100) m;
DO $$
DECLARE r record; below bigint; above bigint; wanted bigint;
BEGIN
    FOR r IN SELECT ctid, id FROM rows WHERE id % 100 = 1 LOOP
        EXECUTE format('SELECT count(*) FROM rows WHERE ctid <= %L', r.ctid) INTO below;
        EXECUTE format('SELECT count(*) FROM rows WHERE ctid > %L', r.ctid) INTO above;
        SELECT count(*) INTO wanted FROM (SELECT ctid FROM rows OFFSET 0) o WHERE ctid <= r.ctid;
        IF below <> wanted OR below + above <> 2700 THEN RAISE NOTICE 'range of %: % below, % wanted, % above', r.id, below, wanted, above; END IF;
    END LOOP;
END $$;
BEGIN;
\i :buffer
DELETE FROM rows WHERE ctid IN (SELECT ctid FROM rows WHERE k = 3);
UPDATE rows SET v = 'tid' WHERE ctid = (SELECT ctid FROM rows WHERE id = 10010);
UPDATE rows SET v = 'tid' FROM (SELECT ctid FROM rows WHERE k = 4) o WHERE rows.ctid = o.ctid;
SELECT state, count(*), count(*) FILTER (WHERE v = 'tid') FROM rows GROUP BY state ORDER BY state;
DECLARE c SCROLL CURSOR FOR SELECT id FROM rows WHERE ctid > '(0,0)';
MOVE ALL IN c;
CREATE TEMP TABLE back (id int) ON COMMIT DROP;
DO $$ DECLARE i int; c refcursor := 'c'; BEGIN LOOP FETCH PRIOR FROM c INTO i; EXIT WHEN NOT FOUND; INSERT INTO back VALUES (i); END LOOP; END $$;
SELECT count(*), count(DISTINCT id), sum(id) FROM back;
ROLLBACK;

-- early stop, rescans, joins, subqueries
SELECT count(*) FROM (SELECT FROM rows LIMIT 500) l;
SELECT count(*) FROM (SELECT FROM rows OFFSET 2650 LIMIT 100) l;
SELECT count(*) FROM generate_series(1, 5) g, LATERAL (SELECT * FROM rows LIMIT g) l;
SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_material = off; SET enable_memoize = off;
SELECT g, sum(l.id), count(*) FROM generate_series(0, 4) g LEFT JOIN LATERAL (SELECT * FROM rows WHERE id = 3000 + g * 1001) l ON true GROUP BY g ORDER BY g;
SELECT count(*), sum(a.id) FROM rows a JOIN rows b ON a.id = b.id + 1000 WHERE b.k = 7 AND b.id % 50 = 7;
SELECT count(*) FROM rows a WHERE k = 1 AND id % 100 = 1 AND NOT EXISTS (SELECT FROM rows b WHERE b.id = a.id + 1000);
RESET enable_hashjoin; RESET enable_mergejoin; RESET enable_material; RESET enable_memoize;
SELECT count(*), sum(a.id), sum(b.k) FROM rows a JOIN wanted b USING (id, state, v);
SELECT count(*), sum(a.id), sum(b.id) FROM rows a FULL JOIN (SELECT * FROM rows WHERE k = 2) b ON a.id = b.id + 1000;
SELECT state, count(*) FILTER (WHERE k = 3), sum(n) FILTER (WHERE v = 'v3'), count(DISTINCT v) FROM rows GROUP BY ROLLUP (state) HAVING count(*) > 10 ORDER BY state;
SELECT id, rank() OVER (PARTITION BY state ORDER BY id DESC) FROM rows WHERE k = 3 ORDER BY 2, 1 LIMIT 9;
SELECT count(*) FROM rows WHERE false;
SELECT count(*), sum(id) FROM rows WHERE id IN (SELECT id + 1000 FROM rows WHERE v = 'v3');
SELECT count(*) FROM rows WHERE n = ANY (SELECT n FROM wanted WHERE k = 5);
SELECT (SELECT max(id) FROM rows b WHERE b.k = a.k) - max(id) FROM rows a GROUP BY k ORDER BY k;
SELECT state FROM rows GROUP BY state EXCEPT SELECT state FROM wanted;

-- samples: a whole one, an empty one, repeatable ones, sized ones
SELECT count(*), sum(id) FROM rows TABLESAMPLE bernoulli (100);
SELECT count(*), sum(id) FROM rows TABLESAMPLE system (100);
SELECT count(*) FROM rows TABLESAMPLE bernoulli (0);
SELECT count(*) BETWEEN 1000 AND 1700 AS half, count(DISTINCT state) FROM rows TABLESAMPLE bernoulli (50) REPEATABLE (1);
SELECT (SELECT sum(id) FROM rows TABLESAMPLE bernoulli (50) REPEATABLE (7)) = (SELECT sum(id) FROM rows TABLESAMPLE bernoulli (50) REPEATABLE (7)) AS same;
SELECT (SELECT count(*) FROM rows TABLESAMPLE system (40) REPEATABLE (7)) = (SELECT count(*) FROM rows TABLESAMPLE system (40) REPEATABLE (7)) AS same;
SELECT count(*) FROM rows TABLESAMPLE system (100) WHERE k = 3;

-- parallel scans and index builds
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET min_parallel_index_scan_size = 0; SET max_parallel_workers_per_gather = 3;
SET max_parallel_maintenance_workers = 2;
ALTER TABLE rows SET (parallel_workers = 3);
SELECT state, count(*), sum(id), sum(k), sum(n), min(v), max(v) FROM rows GROUP BY state ORDER BY state;
SELECT count(*) FROM rows WHERE v = 'v3';
SET parallel_leader_participation = off;
SELECT count(*), sum(id), sum(length(v)) FROM rows;
SELECT count(*), sum(a.id) FROM rows a JOIN wanted b USING (id);
SELECT count(*) FROM (SELECT FROM rows LIMIT 700) l;
RESET parallel_leader_participation;
SELECT g, (SELECT count(*) FROM rows WHERE k = g) FROM generate_series(1, 3) g;
BEGIN;
\i :buffer
UPDATE rows SET v = 'own' WHERE k = 1;
DELETE FROM rows WHERE k = 2;
SELECT state, count(*), sum(id), count(*) FILTER (WHERE v = 'own') FROM rows GROUP BY state ORDER BY state;
CREATE INDEX own_k ON rows (k, id);
SET LOCAL enable_seqscan = off;
SELECT count(*), sum(id) FROM rows WHERE k = 1;
SELECT count(*), sum(id) FROM rows WHERE k < 5 AND id > 2000;
ROLLBACK;
-- workers see the leader's buffered rows through its indexes
CREATE TABLE inner_ (id int PRIMARY KEY, v text) WITH (parallel_workers = 3);
SET parallel_leader_participation = off; SET enable_hashjoin = off; SET enable_mergejoin = off;
BEGIN;
INSERT INTO inner_ SELECT i, 'x' FROM generate_series(2300, 1001, -1) i;
SET LOCAL enable_bitmapscan = off;
SELECT count(*), count(i.v) FROM rows LEFT JOIN inner_ i USING (id) WHERE id < 3000;
ROLLBACK;
BEGIN;
INSERT INTO inner_ SELECT i, 'x' FROM generate_series(2300, 1001, -1) i;
SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off;
SELECT count(*) FROM inner_ WHERE id > 0;
ROLLBACK;
BEGIN;
INSERT INTO inner_ SELECT i, 'x' FROM generate_series(2300, 1001, -1) i;
SET LOCAL enable_seqscan = off; SET LOCAL enable_indexscan = off; SET LOCAL enable_indexonlyscan = off;
SELECT count(*), count(v) FROM inner_ WHERE id > 0;
ROLLBACK;
RESET parallel_leader_participation; RESET enable_hashjoin; RESET enable_mergejoin;
CREATE INDEX rows_id ON rows (id);
CREATE INDEX rows_k ON rows (k) WHERE n IS NOT NULL;
SET enable_seqscan = off;
SELECT count(*), sum(id) FROM rows WHERE id > 0;
SELECT count(*), sum(n) FROM rows WHERE id BETWEEN 2000 AND 8100;
SET enable_indexscan = off; SET enable_indexonlyscan = off;
SELECT count(*), sum(id) FROM rows WHERE id > 0;
SELECT count(*), sum(n) FROM rows WHERE id BETWEEN 2000 AND 8100 OR id = 9010;
RESET enable_seqscan; RESET enable_indexscan; RESET enable_indexonlyscan;
REINDEX TABLE CONCURRENTLY rows;
SET enable_seqscan = off;
SELECT count(*), sum(k) FROM rows WHERE id > 0;
RESET enable_seqscan;
CREATE TABLE made AS SELECT * FROM rows WHERE k < 5;
SELECT count(*), sum(id) FROM made;
RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size; RESET min_parallel_index_scan_size; RESET max_parallel_workers_per_gather; RESET max_parallel_maintenance_workers;

-- empty tables
CREATE TABLE empty (a int PRIMARY KEY, b text);
SELECT count(*), sum(a) FROM empty;
SELECT * FROM empty WHERE a = 1;
SELECT * FROM empty WHERE ctid = '(0,1)';
SELECT * FROM empty TABLESAMPLE system (100);
UPDATE empty SET a = 1; DELETE FROM empty;
VACUUM ANALYZE empty;
BEGIN; INSERT INTO empty SELECT i FROM generate_series(1, 300) i; ROLLBACK;
SELECT count(*), sum(a) FROM empty;
VACUUM (ANALYZE) empty;
INSERT INTO empty SELECT i FROM generate_series(1, 300) i; DELETE FROM empty;
SELECT count(*), sum(a) FROM empty;
VACUUM empty;
SELECT count(*), sum(a) FROM empty;
INSERT INTO empty SELECT i FROM generate_series(1, 300) i;
SELECT count(*), sum(a) FROM empty;

SET client_min_messages = warning;
DROP SCHEMA scans CASCADE;
