-- The library that a run built, where it got that far.
SELECT tuned_library_id::VARCHAR AS library_id FROM run WHERE run_id = $run_id::UUID;
