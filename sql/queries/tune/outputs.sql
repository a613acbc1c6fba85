-- Files that the tuning jobs of a run left in their last accepted attempt.
SELECT r.file_name, t.config_id::VARCHAR AS config_id, o.path, o.content
FROM (
    SELECT config_id, min(file_name) AS file_name FROM run_config
    WHERE run_id = $run_id::UUID AND state IN ('generated', 'edited', 'added') GROUP BY config_id
) AS r
JOIN tuning_job AS t ON t.config_id = r.config_id
JOIN run_job AS k ON k.run_id = $run_id::UUID AND k.job_id = t.job_id
JOIN (
    SELECT o.job_id, max(o.attempt) AS attempt FROM tuning_output AS o
    JOIN job_attempt AS a ON a.job_id = o.job_id AND a.attempt = o.attempt AND NOT a.late
    GROUP BY o.job_id
) AS l ON l.job_id = t.job_id
JOIN tuning_output AS o ON o.job_id = l.job_id AND o.attempt = l.attempt
WHERE NOT $logic_only::BOOLEAN OR regexp_matches(o.path, '(^|/)3_LibraryLogic/[^/]+\.ya?ml$')
ORDER BY r.file_name, o.path;
