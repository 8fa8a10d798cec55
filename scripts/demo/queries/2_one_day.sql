-- one day's long flights
SELECT origin, dest, sum(air_time) AS minutes, count(DISTINCT tailnum) AS planes
FROM flights
WHERE month = 7 AND day = 4 AND distance > 1000
GROUP BY origin, dest
ORDER BY origin, dest;
