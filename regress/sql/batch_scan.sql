-- ColumnarScan: what it reads and skips, and that every way of asking for rows gets those that heap gives.
\getenv dir PG_ABS_SRCDIR
\set schema batch_scan
\set start :dir '/sql/include/start.sql'
\i :start
\set batch :dir '/sql/include/batch.sql'
\i :batch
SELECT twins('CREATE TABLE rows (id int, state text, k int, v text, n numeric)');
\set t batch_scan.rows
\i :states
\set t batch_scan_heap.rows
\i :states
VACUUM ANALYZE batch_scan_heap.rows; ANALYZE batch_scan.rows;
SELECT differences('batch_scan.rows', 'batch_scan_heap.rows');

-- the node, its filters and what it skips
EXPLAIN (COSTS OFF) SELECT id, v FROM rows WHERE id < 2100 AND v LIKE 'v3%';
SET pgcolumnar.enable_vectorized = off;
EXPLAIN (COSTS OFF) SELECT id, v FROM rows WHERE id < 2100 AND v LIKE 'v3%';
SET pgcolumnar.enable_vectorized = on;
SELECT twins('CREATE TABLE sorted (id int, half int, day date, price numeric(10,2), f float8, note text, gap int)');
SELECT twins($$INSERT INTO sorted SELECT i, i / 2, date '2024-01-01' + i / 100, i / 100.0, i / 4.0, 'note ' || i, CASE WHEN i > 1280 THEN i END FROM generate_series(1, 2560) i$$);
SELECT counted('Row Groups', 'SELECT * FROM sorted'), counted('Row Groups Skipped', 'SELECT * FROM sorted');
SELECT c, counted('Row Groups Skipped', 'SELECT note FROM sorted WHERE ' || c), same('SELECT note FROM sorted WHERE ' || c) FROM unnest(ARRAY[
    'id = 700', 'id < 257', 'id > 2304', 'id BETWEEN 300 AND 600', 'id IN (5, 700, 2500)', 'id = 5 OR id = 700', 'id = 0', 'id > 5000', 'id <> 5', 'NOT id > 256',
    'half = 300', 'id + 0 = 700', 'id > NULL', 'id IS NULL', 'id IS NOT NULL', 'gap IS NULL', 'gap IS NOT NULL', 'gap > 1500', 'gap IS DISTINCT FROM 2000', 'coalesce(gap, 0) = 0',
    'day = ''2024-01-10''', 'day < ''2024-01-03'' AND id > 100', 'day >= timestamp ''2024-01-26 00:00:01''', 'f >= 639.75', 'f < ''-Infinity''', 'f < ''NaN''', 'f = 100', 'id::bigint = 700', 'id = 700::smallint', 'id > 1e3', 'id < 2 AND id > 2000',
    'note = ''note 700''', 'note < ''note 1''', 'note LIKE ''note 25%''', 'id % 100 = 0 AND id < 512']) WITH ORDINALITY AS x(c, o) ORDER BY o;
-- what was deleted or updated counts where it is
SELECT twins('UPDATE sorted SET id = -id WHERE id BETWEEN 1000 AND 1010; DELETE FROM sorted WHERE id BETWEEN 1 AND 300');
SELECT c, same('SELECT id, half, note FROM sorted WHERE ' || c) FROM unnest(ARRAY['id < 0', 'id < 310', 'id = 1005', 'id = -1005', 'half BETWEEN 500 AND 505', 'id > 2550']) WITH ORDINALITY AS x(c, o) ORDER BY o;
SELECT c, same('SELECT id FROM sorted WHERE ' || c) FROM unnest(ARRAY['price = 7.00', 'price < 2.56', 'price > 25.599', 'price = 7.001', 'price IN (3, 7.00, 7.001)', 'price = 7::int', 'price > 25.59::float8']) WITH ORDINALITY AS x(c, o) ORDER BY o;
-- vectors within a group
SELECT counted('Vectors', 'SELECT * FROM sorted WHERE id = 400') > counted('Vectors Skipped', 'SELECT * FROM sorted WHERE id = 400') AS some,
    counted('Vectors Skipped', 'SELECT * FROM sorted WHERE id = 400') > 0 AS skipped;
-- a limit reads as much as it needs
SELECT counted('Vectors', 'SELECT id FROM sorted LIMIT 5') < 10 AS stops_early, counted('Vectors', 'SELECT id FROM sorted') AS all;
SELECT counted('Vectors', 'SELECT EXISTS (SELECT FROM sorted WHERE id > 600)') < 20 AS stops_early;
SELECT same('SELECT count(*) FROM (SELECT FROM sorted LIMIT 700) l'), same('SELECT count(*) FROM (SELECT id FROM sorted OFFSET 1500) l'), same('SELECT id FROM sorted LIMIT 0');

-- rows in every state
SELECT s, same('SELECT ' || s || ' FROM rows') FROM unnest(ARRAY['*', 'id', 'v, id', 'n, n, n', '1', 'rows', 'rows.*, id', 'id, rows', 'row_to_json(rows)', 'rows IS NULL', 'count(*) OVER (), id',
    'ctid IS NULL, id', 'tableoid = ''rows''::regclass, k', 'length(v) + k, n * 2', 'upper(state) || k']) WITH ORDINALITY AS x(s, o) ORDER BY o;
SELECT same('SELECT FROM rows');
SELECT c, same('SELECT id, n FROM rows WHERE ' || c) FROM unnest(ARRAY['k = 3', 'v = ''v3''', 'state LIKE ''%group''', 'state LIKE ''5%'' OR state LIKE ''9%''', 'n > 5000', 'n IS NULL', 'n IS NOT NULL AND k > 7', 'v = ''wrong''',
    'k < 0', 'id % 7 = 3 AND v <> ''v3''', 'NOT (k = 3 OR v = ''v3'')', 'rows IS NOT NULL', 'rows.id IN (1001, 5001, 9001, 8091)', '(k, v) = (3, ''v3'')', '(k, id) > (8, 8000)', 'id = ANY (''{1001,NULL,9300}'')',
    'id <> ALL (''{1001,9300}'') AND k = 1', 'v ~ ''[35]$''', 'md5(v) < ''5''', 'v || k = ''v33''', 'length(state) > 8', 'tableoid = ''rows''::regclass', 'ctid IS NOT NULL AND k = 5']) WITH ORDINALITY AS x(c, o) ORDER BY o;
-- system columns: a ctid finds its row; xmin is core's to show
SELECT nodes('SELECT ctid, id FROM rows'), nodes('SELECT xmin, id FROM rows'), nodes('SELECT xmax FROM rows'), nodes('SELECT id FROM rows WHERE xmin IS NULL');
SELECT count(*), count(DISTINCT ctid) FROM rows;
SELECT count(*) FROM (SELECT ctid AS t, id FROM rows OFFSET 0) a, LATERAL (SELECT id FROM rows WHERE ctid = a.t) b WHERE a.id = b.id;
SELECT count(*) FROM rows WHERE xmin::text <> '0' AND k = 3;
SELECT count(DISTINCT tableoid), min(tableoid) = 'rows'::regclass AS own FROM rows;

-- a filter that may fail does not come before one of PostgreSQL's that removes the rows on which it does
SELECT same('SELECT id FROM rows WHERE gcd(id, 0) <> 1001 AND 1000 / (id - 1001) > 9'), same('SELECT id FROM rows WHERE gcd(id, 0) <> 1001 AND 1000 / (id - 1002) > 9'), same('SELECT id FROM rows WHERE gcd(id, 0) <> 1001 AND 1000 / (id - 1001) > 9 AND id < 1090');
EXPLAIN (COSTS OFF, VERBOSE) SELECT id FROM rows WHERE gcd(id, 0) <> 1001 AND 1000 / (id - 1001) > 9 AND id < 1090;
-- parameters: nested loops, subqueries, prepared statements, InitPlans
SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_material = off; SET enable_memoize = off;
SELECT nodes('SELECT * FROM generate_series(1, 4) g, LATERAL (SELECT * FROM rows WHERE id = 3000 + g * 1001) l');
SELECT all_same('SELECT g, l.* FROM generate_series(0, 6) g LEFT JOIN LATERAL (SELECT id, v FROM rows WHERE id = 3000 + g * 1001) l ON true',
    'SELECT g, l.* FROM generate_series(0, 6) g, LATERAL (SELECT count(*), sum(k) FROM rows WHERE k = g AND id > g * 1000) l',
    'SELECT g, l.* FROM generate_series(0, 6) g, LATERAL (SELECT k, count(*) FROM rows WHERE k <= g GROUP BY k) l',
    'SELECT g, l.* FROM generate_series(0, 6) g, LATERAL (SELECT g + k AS s, count(*) FILTER (WHERE id % 7 = g) FROM rows GROUP BY g + k) l',
    'SELECT g, l.* FROM generate_series(0, 6) g, LATERAL (SELECT id FROM rows WHERE k = g ORDER BY id DESC LIMIT 3) l',
    'SELECT g, (SELECT max(id) FROM rows WHERE k = g) FROM generate_series(-1, 10) g',
    'SELECT g, (SELECT v FROM rows WHERE id = g * 1001) FROM generate_series(1, 9) g',
    'SELECT g, ARRAY(SELECT id FROM rows WHERE v = ''v'' || g AND k = 1 ORDER BY id) FROM generate_series(1, 9) g',
    'SELECT a.id FROM rows a WHERE a.k = 1 AND a.id % 100 = 1 AND NOT EXISTS (SELECT FROM rows b WHERE b.id = a.id + 1000)',
    'SELECT a.id, b.id FROM rows a JOIN rows b ON a.id = b.id + 1000 WHERE b.k = 7 AND b.id % 50 = 7',
    'SELECT a.id FROM rows a WHERE a.id < 1100 AND a.n > (SELECT avg(b.n) FROM rows b WHERE b.k = a.k AND b.id < 1200)',
    'SELECT id FROM rows WHERE k = (SELECT min(k) + 2 FROM rows)', 'SELECT id FROM rows WHERE id > (SELECT max(id) - 10 FROM rows WHERE v = (SELECT max(v) FROM rows WHERE v LIKE ''v%''))',
    'SELECT k, count(*) FROM rows WHERE k > (SELECT 4) GROUP BY k HAVING count(*) > (SELECT 5)', 'SELECT id FROM rows WHERE k = (SELECT 1 WHERE false)',
    'SELECT a.k, (SELECT count(*) FROM rows b WHERE b.k = a.k AND b.id > max(a.id) - 2000) FROM rows a GROUP BY a.k',
    'SELECT count(*) FROM rows a WHERE a.k IN (SELECT b.k FROM rows b WHERE b.id < 1004) AND a.id < 2000',
    'SELECT count(*) FROM rows a WHERE (a.id + 1000) NOT IN (SELECT b.id FROM rows b WHERE b.k > 4 OR b.id > 5000)');
RESET enable_hashjoin; RESET enable_mergejoin; RESET enable_material; RESET enable_memoize;
SELECT all_same('SELECT a.id, b.v FROM rows a JOIN rows b USING (id, k) WHERE a.k = 3', 'SELECT a.id, b.id FROM rows a FULL JOIN (SELECT * FROM rows WHERE k = 2) b ON a.id = b.id + 1000',
    'SELECT a.k, count(*), count(b.id) FROM rows a LEFT JOIN rows b ON b.id = a.id AND b.v = ''v1'' GROUP BY a.k', 'SELECT id FROM rows WHERE id IN (SELECT id + 1000 FROM rows WHERE v = ''v3'')',
    'SELECT id FROM rows WHERE n = ANY (SELECT n * 2 FROM rows)', 'SELECT k, v FROM rows WHERE id < 1050 UNION SELECT k, v FROM rows WHERE id > 9250', 'SELECT v FROM rows EXCEPT SELECT v FROM rows WHERE k = 0 AND id < 1050',
    'WITH RECURSIVE w AS (SELECT 1001 AS id UNION ALL SELECT r.id FROM w JOIN rows r ON r.id = w.id + 37) SELECT * FROM w', 'WITH m AS MATERIALIZED (SELECT * FROM rows WHERE k = 4) SELECT a.id FROM m a JOIN m b ON a.id = b.id + 1000');
SET enable_hashjoin = off; SET enable_nestloop = off;
SELECT all_same('SELECT a.id, b.id FROM rows a JOIN rows b ON a.v = b.v WHERE a.id < 1050 AND b.id > 9250', 'SELECT a.id, b.id FROM rows a JOIN rows b ON a.k = b.k AND a.n = b.n + 1250');
RESET enable_hashjoin; RESET enable_nestloop;
-- a prepared statement cannot be asked through the other functions; both schemas at once instead
SET plan_cache_mode = force_generic_plan;
PREPARE differ(int, text, int[]) AS SELECT count(*) FROM (
    (SELECT * FROM batch_scan.rows WHERE k = $1 OR v = $2 OR id = ANY ($3) EXCEPT ALL SELECT * FROM batch_scan_heap.rows WHERE k = $1 OR v = $2 OR id = ANY ($3))
    UNION ALL (SELECT * FROM batch_scan_heap.rows WHERE k = $1 OR v = $2 OR id = ANY ($3) EXCEPT ALL SELECT * FROM batch_scan.rows WHERE k = $1 OR v = $2 OR id = ANY ($3))) d;
PREPARE found(int, text) AS SELECT count(*), sum(id), min(v) FROM rows WHERE k >= $1 AND v <> $2 AND n < $1 * 1000;
PREPARE top(int) AS SELECT id FROM rows WHERE k = $1 ORDER BY id DESC LIMIT 2;
PREPARE grouped(int, int) AS SELECT k % $1 AS g, count(*), sum($2 + id) FROM rows GROUP BY k % $1 HAVING count(*) > $2 ORDER BY 1;
PREPARE nothing(int) AS SELECT count(*) FROM rows WHERE $1 > 5;
SELECT nodes('EXECUTE found(1, ''a'')'), nodes('EXECUTE top(1)'), nodes('EXECUTE grouped(1, 2)');
EXECUTE differ(3, 'v3', '{1001,9300}'); EXECUTE differ(NULL, 'v5', NULL); EXECUTE differ(NULL, NULL, '{}'); EXECUTE differ(99, 'none', '{NULL,5001}');
EXECUTE found(3, 'v3'); EXECUTE found(9, NULL); EXECUTE found(NULL, 'v3'); EXECUTE found(8, 'v1');
EXECUTE top(3); EXECUTE top(4); EXECUTE top(NULL);
EXECUTE grouped(3, 0); EXECUTE grouped(4, 700); EXECUTE grouped(NULL, 5); EXECUTE grouped(0, 1);
EXECUTE nothing(1); EXECUTE nothing(6); EXECUTE nothing(NULL);
SET search_path = batch_scan_heap, batch_scan, public;
DISCARD PLANS;
EXECUTE found(3, 'v3'); EXECUTE found(9, NULL); EXECUTE found(NULL, 'v3'); EXECUTE found(8, 'v1');
EXECUTE top(3); EXECUTE grouped(3, 0); EXECUTE nothing(6);
SET search_path = batch_scan, public;
DEALLOCATE ALL; RESET plan_cache_mode;
CREATE FUNCTION looped() RETURNS TABLE (j int, a bigint, b text) LANGUAGE plpgsql AS $$
BEGIN
    FOR j IN 0 .. 9 LOOP
        SELECT sum(id), max(v) INTO a, b FROM rows WHERE k = j AND id < 1000 * (j + 2);
        RETURN QUERY SELECT j, a, b;
    END LOOP;
END $$;
SELECT same('SELECT * FROM looped()');

-- cursors
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id, v FROM rows WHERE k = 3 AND id BETWEEN 3001 AND 3300;
FETCH 3 FROM c; FETCH PRIOR FROM c; FETCH ABSOLUTE 30 FROM c; FETCH NEXT FROM c; FETCH LAST FROM c; FETCH FIRST FROM c; FETCH RELATIVE 4 FROM c; MOVE BACKWARD ALL IN c; FETCH 1 FROM c;
DECLARE g SCROLL CURSOR FOR SELECT k, count(*) FROM rows WHERE id BETWEEN 3001 AND 3300 GROUP BY k ORDER BY k LIMIT 4;
FETCH LAST FROM g; FETCH PRIOR FROM g; FETCH ABSOLUTE 1 FROM g; FETCH ALL FROM g;
-- without SCROLL too, as on heap; a row that was changed at the cursor comes back as it was
DECLARE b CURSOR FOR SELECT id, k, v FROM rows WHERE k = 3 AND id BETWEEN 3001 AND 3300;
SELECT is_scrollable FROM pg_cursors WHERE name = 'b';
FETCH 3 FROM b; FETCH BACKWARD 2 FROM b; FETCH PRIOR FROM b; FETCH NEXT FROM b; MOVE FORWARD ALL IN b; FETCH BACKWARD 2 FROM b; MOVE BACKWARD ALL IN b; FETCH 2 FROM b;
SAVEPOINT b; UPDATE rows SET v = 'changed' WHERE CURRENT OF b; FETCH NEXT FROM b; FETCH PRIOR FROM b; ROLLBACK TO SAVEPOINT b;
CLOSE b;
DECLARE h CURSOR WITH HOLD FOR SELECT id, v FROM rows WHERE id BETWEEN 5050 AND 5053;
FETCH 1 FROM h;
-- a cursor sees what was there when it was opened
DECLARE o CURSOR FOR SELECT id FROM rows WHERE id IN (2005, 3005, 9005, 10001) ORDER BY id;
DELETE FROM rows WHERE id IN (3005, 9005); INSERT INTO rows VALUES (10001, 'new', 1, 'x', 1);
FETCH ALL FROM o;
UPDATE rows SET v = 'mine' WHERE id = 5051;
COMMIT;
FETCH ALL FROM h; CLOSE h;
DELETE FROM rows WHERE id = 10001;
INSERT INTO rows SELECT (jsonb_populate_record(NULL::rows, to_jsonb(r))).* FROM batch_scan_heap.rows r WHERE id IN (3005, 9005);
UPDATE rows SET v = 'v' || id % 7 WHERE id = 5051;
SELECT differences('batch_scan.rows', 'batch_scan_heap.rows');
-- rows at a cursor
BEGIN;
DECLARE c CURSOR FOR SELECT id, k FROM rows WHERE id IN (2010, 3010, 9010) FOR UPDATE;
FETCH 2 FROM c;
UPDATE rows SET k = -5 WHERE CURRENT OF c;
FETCH 1 FROM c;
DELETE FROM rows WHERE CURRENT OF c;
SELECT id, k FROM rows WHERE id IN (2010, 3010, 9010) ORDER BY id;
ROLLBACK;
BEGIN;
DECLARE c CURSOR FOR SELECT id, k FROM rows WHERE id IN (2010, 3010, 9010);
FETCH 2 FROM c;
UPDATE rows SET k = -5 WHERE CURRENT OF c;
SELECT id, k FROM rows WHERE id IN (2010, 3010, 9010) ORDER BY id;
DECLARE g CURSOR FOR SELECT k, count(*) FROM rows GROUP BY k;
FETCH 1 FROM g \g /dev/null
UPDATE rows SET k = -5 WHERE CURRENT OF g;
ROLLBACK;

-- a transaction's own rows: buffered, in groups and on row pages, changed, in savepoints
BEGIN;
SET pgcolumnar.bulk_threshold = 100;
SELECT twins($$INSERT INTO rows SELECT i, 'own', i % 10, 'own' || i % 3, i FROM generate_series(10001, 10700) i$$);
SELECT all_same('SELECT * FROM rows WHERE state = ''own''', 'SELECT k, count(*), sum(n), min(v) FROM rows GROUP BY k', 'SELECT id FROM rows ORDER BY id DESC LIMIT 5');
SAVEPOINT a;
SELECT twins($$UPDATE rows SET v = 'changed', k = k + 1 WHERE id % 50 = 7; DELETE FROM rows WHERE id % 50 = 8$$);
SELECT all_same('SELECT * FROM rows WHERE v = ''changed''', 'SELECT * FROM rows', 'SELECT k, count(*), sum(n), min(v), max(id) FROM rows GROUP BY k', 'SELECT count(*), max(id), min(id) FROM rows');
SELECT twins($$INSERT INTO rows SELECT i, 'sub', 3, 'sub', i FROM generate_series(20001, 20300) i$$);
SELECT twins($$UPDATE rows SET n = 0 WHERE state = 'sub' AND id % 3 = 0$$);
SELECT all_same('SELECT * FROM rows WHERE k = 3', 'SELECT state, count(*), sum(n) FROM rows GROUP BY state', 'SELECT id, n FROM rows ORDER BY n DESC, id LIMIT 9');
ROLLBACK TO a;
SELECT all_same('SELECT * FROM rows', 'SELECT state, v, count(*), sum(n) FROM rows GROUP BY state, v', 'SELECT id, n FROM rows ORDER BY n DESC NULLS LAST, id LIMIT 9');
RELEASE a;
SAVEPOINT b;
SELECT twins($$INSERT INTO rows SELECT i, 'kept', 4, 'kept', i FROM generate_series(30001, 30300) i$$);
RELEASE b;
SELECT all_same('SELECT * FROM rows WHERE k = 4', 'SELECT state, count(*), sum(n) FROM rows GROUP BY state');
-- a statement does not see its own rows
SELECT twins($$INSERT INTO rows SELECT id + 100000, state, k, v, n FROM rows WHERE k = 4$$);
SELECT twins($$WITH i AS (INSERT INTO rows VALUES (-1, 'with', 4, 'with', 4) RETURNING id) UPDATE rows SET v = 'with' || (SELECT count(*) FROM rows WHERE id = -1) FROM i WHERE k = 4$$);
SELECT all_same('SELECT * FROM rows WHERE k = 4', 'SELECT count(*), sum(id) FROM rows');
ROLLBACK;
SET pgcolumnar.bulk_threshold = 0;
SELECT differences('batch_scan.rows', 'batch_scan_heap.rows');
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT all_same('SELECT * FROM rows WHERE k = 4', 'SELECT count(*), sum(id) FROM rows');
COMMIT;

-- columns that came and went
SELECT twins($$CREATE TABLE changed (a int, gone1 text, b int, gone2 numeric);
    INSERT INTO changed SELECT i, 'gone' || i, i % 5, i FROM generate_series(1, 600) i$$);
SELECT twins($$ALTER TABLE changed DROP COLUMN gone1, ADD COLUMN later int, ADD COLUMN filled int DEFAULT 7, ADD COLUMN name text DEFAULT 'default', ADD COLUMN dec numeric(8,2) DEFAULT 1.5;
    INSERT INTO changed (a, b, gone2, later, filled, name, dec) SELECT i, i % 5, i, i, i, 'n' || i % 3, NULL FROM generate_series(601, 1200) i$$);
SELECT twins($$ALTER TABLE changed DROP COLUMN gone2, ADD COLUMN last date DEFAULT '2024-05-05'; INSERT INTO changed (a, b) SELECT i, NULL FROM generate_series(1201, 1210) i;
    UPDATE changed SET filled = 8 WHERE a % 100 = 1; DELETE FROM changed WHERE a % 100 = 2$$);
SELECT all_same('SELECT * FROM changed', 'SELECT changed FROM changed', 'SELECT later, filled FROM changed WHERE a < 10', 'SELECT a FROM changed WHERE later IS NULL', 'SELECT a FROM changed WHERE later > 1100', 'SELECT a FROM changed WHERE filled = 7',
    'SELECT a FROM changed WHERE filled <> 7 AND name = ''default''', 'SELECT a FROM changed WHERE dec = 1.50', 'SELECT a FROM changed WHERE dec IS NULL', 'SELECT a FROM changed WHERE last = ''2024-05-05''', 'SELECT a FROM changed WHERE last > ''2024-05-05''',
    'SELECT filled, count(*), sum(dec), sum(later), min(last), max(name) FROM changed GROUP BY filled', 'SELECT name, last, count(*) FROM changed GROUP BY name, last', 'SELECT count(later), count(filled), count(name), count(dec), count(last), avg(dec), min(filled), max(filled) FROM changed',
    'SELECT a FROM changed ORDER BY later NULLS FIRST, filled DESC, a LIMIT 20', 'SELECT name, dec FROM changed ORDER BY dec DESC NULLS LAST, name, a DESC LIMIT 20', 'SELECT DISTINCT later IS NULL, filled, last FROM changed');
SELECT counted('Row Groups Skipped', 'SELECT a FROM changed WHERE later > 1100') > 0 AS skipped;
SELECT twins($$ALTER TABLE changed ALTER b TYPE text USING 'b' || b, ALTER dec TYPE numeric(12,4), ADD COLUMN made int GENERATED ALWAYS AS (a * 2) STORED$$);
SELECT all_same('SELECT * FROM changed', 'SELECT b, count(*), sum(dec) FROM changed GROUP BY b', 'SELECT a FROM changed WHERE b = ''b3'' AND dec > 1', 'SELECT sum(made), count(*) FROM changed WHERE made > 400');

-- no columns, no rows, row pages alone, nothing but NULL, large values
SELECT twins('CREATE TABLE none (); CREATE TABLE empty (a int, b text); CREATE TABLE nulls (a int, b text, c numeric(8,2), d float8, e bool, f date)');
INSERT INTO none DEFAULT VALUES; INSERT INTO batch_scan_heap.none DEFAULT VALUES;
CREATE TABLE six (a int) USING heap; INSERT INTO six SELECT generate_series(1, 600);
INSERT INTO none SELECT FROM six; INSERT INTO batch_scan_heap.none SELECT FROM six;
SELECT all_same('SELECT * FROM none', 'SELECT count(*) FROM none', 'SELECT none FROM none', 'SELECT FROM none LIMIT 3', 'SELECT 1 FROM none WHERE none IS NULL', 'SELECT 5 AS c, count(*) FROM none GROUP BY 1',
    'SELECT * FROM empty', 'SELECT count(*), sum(a), min(b), bool_and(a > 1) FROM empty', 'SELECT a, count(*) FROM empty GROUP BY a', 'SELECT DISTINCT b FROM empty', 'SELECT * FROM empty ORDER BY a LIMIT 3', 'SELECT count(*) FROM empty WHERE a = 1 HAVING count(*) = 0',
    'SELECT 1 FROM empty HAVING true', 'SELECT count(*) FROM empty HAVING count(*) > 0');
SELECT twins('INSERT INTO nulls SELECT FROM generate_series(1, 700)');
SELECT all_same('SELECT * FROM nulls', 'SELECT * FROM nulls WHERE a IS NULL', 'SELECT * FROM nulls WHERE a = 1 OR b = ''x''', 'SELECT count(*), count(a), sum(a), avg(c), min(d), max(f), bool_or(e), min(b) FROM nulls', 'SELECT a, b, c, d, e, f, count(*) FROM nulls GROUP BY a, b, c, d, e, f',
    'SELECT DISTINCT * FROM nulls', 'SELECT * FROM nulls ORDER BY a, d LIMIT 2', 'SELECT count(*) FROM nulls WHERE e', 'SELECT count(*) FROM nulls WHERE e IS NOT TRUE', 'SELECT count(DISTINCT a), count(DISTINCT b) FROM nulls');
SELECT twins($$INSERT INTO nulls SELECT i, 'b' || i, i, i, i % 2 = 0, date '2024-01-01' + i FROM generate_series(1, 3) i$$);
SELECT all_same('SELECT * FROM nulls WHERE a IS NOT NULL', 'SELECT a, b, c, d, e, f, count(*) FROM nulls GROUP BY a, b, c, d, e, f', 'SELECT count(*), count(a), sum(a), avg(c), min(d), max(f), bool_or(e), min(b) FROM nulls', 'SELECT * FROM nulls ORDER BY a, d LIMIT 5', 'SELECT * FROM nulls ORDER BY a DESC, d LIMIT 5');
SET pgcolumnar.bulk_threshold = 1000000;
SELECT twins($$CREATE TABLE pages (id int, v text, n numeric(8,2)); INSERT INTO pages SELECT i, 'v' || i % 7, CASE WHEN i % 11 > 0 THEN i / 8.0 END FROM generate_series(1, 900) i; DELETE FROM pages WHERE id % 13 = 0; UPDATE pages SET v = 'new' WHERE id % 17 = 0$$);
SET pgcolumnar.bulk_threshold = 0;
SELECT counted('Row Groups', 'SELECT * FROM pages') AS groups, counted('Rows from Row Pages', 'SELECT * FROM pages') AS rows;
SELECT all_same('SELECT * FROM pages', 'SELECT id FROM pages WHERE v = ''new''', 'SELECT v, count(*), sum(n), min(id) FROM pages GROUP BY v', 'SELECT * FROM pages ORDER BY n DESC, id LIMIT 9', 'SELECT id FROM pages WHERE n > 100 AND n < 101', 'SELECT DISTINCT v FROM pages');
SELECT twins($$CREATE TABLE large (id int, a text, b bytea, c text); ALTER TABLE large ALTER a SET STORAGE external;
    INSERT INTO large SELECT i, repeat('a' || i, 3000), decode(repeat(md5(i::text), 400), 'hex'), 'small' || i FROM generate_series(1, 40) i$$);
SET pgcolumnar.bulk_threshold = 1000000;
SELECT twins($$INSERT INTO large SELECT i, repeat('a' || i, 3000), decode(repeat(md5(i::text), 400), 'hex'), repeat('compressed ', 1000) || i FROM generate_series(41, 60) i; UPDATE large SET a = a || 'x' WHERE id % 10 = 0$$);
SET pgcolumnar.bulk_threshold = 0;
SELECT all_same('SELECT id, md5(a), md5(b), md5(c) FROM large', 'SELECT id, length(a), length(b), octet_length(c) FROM large', 'SELECT id FROM large WHERE a LIKE ''%x''', 'SELECT id FROM large WHERE a LIKE ''a5a5%'' OR c LIKE ''%d 5_''', 'SELECT md5(a), count(*) FROM large GROUP BY a', 'SELECT md5(b), count(*), md5(min(c COLLATE "C")) FROM large GROUP BY b',
    'SELECT md5(max(a COLLATE "C")), md5(min(c COLLATE "C")), count(DISTINCT b) FROM large', 'SELECT id, md5(a) FROM large ORDER BY b LIMIT 7', 'SELECT id FROM large WHERE b = decode(repeat(md5(''50''), 400), ''hex'')', 'SELECT DISTINCT length(c) FROM large', 'SELECT id, md5(large::text) FROM large', 'SELECT md5(substr(a, 5, 9000)), strpos(a, ''x'') FROM large');

-- inheritance and partitions
SELECT twins($$CREATE TABLE parent (a int, b text); CREATE TABLE child (c int) INHERITS (parent); ALTER TABLE parent ADD COLUMN d int DEFAULT 4;
    INSERT INTO parent SELECT i, 'p' || i % 3, i FROM generate_series(1, 300) i; INSERT INTO child (a, b, c) SELECT i, 'c' || i % 3, i FROM generate_series(301, 600) i;
    CREATE TABLE part (k int, v text, n int) PARTITION BY RANGE (k); CREATE TABLE part1 PARTITION OF part FOR VALUES FROM (0) TO (5); CREATE TABLE part2 (n int, gone int, v text, k int); ALTER TABLE part2 DROP COLUMN gone;
    ALTER TABLE part ATTACH PARTITION part2 FOR VALUES FROM (5) TO (10); CREATE TABLE part3 PARTITION OF part DEFAULT; INSERT INTO part SELECT i % 12, 'v' || i % 7, i FROM generate_series(1, 1200) i$$);
SELECT all_same('SELECT * FROM parent', 'SELECT * FROM child WHERE d = 4', 'SELECT a FROM ONLY parent WHERE b = ''p1''', 'SELECT b, count(*), sum(d) FROM parent GROUP BY b', 'SELECT parent FROM parent WHERE a % 50 = 0', 'SELECT * FROM part', 'SELECT * FROM part WHERE k = 6', 'SELECT k, count(*), sum(n), min(v) FROM part GROUP BY k',
    'SELECT v, count(*) FROM part WHERE n > 300 GROUP BY v', 'SELECT * FROM part ORDER BY n DESC LIMIT 10', 'SELECT part FROM part WHERE k IN (4, 5, 11)', 'SELECT count(*) FROM part', 'SELECT DISTINCT k, v FROM part', 'SELECT tableoid::regclass::text, count(*) FROM part GROUP BY 1', 'SELECT (SELECT sum(n) FROM part WHERE k = g) FROM generate_series(0, 12) g');
SET enable_partitionwise_aggregate = on; SET enable_partitionwise_join = on;
SELECT all_same('SELECT k, count(*), sum(n), min(v) FROM part GROUP BY k', 'SELECT v, count(*), avg(n) FROM part GROUP BY v', 'SELECT count(*), sum(n) FROM part', 'SELECT a.k, count(*), sum(b.n) FROM part a JOIN part b ON a.k = b.k AND a.n = b.n GROUP BY a.k', 'SELECT k, count(*) FROM part GROUP BY k ORDER BY 2, 1 LIMIT 3');
SELECT twins('UPDATE part SET k = (k + 4) % 12 WHERE n % 5 = 0; DELETE FROM parent WHERE a % 7 = 0');
SELECT all_same('SELECT * FROM part', 'SELECT k, count(*), sum(n), min(v) FROM part GROUP BY k', 'SELECT * FROM parent');
RESET enable_partitionwise_aggregate; RESET enable_partitionwise_join;
SELECT twins('CREATE MATERIALIZED VIEW seen AS SELECT k, v, count(*) AS c FROM rows GROUP BY k, v');
SELECT all_same('SELECT * FROM seen', 'SELECT k, sum(c) FROM seen GROUP BY k');
CREATE TEMP TABLE temporary USING pgcolumnar AS SELECT * FROM rows;
SELECT nodes('SELECT k, count(*) FROM temporary GROUP BY k'), differences('temporary', 'batch_scan_heap.rows');

-- under Gather, below and above core's nodes
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 2;
CREATE TEMP TABLE got AS SELECT a.id, b.v FROM rows a JOIN rows b USING (id) WHERE a.k < 8;
CREATE TEMP TABLE wanted AS SELECT a.id, b.v FROM batch_scan_heap.rows a JOIN batch_scan_heap.rows b USING (id) WHERE a.k < 8;
SELECT differences('got', 'wanted');
SELECT (SELECT array_agg(x ORDER BY x) FROM (SELECT k, count(*), sum(n) FROM rows GROUP BY k) x)::text = (SELECT array_agg(x ORDER BY x) FROM (SELECT k, count(*), sum(n) FROM batch_scan_heap.rows GROUP BY k) x)::text AS same;
RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size; RESET max_parallel_workers_per_gather;

-- nearly all of this ran in batches
SELECT count(*) FILTER (WHERE nodes <> '') * 20 >= count(*) * 17 AS enough FROM asked WHERE query !~ 'looped|WITH RECURSIVE';
SET client_min_messages = warning;
DROP SCHEMA batch_scan, batch_scan_heap CASCADE;
