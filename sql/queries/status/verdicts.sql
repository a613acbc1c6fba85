-- How the shapes of the last decided run were judged.
SELECT class AS verdict, count(*) AS shapes, sum(share_pct) AS "share %", (exp(avg(ln(ratio))) - 1) * 100 AS "geomean uplift %",
       if(bool_or(simulated), 'simulated', 'measured') AS times,
       CASE WHEN class IN ('kept', 'new_solution') THEN if(bool_and(check_outcome IS NOT DISTINCT FROM 'passed'), 'checked', 'NOT checked') END AS results,
       min(reason) AS "for example"
FROM selection
WHERE run_id = (SELECT run_id FROM selection ORDER BY decided_at DESC, run_id LIMIT 1)
GROUP BY class ORDER BY shapes DESC, class;
