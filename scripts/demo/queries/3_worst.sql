-- the ten worst departures
SELECT time_hour, carrier, flight, origin, dest, dep_delay
FROM flights
WHERE dep_delay IS NOT NULL
ORDER BY dep_delay DESC, time_hour, carrier, flight
LIMIT 10;
