-- All devices: which environment each belongs to and whether it is quarantined.
SELECT device_id::VARCHAR AS device_id, environment_id::VARCHAR AS environment_id, quarantined_at IS NOT NULL AS quarantined
FROM device;
