-- A look judges all candidates of the run anew; the evidence stays.
DELETE FROM confirmation WHERE run_id = $run_id::UUID;
