-- Devices that were probed again: software and settings may have changed since, a quarantine stays (input: seen).
UPDATE device
SET environment_id = seen.environment_id::UUID, max_sclk_mhz = seen.max_sclk_mhz, max_mclk_mhz = seen.max_mclk_mhz,
    memory_gib = seen.memory_gib, detail = seen.detail, last_seen = seen.last_seen
FROM seen
WHERE device.device_id = seen.device_id::UUID;
