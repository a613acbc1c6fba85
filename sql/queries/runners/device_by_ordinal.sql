-- The device of a host by its number, the one seen last.
SELECT CAST(d.device_id AS VARCHAR) AS device_id, CAST(d.environment_id AS VARCHAR) AS environment_id
FROM device AS d JOIN environment AS e ON e.environment_id = d.environment_id
WHERE d.host = $host AND d.ordinal = $ordinal AND e.simulated = $simulated
ORDER BY d.last_seen DESC
LIMIT 1;
