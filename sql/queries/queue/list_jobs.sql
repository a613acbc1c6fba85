-- Jobs, those that run or failed first.
SELECT j.job_id::VARCHAR AS job_id, j.kind, j.state, j.outcome, j.attempts, j.priority, j.cost_s, j.runner, j.lease_until,
       j.problem_id::VARCHAR AS problem_id, a.message
FROM job AS j
LEFT JOIN (SELECT job_id, arg_max(message, ended_at) AS message FROM job_attempt GROUP BY job_id) AS a USING (job_id)
WHERE ($run_id IS NULL OR j.job_id IN (SELECT k.job_id FROM run_job AS k WHERE k.run_id = $run_id::UUID))
  AND ($state IS NULL OR j.state = $state)
ORDER BY CASE j.state WHEN 'leased' THEN 0 WHEN 'dead' THEN 1 WHEN 'failed' THEN 2 WHEN 'pending' THEN 3 ELSE 4 END,
         j.priority DESC, j.cost_s DESC, j.rowid
LIMIT $n;
