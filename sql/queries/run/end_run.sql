UPDATE run SET state = $state, summary = $summary::JSON, ended_at = $now::TIMESTAMPTZ, pid = NULL WHERE run_id = $run_id::UUID;
