-- Values of every kind of type, in row pages and in row groups of every encoding and compression, read back the same.
\getenv dir PG_ABS_SRCDIR
\set schema types
\set start :dir '/sql/include/start.sql'
\i :start
SET timezone = 'UTC';
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE pair AS (a int, b text);
CREATE TYPE nested AS (p pair, l pair[]);
CREATE DOMAIN positive AS int CHECK (value > 0);
CREATE DOMAIN words AS text[];
CREATE DOMAIN pairs AS pair CHECK ((value).a IS DISTINCT FROM 13);
CREATE TYPE floats AS RANGE (subtype = float8, subtype_diff = float8mi);
SET client_min_messages = warning;
-- types of our own: passed by value, by reference with a fixed length that is no power of two, of variable length
CREATE TYPE own4;
CREATE FUNCTION own4_in(cstring) RETURNS own4 AS 'int4in' LANGUAGE internal IMMUTABLE STRICT;
CREATE FUNCTION own4_out(own4) RETURNS cstring AS 'int4out' LANGUAGE internal IMMUTABLE STRICT;
CREATE TYPE own4 (INPUT = own4_in, OUTPUT = own4_out, INTERNALLENGTH = 4, PASSEDBYVALUE, ALIGNMENT = int4);
CREATE TYPE own1;
CREATE FUNCTION own1_in(cstring) RETURNS own1 AS 'boolin' LANGUAGE internal IMMUTABLE STRICT;
CREATE FUNCTION own1_out(own1) RETURNS cstring AS 'boolout' LANGUAGE internal IMMUTABLE STRICT;
CREATE TYPE own1 (INPUT = own1_in, OUTPUT = own1_out, INTERNALLENGTH = 1, PASSEDBYVALUE, ALIGNMENT = char);
CREATE TYPE own6;
CREATE FUNCTION own6_in(cstring) RETURNS own6 AS 'tidin' LANGUAGE internal IMMUTABLE STRICT;
CREATE FUNCTION own6_out(own6) RETURNS cstring AS 'tidout' LANGUAGE internal IMMUTABLE STRICT;
CREATE TYPE own6 (INPUT = own6_in, OUTPUT = own6_out, INTERNALLENGTH = 6, ALIGNMENT = int2);
CREATE TYPE own24;
CREATE FUNCTION own24_in(cstring) RETURNS own24 AS 'circle_in' LANGUAGE internal IMMUTABLE STRICT;
CREATE FUNCTION own24_out(own24) RETURNS cstring AS 'circle_out' LANGUAGE internal IMMUTABLE STRICT;
CREATE TYPE own24 (INPUT = own24_in, OUTPUT = own24_out, INTERNALLENGTH = 24, ALIGNMENT = double);
CREATE TYPE ownv;
CREATE FUNCTION ownv_in(cstring) RETURNS ownv AS 'textin' LANGUAGE internal IMMUTABLE STRICT;
CREATE FUNCTION ownv_out(ownv) RETURNS cstring AS 'textout' LANGUAGE internal IMMUTABLE STRICT;
CREATE TYPE ownv (INPUT = ownv_in, OUTPUT = ownv_out, INTERNALLENGTH = VARIABLE, STORAGE = extended);
CREATE TYPE ownp;
CREATE FUNCTION ownp_in(cstring) RETURNS ownp AS 'numeric_in' LANGUAGE internal IMMUTABLE STRICT;
CREATE FUNCTION ownp_out(ownp) RETURNS cstring AS 'numeric_out' LANGUAGE internal IMMUTABLE STRICT;
CREATE TYPE ownp (INPUT = ownp_in, OUTPUT = ownp_out, INTERNALLENGTH = VARIABLE, STORAGE = plain, ALIGNMENT = int4);
RESET client_min_messages;

CREATE TABLE samples (n int GENERATED ALWAYS AS IDENTITY, type text, literals text[]) USING heap;
INSERT INTO samples (type, literals) VALUES
    ('bool', '{t,f}'),
    ('"char"', '{a,b,"",\\377,0}'),
    ('int2', '{0,1,-1,32767,-32768,255,256}'),
    ('int4', '{0,1,-1,2147483647,-2147483648,65536}'),
    ('int8', '{0,1,-1,9223372036854775807,-9223372036854775808,4294967296}'),
    ('float4', '{0,-0,1.5,-1.5,NaN,Infinity,-Infinity,1e-45,3.4028235e38,-3.4028235e38,0.1}'),
    ('float8', '{0,-0,1.5,0.1,NaN,Infinity,-Infinity,5e-324,1.7976931348623157e308,-1.7976931348623157e308,123456789.123456789,1e22,1e23}'),
    ('numeric', '{0,0.0,0.00,1,1.0,1.00,-1,NaN,Infinity,-Infinity,1e-1000,1e1000,123456789012345678901234567890.123456789,0.1,99999999999999999999,18446744073709551616}'),
    ('numeric(12,2)', '{0,1.5,-1.25,9999999999.99,-9999999999.99,NaN}'),
    ('numeric(5,-2)', '{0,100,12300,-9999900}'),
    ('numeric(40,20)', '{0,1.5,99999999999999999999.99999999999999999999,-0.00000000000000000001}'),
    ('money', '{0,1.25,-92233720368547758.08,92233720368547758.07}'),
    ('oid', '{0,1,4294967295}'), ('xid', '{0,3,4294967295}'), ('xid8', '{0,3,18446744073709551615}'), ('cid', '{0,4294967295}'),
    ('tid', '{"(0,0)","(4294967295,65535)","(1,1)"}'), ('regclass', '{pg_class,pg_type}'), ('pg_lsn', '{0/0,FFFFFFFF/FFFFFFFF}'),
    ('name', '{"",a,aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffggg}'),
    ('text', '{"",a,A,"a ",é,日本語,"a\\b","quote ''","NULL"}'),
    ('varchar(5)', '{"",a,abcde,"ab   "}'), ('char(5)', '{"",a,abcde,"ab"}'), ('bpchar', '{"",a,"a  ",abcdef}'),
    ('text COLLATE "C"', '{"",b,B,aa}'),
    ('bytea', '{"",\\x00,\\x0001ff,\\xdeadbeef}'),
    ('date', '{2000-01-01,infinity,-infinity,4714-11-24 BC,5874897-12-31,2013-06-15}'),
    ('time', '{00:00,24:00,12:34:56.789012}'), ('timetz', '{00:00+00,24:00-15:59,12:34:56.789012+05:30}'), ('time(0)', '{00:00,12:34:57}'),
    ('timestamp', '{2000-01-01,infinity,-infinity,4714-11-24 00:00 BC,294276-12-31 23:59:59.999999,2013-06-15 12:34:56.789012}'),
    ('timestamptz', '{2000-01-01+00,infinity,-infinity,2013-06-15 12:34:56.789012+05:30}'),
    ('interval', '{0,1 month,30 days,720 hours,-1 month,178000000 years,1 mon 1 day 00:00:00.000001}'),
    ('uuid', '{00000000-0000-0000-0000-000000000000,ffffffff-ffff-ffff-ffff-ffffffffffff,a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}'),
    ('inet', '{0.0.0.0/0,192.168.0.1,10.0.0.0/8,::/0,2001:db8::1/64}'), ('cidr', '{0.0.0.0/0,10.0.0.0/8,2001:db8::/32}'),
    ('macaddr', '{00:00:00:00:00:00,ff:ff:ff:ff:ff:ff}'), ('macaddr8', '{00:00:00:00:00:00:00:00,ff:ff:ff:ff:ff:ff:ff:ff}'),
    ('bit(3)', '{000,101}'), ('varbit', '{"",1,10101010101}'), ('bit varying(5)', '{"",1,10101}'),
    ('point', '{"(0,0)","(-0,NaN)","(1.5,Infinity)"}'), ('line', '{"{1,2,3}"}'), ('lseg', '{"[(0,0),(1,1)]"}'), ('box', '{"(1,1),(0,0)"}'),
    ('path', '{"[(0,0),(1,1)]","((0,0),(1,1),(2,0))"}'), ('polygon', '{"((0,0),(1,1),(2,0))"}'), ('circle', '{"<(0,0),1>"}'),
    ('json', '{"{}","[1, 2]","\"a\"","null","{\"a\": 1, \"a\": 2}"}'), ('jsonb', '{"{}","[1, 2]","\"a\"","null","{\"a\": {\"b\": [1.0, 1.00]}}"}'), ('jsonpath', '{$.a,"$[*] ? (@ > 1)"}'),
    ('tsvector', '{"","a:1A b:2","''fat'' ''cat''"}'), ('tsquery', '{"a & b","!a | (b <-> c)"}'),
    ('int4range', '{empty,"[1,5)","(,5)","[1,)","(,)"}'), ('numrange', '{empty,"[1.0,1.00]","(1,2)"}'), ('tstzrange', '{empty,"[2013-01-01+00,infinity]"}'),
    ('daterange', '{empty,"[2013-01-01,2013-02-01)"}'), ('int8multirange', '{"{}","{[1,2),[5,9)}"}'), ('floats', '{empty,"[0.1,0.2)","[-0,NaN]"}'), ('floats_multirange', '{"{}","{[0.1,0.2)}"}'),
    ('int4[]', '{"{}","{1}","{1,NULL,3}","{{1,2},{3,4}}","[0:1]={7,8}"}'), ('text[]', '{"{}","{a,NULL,\"\"}"}'), ('bool[]', '{"{t,f}"}'), ('numeric[]', '{"{1.0,1.00}"}'), ('mood[]', '{"{sad,happy}"}'),
    ('int2vector', '{"","1 2 3"}'), ('oidvector', '{"","1 2 3"}'),
    ('mood', '{sad,ok,happy}'), ('pair', '{"(1,a)","(,)","(1,\"\")"}'), ('nested', '{"(\"(1,a)\",\"{}\")","(,)"}'), ('pair[]', '{"{\"(1,a)\",\"(2,)\"}"}'),
    ('positive', '{1,2147483647}'), ('words', '{"{}","{a,b}"}'), ('pairs', '{"(1,a)","(,)"}'),
    ('own1', '{t,f}'), ('own4', '{1,-1}'), ('own6', '{"(0,0)","(4294967295,65535)"}'), ('own24', '{"<(0,0),1>","<(1,2),3>"}'), ('ownv', '{"",a,abc}'), ('ownp', '{0,1.0,1e100}'),
    ('pg_snapshot', '{10:20:10,10:20:14}'), ('aclitem', '{=r/postgres}'), ('xml', '{}'), ('refcursor', '{a,""}'), ('regtype', '{int4,text}'), ('record', '{}');

-- Patterns of 100 rows: how an encoding sees a column.
CREATE FUNCTION pattern(kind text, i int, literals text[]) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE kind
        WHEN 'constant' THEN literals[1]
        WHEN 'alternating' THEN literals[1 + i % array_length(literals, 1)]
        WHEN 'runs' THEN literals[1 + i / 20 % array_length(literals, 1)]
        WHEN 'nulls' THEN NULL
        WHEN 'mostly null' THEN CASE WHEN i % 50 = 7 THEN literals[1 + i % array_length(literals, 1)] END
        WHEN 'some null' THEN CASE WHEN i % 3 > 0 THEN literals[1 + i % array_length(literals, 1)] END END
$$;
CREATE FUNCTION check_types() RETURNS TABLE (type text, encoding text, rows bigint, wrong bigint) LANGUAGE plpgsql AS $$
DECLARE s samples; way text[];
BEGIN
    FOR s IN SELECT * FROM samples WHERE array_length(literals, 1) > 0 ORDER BY n LOOP
        EXECUTE format('CREATE TABLE wanted (i int, kind text, a %1$s, b %1$s) USING heap; CREATE TABLE tested (LIKE wanted)', s.type);
        EXECUTE format('INSERT INTO wanted SELECT i, kind, pattern(kind, i, %1$L)::%2$s, pattern(kind, 100 - i, %1$L)::%2$s
            FROM unnest(%3$L::text[]) kind, generate_series(1, 100) i', s.literals, s.type, '{constant,alternating,runs,nulls,mostly null,some null}');
        FOREACH way SLICE 1 IN ARRAY '{{auto,none,1000000},{auto,zstd,0},{plain,none,0},{constant,lz4,0},{run_length,none,0},{bit_packed,none,0},{delta,zstd,0},{dictionary,none,0},{alp,none,0}}'::text[] LOOP
            PERFORM set_config('pgcolumnar.force_encoding', way[1], true), set_config('pgcolumnar.compression', way[2], true), set_config('pgcolumnar.bulk_threshold', way[3], true);
            TRUNCATE tested;
            INSERT INTO tested TABLE wanted;
            type := s.type;
            encoding := way[1];
            SELECT count(*) INTO rows FROM tested;
            wrong := differences('tested', 'wanted');
            IF rows <> 600 OR wrong <> 0 THEN RETURN NEXT; END IF;
        END LOOP;
        DROP TABLE tested, wanted;
    END LOOP;
END $$;
SELECT * FROM check_types();

-- random and ordered numbers
CREATE TABLE wanted (i int, a int8, b float8, c numeric, d text, e timestamptz, f float4, g numeric(20,4), h int2, j date) USING heap;
SELECT setseed(0.5);
INSERT INTO wanted SELECT i, (random() * 2 - 1) * 9e18, random() * 10 ^ (i % 300 - 150), (random() * 10 ^ (i % 40 - 20))::numeric, md5(i::text) || repeat('x', i % 300), '2013-01-01'::timestamptz + i * interval '37.123457 s',
    random()::float4, (i * 0.37)::numeric(20,4), i % 32768, date '2013-01-01' + i / 10 FROM generate_series(1, 3000) i;
CREATE TABLE tested (LIKE wanted);
INSERT INTO tested TABLE wanted;
SELECT differences('tested', 'wanted');
SET pgcolumnar.force_encoding = delta;
TRUNCATE tested; INSERT INTO tested TABLE wanted;
SELECT differences('tested', 'wanted');
SET pgcolumnar.force_encoding = alp;
TRUNCATE tested; INSERT INTO tested TABLE wanted;
SELECT differences('tested', 'wanted');
RESET pgcolumnar.force_encoding;

-- comparisons are the type's, not the bytes'
CREATE TABLE compared (i int, f float8, n numeric, c char(5), v interval, j jsonb, r numrange, ci text COLLATE "C");
INSERT INTO compared SELECT i, CASE i % 4 WHEN 0 THEN '-0' WHEN 1 THEN '0' WHEN 2 THEN 'NaN' ELSE i::text END::float8, CASE i % 3 WHEN 0 THEN '1.0' WHEN 1 THEN '1.00' ELSE 'NaN' END::numeric,
    CASE i % 2 WHEN 0 THEN 'a' ELSE 'a  ' END, CASE i % 3 WHEN 0 THEN '1 month' WHEN 1 THEN '30 days' ELSE '720 hours' END::interval,
    CASE i % 2 WHEN 0 THEN '{"a": 1.0}' ELSE '{"a": 1.00}' END::jsonb, CASE i % 2 WHEN 0 THEN '[1.0,2)' ELSE '[1.00,2.0)' END::numrange, chr(65 + i % 60) FROM generate_series(1, 600) i;
SELECT count(*) FILTER (WHERE f = 0), count(*) FILTER (WHERE f = 'NaN'), count(*) FILTER (WHERE f > 1e300), count(DISTINCT f), min(f) = 0 AS zero, max(f) FROM compared;
SELECT count(*) FROM compared WHERE f = 0;
SELECT count(*) FROM compared WHERE f = '-0';
SELECT count(*) FROM compared WHERE f = 'NaN';
SELECT count(*) FROM compared WHERE f > 590;
SELECT count(*) FROM compared WHERE f <= 0;
SELECT count(*) FROM compared WHERE n = 1;
SELECT count(*) FROM compared WHERE n > 1000000;
SELECT count(*) FROM compared WHERE c = 'a    ';
SELECT count(*) FROM compared WHERE v = '1 month';
SELECT count(*) FROM compared WHERE v >= '30 days 00:00:00';
SELECT count(*) FROM compared WHERE j = '{"a": 1}';
SELECT count(*) FROM compared WHERE r = '[1,2)';
SELECT count(*) FROM compared WHERE ci >= 'a' AND ci < 'c';
SELECT count(DISTINCT f), count(DISTINCT n), count(DISTINCT c), count(DISTINCT v), count(DISTINCT j), count(DISTINCT r) FROM compared;

-- long values: compressed, external, as large as a group, over a row's limit; then changed, vacuumed, moved
CREATE TABLE long (id int PRIMARY KEY, a text, b bytea, c text, d jsonb);
ALTER TABLE long ALTER a SET STORAGE external, ALTER c SET STORAGE main;
CREATE TABLE long_wanted (LIKE long) USING heap;
INSERT INTO long_wanted SELECT i, repeat(md5(i::text), i * 40), decode(repeat(md5(i::text), i * 30), 'hex'), repeat('c' || i, i * 10), jsonb_build_object('k', repeat(md5(i::text), i * 20)) FROM generate_series(1, 60) i;
INSERT INTO long TABLE long_wanted;
SELECT differences('long', 'long_wanted');
SET pgcolumnar.bulk_threshold = 1000000;
INSERT INTO long SELECT id + 100, a, b, c, d FROM long_wanted;
SET pgcolumnar.bulk_threshold = 0;
INSERT INTO long SELECT id + 200, a, b, c, d FROM long;
INSERT INTO long_wanted SELECT id + 100, a, b, c, d FROM long_wanted; INSERT INTO long_wanted SELECT id + 200, a, b, c, d FROM long_wanted;
SELECT differences('long', 'long_wanted');
UPDATE long SET c = 'short' WHERE id % 3 = 0; UPDATE long_wanted SET c = 'short' WHERE id % 3 = 0;
UPDATE long SET b = b || b, a = NULL WHERE id % 5 = 0; UPDATE long_wanted SET b = b || b, a = NULL WHERE id % 5 = 0;
DELETE FROM long WHERE id % 7 = 0; DELETE FROM long_wanted WHERE id % 7 = 0;
SELECT differences('long', 'long_wanted');
INSERT INTO long VALUES (1000, repeat('a', 1100000), decode(repeat('00ff', 1500000), 'hex'), 'c', '1'), (1001, 'next', 'next', 'next', '2'), (1002, NULL, decode(repeat('ab', 1048570), 'hex'), NULL, NULL);
INSERT INTO long_wanted VALUES (1000, repeat('a', 1100000), decode(repeat('00ff', 1500000), 'hex'), 'c', '1'), (1001, 'next', 'next', 'next', '2'), (1002, NULL, decode(repeat('ab', 1048570), 'hex'), NULL, NULL);
SELECT differences('long', 'long_wanted');
VACUUM long;
SELECT differences('long', 'long_wanted');
SELECT id, length(a), length(b), length(c), substr(a, 100, 5), substr(b, 100, 3) FROM long WHERE id IN (1, 50, 150, 250, 350, 1000, 1001, 1002) ORDER BY id;
VACUUM FULL long;
SELECT differences('long', 'long_wanted');
CREATE TABLE copy AS SELECT l, id, (l).a FROM long l;
SELECT count(*), sum(length((l).b)), sum(length(a)) FROM copy;
UPDATE copy SET a = (l).a || 'x' WHERE id = 50 RETURNING length(a);
DROP TABLE copy, long, long_wanted;

-- wide and narrow tables
SELECT 'CREATE TABLE wide (' || string_agg(format('c%s %s', i, CASE i % 4 WHEN 0 THEN 'int2' WHEN 1 THEN 'bool' WHEN 2 THEN 'text' ELSE 'int4' END), ', ') || ')' FROM generate_series(1, 1600) i \gexec
SELECT 'INSERT INTO wide SELECT ' || string_agg(CASE i % 4 WHEN 0 THEN 'i + ' || i WHEN 1 THEN 'i % 2 = ' || i % 3 WHEN 2 THEN 'CASE WHEN i % 3 = 0 THEN ''t'' END' ELSE CASE WHEN i % 50 = 3 THEN 'NULL::int4' ELSE 'i' END END, ', ') || ' FROM generate_series(1, 300) i' FROM generate_series(1, 1600) i \gexec
SELECT count(*), sum(c4), sum(c1600), count(*) FILTER (WHERE c1), count(c2), count(c1598), count(c3), sum(c1599) FROM wide;
UPDATE wide SET c1600 = 0 WHERE c7 = 5;
DELETE FROM wide WHERE c7 = 6;
SELECT count(*), sum(c1600) FROM wide;
CREATE INDEX ON wide (c1600, c7);
SET enable_seqscan = off;
SELECT c7, c1599, c1600, c1598 FROM wide WHERE c1600 = 0;
RESET enable_seqscan;
CREATE TABLE none ();
INSERT INTO none DEFAULT VALUES;
INSERT INTO none SELECT FROM generate_series(1, 500);
BEGIN;
INSERT INTO none SELECT FROM none;
SELECT count(*) FROM none;
DELETE FROM none;
ROLLBACK;
SELECT count(*) FROM none;
ALTER TABLE none ADD COLUMN a int DEFAULT 5;
INSERT INTO none SELECT FROM generate_series(1, 500);
INSERT INTO none VALUES (NULL);
SELECT a, count(*) FROM none GROUP BY a ORDER BY a;
ALTER TABLE none DROP COLUMN a;
INSERT INTO none SELECT FROM generate_series(1, 500);
SELECT count(*) FROM none;
CREATE TABLE one AS SELECT NULL::int AS a FROM generate_series(1, 500);
SELECT count(*), count(a) FROM one;

SET client_min_messages = warning;
DROP SCHEMA types CASCADE;
