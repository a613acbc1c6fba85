-- Devices that were probed and are not known yet (input: seen).
INSERT INTO device BY NAME
SELECT s.* REPLACE (s.device_id::UUID AS device_id, s.environment_id::UUID AS environment_id)
FROM seen AS s
WHERE s.device_id::UUID NOT IN (SELECT device_id FROM device);
