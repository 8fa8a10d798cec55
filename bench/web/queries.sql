-- Queries on the table web: what people ask of page views. Format: see bench/harness/queries.py.
-- Counter, user and hash are in every table that pgcolumnar-bench-gen makes, whatever the seed.

-- q01: all rows
SELECT count(*) FROM web;

-- q02: few rows have an advertisement
SELECT count(*) FROM web WHERE ad_engine_id <> 0;

-- q03: three aggregates
SELECT sum(ad_engine_id), count(*), avg(screen_width) FROM web;

-- q04: mean of a 64-bit id
SELECT avg(user_id) FROM web;

-- q05: distinct users
SELECT count(DISTINCT user_id) FROM web;

-- q06: distinct phrases
SELECT count(DISTINCT search_phrase) FROM web;

-- q07: first and last day
SELECT min(event_date), max(event_date) FROM web;

-- q08: views by advertisement engine, few rows
SELECT ad_engine_id, count(*) AS views
FROM web
WHERE ad_engine_id <> 0
GROUP BY ad_engine_id
ORDER BY views DESC, ad_engine_id;

-- q09: regions by distinct users
SELECT region_id, count(DISTINCT user_id) AS users
FROM web
GROUP BY region_id
ORDER BY users DESC, region_id
LIMIT 10;

-- q10: regions by views, several aggregates
SELECT region_id, sum(ad_engine_id), count(*) AS views, avg(screen_width), count(DISTINCT user_id)
FROM web
GROUP BY region_id
ORDER BY views DESC, region_id
LIMIT 10;

-- q11: phone models by distinct users
SELECT phone_model, count(DISTINCT user_id) AS users
FROM web
WHERE phone_model <> ''
GROUP BY phone_model
ORDER BY users DESC, phone_model
LIMIT 10;

-- q12: phone makers and models by distinct users
SELECT phone_maker, phone_model, count(DISTINCT user_id) AS users
FROM web
WHERE phone_model <> ''
GROUP BY phone_maker, phone_model
ORDER BY users DESC, phone_maker, phone_model
LIMIT 10;

-- q13: phrases by views
SELECT search_phrase, count(*) AS views
FROM web
WHERE search_phrase <> ''
GROUP BY search_phrase
ORDER BY views DESC, search_phrase
LIMIT 10;

-- q14: phrases by distinct users
SELECT search_phrase, count(DISTINCT user_id) AS users
FROM web
WHERE search_phrase <> ''
GROUP BY search_phrase
ORDER BY users DESC, search_phrase
LIMIT 10;

-- q15: engines and phrases by views
SELECT search_engine_id, search_phrase, count(*) AS views
FROM web
WHERE search_phrase <> ''
GROUP BY search_engine_id, search_phrase
ORDER BY views DESC, search_engine_id, search_phrase
LIMIT 10;

-- q16: users by views
SELECT user_id, count(*) AS views
FROM web
GROUP BY user_id
ORDER BY views DESC, user_id
LIMIT 10;

-- q17: users and phrases by views
SELECT user_id, search_phrase, count(*) AS views
FROM web
GROUP BY user_id, search_phrase
ORDER BY views DESC, user_id, search_phrase
LIMIT 10;

-- q18 [unordered]: any ten users and phrases
SELECT user_id, search_phrase, count(*)
FROM web
GROUP BY user_id, search_phrase
LIMIT 10;

-- q19: users, minutes of the hour and phrases by views
SELECT user_id, extract(minute FROM event_time) AS minute_of_hour, search_phrase, count(*) AS views
FROM web
GROUP BY user_id, minute_of_hour, search_phrase
ORDER BY views DESC, user_id, minute_of_hour, search_phrase
LIMIT 10;

-- q20: one user
SELECT user_id, view_id
FROM web
WHERE user_id = 3141592653589793238;

-- q21: count of a rare infix
SELECT count(*) FROM web WHERE url LIKE '%lighthouse%';

-- q22: phrases that led to a rare infix
SELECT search_phrase, min(url), count(*) AS views
FROM web
WHERE url LIKE '%lighthouse%'
  AND search_phrase <> ''
GROUP BY search_phrase
ORDER BY views DESC, search_phrase
LIMIT 10;

-- q23: phrases that led to a rare word in a title and not to news
SELECT search_phrase, min(url), min(title), count(*) AS views, count(DISTINCT user_id)
FROM web
WHERE title LIKE '%Маяк%'
  AND url NOT LIKE '%/news/%'
  AND search_phrase <> ''
GROUP BY search_phrase
ORDER BY views DESC, search_phrase
LIMIT 10;

-- q24: all columns of the first ten rows with a rare infix
SELECT *
FROM web
WHERE url LIKE '%lighthouse%'
ORDER BY event_time, view_id
LIMIT 10;

-- q25: earliest phrases
SELECT search_phrase
FROM web
WHERE search_phrase <> ''
ORDER BY event_time, view_id
LIMIT 10;

-- q26: first phrases of the alphabet
SELECT search_phrase
FROM web
WHERE search_phrase <> ''
ORDER BY search_phrase
LIMIT 10;

-- q27: earliest phrases, then by alphabet
SELECT search_phrase
FROM web
WHERE search_phrase <> ''
ORDER BY event_time, search_phrase
LIMIT 10;

-- q28: counters by length of their URLs
SELECT counter_id, avg(length(url)) AS mean_length, count(*)
FROM web
WHERE url <> ''
GROUP BY counter_id
HAVING count(*) > 500
ORDER BY mean_length DESC, counter_id
LIMIT 25;

-- q29: hosts of referers by length
SELECT regexp_replace(referer, '^https?://(?:www\.)?([^/]+)/.*$', '\1') AS host,
       avg(length(referer)) AS mean_length, count(*), min(referer)
FROM web
WHERE referer <> ''
GROUP BY host
HAVING count(*) > 200
ORDER BY mean_length DESC, host
LIMIT 25;

-- q30: ninety sums
SELECT sum(screen_width), sum(screen_width + 1), sum(screen_width + 2), sum(screen_width + 3), sum(screen_width + 4),
       sum(screen_width + 5), sum(screen_width + 6), sum(screen_width + 7), sum(screen_width + 8), sum(screen_width + 9),
       sum(screen_width + 10), sum(screen_width + 11), sum(screen_width + 12), sum(screen_width + 13), sum(screen_width + 14),
       sum(screen_width + 15), sum(screen_width + 16), sum(screen_width + 17), sum(screen_width + 18), sum(screen_width + 19),
       sum(screen_width + 20), sum(screen_width + 21), sum(screen_width + 22), sum(screen_width + 23), sum(screen_width + 24),
       sum(screen_width + 25), sum(screen_width + 26), sum(screen_width + 27), sum(screen_width + 28), sum(screen_width + 29),
       sum(screen_width + 30), sum(screen_width + 31), sum(screen_width + 32), sum(screen_width + 33), sum(screen_width + 34),
       sum(screen_width + 35), sum(screen_width + 36), sum(screen_width + 37), sum(screen_width + 38), sum(screen_width + 39),
       sum(screen_width + 40), sum(screen_width + 41), sum(screen_width + 42), sum(screen_width + 43), sum(screen_width + 44),
       sum(screen_width + 45), sum(screen_width + 46), sum(screen_width + 47), sum(screen_width + 48), sum(screen_width + 49),
       sum(screen_width + 50), sum(screen_width + 51), sum(screen_width + 52), sum(screen_width + 53), sum(screen_width + 54),
       sum(screen_width + 55), sum(screen_width + 56), sum(screen_width + 57), sum(screen_width + 58), sum(screen_width + 59),
       sum(screen_width + 60), sum(screen_width + 61), sum(screen_width + 62), sum(screen_width + 63), sum(screen_width + 64),
       sum(screen_width + 65), sum(screen_width + 66), sum(screen_width + 67), sum(screen_width + 68), sum(screen_width + 69),
       sum(screen_width + 70), sum(screen_width + 71), sum(screen_width + 72), sum(screen_width + 73), sum(screen_width + 74),
       sum(screen_width + 75), sum(screen_width + 76), sum(screen_width + 77), sum(screen_width + 78), sum(screen_width + 79),
       sum(screen_width + 80), sum(screen_width + 81), sum(screen_width + 82), sum(screen_width + 83), sum(screen_width + 84),
       sum(screen_width + 85), sum(screen_width + 86), sum(screen_width + 87), sum(screen_width + 88), sum(screen_width + 89)
FROM web;

-- q31: engines and addresses of those who searched
SELECT search_engine_id, client_ip, count(*) AS views, sum(is_reload), avg(screen_width)
FROM web
WHERE search_phrase <> ''
GROUP BY search_engine_id, client_ip
ORDER BY views DESC, search_engine_id, client_ip
LIMIT 10;

-- q32: views and addresses of those who searched: as many groups as rows
SELECT view_id, client_ip, count(*) AS views, sum(is_reload), avg(screen_width)
FROM web
WHERE search_phrase <> ''
GROUP BY view_id, client_ip
ORDER BY views DESC, view_id, client_ip
LIMIT 10;

-- q33: views and addresses of all: as many groups as rows
SELECT view_id, client_ip, count(*) AS views, sum(is_reload), avg(screen_width)
FROM web
GROUP BY view_id, client_ip
ORDER BY views DESC, view_id, client_ip
LIMIT 10;

-- q34: URLs by views
SELECT url, count(*) AS views
FROM web
GROUP BY url
ORDER BY views DESC, url
LIMIT 10;

-- q35: a constant and URLs by views
SELECT 1, url, count(*) AS views
FROM web
GROUP BY 1, url
ORDER BY views DESC, url
LIMIT 10;

-- q36: four keys that follow from one
SELECT client_ip, client_ip - 1, client_ip - 2, client_ip - 3, count(*) AS views
FROM web
GROUP BY client_ip, client_ip - 1, client_ip - 2, client_ip - 3
ORDER BY views DESC, client_ip
LIMIT 10;

-- q37: a counter's month: URLs
SELECT url, count(*) AS views
FROM web
WHERE counter_id = 32313
  AND event_date BETWEEN DATE '2024-05-01' AND DATE '2024-05-31'
  AND is_excluded = 0
  AND is_reload = 0
  AND url <> ''
GROUP BY url
ORDER BY views DESC, url
LIMIT 10;

-- q38: a counter's month: titles
SELECT title, count(*) AS views
FROM web
WHERE counter_id = 32313
  AND event_date BETWEEN DATE '2024-05-01' AND DATE '2024-05-31'
  AND is_excluded = 0
  AND is_reload = 0
  AND title <> ''
GROUP BY title
ORDER BY views DESC, title
LIMIT 10;

-- q39: a counter's month: outbound links, a late page
SELECT url, count(*) AS views
FROM web
WHERE counter_id = 32313
  AND event_date BETWEEN DATE '2024-05-01' AND DATE '2024-05-31'
  AND is_excluded = 0
  AND is_outbound <> 0
  AND is_download = 0
GROUP BY url
ORDER BY views DESC, url
LIMIT 10 OFFSET 1000;

-- q40: a counter's month: where views come from, a late page
SELECT traffic_source, search_engine_id, ad_engine_id,
       CASE WHEN search_engine_id = 0 AND ad_engine_id = 0 THEN referer ELSE '' END AS origin,
       url AS target, count(*) AS views
FROM web
WHERE counter_id = 32313
  AND event_date BETWEEN DATE '2024-05-01' AND DATE '2024-05-31'
  AND is_excluded = 0
GROUP BY traffic_source, search_engine_id, ad_engine_id, origin, target
ORDER BY views DESC, traffic_source, search_engine_id, ad_engine_id, origin, target
LIMIT 10 OFFSET 1000;

-- q41: a counter's month: pages reached from one referer, by day
SELECT url_hash, event_date, count(*) AS views
FROM web
WHERE counter_id = 32313
  AND event_date BETWEEN DATE '2024-05-01' AND DATE '2024-05-31'
  AND is_excluded = 0
  AND is_reload = 0
  AND traffic_source IN (1, 2)
  AND referer_hash = 8430225495041594
GROUP BY url_hash, event_date
ORDER BY views DESC, url_hash, event_date
LIMIT 10 OFFSET 100;

-- q42: a counter's month: window sizes, a very late page
SELECT window_width, window_height, count(*) AS views
FROM web
WHERE counter_id = 32313
  AND event_date BETWEEN DATE '2024-05-01' AND DATE '2024-05-31'
  AND is_excluded = 0
  AND is_reload = 0
GROUP BY window_width, window_height
ORDER BY views DESC, window_width, window_height
LIMIT 10 OFFSET 10000;

-- q43: a counter's two days: views by minute, a late page
SELECT date_trunc('minute', event_time) AS at_minute, count(*) AS views
FROM web
WHERE counter_id = 32313
  AND event_date BETWEEN DATE '2024-05-14' AND DATE '2024-05-15'
  AND is_excluded = 0
  AND is_reload = 0
GROUP BY at_minute
ORDER BY at_minute
LIMIT 10 OFFSET 200;
