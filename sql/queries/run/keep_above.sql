-- keep-thr is a percentage of the workload's time: a problem is kept when its share reaches it. A problem without a baseline
-- has no share and is not kept, but in a run that makes new kernels ($keep_new) where the reference library has no solution for
-- it: nothing else could serve it. At 0 everything with a baseline is kept.
UPDATE run_problem SET kept = coalesce((
    SELECT c.share_pct >= $keep_thr FROM run_contribution AS c
    WHERE c.run_id = run_problem.run_id AND c.problem_id = run_problem.problem_id),
    $keep_new::BOOLEAN AND problem_id IN (SELECT problem_id FROM run_no_stock WHERE run_id = $run_id::UUID))
WHERE run_id = $run_id::UUID;
