-- EXPLAIN ANALYZE tells how long each phase of a batch node took.
CREATE TABLE explain_c (k int, t text, v bigint) USING pgcolumnar;
INSERT INTO explain_c SELECT i, 'name ' || i % 50, i % 1000 FROM generate_series(1, 200000) i;
ANALYZE explain_c;
CREATE FUNCTION explain_c_lines(query text, options text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
  FOR line IN EXECUTE format('EXPLAIN (ANALYZE, COSTS OFF, SUMMARY OFF, %s) %s', options, query) LOOP
    IF line LIKE '%Custom Scan%' OR line LIKE '%Phase Times%' THEN
      line := regexp_replace(line, 'Custom Scan \((\w+)\).*', '\1');
      RETURN NEXT regexp_replace(trim(line), '[0-9]+\.[0-9]{3}', 'N', 'g');
    END IF;
  END LOOP;
END $$;
CREATE FUNCTION explain_c_node(query text, options text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE plan jsonb;
BEGIN
  EXECUTE format('EXPLAIN (ANALYZE, FORMAT JSON, %s) %s', options, query) INTO plan;
  RETURN jsonb_path_query_first(plan, '$.** ? (@."Node Type" == "Custom Scan")');
END $$;
SET max_parallel_workers_per_gather = 0;
SET pgcolumnar.max_threads = 0;
-- The backend works alone, so that it waits for nobody.
SELECT explain_c_lines('SELECT k, v FROM explain_c WHERE v < 10', 'TIMING ON');
SELECT explain_c_lines('SELECT t, sum(v) FROM explain_c WHERE v < 10 GROUP BY t', 'TIMING ON');
SELECT explain_c_lines('SELECT * FROM explain_c WHERE v < 10 ORDER BY k DESC LIMIT 3', 'TIMING ON');
SELECT explain_c_lines('SELECT t, sum(v) FROM explain_c WHERE v < 10 GROUP BY t ORDER BY 2 DESC LIMIT 3', 'TIMING ON');
-- The clock is left alone unless it is asked for.
SELECT explain_c_lines('SELECT t, sum(v) FROM explain_c WHERE v < 10 GROUP BY t', 'TIMING OFF');
SELECT explain_c_node('SELECT sum(v) FROM explain_c WHERE k > 5', 'TIMING OFF') ? 'Phase Times' AS times;
-- Structured formats give all phases. Those of the backend's thread take no longer than the node.
SET pgcolumnar.max_threads = 2;
WITH node AS MATERIALIZED (SELECT explain_c_node('SELECT t, sum(v) FROM explain_c WHERE v < 990 GROUP BY t', 'TIMING ON') AS n)
SELECT key, value::float > 0 AS positive FROM node, jsonb_each_text(n->'Phase Times') ORDER BY key;
WITH node AS MATERIALIZED (SELECT explain_c_node('SELECT t, sum(v) FROM explain_c WHERE v < 990 GROUP BY t', 'TIMING ON') AS n)
SELECT (n->>'Threads')::int > 0 AS threads, (n->>'Actual Total Time')::float
  >= (SELECT sum(value::float) FROM jsonb_each_text(n->'Phase Times') WHERE key IN ('Read Time', 'Wait Time', 'Merge Time')) AS within
FROM node;
-- A node that is started over adds its scans up.
SELECT explain_c_lines('SELECT * FROM generate_series(1, 3) g, LATERAL (SELECT sum(v) FROM explain_c WHERE k < g) s', 'TIMING ON');
-- Workers' times go to the leader.
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET parallel_leader_participation = off;
SET pgcolumnar.max_threads = 0;
WITH node AS MATERIALIZED (SELECT explain_c_node('SELECT count(*) FROM explain_c a JOIN generate_series(1, 5) b ON a.k % 7 = b', 'TIMING ON') AS n)
SELECT n->>'Parallel Aware' AS parallel, key, value::float > 0 AS positive FROM node, jsonb_each_text(n->'Phase Times')
WHERE key IN ('Read Time', 'Decode Time', 'Output Time') ORDER BY key;
-- VERBOSE names what keeps a step out of batches, on the scan below it, and is silent where nothing does.
RESET ALL;
CREATE FUNCTION explain_c_reasons(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text; found text[] := '{}';
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || query LOOP
    IF line ~ 'Not In Batches: ' THEN
      found := found || substring(line FROM 'Not In Batches: (.*)');
    END IF;
  END LOOP;
  RETURN array_to_string(ARRAY(SELECT DISTINCT f FROM unnest(found) f), '; ');
END $$;
CREATE TABLE explain_p (k int, t text, v bigint) PARTITION BY RANGE (k);
CREATE TABLE explain_p1 PARTITION OF explain_p FOR VALUES FROM (0) TO (100000) USING pgcolumnar;
CREATE TABLE explain_p2 PARTITION OF explain_p DEFAULT USING pgcolumnar;
INSERT INTO explain_p SELECT * FROM explain_c;
ANALYZE explain_c, explain_p;
SELECT q, explain_c_reasons(q) FROM unnest(ARRAY[
  'SELECT t, sum(v) FROM explain_c GROUP BY t',
  'SELECT a.t, count(*) FROM explain_c a JOIN explain_c b USING (k) GROUP BY a.t',
  'SELECT DISTINCT a.t FROM explain_c a JOIN explain_c b USING (k)',
  'SELECT t, generate_series(1, 2), count(*) FROM explain_c GROUP BY t',
  'SELECT t, v, count(*) FROM explain_p GROUP BY GROUPING SETS ((t), (v))',
  'SELECT k FROM explain_c ORDER BY v LIMIT 5',
  'SELECT k FROM explain_c ORDER BY v LIMIT 5 FOR UPDATE',
  'SELECT k FROM explain_c ORDER BY v FETCH FIRST 5 ROWS WITH TIES',
  'SELECT k FROM explain_c ORDER BY v LIMIT (SELECT 3)',
  'SELECT k FROM explain_c ORDER BY v LIMIT 1000000',
  'SELECT k FROM explain_c WHERE random() < 2 ORDER BY v LIMIT 5',
  'SELECT t, count(*) FROM explain_c GROUP BY t ORDER BY 2 LIMIT (SELECT 3)']) q;
DROP TABLE explain_c, explain_p;
DROP FUNCTION explain_c_lines, explain_c_node, explain_c_reasons;
