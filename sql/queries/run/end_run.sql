-- The end of a run. One that another process has finished in the meantime stays finished when this one is interrupted.
UPDATE run SET state = $state, summary = $summary::JSON, ended_at = $now::TIMESTAMPTZ, pid = NULL
WHERE run_id = $run_id::UUID AND NOT (state = 'finished' AND pid IS NULL AND $state = 'interrupted');
