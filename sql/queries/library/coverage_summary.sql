-- How much of a workload a library covers, by status and reason. Input: rows of library/coverage.
SELECT status, reason, count(*) AS shapes, sum(call_count)::BIGINT AS calls, sum(share_pct) AS share_pct,
       count(*) FILTER (WHERE us_source = 'guessed') AS guessed, bool_or(us_source = 'simulated') AS simulated
FROM rows
GROUP BY status, reason
ORDER BY CASE status WHEN 'hit' THEN 0 WHEN 'fallback' THEN 1 ELSE 2 END, share_pct DESC, reason;
