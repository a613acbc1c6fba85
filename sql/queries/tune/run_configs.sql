-- The configs of a run, in the order of their files.
SELECT config_id::VARCHAR AS config_id, file_name, state, reason FROM run_config
WHERE run_id = $run_id::UUID ORDER BY file_name, state, config_id;
