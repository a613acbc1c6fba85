DELETE FROM run_config WHERE run_id = $run_id::UUID;
