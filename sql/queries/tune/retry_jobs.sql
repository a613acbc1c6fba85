-- Planned tuning jobs that ended without a result in an earlier start (input: planned).
SELECT j.job_id::VARCHAR AS job_id, j.state, j.outcome
FROM job AS j
WHERE j.job_id IN (SELECT job_id::UUID FROM planned)
  AND (j.state IN ('failed', 'dead', 'cancelled') OR (j.state = 'done' AND j.outcome <> 'ok'))
ORDER BY j.job_id;
