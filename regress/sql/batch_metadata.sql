-- Aggregates that metadata answers: that it does, where it may not, and that the results are those of the rows.
\getenv dir PG_ABS_SRCDIR
\set schema batch_metadata
\set start :dir '/sql/include/start.sql'
\i :start
\set batch :dir '/sql/include/batch.sql'
\i :batch
-- Five groups of four vectors.
SELECT twins($$CREATE TABLE m (id int, s smallint, b bigint, f float8, r real, zero float8, nan float8, c text COLLATE "C", long text COLLATE "C", o oid, i int, d date, ts timestamp, yes bool, third bool, n numeric(10,2), gap int, void int, one int, gone int)$$);
CREATE FUNCTION fill(first int, last int) RETURNS void LANGUAGE sql AS $$
    SELECT twins(format('INSERT INTO m SELECT i, i %% 100 - 50, i * 2251799813685249, i / 4.0 - 1000, i / 8.0 + 1, CASE WHEN i %% 2 = 0 THEN ''-0''::float8 ELSE 0 END, CASE WHEN i %% 50 = 3 THEN ''NaN''::float8 ELSE i END, ''c'' || i, CASE WHEN i %% 300 > 0 THEN repeat(''x'', 40) || i END, 4294967295 - i, -i,
        date ''2024-01-01'' + i, CASE WHEN i = 700 THEN ''infinity'' ELSE timestamp ''2024-01-01'' + i * interval ''1 h'' END, true, i %% 3 = 0, i * 1.25, CASE WHEN i > 300 THEN i END, NULL, 7, i FROM generate_series(%s, %s) i', first, last));
$$;
SELECT fill(1, 1280);
ANALYZE m; ANALYZE batch_metadata_heap.m;
-- Groups and vectors answered, and whether the results are right.
CREATE FUNCTION answered(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE groups bigint; vectors bigint;
BEGIN
    groups := counted('Row Groups Answered by Metadata', query);
    vectors := counted('Vectors Answered by Metadata', query);
    RETURN format('%s groups, %s vectors, %s', coalesce(groups, 0), coalesce(vectors, 0), same(query));
EXCEPTION WHEN others THEN RETURN same(query);
END $$;
SELECT counter, counted(counter, 'SELECT count(*), max(id) FROM m WHERE id > 256') FROM unnest('{Row Groups,Row Groups Skipped,Row Groups Answered by Metadata,Vectors,Vectors Answered by Metadata,Threads}'::text[]) counter;
SELECT call, answered('SELECT ' || call || ' FROM m') FROM unnest(ARRAY[
    'count(*)', 'count(*), sum(id), avg(id), min(id), max(id)', 'sum(s), avg(s), sum(b), avg(b)', 'min(f), max(f), min(r), max(r)', 'min(zero)', 'max(zero)', 'min(nan)', 'max(nan)', 'min(c), max(c)', 'min(long)', 'max(long)', 'count(long)',
    'min(o), max(o)', 'sum(i), min(i), max(i)', 'min(d), max(d), min(ts), max(ts)', 'bool_and(yes), bool_or(yes), every(third), bool_or(third)', 'count(gap), sum(gap), min(gap), max(gap)', 'count(void), sum(void), avg(void), min(void)', 'count(n), count(ts)', 'sum(one), avg(one)',
    'count(1), count(NULL), max(5), sum(3), sum(NULL::int)', 'sum(id + 1), sum(1 + id), sum(id - 7), sum(id::bigint + 2147483648), max(s + 30000)', 'min(DISTINCT id)', 'count(*) + sum(id) / 2',
    'sum(n)', 'sum(f)', 'min(n)', 'count(DISTINCT id)', 'count(*) FILTER (WHERE id > 0)', 'sum(id * 2)', 'sum(-id)', 'sum(s + 32767::smallint)', 'sum(s + 32700::smallint)', 'bit_or(id)', 'variance(id)', 'count(*), string_agg(c, '','' ORDER BY id)', 'max(length(c))']) WITH ORDINALITY AS x(call, at) ORDER BY at;
SELECT answered('SELECT one, count(*) FROM m GROUP BY one'), answered('SELECT count(*) FROM m HAVING count(*) > 5'), answered('SELECT count(*) FROM m HAVING count(*) > 5000');

-- filters that are true of all rows of a group, of a vector, of none
SELECT filter, answered('SELECT count(*), sum(id) FROM m WHERE ' || filter) AS sums, answered('SELECT count(*), count(gap), min(id), max(c) FROM m WHERE ' || filter) AS others
FROM unnest(ARRAY['id > 0', 'id > 256', 'id > 300', 'id BETWEEN 300 AND 1000', 'id < 0', 'id <> 400', 'id IN (1, 2)', 'gap > 0', 'gap IS NOT NULL', 'gap IS NULL', 'void IS NULL', 'void = 1', 'one = 7', 'one IN (6, 7)', 'one <> 7', 'yes', 'NOT yes', 'third', 'c LIKE ''c%''', 'd > ''2024-01-01''', 'd > ''2024-11-01'' AND f < 0',
    'id > 100 OR one = 7', 'zero = 0', 'nan > 5', 'o > 4294967000', 'length(c) > 0', 'id / one >= 0', 'one = 7 AND md5(c) <> ''''', 'NULL::bool', 'true']) WITH ORDINALITY AS x(filter, at) ORDER BY at;
SELECT answered('SELECT count(*) FROM m WHERE c COLLATE "C" < ''d'''), answered('SELECT min(id), max(id) FROM m WHERE random() >= 0');
PREPARE above(int) AS SELECT count(*), sum(id + $1), max(id), count($1) FROM m WHERE id > $1;
SET plan_cache_mode = force_generic_plan;
EXECUTE above(0); EXECUTE above(256); EXECUTE above(1000); EXECUTE above(5000); EXECUTE above(NULL);
SELECT counted('Row Groups Answered by Metadata', 'EXECUTE above(256)');
RESET plan_cache_mode;
SELECT g, (SELECT count(*) FROM m WHERE id > g * 200) AS above, (SELECT sum(id) FROM m WHERE id <= g * 200) AS below FROM generate_series(0, 7) g;

-- rows that are deleted, updated, locked, not committed, aborted
CREATE FUNCTION ask() RETURNS TABLE (all_rows text, sums text, others text, later text) LANGUAGE sql AS $$
    SELECT answered('SELECT count(*) FROM m'), answered('SELECT count(*), sum(id), avg(b) FROM m'), answered('SELECT min(id), max(d), count(gap), count(id), max(c) FROM m'), answered('SELECT count(*), sum(one), count(void) FROM m WHERE id > 300');
$$;
SELECT * FROM ask();
BEGIN;
SELECT count(*) FROM (SELECT FROM m WHERE id BETWEEN 500 AND 520 FOR UPDATE) l;
SELECT * FROM ask();
DECLARE before CURSOR FOR SELECT count(*), sum(id), min(id), max(id) FROM m;
SELECT twins('DELETE FROM m WHERE id IN (1, 2, 1280)');
SELECT * FROM ask();
FETCH before;
ROLLBACK;
SELECT * FROM ask();
BEGIN;
SELECT fill(2001, 2300);
SELECT * FROM ask();
SAVEPOINT a;
SELECT fill(3001, 3300);
SELECT * FROM ask();
ROLLBACK TO a;
SELECT * FROM ask();
SELECT twins('DELETE FROM m WHERE id = 2100; UPDATE m SET id = id + 10000 WHERE id BETWEEN 2200 AND 2210');
SELECT * FROM ask();
ROLLBACK;
SELECT * FROM ask();
SELECT twins('DELETE FROM m WHERE id BETWEEN 1 AND 256');
SELECT * FROM ask();
SELECT twins('DELETE FROM m WHERE id BETWEEN 400 AND 410; UPDATE m SET gap = 0 WHERE id BETWEEN 1270 AND 1280');
SELECT * FROM ask();
SET pgcolumnar.bulk_threshold = 1000000;
SELECT fill(1281, 1300);
SET pgcolumnar.bulk_threshold = 0;
SELECT * FROM ask();
SET pgcolumnar.max_threads = 0;
SELECT * FROM ask();
RESET pgcolumnar.max_threads;
-- moved by VACUUM to groups with TID maps
SET pgcolumnar.merge_threshold = 1;
VACUUM (FREEZE) m; VACUUM batch_metadata_heap.m;
RESET pgcolumnar.merge_threshold;
SELECT * FROM ask();
SELECT twins('DELETE FROM m WHERE id IN (1275, 1290)');
SELECT * FROM ask();

-- columns younger than their group, dropped, of another type than when they were stored
SELECT twins('ALTER TABLE m ADD five int DEFAULT 5, ADD late text COLLATE "C" DEFAULT ''late'', ADD null_int int, ADD num numeric(10,2) DEFAULT 2.5, ADD fl float8 DEFAULT 0, DROP gone');
SELECT twins('ALTER TABLE m ADD gone int');
SELECT twins('INSERT INTO m (id, c, one, i, five, gone) SELECT i, ''c'' || i, 7, i, 5, i FROM generate_series(1301, 1400) i');
SELECT twins('UPDATE m SET five = 6 WHERE id = 1400');
SELECT call, answered('SELECT ' || call || ' FROM m') FROM unnest(ARRAY[
    'count(five), sum(five), avg(five), min(five), max(five)', 'min(late), max(late), count(late)', 'count(null_int), sum(null_int), max(null_int)', 'min(fl)', 'max(num)', 'sum(five + 2147483640)', 'sum(five + 2147483642)', 'sum(five - id)', 'count(gone), max(gone), max(id)']) WITH ORDINALITY AS x(call, at) ORDER BY at;
SELECT filter, answered('SELECT count(*), sum(id) FROM m WHERE ' || filter) FROM unnest(ARRAY['five = 5', 'five > 5', 'late = ''late''', 'null_int IS NULL', 'null_int = 1']) WITH ORDINALITY AS x(filter, at) ORDER BY at;
SELECT twins('ALTER TABLE m ALTER i TYPE oid');
SELECT answered('SELECT min(i), max(i), count(i) FROM m'), answered('SELECT count(*) FROM m WHERE i > 4294966000'), answered('SELECT count(*) FROM m WHERE i = 4294966296'), answered('SELECT count(*) FROM m WHERE i < 5');
SELECT twins('ALTER TABLE m ALTER o TYPE int, ALTER c TYPE varchar COLLATE "C", ALTER five TYPE oid');
SELECT answered('SELECT min(o), max(o), sum(o) FROM m'), answered('SELECT min(c), max(c), max(five) FROM m'), answered('SELECT count(*), min(o) FROM m WHERE o < 0'), answered('SELECT count(*) FROM m WHERE o = -1001');
SELECT twins('ALTER TABLE m ALTER id TYPE bigint, ALTER d TYPE timestamp');
SELECT answered('SELECT min(id), sum(id), max(d) FROM m');

-- tables without rows
SELECT twins('CREATE TABLE nothing (LIKE m)');
SELECT answered('SELECT count(*), sum(id), min(c), bool_and(yes) FROM nothing');
BEGIN; SELECT twins('TRUNCATE m'); SELECT * FROM ask(); ROLLBACK;
SELECT * FROM ask();
-- sub-selects, unions; what core does
SELECT answered('SELECT id FROM m WHERE id = (SELECT max(id) FROM m)'), answered('SELECT count(*) FROM m UNION ALL SELECT sum(id) FROM m'), answered('SELECT count(*) FROM (SELECT count(*) AS n FROM m) x WHERE n > 0');
SELECT query FROM asked WHERE nodes NOT LIKE '%ColumnarAgg%' ORDER BY query COLLATE "C";
\set ECHO none
SET client_min_messages = warning;
DROP SCHEMA batch_metadata, batch_metadata_heap CASCADE;
