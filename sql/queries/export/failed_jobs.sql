-- Lines of failed_jobs.log: what failed for good, and why. A job of several problems has a line for each.
SELECT DISTINCT concat(f.kind, ' ', coalesce(concat(gemm_name(q), '_M', q.m, '_N', q.n, '_B', q.batch, '_K', q.k), f.job_id::VARCHAR),
              ': ', coalesce(f.outcome, f.state), ' after ', f.attempts, ' attempt(s)',
              coalesce(concat(': ', replace(a.message, chr(10), ' ')), '')) AS line
FROM run_failure AS f
LEFT JOIN problem AS q ON q.problem_id = f.problem_id
LEFT JOIN (SELECT job_id, arg_max(message, attempt) AS message FROM job_attempt WHERE NOT late GROUP BY job_id) AS a
  ON a.job_id = f.job_id
WHERE f.run_id = $run_id::UUID
ORDER BY line;
