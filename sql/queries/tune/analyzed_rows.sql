-- The compared shapes of a run with the library of each (input entries: one row a library and size).
SELECT x.* EXCLUDE (run_id, row_order, lib, problem_id, grouped_gemm), e.lib
FROM export_raw_results AS x
JOIN problem AS q ON q.problem_id = x.problem_id
LEFT JOIN entries AS e
  ON e.trans_a = q.trans_a AND e.trans_b = q.trans_b AND e.a_type = q.a_type AND e.b_type = q.b_type AND e.c_type = q.c_type
 AND e.compute_type = q.compute_type AND e.mx = (q.scale_a >= 3)
 AND e.m = q.m AND e.n = q.n AND e.batch = q.batch AND e.k = q.k
WHERE x.run_id = $run_id::UUID
ORDER BY x.row_order;
