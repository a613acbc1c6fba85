UPDATE run SET tuned_library_id = $library_id::UUID WHERE run_id = $run_id::UUID;
