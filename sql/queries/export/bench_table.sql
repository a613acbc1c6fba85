-- The table that the end of a benchmark prints: every problem by its share of the time.
SELECT concat(gemm_name(q), ' ', q.m, '×', q.n, '×', q.k, if(q.batch > 1, concat(' b', q.batch), '')) AS gemm,
       c.call_count AS calls, c.us AS "µs", 2e0 * q.m * q.n * q.k * q.batch / c.us / 1e6 AS "TFLOP/s", c.share_pct AS "share %",
       l.solution
FROM run_contribution AS c JOIN problem AS q ON q.problem_id = c.problem_id
LEFT JOIN solution_label AS l ON l.solution_id = c.solution_id
WHERE c.run_id = $run_id::UUID
ORDER BY c.share_pct DESC NULLS LAST, c.seq;
