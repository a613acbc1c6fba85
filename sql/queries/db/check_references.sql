-- What a row refers to must be there.
WITH reference AS (
    SELECT 'measurement.problem_id' AS what, measurement_id AS id FROM measurement
    WHERE problem_id NOT IN (SELECT problem_id FROM problem)
    UNION ALL SELECT 'measurement.environment_id', measurement_id FROM measurement
    WHERE environment_id NOT IN (SELECT environment_id FROM environment)
    UNION ALL SELECT 'measurement.protocol_id', measurement_id FROM measurement
    WHERE protocol_id NOT IN (SELECT protocol_id FROM protocol)
    UNION ALL SELECT 'measurement.job_id', measurement_id FROM measurement AS m
    WHERE job_id IS NOT NULL AND NOT EXISTS (FROM job AS j WHERE j.job_id = m.job_id)
    UNION ALL SELECT 'measurement.file_id', measurement_id FROM measurement AS m
    WHERE file_id IS NOT NULL AND NOT EXISTS (FROM ingest_file AS f WHERE f.file_id = m.file_id)
    UNION ALL SELECT 'validation.problem_id', validation_id FROM validation
    WHERE problem_id NOT IN (SELECT problem_id FROM problem)
    UNION ALL SELECT 'call.problem_id', call_id FROM call WHERE problem_id NOT IN (SELECT problem_id FROM problem)
    UNION ALL SELECT 'workload_call.call_id', call_id FROM workload_call WHERE call_id NOT IN (SELECT call_id FROM call)
    UNION ALL SELECT 'job.protocol_id', job_id FROM job WHERE protocol_id NOT IN (SELECT protocol_id FROM protocol)
    UNION ALL SELECT 'job.environment_id', job_id FROM job
    WHERE environment_id NOT IN (SELECT environment_id FROM environment)
    UNION ALL SELECT 'job has a spec', job_id FROM job WHERE job_id NOT IN (SELECT job_id FROM job_spec)
    UNION ALL SELECT 'job_attempt.job_id', job_id FROM job_attempt WHERE job_id NOT IN (SELECT job_id FROM job)
    UNION ALL SELECT 'run_job.job_id', job_id FROM run_job WHERE job_id NOT IN (SELECT job_id FROM job)
    UNION ALL SELECT 'run_problem.problem_id', problem_id FROM run_problem
    WHERE problem_id NOT IN (SELECT problem_id FROM problem)
    UNION ALL SELECT 'library_member.member_id', member_id FROM library_member
    WHERE member_id NOT IN (SELECT library_id FROM library)
    UNION ALL SELECT 'logic_header.library_id', library_id FROM logic_header
    WHERE library_id NOT IN (SELECT library_id FROM library)
    UNION ALL SELECT 'library_entry.library_id', library_id FROM library_entry
    WHERE library_id NOT IN (SELECT library_id FROM library)
    UNION ALL SELECT 'device.environment_id', device_id FROM device
    WHERE environment_id NOT IN (SELECT environment_id FROM environment)
    UNION ALL SELECT 'tuning_job.config_id', job_id FROM tuning_job WHERE config_id NOT IN (SELECT config_id FROM tuning_config)
    UNION ALL SELECT 'tuning_config_problem.problem_id', config_id FROM tuning_config_problem
    WHERE problem_id NOT IN (SELECT problem_id FROM problem)
    UNION ALL SELECT 'run_config.config_id', config_id FROM run_config
    WHERE state <> 'refused' AND config_id NOT IN (SELECT config_id FROM tuning_config)
)
SELECT concat('reference ', rule.what) AS rule, count(reference.id) AS n, min(reference.id)::VARCHAR AS example
FROM (VALUES ('measurement.problem_id'), ('measurement.environment_id'), ('measurement.protocol_id'),
             ('measurement.job_id'), ('measurement.file_id'), ('validation.problem_id'), ('call.problem_id'),
             ('workload_call.call_id'), ('job.protocol_id'), ('job.environment_id'), ('job has a spec'),
             ('job_attempt.job_id'), ('run_job.job_id'), ('run_problem.problem_id'), ('device.environment_id'),
             ('library_member.member_id'), ('logic_header.library_id'), ('library_entry.library_id'),
             ('tuning_job.config_id'), ('tuning_config_problem.problem_id'), ('run_config.config_id')
     ) AS rule(what)
LEFT JOIN reference ON reference.what = rule.what
GROUP BY rule.what ORDER BY rule.what;
