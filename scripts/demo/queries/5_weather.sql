-- delays by rain at the origin (join)
SELECT w.precip > 0 AS rain, w.origin, count(*) AS flights, round(avg(f.dep_delay), 3) AS delay
FROM flights f
JOIN weather w USING (origin, time_hour)
GROUP BY 1, 2
ORDER BY 1, 2;
