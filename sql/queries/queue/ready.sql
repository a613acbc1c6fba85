-- Jobs that could start now on devices of one environment, with their specs: highest priority first, longest first
-- among equals.
SELECT j.job_id::VARCHAR AS job_id, j.kind, j.batch_key, j.cost_s, j.alone, j.attempts, j.timeout_s,
       s.spec::VARCHAR AS spec, j.run_id::VARCHAR AS run_id, j.problem_id::VARCHAR AS problem_id,
       j.library_id::VARCHAR AS library_id, j.protocol_id::VARCHAR AS protocol_id
FROM (
    SELECT job_id, run_id, problem_id, library_id, protocol_id, kind, batch_key, cost_s, alone, attempts, timeout_s, priority, rowid AS nr
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
