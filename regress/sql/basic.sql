-- The life of a table, end to end. Every result is what heap gives.
SET client_min_messages = warning;
DROP EXTENSION pgcolumnar;
CREATE EXTENSION pgcolumnar;
RESET client_min_messages;
SELECT extname, n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'pgcolumnar';
SELECT amname, amtype FROM pg_am WHERE amname = 'pgcolumnar';

CREATE TABLE basic (
    id int PRIMARY KEY,
    kind text,
    amount numeric(12,2),
    day date,
    score float8
) USING pgcolumnar;
SELECT amname FROM pg_class c JOIN pg_am a ON a.oid = c.relam WHERE relname = 'basic';
SELECT count(*), sum(amount), min(day) FROM basic;

-- insert: one row, several rows, many rows, NULLs
INSERT INTO basic VALUES (1, 'one', 1.50, '2013-01-01', 0.5);
INSERT INTO basic VALUES (2, 'two', NULL, '2013-01-02', NULL), (3, NULL, 3.25, NULL, 1.5) RETURNING id, kind;
INSERT INTO basic
    SELECT i, 'kind ' || i % 7, i * 0.25, date '2013-01-01' + i % 365, i / 8.0
    FROM generate_series(4, 30000) i;
SELECT count(*), count(kind), count(amount), count(day), count(score) FROM basic;
SELECT sum(id), sum(amount), min(day), max(day), sum(score) FROM basic;
SELECT kind, count(*), sum(amount) FROM basic GROUP BY kind ORDER BY kind;
SELECT * FROM basic WHERE id < 6 ORDER BY id;
SELECT * FROM basic WHERE day = '2013-12-31' ORDER BY amount DESC LIMIT 3;
INSERT INTO basic VALUES (30000, 'again');
INSERT INTO basic VALUES (30000, 'again') ON CONFLICT (id) DO NOTHING;
INSERT INTO basic VALUES (30000, 'again') ON CONFLICT (id) DO UPDATE SET kind = excluded.kind RETURNING id, kind, amount;

-- update and delete, seen by later commands of the transaction and undone by a rollback
BEGIN;
UPDATE basic SET kind = 'changed', amount = amount + 1 WHERE id % 1000 = 0;
SELECT count(*), sum(amount) FROM basic WHERE kind = 'changed';
DELETE FROM basic WHERE id > 100;
SELECT count(*) FROM basic;
ROLLBACK;
SELECT count(*) FROM basic WHERE kind = 'changed';
UPDATE basic SET kind = 'changed', amount = amount + 1 WHERE id % 1000 = 0;
SELECT count(*), sum(amount) FROM basic WHERE kind = 'changed';
DELETE FROM basic WHERE id BETWEEN 10001 AND 20000;
SELECT count(*), min(id), max(id), sum(id) FROM basic;
BEGIN;
INSERT INTO basic VALUES (15000, 'kept');
SAVEPOINT s;
INSERT INTO basic VALUES (15001, 'undone');
DELETE FROM basic WHERE id = 15000;
SELECT id, kind FROM basic WHERE id BETWEEN 10001 AND 20000;
ROLLBACK TO s;
COMMIT;
SELECT id, kind FROM basic WHERE id BETWEEN 10001 AND 20000;

-- indexes: the primary key so far, now one built over stored rows
CREATE INDEX basic_kind ON basic (kind, id);
SET enable_seqscan = off;
SELECT id, kind, amount FROM basic WHERE kind = 'changed' ORDER BY id LIMIT 3;
SELECT id, kind FROM basic WHERE id IN (5, 15000, 15001, 29999) ORDER BY id;
SET enable_indexscan = off;
SELECT count(*), sum(id) FROM basic WHERE kind = 'kind 3';
RESET enable_indexscan;
RESET enable_seqscan;

-- vacuum, analyze and both again, then the table must be what it was
VACUUM basic;
SELECT count(*), sum(id), sum(amount) FROM basic;
ANALYZE basic;
SELECT reltuples FROM pg_class WHERE relname = 'basic';
VACUUM FULL basic;
SELECT count(*), sum(id), sum(amount) FROM basic;
SELECT id, kind FROM basic WHERE id = 15000;

-- columns that come and go
ALTER TABLE basic ADD COLUMN note text DEFAULT 'none', DROP COLUMN score;
INSERT INTO basic (id, note) VALUES (15002, NULL);
SELECT * FROM basic WHERE id IN (14999, 15000, 15002, 20001) ORDER BY id;
TRUNCATE basic;
SELECT count(*) FROM basic;
INSERT INTO basic (id) VALUES (1);
SELECT * FROM basic;

-- COPY in and out
COPY basic (id, kind, amount, day) FROM stdin WITH (FORMAT csv, NULL 'NA');
2,two,2.00,2013-02-02
3,NA,NA,NA
\.
COPY (SELECT * FROM basic ORDER BY id) TO stdout WITH (FORMAT csv, HEADER, NULL 'NA');
DROP TABLE basic;
