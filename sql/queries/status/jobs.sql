-- Jobs, those without a result first; a tuning job is named by its config.
SELECT left(j.job_id::VARCHAR, 13) AS job, j.kind, j.state, j.outcome, j.attempts, j.max_attempts AS of,
       CASE WHEN q.problem_id IS NULL THEN coalesce(c.name, '(several)')
            ELSE concat(gemm_name(q), ' ', q.m, '×', q.n, '×', q.k, if(q.batch > 1, concat(' b', q.batch), '')) END AS gemm,
       round(j.cost_s, 3) AS cost_s, strftime(j.updated_at, '%Y-%m-%d %H:%M:%S') AS updated, a.message
FROM job AS j
LEFT JOIN problem AS q ON q.problem_id = j.problem_id
LEFT JOIN tuning_job AS t ON t.job_id = j.job_id
LEFT JOIN tuning_config AS c ON c.config_id = t.config_id
LEFT JOIN (SELECT job_id, arg_max(message, attempt) AS message FROM job_attempt WHERE NOT late GROUP BY job_id) AS a
  ON a.job_id = j.job_id
WHERE ($run_id IS NULL OR EXISTS (SELECT 1 FROM run_job AS k WHERE k.job_id = j.job_id AND k.run_id = $run_id::UUID))
  AND ($kind IS NULL OR j.kind = $kind)
  AND ($state IS NULL OR j.state = $state)
ORDER BY CASE j.state WHEN 'leased' THEN 0 WHEN 'failed' THEN 1 WHEN 'dead' THEN 2 WHEN 'pending' THEN 3 WHEN 'cancelled' THEN 4 ELSE 5 END,
         j.updated_at DESC, j.job_id
LIMIT $n;
