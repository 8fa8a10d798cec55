-- cancelled flights by month, to names like O'Hare
SELECT f.month, count(*) FILTER (WHERE f.dep_time IS NULL) AS cancelled, count(*) AS planned
FROM flights f
JOIN airports a ON a.faa = f.dest
WHERE a.name LIKE '%Hare%' OR a.name ILIKE 'los angeles%'
GROUP BY f.month
ORDER BY f.month;
