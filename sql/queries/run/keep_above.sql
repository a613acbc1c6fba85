-- keep-thr is a percentage of the workload's time: a problem is kept when its share reaches it. A problem without a baseline
-- has no share and is not kept; at 0 everything with a baseline is.
UPDATE run_problem SET kept = coalesce((
    SELECT c.share_pct >= $keep_thr FROM run_contribution AS c
    WHERE c.run_id = run_problem.run_id AND c.problem_id = run_problem.problem_id), false)
WHERE run_id = $run_id::UUID;
