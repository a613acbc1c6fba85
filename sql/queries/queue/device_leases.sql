-- Leases held on these devices.
SELECT token::VARCHAR AS token FROM job
WHERE state = 'leased' AND device_id IN (SELECT unnest($device_ids::UUID[]));
