-- The table that the end of a run prints: every shape with its class.
SELECT concat(gemm_name(q), ' ', q.m, '×', q.n, '×', q.k, if(q.batch > 1, concat(' b', q.batch), '')) AS gemm,
       p.call_count AS calls, d.share_pct AS "share %", d.us_reference AS "reference µs", d.us_tuned AS "tuned µs", d.ratio AS uplift,
       d.class AS verdict, d.reason
FROM selection AS d
JOIN run_problem AS p ON p.run_id = d.run_id AND p.problem_id = d.problem_id
JOIN problem AS q ON q.problem_id = d.problem_id
WHERE d.run_id = $run_id::UUID
ORDER BY d.share_pct DESC NULLS LAST, p.seq;
