-- A run that is decided again replaces its former verdicts; the evidence stays.
DELETE FROM selection WHERE run_id = $run_id::UUID;
