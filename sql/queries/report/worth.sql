-- What a run is worth end to end.
SELECT n_shapes, n_kept, coverage_pct, saved_pct, saved_low_pct, saved_high_pct, speedup, speedup_low, speedup_high, n_unchecked
FROM run_worth WHERE run_id = $run_id::UUID;
