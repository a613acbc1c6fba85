-- Every shape of a guard, what went wrong first.
SELECT concat(gemm_name(q), ' ', q.m, '×', q.n, '×', q.k, if(q.batch > 1, concat(' b', q.batch), '')) AS gemm,
       d.share_pct AS "share %", if(d.tuned, 'tuned', 'not tuned') AS was, d.us_before AS "before µs", d.us_after AS "after µs",
       d.ratio AS "speed-up", d.class, d.reason, if(d.simulated, 'simulated', 'measured') AS times
FROM run_guard AS d JOIN problem AS q ON q.problem_id = d.problem_id
WHERE d.run_id = $run_id::UUID
ORDER BY list_position(['slower', 'not_applied', 'undecided', 'not_compared', 'faster', 'other_kernel', 'applied', 'unchanged'], d.class),
         d.share_pct DESC NULLS LAST, d.seq;
