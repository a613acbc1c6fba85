-- A device may be used again; its row of failures starts anew only with its next success.
UPDATE device SET quarantined_at = NULL, quarantine_reason = NULL
WHERE $device_ids IS NULL OR device_id IN (SELECT unnest($device_ids::UUID[]));
