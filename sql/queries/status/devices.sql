-- The devices: whether each works now, at what, what it has done so far, and why it gets no more work.
WITH leased AS (
    SELECT device_id, count(*) AS n, min(kind) AS kind, min(lease_until) AS lease_until FROM job WHERE state = 'leased' GROUP BY device_id
), ended AS (
    SELECT device_id, count(*) FILTER (WHERE outcome IN ('ok', 'no_solution', 'verify_failed')) AS n_ok,
           count(*) FILTER (WHERE outcome NOT IN ('ok', 'no_solution', 'verify_failed', 'released', 'lost', 'late')) AS n_failed
    FROM job_attempt GROUP BY device_id
), alive AS (
    SELECT device_id, max(last_seen) AS last_seen FROM runner
    WHERE ended_at IS NULL AND last_seen > $now::TIMESTAMPTZ - INTERVAL 2 MINUTES GROUP BY device_id
)
SELECT d.host, d.ordinal AS device, coalesce(e.device_name, e.gfx) AS gpu, if(e.simulated, 'simulated', 'measured') AS times,
       CASE WHEN d.quarantined_at IS NOT NULL THEN 'quarantined' WHEN l.n > 0 THEN concat('working: ', l.n, ' ', l.kind)
            WHEN a.device_id IS NOT NULL THEN 'waiting' ELSE 'no runner' END AS state,
       coalesce(t.n_ok, 0) AS n_ok, coalesce(t.n_failed, 0) AS n_failed,
       strftime(coalesce(a.last_seen, d.last_seen), '%Y-%m-%d %H:%M:%S') AS last_seen, d.quarantine_reason AS reason
FROM device AS d
LEFT JOIN environment AS e ON e.environment_id = d.environment_id
LEFT JOIN leased AS l ON l.device_id = d.device_id
LEFT JOIN ended AS t ON t.device_id = d.device_id
LEFT JOIN alive AS a ON a.device_id = d.device_id
ORDER BY e.simulated, d.host, d.ordinal;
