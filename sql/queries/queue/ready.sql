-- Jobs that could start now on devices of one environment, with their specs: highest priority first, longest first
-- among equals. A job whose process died runs on another device next, if a live runner works for one (avoid: the device that
-- has to let it pass); when none takes it within half a minute, the same device may.
SELECT j.job_id::VARCHAR AS job_id, j.kind, j.batch_key, j.cost_s, j.alone, j.attempts, j.timeout_s,
       s.spec::VARCHAR AS spec, j.run_id::VARCHAR AS run_id, j.problem_id::VARCHAR AS problem_id,
       j.library_id::VARCHAR AS library_id, j.protocol_id::VARCHAR AS protocol_id,
       CASE WHEN j.alone AND j.attempts > 0 AND j.not_before > $now::TIMESTAMPTZ - INTERVAL 30 SECOND
                 AND EXISTS (FROM device AS d JOIN runner AS r ON r.device_id = d.device_id
                             WHERE d.environment_id = $environment_id::UUID AND d.device_id <> j.device_id
                               AND d.quarantined_at IS NULL AND r.ended_at IS NULL
                               AND r.last_seen > $now::TIMESTAMPTZ - INTERVAL 1 MINUTE)
            THEN j.device_id::VARCHAR END AS avoid, j.nr
FROM (
    SELECT job_id, run_id, problem_id, library_id, protocol_id, kind, batch_key, cost_s, alone, attempts, timeout_s, priority,
           not_before, device_id, rowid AS nr
    FROM job
    WHERE state = 'pending' AND environment_id = $environment_id::UUID
      AND (not_before IS NULL OR not_before <= $now)
      AND ($kinds IS NULL OR list_contains($kinds::VARCHAR[], kind))
      AND ($batch_key IS NULL OR (batch_key = $batch_key AND NOT alone))
    ORDER BY priority DESC, cost_s DESC, rowid
    LIMIT $n
) AS j
LEFT JOIN job_spec AS s ON s.job_id = j.job_id
ORDER BY j.priority DESC, j.cost_s DESC, j.nr;
