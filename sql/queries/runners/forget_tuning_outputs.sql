-- A result that is delivered again brings its files again (input: left_files).
DELETE FROM tuning_output
WHERE EXISTS (
    FROM left_files AS f WHERE f.job_id::UUID = tuning_output.job_id AND f.attempt = tuning_output.attempt);
