-- Planned tuning jobs that ended without a result in an earlier start, and whether they are this run's (input: planned).
SELECT j.job_id::VARCHAR AS job_id, j.state, j.outcome,
       EXISTS (FROM run_job AS k WHERE k.run_id = $run_id::UUID AND k.job_id = j.job_id) AS in_run
FROM job AS j
WHERE j.job_id IN (SELECT job_id::UUID FROM planned)
  AND (j.state IN ('failed', 'dead', 'cancelled') OR (j.state = 'done' AND j.outcome <> 'ok'))
ORDER BY j.job_id;
