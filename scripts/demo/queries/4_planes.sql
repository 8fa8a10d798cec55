-- distance flown by manufacturer (join)
SELECT p.manufacturer, count(*) AS flights, sum(f.distance) AS miles, round(avg(f.arr_delay), 3) AS delay
FROM flights f
JOIN planes p USING (tailnum)
GROUP BY p.manufacturer
ORDER BY miles DESC, p.manufacturer;
