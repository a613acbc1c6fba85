-- The devices of a run ($device_ids) that get no work, and how many could do some: its own, and others of the environment that
-- a live runner works for.
SELECT count(*) FILTER (WHERE d.quarantined_at IS NULL) AS n_usable,
       list(d.ordinal ORDER BY d.ordinal) FILTER (WHERE d.quarantined_at IS NOT NULL) AS ordinals,
       list(d.quarantine_reason ORDER BY d.ordinal) FILTER (WHERE d.quarantined_at IS NOT NULL) AS reasons
FROM device AS d
WHERE list_contains($device_ids::UUID[], d.device_id)
   OR (d.quarantined_at IS NULL
       AND d.environment_id IN (FROM device AS o SELECT o.environment_id WHERE list_contains($device_ids::UUID[], o.device_id))
       AND EXISTS (FROM runner AS r WHERE r.device_id = d.device_id AND r.ended_at IS NULL
                   AND r.last_seen > $now::TIMESTAMPTZ - INTERVAL 1 MINUTE));
