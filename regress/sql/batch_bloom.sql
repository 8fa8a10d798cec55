-- Bloom filters: which columns have them, what scans skip by them, and that nothing is missed.
\getenv dir PG_ABS_SRCDIR
\set schema batch_bloom
\set start :dir '/sql/include/start.sql'
\i :start
\set batch :dir '/sql/include/batch.sql'
\i :batch
SET pgcolumnar.row_group_rows = 2048;
SET pgcolumnar.vector_rows = 256;
SET pgcolumnar.bloom_filters = 'all';
SELECT EXISTS (SELECT FROM pg_collation WHERE collprovider = 'i') AS icu \gset

-- one column for each type, in no order; of g every vector has most values, of few a group has all
SELECT twins('CREATE TABLE b (n int, i2 smallint, i4 int, i8 bigint, o oid, d date, ts timestamp, tz timestamptz, tm time, m money, u uuid, t text, c text COLLATE "C", v varchar(40), y bytea, nm name, g int, few int, seq int,
    f8 float8, num numeric(12,2), bp char(12), iv interval, j jsonb)');
SELECT twins($$INSERT INTO b SELECT n, h % 16000 * 2, h * 2, h * 10000000019, (h::bigint * 4)::oid, date '2000-01-01' + h % 40000 * 2, timestamp '2000-01-01' + h * interval '7.000001 s', timestamptz '2000-01-01' + h * interval '9 s',
    time '00:00' + h % 43000 * interval '2 s', (h * 2)::money, md5(h::text)::uuid, 'text ' || md5(h::text), md5('c' || h), left(md5('v' || h), 10), decode(md5(h::text), 'hex'), ('name ' || h)::name, h % 300 * 2, h % 20 * 2, n * 2,
    h * 2, h * 2, 'bp' || h, h * interval '1 s', to_jsonb(h)
    FROM (SELECT n, (n * 7919::bigint % 1000003)::int AS h FROM generate_series(1, 6000) n) x$$);
VACUUM ANALYZE batch_bloom_heap.b; ANALYZE b;

-- which columns have filters, one for each vector or one for the chunk
SELECT column_name, count(bloom_bytes) > 0 AS of_vectors, count(chunk_bloom_bytes) > 0 AS of_chunks FROM pgcolumnar.storage_info('b')
    WHERE group_id = (SELECT min(group_id) FROM pgcolumnar.storage_info('b')) GROUP BY attnum, 1 ORDER BY attnum;

-- a value that is there, values that are not there but within the bounds, of every type
CREATE VIEW present AS SELECT * FROM b WHERE n = 3000;
CREATE FUNCTION counters(query text) RETURNS TABLE (groups int, by_zone_map int, by_bloom int, vectors int, vectors_by_zone_map int, vectors_by_bloom int) LANGUAGE plpgsql AS $$
DECLARE plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT JSON) ' || query INTO plan;
    plan := jsonb_path_query_first(plan, '$.**?(exists (@."Row Groups"))');
    RETURN QUERY SELECT (plan->>'Row Groups')::int, (plan->>'Row Groups Skipped')::int, (plan->>'Row Groups Skipped by Bloom Filter')::int, (plan->>'Vectors')::int, (plan->>'Vectors Skipped')::int, (plan->>'Vectors Skipped by Bloom Filter')::int;
END $$;
CREATE FUNCTION skips(condition text, what regclass DEFAULT 'b') RETURNS TABLE (groups int, by_zone_map int, by_bloom int, vectors int, vectors_by_zone_map int, vectors_by_bloom int, answer text) LANGUAGE sql AS $$
    SELECT c.*, same(q) FROM (SELECT format('SELECT n FROM %s WHERE ', what) || condition AS q) x, LATERAL counters(q) c $$;
-- the plan without what differs between versions
CREATE FUNCTION explained(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ' || query LOOP RETURN NEXT regexp_replace(line, ' \(actual.*', ''); END LOOP;
END $$;
SELECT c.column, s.* FROM unnest('{i2,i4,i8,o,d,ts,tz,tm,m,u,t,c,v,y,nm,g,few,seq,f8,num,bp,iv}'::text[]) WITH ORDINALITY AS c("column", o),
    LATERAL (SELECT to_jsonb(p)->>c.column AS value FROM present p) p, LATERAL skips(format('%I = %L', c.column, p.value)) s ORDER BY o;
SELECT condition, s.* FROM unnest(ARRAY['i2 = 5001', 'i4 = 5001', 'i8 = 50010', 'o = 1000001', 'd = ''2100-01-02''', 'ts = ''2000-01-20 00:00:01''', 'tz = ''2000-01-20 00:00:01+00''', 'tm = ''06:00:01''', 'm = 5001::money',
    'u = ''80000000-0000-0000-0000-000000000000''', 't = ''text 8''', 'c = ''8''', 'v = ''8''', 'y = ''\x80''', 'nm = ''name 5''', 'g = 301', 'few = 7', 'seq = 5001', 'f8 = 5001', 'num = 5001', 'bp = ''bp5''', 'iv = ''5001.5 s'''])
    WITH ORDINALITY AS x(condition, o), LATERAL skips(condition) s ORDER BY o;

-- conditions of several parts; what must be false is not looked up
SELECT condition, s.* FROM unnest(ARRAY['i4 IN (5001, 5003, 5005)', 'i4 IN (5001, NULL)', 'i4 = ANY (''{}'')', 'i4 IN (5001, 7919 * 6)', 'i4 NOT IN (5001, 5003) AND n < 5', 'i4 <> 5001 AND n < 5', 'NOT i4 = 5001 AND n < 5',
    'i4 = 5001 OR u = ''80000000-0000-0000-0000-000000000000''', 'i4 = 5001 OR n = 17', 'i4 = 5001 AND n > 0', 'n < 100 AND i4 = 5001', '(i4 = 5001) IS TRUE', '(i4 = 5001) IS NOT TRUE AND n < 5', '(i4 = 5001) IS UNKNOWN',
    'i4 IS NOT DISTINCT FROM 5001', 'i4 IS DISTINCT FROM 5001 AND n < 5', 'i4 = 5001::bigint', 'i4 = 5000000001', 'i4::bigint = 5001', 'i8 = 5001::smallint', 'o = 4000000001', 'i4 = 5001.0', 'i4 = 5001::float8', 'i4 > 5000 AND i4 < 5002',
    't LIKE ''text 8''', 't LIKE ''text 8%''', 'lower(t) = ''text 8''', 'v = ''8''::text', 't COLLATE "C" = ''text 8''', 'i4 = i2', '5001 = i4'])
    WITH ORDINALITY AS x(condition, o), LATERAL skips(condition) s ORDER BY o;
-- long lists are not looked up
SELECT s.* FROM (SELECT string_agg((i * 2 + 5001)::text, ',') AS list FROM generate_series(1, 65) i) l, LATERAL skips('i4 IN (' || list || ')') s;

-- every value is found, one at a time and in lists
SELECT count(*) FROM generate_series(1, 6000, 37) k, LATERAL (SELECT * FROM b x WHERE x.n = k) p WHERE 1 <> (SELECT count(*) FROM b y WHERE y.n = p.n AND y.i4 = p.i4 AND y.i8 = p.i8 AND y.u = p.u AND y.t = p.t AND y.v = p.v AND y.y = p.y AND y.nm = p.nm);
SELECT same(format('SELECT n FROM b WHERE i4 IN (%s) OR u IN (%s)', string_agg(i4::text, ','), string_agg(quote_literal(u), ','))) FROM (SELECT i4, u FROM b WHERE n % 600 = 11) p;

-- parameters: prepared statements with generic plans, nested loops, subqueries
SET plan_cache_mode = force_generic_plan;
PREPARE one(int) AS SELECT n FROM b WHERE i4 = $1;
PREPARE two(text, uuid) AS SELECT n FROM b WHERE t = $1 OR u = $2;
PREPARE list(int, int) AS SELECT n FROM b WHERE i4 IN ($1, $2);
PREPARE none_of(int, int) AS SELECT n FROM b WHERE i4 NOT IN ($1, $2) AND n < 4;
PREPARE arr(int[]) AS SELECT n FROM b WHERE i4 = ANY ($1);
PREPARE uuids(uuid[]) AS SELECT n FROM b WHERE u = ANY ($1) OR n = 3;
PREPARE texts(text[]) AS SELECT count(*) FROM b WHERE t = ANY ($1);
PREPARE outside(int[]) AS SELECT n FROM b WHERE i4 <> ALL ($1) AND n < 5 ORDER BY n LIMIT 3;
SELECT e, c.by_bloom, c.vectors, c.vectors_by_bloom FROM unnest(ARRAY['EXECUTE one(5001)', 'EXECUTE one(NULL)', 'EXECUTE two(''text 8'', NULL)', 'EXECUTE list(5001, 5003)', 'EXECUTE list(5001, NULL)', 'EXECUTE arr(''{5001,5003,NULL}'')', 'EXECUTE arr(''{}'')', 'EXECUTE arr(NULL)', 'EXECUTE uuids(''{80000000-0000-0000-0000-000000000000}'')', 'EXECUTE texts(''{8,9,NULL}'')']) WITH ORDINALITY x(e, o), LATERAL counters(e) c ORDER BY o;
SELECT i4, t, u FROM b WHERE n = 4000 \gset
EXECUTE one(:i4);
EXECUTE two(:'t', :'u');
EXECUTE list(5001, :i4);
EXECUTE list(NULL, :i4);
EXECUTE none_of(5001, 15838);
EXECUTE none_of(5001, NULL);
EXECUTE arr(ARRAY[5001, NULL, :i4]);
EXECUTE arr(ARRAY[[5001, 5003], [5005, :i4]]);
EXECUTE arr('{}');
EXECUTE uuids(ARRAY[:'u'::uuid, NULL]);
EXECUTE texts(ARRAY[:'t', 'text 8']);
EXECUTE texts(NULL);
EXECUTE outside('{15838,5001}');
EXECUTE outside('{15838,NULL}');
EXECUTE outside('{}');
EXECUTE outside(NULL);
SELECT explained('EXECUTE one(5001)');
RESET plan_cache_mode;
DEALLOCATE ALL;
SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_material = off; SET enable_memoize = off; SET pgcolumnar.max_threads = 0;
SELECT all_same('SELECT k, l.n FROM generate_series(1, 12000, 500) k LEFT JOIN LATERAL (SELECT n FROM b WHERE i4 = k * 2 OR i4 = k * 15838 % 1000003 * 2) l ON true',
    'SELECT k, l.n FROM generate_series(1, 6000, 500) k LEFT JOIN LATERAL (SELECT n FROM b WHERE i4 = ANY (ARRAY[k * 2, k * 15838 % 2000006, NULL])) l ON true',
    'SELECT a, l.c FROM (VALUES (ARRAY[15838, 5001]), (''{}''), (NULL), (''{47514,NULL}'')) v(a), LATERAL (SELECT count(*) AS c FROM b WHERE i4 = ANY (a)) l', 'SELECT n FROM b WHERE i8 = (SELECT max(i8) FROM b)', 'SELECT n FROM b WHERE u = ANY (ARRAY(SELECT u FROM b WHERE n % 1000 = 77))', 'SELECT n FROM b WHERE c COLLATE "C" = ANY (string_to_array(current_setting(''search_path''), '',''))', 'SELECT n FROM b WHERE u = (SELECT u FROM b WHERE n = 77)');
RESET enable_hashjoin; RESET enable_mergejoin; RESET enable_material; RESET enable_memoize;
SELECT explained($$SELECT n, u FROM b WHERE u = '80000000-0000-0000-0000-000000000000' AND n < 3000$$);
SELECT explained('SELECT count(*) FROM b WHERE i4 = 47514');
RESET pgcolumnar.max_threads;
-- workers of a Gather add up what they skipped
SET pgcolumnar.max_threads = 0; SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SELECT s.* FROM skips('u IN (''80000000-0000-0000-0000-000000000000'', ''80000000-0000-0000-0000-000000000001'')') s;
SELECT s.* FROM (SELECT u FROM b WHERE n = 77) p, LATERAL skips(format('u = %L', u)) s;
RESET pgcolumnar.max_threads; RESET max_parallel_workers_per_gather; RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size;

-- NULLs; vectors of nothing else hold no value
SELECT twins('CREATE TABLE nulls (n int, a int, t text)');
SELECT twins($$INSERT INTO nulls SELECT n, CASE WHEN n % 3 > 0 AND n / 256 % 4 <> 2 THEN n * 7919 % 100003 END, CASE WHEN n % 5 > 0 THEN CASE WHEN n % 7 = 0 THEN '' ELSE md5(n::text) END END FROM generate_series(1, 4096) n$$);
SELECT condition, s.by_bloom, s.vectors, s.vectors_by_bloom, s.answer
    FROM unnest(ARRAY['a = 12345', 'a = 7919', 'a IS NULL', 'a IS NULL OR a = 12345', 'a IN (NULL, 12345)', 'a IS NOT DISTINCT FROM NULL', 'a IS NOT DISTINCT FROM 12345', 't = ''''', 't = ''absent''', 't = ''absent'' OR a IS NULL', 't IN ('''', ''absent'')'])
    WITH ORDINALITY AS x(condition, o), LATERAL skips(condition, 'nulls') s ORDER BY o;

-- a column whose type changed without its bytes being written anew; one that was added later
SELECT twins('CREATE TABLE changed (n int, a int, v varchar(40))');
SELECT twins($$INSERT INTO changed SELECT n, n * 7919 % 1000003 - 500000, md5(n::text) FROM generate_series(1, 2048) n; ALTER TABLE changed ALTER a TYPE oid, ALTER v TYPE text, ADD later int DEFAULT 5$$);
SELECT condition, s.by_bloom, s.vectors, s.vectors_by_bloom, s.answer
    FROM unnest(ARRAY['a = 4294475214', 'a = 4294475215', 'a = 7919', 'a IN (4294475215, 3)', 'v = md5(''5'')', 'v = ''8''', 'later = 5', 'later = 6', 'later = 5 AND v = ''8''']) WITH ORDINALITY AS x(condition, o), LATERAL skips(condition, 'changed') s ORDER BY o;

-- collations: those that are deterministic are looked up, others never
\if :icu
CREATE COLLATION nd (PROVIDER = icu, LOCALE = 'und-u-ks-level2', DETERMINISTIC = false);
SELECT twins('CREATE TABLE coll (n int, icu text COLLATE "und-x-icu", nd text COLLATE nd)');
SELECT twins($$INSERT INTO coll SELECT n, md5(n::text), md5(n::text) FROM generate_series(1, 2048) n$$);
SELECT condition, s.by_bloom, s.vectors, s.vectors_by_bloom, s.answer
    FROM unnest(ARRAY['icu = ''8''', 'icu = md5(''5'')', 'icu = upper(md5(''5''))', 'nd = ''8''', 'nd = upper(md5(''5''))', 'icu COLLATE nd = upper(md5(''5''))']) WITH ORDINALITY AS x(condition, o), LATERAL skips(condition, 'coll') s ORDER BY o;
\endif

-- rows that were changed are where they are; rewritten and merged groups have filters of their own
SELECT twins($$UPDATE b SET i4 = 5001 WHERE n = 10; UPDATE b SET i4 = 5003 WHERE n BETWEEN 3000 AND 3100; DELETE FROM b WHERE n BETWEEN 200 AND 1900$$);
SELECT all_same('SELECT n FROM b WHERE i4 = 5001', 'SELECT n FROM b WHERE i4 = 5003', 'SELECT n FROM b WHERE i4 = 5005', 'SELECT n FROM b WHERE u = (SELECT u FROM b WHERE n = 3050)');
VACUUM b;
SELECT all_same('SELECT n FROM b WHERE i4 = 5001', 'SELECT n FROM b WHERE i4 = 5003', 'SELECT n FROM b WHERE i4 = 5005', 'SELECT n FROM b WHERE u = (SELECT u FROM b WHERE n = 3050)');
VACUUM FULL b;
SELECT all_same('SELECT n FROM b WHERE i4 = 5001', 'SELECT n FROM b WHERE i4 = 5003', 'SELECT n FROM b WHERE i4 = 5005', 'SELECT n FROM b WHERE u = (SELECT u FROM b WHERE n = 3050)');
SELECT by_bloom > 0 AS skipped FROM skips('u = ''80000000-0000-0000-0000-000000000000''');
CREATE INDEX b_n ON b (n);
CLUSTER b USING b_n;
SELECT by_bloom > 0 AS skipped, answer FROM skips('u = ''80000000-0000-0000-0000-000000000000''');
SELECT all_same('SELECT n FROM b WHERE i4 = 5003', 'SELECT n FROM b WHERE i8 = (SELECT i8 FROM b WHERE n = 4444)');

-- tables that name the columns, by an option; the setting counts for the others
SET pgcolumnar.bloom_filters = 'none';
CREATE TABLE named (a int, b int, "C c" int);
CREATE FUNCTION filters(what regclass) RETURNS text LANGUAGE sql AS $$ SELECT string_agg(DISTINCT column_name, ' ' ORDER BY column_name) FROM pgcolumnar.storage_info(what) WHERE coalesce(bloom_bytes, chunk_bloom_bytes) > 0 $$;
CREATE FUNCTION fill(what regclass) RETURNS text LANGUAGE plpgsql AS $$ BEGIN
    EXECUTE format('TRUNCATE %1$s; INSERT INTO %1$s SELECT n * 7919 %% 1000003, n * 7919 %% 1000003, n * 7919 %% 1000003 FROM generate_series(1, 2048) n', what);
    RETURN filters(what); END $$;
SELECT fill('named');
SELECT pgcolumnar.set_options('named', bloom_columns => '{a,"C c"}');
SELECT fill('named');
VACUUM FULL named;
SELECT filters('named');
ALTER TABLE named ALTER b TYPE bigint;
SELECT filters('named');
ALTER TABLE named RENAME a TO z;
SELECT fill('named');
SELECT bloom_columns FROM pgcolumnar.options WHERE table_id = 'named'::regclass;
SET pgcolumnar.bloom_filters = 'all';
SELECT pgcolumnar.set_options('named', bloom_columns => '{}');
SELECT fill('named');
SELECT pgcolumnar.reset_options('named', bloom_columns => true);
SELECT fill('named');
SELECT pgcolumnar.set_options('named', bloom_columns => '{b,missing}');
SELECT pgcolumnar.set_options('named', bloom_columns => '{ctid}');
-- by themselves, only where they are small beside the column
SET pgcolumnar.bloom_filters = 'auto';
SELECT fill('named');
CREATE TABLE wide (t text);
INSERT INTO wide SELECT string_agg(md5(n * 5 + i || ''), '') FROM generate_series(1, 2048) n, generate_series(1, 4) i GROUP BY n;
SELECT filters('wide'), sum(bloom_bytes) * 32 <= sum(bytes) AS small FROM pgcolumnar.storage_info('wide');
SET client_min_messages = warning;
DROP SCHEMA batch_bloom, batch_bloom_heap CASCADE;
