-- Keep what a run decided, sentence and figures.
INSERT INTO selection BY NAME
SELECT run_id, problem_id, class, reason, simulated, rule, reference_solution_id, tuned_solution_id, us_reference, us_tuned,
       ratio, ratio_low, ratio_high, n_pairs, share_pct, confidence, log_ratio_se, n_looks, n_candidates, check_outcome, $now::TIMESTAMPTZ AS decided_at
FROM run_decision WHERE run_id = $run_id::UUID;
