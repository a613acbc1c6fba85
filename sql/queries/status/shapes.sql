-- Every shape of the last decided run with its class and the sentence that says why.
SELECT concat(gemm_name(q), ' ', q.m, '×', q.n, '×', q.k, if(q.batch > 1, concat(' b', q.batch), '')) AS gemm,
       s.share_pct AS "share %", s.class AS verdict, s.reason, if(s.simulated, 'simulated', 'measured') AS times
FROM selection AS s JOIN problem AS q ON q.problem_id = s.problem_id
WHERE s.run_id = (SELECT run_id FROM selection ORDER BY decided_at DESC, run_id LIMIT 1)
ORDER BY s.share_pct DESC NULLS LAST, q.problem_id;
