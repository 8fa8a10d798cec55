-- The server's results for the cases of examples/regexp_difference.rs, in a database whose encoding is UTF8 and whose ctype
-- is C:
--   regexp_difference generate 1 110 > /tmp/regexp_cases
--   psql -qAtX -f regexp_reference.sql > regexp_reference.tsv
\set ON_ERROR_STOP on
SET client_encoding = 'UTF8';
CREATE TEMP TABLE cases (id int GENERATED ALWAYS AS IDENTITY, pattern text, replacement text, flags text, string text);
\copy cases (pattern, replacement, flags, string) FROM '/tmp/regexp_cases'
CREATE TEMP VIEW decoded AS
SELECT id, convert_from(decode(pattern, 'hex'), 'UTF8') AS pattern, convert_from(decode(replacement, 'hex'), 'UTF8') AS replacement,
       convert_from(decode(flags, 'hex'), 'UTF8') AS flags, convert_from(decode(string, 'hex'), 'UTF8') AS string
FROM cases;
COPY (
    SELECT c.pattern, c.replacement, c.flags, c.string,
           encode(convert_to(regexp_replace(d.string, d.pattern, d.replacement, d.flags), 'UTF8'), 'hex'),
           CASE WHEN d.flags LIKE '%i%' THEN d.string ~* d.pattern ELSE d.string ~ d.pattern END
    FROM cases c JOIN decoded d USING (id) ORDER BY id
) TO STDOUT;
