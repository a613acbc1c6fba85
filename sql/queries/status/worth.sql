-- What the last decided run is worth end to end.
SELECT left(run_id::VARCHAR, 8) AS run, n_kept AS kept, n_shapes AS of, coverage_pct AS "covered %", saved_pct AS "saved %",
       speedup AS "speed-up", speedup_low AS "from", speedup_high AS "to",
       CASE WHEN n_kept = 0 THEN NULL WHEN n_unchecked = 0 THEN 'checked' ELSE printf('%d NOT checked', n_unchecked) END AS results,
       if(simulated, 'simulated', 'measured') AS times
FROM run_worth
WHERE run_id = (SELECT run_id FROM selection ORDER BY decided_at DESC, run_id LIMIT 1);
