-- Constraints against rows in every state.
\getenv dir PG_ABS_SRCDIR
\set schema constraints
\set start :dir '/sql/include/start.sql'
\i :start
CREATE TABLE rows (id int PRIMARY KEY, state text NOT NULL, k int, v text, n numeric CHECK (n > 0), u int UNIQUE DEFAULT NULL);
\set t rows
\i :states
CREATE FUNCTION try(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE detail text;
BEGIN
    EXECUTE query;
    RETURN 'done';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
    RETURN sqlerrm || ': ' || detail;
END $$;

-- a duplicate of a row of each state, by INSERT and by UPDATE
BEGIN;
\i :buffer
SELECT i, try(format('INSERT INTO rows (id, state) VALUES (%s, ''duplicate'')', i)) FROM generate_series(1020, 11020, 1000) i;
SELECT i, try(format('UPDATE rows SET id = %s WHERE id = 3021', i)) FROM generate_series(1020, 10020, 1000) i;
SELECT i, try(format('UPDATE rows SET id = 3022 WHERE id = %s', i)) FROM generate_series(1020, 10020, 1000) i;
ROLLBACK;
SELECT state, count(*), sum(id) FROM rows GROUP BY state ORDER BY state;

-- in one bulk statement: first against last row of a group, against a later group, after the error again
INSERT INTO rows (id, state) SELECT CASE WHEN i = 250 THEN 20001 ELSE 20000 + i END, 'bulk' FROM generate_series(1, 250) i;
INSERT INTO rows (id, state) SELECT CASE WHEN i = 900 THEN 20001 ELSE 20000 + i END, 'bulk' FROM generate_series(1, 900) i;
INSERT INTO rows (id, state) SELECT CASE WHEN i = 900 THEN 20001 ELSE 20000 + i END, 'bulk' FROM generate_series(1, 900) i ON CONFLICT DO NOTHING;
SELECT count(*), sum(id) FROM rows WHERE state = 'bulk';
INSERT INTO rows (id, state) SELECT 20901 - i, 'bulk' FROM generate_series(1, 901) i;
DELETE FROM rows WHERE state = 'bulk';
INSERT INTO rows (id, state) SELECT 20000 + i, 'bulk' FROM generate_series(1, 900) i;
SELECT count(*), sum(id) FROM rows WHERE state = 'bulk';
BEGIN;
DELETE FROM rows WHERE state = 'bulk';
INSERT INTO rows (id, state) SELECT 20000 + i, 'bulk' FROM generate_series(1, 900) i;
DELETE FROM rows WHERE state = 'bulk';
INSERT INTO rows (id, state) SELECT 20000 + i, 'bulk' FROM generate_series(1, 900) i;
UPDATE rows SET id = id + 1000 WHERE state = 'bulk';
INSERT INTO rows (id, state) SELECT 20000 + i, 'bulk' FROM generate_series(1, 900) i;
ROLLBACK;
INSERT INTO rows (id, state) VALUES (20900, 'bulk');
INSERT INTO rows (id, state) VALUES (21001, 'bulk');
COPY rows (id, state) FROM stdin;
22001	copied
22002	copied
22001	copied
\.
COPY rows (id, state) FROM stdin;
22001	copied
3001	copied
\.
DELETE FROM rows WHERE id > 10000;

-- checks and not null
INSERT INTO rows (id, state, n) SELECT i, 'bulk', 300 - i FROM generate_series(20001 - 20000, 300) i;
INSERT INTO rows (id) VALUES (1);
UPDATE rows SET n = n - 2550 WHERE k = 1;
UPDATE rows SET state = NULL WHERE id = 3001;
ALTER TABLE rows ALTER COLUMN n SET NOT NULL;
ALTER TABLE rows ADD CONSTRAINT low CHECK (id < 9300);
ALTER TABLE rows ADD CONSTRAINT low CHECK (id < 9301) NOT VALID;
ALTER TABLE rows VALIDATE CONSTRAINT low;
INSERT INTO rows (id, state) VALUES (9301, 'high');
ALTER TABLE rows DROP CONSTRAINT low;

-- building a unique index over rows that are duplicates
CREATE UNIQUE INDEX ON rows (k);
CREATE UNIQUE INDEX by_state ON rows (id, state);
CREATE UNIQUE INDEX by_rest ON rows ((id % 9300));
DROP INDEX by_state, by_rest;
UPDATE rows SET u = id WHERE id % 100 = 1;
CREATE UNIQUE INDEX nulls_distinct ON rows (u);
CREATE UNIQUE INDEX nulls_not_distinct ON rows (u) NULLS NOT DISTINCT;
UPDATE rows SET u = id WHERE u IS NULL AND id <> 3002;
CREATE UNIQUE INDEX nulls_not_distinct ON rows (u) NULLS NOT DISTINCT;
INSERT INTO rows (id, state) VALUES (20001, 'null');
DELETE FROM rows WHERE id = 3002;
INSERT INTO rows (id, state) SELECT i, 'null' FROM generate_series(20001, 20002) i;
INSERT INTO rows (id, state) VALUES (20001, 'null');
INSERT INTO rows (id, state) VALUES (20002, 'null') ON CONFLICT DO NOTHING;
UPDATE rows SET u = NULL WHERE id = 5050;
DROP INDEX nulls_distinct, nulls_not_distinct;
DELETE FROM rows WHERE id > 10000;

-- deferrable
ALTER TABLE rows ADD COLUMN d int;
UPDATE rows SET d = id;
ALTER TABLE rows ADD CONSTRAINT rows_d UNIQUE (d) DEFERRABLE;
UPDATE rows SET d = d + 1;
SELECT state, sum(d - id) FROM rows GROUP BY state ORDER BY state;
BEGIN;
SET CONSTRAINTS ALL DEFERRED;
INSERT INTO rows (id, state, d) SELECT 20000 + i, 'deferred', 3000 + i FROM generate_series(10, 50) i;
UPDATE rows SET d = d + 100000 WHERE state = 'deferred';
SET CONSTRAINTS ALL IMMEDIATE;
SET CONSTRAINTS ALL DEFERRED;
UPDATE rows SET d = 9100 WHERE id IN (1100, 3100, 9100, 20020);
SAVEPOINT a;
SET CONSTRAINTS ALL IMMEDIATE;
ROLLBACK TO a;
UPDATE rows SET d = -id WHERE id IN (1100, 3100, 20020);
COMMIT;
BEGIN;
SET CONSTRAINTS ALL DEFERRED;
INSERT INTO rows (id, state, d) SELECT 30000 + i, 'deferred', 3000 + i FROM generate_series(50, 300) i;
COMMIT;
SELECT count(*) FROM rows WHERE state = 'deferred';
INSERT INTO rows (id, state, d) VALUES (40000, 'conflict', 3050) ON CONFLICT (d) DO NOTHING;
INSERT INTO rows (id, state, d) VALUES (40000, 'conflict', 3050) ON CONFLICT DO NOTHING;
DELETE FROM rows WHERE id > 10000;

-- exclusion
CREATE TABLE spans (id int, r int4range, EXCLUDE USING gist (r WITH &&));
INSERT INTO spans SELECT i, int4range(i * 10, i * 10 + 10) FROM generate_series(1, 500) i;
INSERT INTO spans SELECT 1000 + i, int4range(i * 10, i * 10 + CASE WHEN i = 590 THEN 11 ELSE 10 END) FROM generate_series(501, 600) i;
INSERT INTO spans SELECT 1000 + i, int4range(i * 10, i * 10 + 10) FROM generate_series(501, 600) i;
INSERT INTO spans VALUES (1, '[15,16)');
INSERT INTO spans VALUES (1, '[15,16)') ON CONFLICT DO NOTHING;
UPDATE spans SET r = int4range(lower(r) + 1, upper(r)) WHERE id % 50 = 0;
UPDATE spans SET r = int4range(lower(r) - 2, upper(r)) WHERE id = 50;
DELETE FROM spans WHERE id = 49;
UPDATE spans SET r = int4range(lower(r) - 2, upper(r)) WHERE id = 50;
INSERT INTO spans VALUES (49, '[490,499)');
INSERT INTO spans VALUES (49, '[490,498)');
SELECT count(*), sum(upper(r) - lower(r)) FROM spans;
ALTER TABLE spans ADD EXCLUDE USING btree (id WITH =);

-- foreign keys, both ways, with actions
CREATE TABLE refs (id int PRIMARY KEY, state text, k int, v text, n numeric, row int REFERENCES rows ON DELETE CASCADE ON UPDATE CASCADE);
INSERT INTO refs (id, row) SELECT id, id FROM rows;
INSERT INTO refs (id, row) VALUES (1, NULL), (2, 3000);
SELECT i, try(format('INSERT INTO refs (id, row) VALUES (-%s, %s)', i, i)) FROM generate_series(1020, 11020, 1000) i;
DELETE FROM refs WHERE id < 0;
BEGIN;
INSERT INTO rows (id, state) SELECT i, 'parents' FROM generate_series(20001, 20300) i;
INSERT INTO refs (id, row) SELECT i, i FROM generate_series(20001, 20300) i;
INSERT INTO refs (id, row) SELECT i, i FROM generate_series(20300, 20301) i;
ROLLBACK;
BEGIN;
INSERT INTO rows (id, state) SELECT i, 'parents' FROM generate_series(20001, 20300) i;
INSERT INTO refs (id, row) SELECT i, i FROM generate_series(20001, 20300) i;
DELETE FROM rows WHERE id = 20001;
UPDATE rows SET id = -id WHERE id = 20002;
SELECT count(*), min(row) FROM refs WHERE id > 20000;
COMMIT;
DELETE FROM rows WHERE id % 1000 = 30;
UPDATE rows SET id = id + 500 WHERE id % 1000 = 31;
UPDATE rows SET v = 'not key' WHERE id % 1000 = 32;
SELECT r.state, count(*), count(rows.id), sum(refs.row - refs.id) FROM refs LEFT JOIN rows ON refs.row = rows.id LEFT JOIN rows r ON r.id / 1000 = refs.id / 1000 AND r.id % 1000 = 1 GROUP BY r.state ORDER BY r.state;
ALTER TABLE refs DROP CONSTRAINT refs_row_fkey;
DELETE FROM rows WHERE id = 3040;
ALTER TABLE refs ADD CONSTRAINT refs_row_fkey FOREIGN KEY (row) REFERENCES rows ON DELETE SET NULL;
DELETE FROM refs WHERE row = 3040;
ALTER TABLE refs ADD CONSTRAINT refs_row_fkey FOREIGN KEY (row) REFERENCES rows ON DELETE SET NULL;
DELETE FROM rows WHERE id % 1000 = 41;
UPDATE rows SET id = id + 500 WHERE id = 3042;
SELECT count(*) FROM refs WHERE row IS NULL;
ALTER TABLE refs DROP CONSTRAINT refs_row_fkey, ALTER COLUMN row SET DEFAULT 1099, ADD CONSTRAINT refs_row_fkey FOREIGN KEY (row) REFERENCES rows ON DELETE SET DEFAULT DEFERRABLE INITIALLY DEFERRED;
BEGIN;
DELETE FROM rows WHERE id % 1000 = 43;
INSERT INTO refs (id, row) VALUES (-1, 50001);
INSERT INTO rows (id, state) VALUES (50001, 'late parent');
COMMIT;
SELECT count(*) FROM refs WHERE row = 1099;
BEGIN;
INSERT INTO refs (id, row) SELECT -1000 - i, 60000 + i FROM generate_series(2, 300) i;
INSERT INTO rows (id, state) SELECT 60000 + i, 'late parent' FROM generate_series(2, 299) i;
COMMIT;
TRUNCATE rows;
TRUNCATE rows, refs;
-- a table that refers to itself
CREATE TABLE tree (id int PRIMARY KEY, up int REFERENCES tree ON DELETE CASCADE);
INSERT INTO tree SELECT i, nullif(i / 2, 0) FROM generate_series(1, 700) i;
INSERT INTO tree SELECT i, nullif(i / 2, 0) FROM generate_series(1399, 701, -1) i;
DELETE FROM tree WHERE id = 5;
SELECT count(*), sum(id) FROM tree;
INSERT INTO tree VALUES (5000, 5001);

SET client_min_messages = warning;
DROP SCHEMA constraints CASCADE;
