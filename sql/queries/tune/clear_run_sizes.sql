DELETE FROM run_size WHERE run_id = $run_id::UUID;
