-- What the programs of the tuning jobs of a run printed in their last attempt.
SELECT parse_filename(r.file_name, true) AS name, o.text
FROM (
    SELECT config_id, min(file_name) AS file_name FROM run_config
    WHERE run_id = $run_id::UUID AND state IN ('generated', 'edited', 'added') GROUP BY config_id
) AS r
JOIN tuning_job AS t ON t.config_id = r.config_id
JOIN run_job AS k ON k.run_id = $run_id::UUID AND k.job_id = t.job_id
JOIN (
    SELECT job_id, arg_max(output_id, attempt) AS output_id FROM job_attempt WHERE NOT late AND output_id IS NOT NULL GROUP BY job_id
) AS a ON a.job_id = t.job_id
JOIN output AS o ON o.output_id = a.output_id AND o.text <> ''
ORDER BY name;
