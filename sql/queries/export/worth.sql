-- What a run is worth, in one row; none before it was decided.
SELECT * EXCLUDE (run_id) FROM run_worth WHERE run_id = $run_id::UUID;
