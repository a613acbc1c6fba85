-- The sizes of the tuned libraries (input entries: one row a library and size) with what was decided about them. Problems that
-- differ only in epilogue or padding share a size: where one of them has no solution in the reference library and the new kernel slows
-- no other, that one decides, else the one that saves most time.
SELECT lib, m, n, batch_count, k, if(class IN ('kept', 'new_solution'), 'tuned', 'reference') AS winner, "solutionIdx_reference"
FROM (
    SELECT e.lib, o.m, o.n, o.batch AS batch_count, o.k, s.class, r.seq, a.solution_index AS "solutionIdx_reference",
           r.call_count * (s.us_reference - s.us_tuned) AS saved_us,
           s.class = 'new_solution' AND NOT coalesce(bool_or(s.ratio_high < 1) OVER (PARTITION BY e.lib, o.m, o.n, o.batch, o.k), false) AS is_new
    FROM selection AS s
    JOIN run_problem AS r ON r.run_id = s.run_id AND r.problem_id = s.problem_id
    JOIN run_plain AS p ON p.run_id = s.run_id AND p.problem_id = s.problem_id
    JOIN problem AS q ON q.problem_id = p.plain_id
    -- The size itself: K of a block-scaled one may have been rounded up for tuning.
    JOIN problem AS o ON o.problem_id = s.problem_id
    JOIN entries AS e
      ON e.trans_a = q.trans_a AND e.trans_b = q.trans_b AND e.a_type = q.a_type AND e.b_type = q.b_type AND e.c_type = q.c_type
     AND e.compute_type = q.compute_type AND e.scale = q.scale_a
     AND e.m = o.m AND e.n = o.n AND e.batch = o.batch AND e.k = o.k
    LEFT JOIN run_arm AS a ON a.run_id = s.run_id AND a.problem_id = s.problem_id AND a.arm = 'reference'
    WHERE s.run_id = $run_id::UUID AND (s.ratio IS NOT NULL OR s.class = 'new_solution')
)
QUALIFY row_number() OVER (PARTITION BY lib, m, n, batch_count, k ORDER BY is_new DESC, saved_us DESC NULLS LAST, seq) = 1
ORDER BY lib, m, n, batch_count, k;
