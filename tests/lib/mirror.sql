-- Tables h (heap) and c (pgcolumnar) that are to hold the same rows, and a function that says where they do not.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgcolumnar;
DO $$ BEGIN CREATE EXTENSION amcheck; EXCEPTION WHEN OTHERS THEN RAISE NOTICE 'no amcheck: %', sqlerrm; END $$;
CREATE SEQUENCE ids;
CREATE TABLE h (
    id bigint NOT NULL,
    k int NOT NULL,
    grp smallint,
    v text,
    n numeric(12,2),
    ts timestamptz,
    j jsonb
) USING heap;
CREATE TABLE c (LIKE h) USING pgcolumnar;
SELECT FROM pgcolumnar.set_options('c', :options) \g /dev/null
ALTER TABLE h ADD CONSTRAINT h_pkey PRIMARY KEY (id);
ALTER TABLE c ADD CONSTRAINT c_pkey PRIMARY KEY (id);
CREATE INDEX h_k ON h (k);
CREATE INDEX c_k ON c (k);
CREATE INDEX h_grp ON h (grp, id);
CREATE INDEX c_grp ON c (grp, id);

-- A row that its id determines.
CREATE FUNCTION make(id bigint, OUT id bigint, OUT k int, OUT grp smallint, OUT v text, OUT n numeric, OUT ts timestamptz, OUT j jsonb)
LANGUAGE sql IMMUTABLE RETURN (
    id,
    hashint8(id) & 65535,
    (id % 23)::smallint,
    CASE WHEN id % 11 = 0 THEN NULL WHEN id % 97 = 0 THEN repeat(md5(id::text), 40) ELSE 'v' || (id * 7919 % 5003) END,
    round(id * 1.37, 2),
    timestamptz '2024-01-01 00:00+00' + id * interval '61 s',
    CASE WHEN id % 13 = 0 THEN jsonb_build_object('id', id, 'x', id % 5) END);

-- Puts the next `rows` rows into h and c, as one statement each.
CREATE FUNCTION add(rows int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    first bigint;
BEGIN
    first := nextval('ids');
    PERFORM setval('ids', first + rows);
    INSERT INTO h SELECT m.* FROM generate_series(first, first + rows - 1) s(id), make(s.id) m;
    INSERT INTO c SELECT m.* FROM generate_series(first, first + rows - 1) s(id), make(s.id) m;
END $$;

-- Runs the same command on h and on c; both must touch as many rows.
CREATE FUNCTION on_both(command text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    on_h bigint;
    on_c bigint;
BEGIN
    EXECUTE replace(command, '$t', 'h');
    GET DIAGNOSTICS on_h = ROW_COUNT;
    EXECUTE replace(command, '$t', 'c');
    GET DIAGNOSTICS on_c = ROW_COUNT;
    IF on_h <> on_c THEN
        RAISE EXCEPTION '% rows of h but % of c: %', on_h, on_c, command;
    END IF;
    RETURN on_c;
END $$;

-- Number and hash of the rows of a query, under some settings.
CREATE FUNCTION digest(query text, VARIADIC settings text[] DEFAULT '{}') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    result text;
    setting text;
    settings_of text[] := '{enable_seqscan,enable_indexscan,enable_indexonlyscan,enable_bitmapscan}';
BEGIN
    PERFORM set_config('max_parallel_workers_per_gather', '0', true);
    PERFORM set_config('jit', 'off', true);
    FOREACH setting IN ARRAY settings_of LOOP
        PERFORM set_config(setting, (setting = ANY (settings))::text, true);
    END LOOP;
    PERFORM set_config('pgcolumnar.enable_vectorized', ('vectorized' = ANY (settings))::text, true);
    EXECUTE format('SELECT count(*) || '' '' || coalesce(sum(hashtextextended(q::text, 0)), 0) FROM (%s) q', query) INTO result;
    RETURN result;
END $$;

CREATE FUNCTION mirror_differences() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    r record;
    wanted text;
    got text;
    path text[];
BEGIN
    FOR r IN SELECT * FROM (VALUES
        ('SELECT * FROM $t', '{{enable_seqscan},{vectorized}}'::text[]),
        ('SELECT * FROM $t WHERE id >= 0', '{{enable_indexscan},{enable_bitmapscan}}'),
        ('SELECT * FROM $t WHERE k BETWEEN 0 AND 40000', '{{enable_indexscan},{enable_bitmapscan}}'),
        ('SELECT id FROM $t WHERE id >= 0', '{{enable_indexonlyscan},{enable_seqscan}}'),
        ('SELECT grp, id FROM $t WHERE grp IS NOT NULL', '{{enable_indexonlyscan},{enable_indexscan}}'),
        ('SELECT * FROM $t ORDER BY k, id LIMIT 1000', '{{enable_indexscan},{enable_seqscan}}'))
        AS q (query, paths)
    LOOP
        wanted := digest(replace(r.query, '$t', 'h'), 'enable_seqscan');
        FOREACH path SLICE 1 IN ARRAY r.paths LOOP
            got := digest(replace(r.query, '$t', 'c'), VARIADIC path);
            IF got <> wanted THEN
                RETURN NEXT format('%s by %s: heap %s, pgcolumnar %s', r.query, path, wanted, got);
            END IF;
        END LOOP;
    END LOOP;
    IF EXISTS (SELECT FROM pg_extension WHERE extname = 'amcheck') THEN
        FOR r IN SELECT indexrelid::regclass AS index FROM pg_index WHERE indrelid = 'c'::regclass AND indisvalid LOOP
            BEGIN
                PERFORM bt_index_check(r.index, true);
            EXCEPTION WHEN OTHERS THEN
                RETURN NEXT format('amcheck of %s: %s', r.index, sqlerrm);
            END;
        END LOOP;
    END IF;
END $$;

-- Pages that nothing names: of c, after VACUUM, while nobody writes.
CREATE FUNCTION unlisted_pages(t regclass DEFAULT 'c') RETURNS bigint LANGUAGE sql AS
    $$ SELECT coalesce(sum(pages), 0)::bigint FROM pgcolumnar.stats(t) WHERE kind = 'UNLISTED' $$;
