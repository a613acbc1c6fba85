-- The tuning jobs of a run that failed, with the last outcome and message.
SELECT concat(coalesce(c.names, g.name), ': ', coalesce(j.outcome, j.state), ' after ', j.attempts, ' attempt(s)',
              coalesce(': ' || split_part(a.message, chr(10), 1), '')) AS line
FROM run_job AS k
JOIN job AS j ON j.job_id = k.job_id AND j.kind = 'tune'
JOIN tuning_job AS t ON t.job_id = k.job_id
JOIN tuning_config AS g ON g.config_id = t.config_id
LEFT JOIN run_config_name AS c ON c.run_id = k.run_id AND c.config_id = t.config_id
LEFT JOIN (SELECT job_id, arg_max(message, attempt) AS message FROM job_attempt WHERE NOT late GROUP BY job_id) AS a ON a.job_id = j.job_id
WHERE k.run_id = $run_id::UUID AND (j.state IN ('failed', 'dead', 'cancelled') OR (j.state = 'done' AND j.outcome <> 'ok'))
ORDER BY coalesce(c.names, g.name);
