-- Ids must be unique. Bulk tables have no primary key, so it is checked here.
WITH doubled AS (
    SELECT 'problem' AS what, problem_id::VARCHAR AS id FROM problem GROUP BY ALL HAVING count(*) > 1
    UNION ALL SELECT 'solution', solution_id::VARCHAR FROM solution GROUP BY ALL HAVING count(*) > 1
    UNION ALL SELECT 'call', call_id::VARCHAR FROM call GROUP BY ALL HAVING count(*) > 1
    UNION ALL SELECT 'measurement', measurement_id::VARCHAR FROM measurement GROUP BY ALL HAVING count(*) > 1
    UNION ALL SELECT 'validation', validation_id::VARCHAR FROM validation GROUP BY ALL HAVING count(*) > 1
    UNION ALL SELECT 'output', output_id::VARCHAR FROM output GROUP BY ALL HAVING count(*) > 1
    UNION ALL SELECT 'job', job_id::VARCHAR FROM job GROUP BY ALL HAVING count(*) > 1
    UNION ALL SELECT 'job_spec', job_id::VARCHAR FROM job_spec GROUP BY ALL HAVING count(*) > 1
    UNION ALL SELECT 'job_attempt', concat(job_id, ' token ', token, ' ', outcome) FROM job_attempt
              GROUP BY ALL HAVING count(*) > 1
    UNION ALL SELECT 'workload_call', concat(file_id, ' call ', call_id) FROM workload_call GROUP BY ALL HAVING count(*) > 1
    UNION ALL SELECT 'run_job', concat(run_id, ' job ', job_id) FROM run_job GROUP BY ALL HAVING count(*) > 1
    UNION ALL SELECT 'logic_header', library_id::VARCHAR FROM logic_header GROUP BY library_id HAVING count(*) > 1
    UNION ALL SELECT 'library_member', concat(library_id, ' ', path) FROM library_member GROUP BY library_id, path HAVING count(*) > 1
    UNION ALL SELECT 'tuning_config', config_id::VARCHAR FROM tuning_config GROUP BY config_id HAVING count(*) > 1
    UNION ALL SELECT 'tuning_job', job_id::VARCHAR FROM tuning_job GROUP BY job_id HAVING count(*) > 1
    UNION ALL SELECT 'tuning_output', concat(job_id, ' attempt ', attempt, ' ', path) FROM tuning_output
              GROUP BY job_id, attempt, path HAVING count(*) > 1
)
SELECT concat('unique ', rule.what) AS rule, count(doubled.id) AS n, min(doubled.id) AS example
FROM (VALUES ('problem'), ('solution'), ('call'), ('measurement'), ('validation'), ('output'), ('job'), ('job_spec'),
             ('job_attempt'), ('workload_call'), ('run_job'), ('logic_header'), ('library_member'),
             ('tuning_config'), ('tuning_job'), ('tuning_output')) AS rule(what)
LEFT JOIN doubled ON doubled.what = rule.what
GROUP BY rule.what ORDER BY rule.what;
