-- Adds 100 rows to :t that stay in the write buffer of the transaction until something scans the table.
\set ECHO none
INSERT INTO :t (id, state, k, v, n) SELECT i, 'a buffered', i % 10, 'v' || i % 7, CASE WHEN i % 13 > 0 THEN i * 1.25 END FROM generate_series(10001, 10100) i;
\set ECHO all
