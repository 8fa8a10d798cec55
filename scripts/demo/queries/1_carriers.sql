-- delays by carrier
SELECT carrier, count(*), count(dep_delay) AS flown, round(avg(dep_delay), 3) AS delay, max(arr_delay) AS worst
FROM flights
GROUP BY carrier
ORDER BY carrier;
