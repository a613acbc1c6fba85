-- Devices on which these jobs failed before in a way that points to the hardware.
SELECT DISTINCT job_id::VARCHAR AS job_id, device_id::VARCHAR AS device_id
FROM job_attempt
WHERE job_id IN (SELECT unnest($job_ids::UUID[])) AND device_id IS NOT NULL AND NOT late
  AND outcome IN ('hang', 'memory_fault', 'crash', 'timeout');
