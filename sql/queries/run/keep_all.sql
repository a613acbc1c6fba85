UPDATE run_problem SET kept = true WHERE run_id = $run_id::UUID;
