-- How long each tuning job took, as the original's timing.log says it.
SELECT concat('Time taken for ', name, ': ', s // 3600, 'h ', (s % 3600) // 60, 'm ', s % 60, 's') AS line
FROM (
    SELECT coalesce(c.names, g.name) AS name, round(epoch(a.ended_at - a.started_at))::BIGINT AS s, a.ended_at
    FROM run_job AS k
    JOIN tuning_job AS t ON t.job_id = k.job_id
    JOIN tuning_config AS g ON g.config_id = t.config_id
    LEFT JOIN run_config_name AS c ON c.run_id = k.run_id AND c.config_id = t.config_id
    JOIN job_attempt AS a ON a.job_id = k.job_id AND a.outcome = 'ok' AND NOT a.late AND a.started_at IS NOT NULL
    WHERE k.run_id = $run_id::UUID
)
ORDER BY ended_at, name;
