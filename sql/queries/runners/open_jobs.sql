-- Environments and roots of jobs that wait or run.
SELECT CAST(j.environment_id AS VARCHAR) AS environment_id, s.spec ->> '$.root' AS root, count(*) AS n_jobs
FROM job AS j JOIN job_spec AS s ON s.job_id = j.job_id
WHERE j.state IN ('pending', 'leased')
GROUP BY ALL
ORDER BY n_jobs DESC, root;
