-- The shapes that save most in the last decided run, in percent of the workload's GEMM time.
SELECT concat(gemm_name(q), ' ', q.m, '×', q.n, '×', q.k, if(q.batch > 1, concat(' b', q.batch), '')) AS "saves most",
       s.share_pct AS "share %", s.ratio AS uplift, s.saved_pct AS "saved %", s.saved_low_pct AS "from", s.saved_high_pct AS "to",
       s.running_pct AS "together %", if(s.simulated, 'simulated', 'measured') AS times
FROM run_saving AS s JOIN problem AS q ON q.problem_id = s.problem_id
WHERE s.run_id = (SELECT run_id FROM selection ORDER BY decided_at DESC, run_id LIMIT 1) AND s.rank <= 5
ORDER BY s.rank;
