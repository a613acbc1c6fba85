UPDATE run SET stage = $stage WHERE run_id = $run_id::UUID;
