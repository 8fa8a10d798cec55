-- Fills :t (id int, state text, k int, v text, n numeric, ...) with rows in every state that storage knows, 300 a state,
-- with ids from 1001, 2001, ...: k is id % 10, v 'v' and id % 7, n id * 1.25 and NULL where id % 13 = 0.
\set ECHO none
SET client_min_messages = warning;
-- on row pages, frozen
SET pgcolumnar.bulk_threshold = 1000000;
INSERT INTO :t (id, state, k, v, n) SELECT i, '1 frozen page', i % 10, 'v' || i % 7, CASE WHEN i % 13 > 0 THEN i * 1.25 END FROM generate_series(1001, 1300) i;
-- in row groups, frozen
SET pgcolumnar.bulk_threshold = 0;
INSERT INTO :t (id, state, k, v, n) SELECT i, '2 frozen group', i % 10, 'v' || i % 7, CASE WHEN i % 13 > 0 THEN i * 1.25 END FROM generate_series(2001, 2300) i;
VACUUM (FREEZE) :t;
-- in row groups
INSERT INTO :t (id, state, k, v, n) SELECT i, '3 group', i % 10, 'v' || i % 7, CASE WHEN i % 13 > 0 THEN i * 1.25 END FROM generate_series(3001, 3300) i;
-- locked in a row group
INSERT INTO :t (id, state, k, v, n) SELECT i, '4 locked', i % 10, 'v' || i % 7, CASE WHEN i % 13 > 0 THEN i * 1.25 END FROM generate_series(4001, 4300) i;
BEGIN;
SELECT count(*) AS locked FROM (SELECT FROM :t WHERE id BETWEEN 4001 AND 4300 FOR NO KEY UPDATE) l \gset
COMMIT;
-- updated without and with a change of k, of which an index may exist
INSERT INTO :t (id, state, k, v, n) SELECT i, '5 group', i % 10, 'old', CASE WHEN i % 13 > 0 THEN i * 1.25 END FROM generate_series(5001, 5300) i;
UPDATE :t SET v = 'v' || id % 7, state = '5 updated' WHERE id BETWEEN 5001 AND 5300;
INSERT INTO :t (id, state, k, v, n) SELECT i, '6 group', -i, 'v' || i % 7, 1 FROM generate_series(6001, 6300) i;
UPDATE :t SET k = id % 10, n = CASE WHEN id % 13 > 0 THEN id * 1.25 END, state = '6 moved' WHERE id BETWEEN 6001 AND 6300;
-- deleted and updated by a transaction that was rolled back
INSERT INTO :t (id, state, k, v, n) SELECT i, '7 undone', i % 10, 'v' || i % 7, CASE WHEN i % 13 > 0 THEN i * 1.25 END FROM generate_series(7001, 7300) i;
BEGIN;
UPDATE :t SET k = -1, v = 'wrong' WHERE id BETWEEN 7001 AND 7200;
DELETE FROM :t WHERE id BETWEEN 7101 AND 7300;
ROLLBACK;
-- inserted by a transaction that was rolled back, deleted
BEGIN;
INSERT INTO :t (id, state, k, v, n) SELECT i, 'wrong', i % 10, 'wrong', i FROM generate_series(8001, 8300) i;
ROLLBACK;
INSERT INTO :t (id, state, k, v, n) SELECT i, 'wrong', i % 10, 'wrong', i FROM generate_series(8001, 8300) i;
DELETE FROM :t WHERE id BETWEEN 8001 AND 8300;
-- several commands and subtransactions in one group, one of them rolled back
BEGIN;
INSERT INTO :t (id, state, k, v, n) SELECT i, '8 pieces', i % 10, 'v' || i % 7, CASE WHEN i % 13 > 0 THEN i * 1.25 END FROM generate_series(8001, 8090) i;
SAVEPOINT a;
INSERT INTO :t (id, state, k, v, n) SELECT i, 'wrong', i % 10, 'wrong', i FROM generate_series(8091, 8190) i;
ROLLBACK TO a;
INSERT INTO :t (id, state, k, v, n) SELECT i, '8 pieces', i % 10, 'v' || i % 7, CASE WHEN i % 13 > 0 THEN i * 1.25 END FROM generate_series(8091, 8190) i;
RELEASE a;
SAVEPOINT b;
INSERT INTO :t (id, state, k, v, n) SELECT i, '8 pieces', i % 10, 'v' || i % 7, CASE WHEN i % 13 > 0 THEN i * 1.25 END FROM generate_series(8191, 8300) i;
RELEASE b;
COMMIT;
-- on row pages
SET pgcolumnar.bulk_threshold = 1000000;
INSERT INTO :t (id, state, k, v, n) SELECT i, '9 page', i % 10, 'v' || i % 7, CASE WHEN i % 13 > 0 THEN i * 1.25 END FROM generate_series(9001, 9300) i;
SET pgcolumnar.bulk_threshold = 0;
RESET client_min_messages;
\set ECHO all
