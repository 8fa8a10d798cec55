-- What a columnar table does not do, and says so.
CREATE SCHEMA refused;
SET search_path = refused;
SET pgcolumnar.bulk_threshold = 0;
CREATE TABLE rows (id int, v text) USING pgcolumnar;
INSERT INTO rows SELECT i, 'v' FROM generate_series(1, 300) i;
\set VERBOSITY terse
CREATE INDEX ON rows USING brin (id);
CREATE INDEX CONCURRENTLY ON rows USING brin (id);
CREATE TABLE empty (id int) USING pgcolumnar;
CREATE INDEX ON empty USING brin (id);
CREATE TABLE other (id int) USING heap;
CREATE INDEX ON other USING brin (id);
INSERT INTO other SELECT generate_series(1, 300);
ALTER TABLE other SET ACCESS METHOD pgcolumnar;
SELECT count(*) FROM other;
SELECT count(*), sum(id) FROM rows;
SET client_min_messages = warning;
DROP SCHEMA refused CASCADE;
