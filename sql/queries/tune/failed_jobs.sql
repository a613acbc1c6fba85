-- Tuning jobs of a run that ended without a result.
SELECT j.job_id::VARCHAR AS job_id, j.state, j.outcome, coalesce(c.names, g.name) AS name
FROM run_job AS r JOIN job AS j ON j.job_id = r.job_id
JOIN tuning_job AS t ON t.job_id = j.job_id JOIN tuning_config AS g ON g.config_id = t.config_id
LEFT JOIN run_config_name AS c ON c.run_id = r.run_id AND c.config_id = t.config_id
WHERE r.run_id = $run_id::UUID AND j.kind = 'tune'
  AND (j.state IN ('failed', 'dead', 'cancelled') OR (j.state = 'done' AND j.outcome <> 'ok'))
ORDER BY name, j.job_id;
