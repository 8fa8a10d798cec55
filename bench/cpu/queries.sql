-- Queries on the table cpu: hosts x steps of ten seconds from 2024-01-01 00:00 UTC on, to be run with TimeZone = 'UTC'.

-- q01: one host, one hour, one metric by minute
SELECT date_trunc('minute', time) AS at_minute, max(usage_user)
FROM cpu
WHERE hostname = 'host_7'
  AND time >= TIMESTAMPTZ '2024-01-01 01:00:00+00'
  AND time < TIMESTAMPTZ '2024-01-01 02:00:00+00'
GROUP BY at_minute
ORDER BY at_minute;

-- q02: one host, twelve hours, one metric by minute
SELECT date_trunc('minute', time) AS at_minute, max(usage_user)
FROM cpu
WHERE hostname = 'host_7'
  AND time >= TIMESTAMPTZ '2024-01-01 00:00:00+00'
  AND time < TIMESTAMPTZ '2024-01-01 12:00:00+00'
GROUP BY at_minute
ORDER BY at_minute;

-- q03: eight hosts, one hour, five metrics by minute
SELECT date_trunc('minute', time) AS at_minute,
       max(usage_user), max(usage_system), max(usage_idle), max(usage_nice), max(usage_iowait)
FROM cpu
WHERE hostname IN ('host_1', 'host_5', 'host_7', 'host_10', 'host_23', 'host_42', 'host_64', 'host_77')
  AND time >= TIMESTAMPTZ '2024-01-01 01:00:00+00'
  AND time < TIMESTAMPTZ '2024-01-01 02:00:00+00'
GROUP BY at_minute
ORDER BY at_minute;

-- q04: all hosts, twelve hours, mean of one metric by hour and host
SELECT date_trunc('hour', time) AS at_hour, hostname, avg(usage_user)
FROM cpu
WHERE time >= TIMESTAMPTZ '2024-01-01 00:00:00+00'
  AND time < TIMESTAMPTZ '2024-01-01 12:00:00+00'
GROUP BY at_hour, hostname
ORDER BY at_hour, hostname;

-- q05: eight hosts, eight hours, all ten metrics by hour
SELECT date_trunc('hour', time) AS at_hour,
       max(usage_user), max(usage_system), max(usage_idle), max(usage_nice), max(usage_iowait),
       max(usage_irq), max(usage_softirq), max(usage_steal), max(usage_guest), max(usage_guest_nice)
FROM cpu
WHERE hostname IN ('host_1', 'host_5', 'host_7', 'host_10', 'host_23', 'host_42', 'host_64', 'host_77')
  AND time >= TIMESTAMPTZ '2024-01-01 00:00:00+00'
  AND time < TIMESTAMPTZ '2024-01-01 08:00:00+00'
GROUP BY at_hour
ORDER BY at_hour;

-- q06: readings above 99 in twelve hours, all columns
SELECT *
FROM cpu
WHERE usage_user > 99.0
  AND time >= TIMESTAMPTZ '2024-01-01 00:00:00+00'
  AND time < TIMESTAMPTZ '2024-01-01 12:00:00+00'
ORDER BY time, hostname;

-- q07: the last reading of every host
SELECT DISTINCT ON (hostname) hostname, time, usage_user, usage_system, usage_idle
FROM cpu
ORDER BY hostname, time DESC;

-- q08: the twenty hosts with the highest readings
SELECT hostname, max(usage_user) AS highest, max(usage_system), avg(usage_idle)
FROM cpu
GROUP BY hostname
ORDER BY highest DESC, hostname
LIMIT 20;
