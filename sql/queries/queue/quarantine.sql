-- A device gets no more work until somebody lifts the quarantine.
UPDATE device SET quarantined_at = $now, quarantine_reason = $reason
WHERE device_id IN (SELECT unnest($device_ids::UUID[])) AND quarantined_at IS NULL;
