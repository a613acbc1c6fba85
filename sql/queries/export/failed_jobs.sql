-- Lines of failed_jobs.log: what failed for good, and why. A job of several problems has a line for each. How often a job was
-- tried depends on which devices were free, so it isn't said here (`geko jobs list` does).
SELECT DISTINCT concat(f.kind, ' ', coalesce(concat(gemm_name(q), '_M', q.m, '_N', q.n, '_B', q.batch, '_K', q.k), f.job_id::VARCHAR),
              ': ', coalesce(f.outcome, f.state), coalesce(concat(': ', replace(f.message, chr(10), ' ')), '')) AS line
FROM run_failure AS f
LEFT JOIN problem AS q ON q.problem_id = f.problem_id
WHERE f.run_id = $run_id::UUID
ORDER BY line;
