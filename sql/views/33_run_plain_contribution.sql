-- Share of each plain problem in the time of the run's workload.
CREATE OR REPLACE VIEW run_plain_contribution AS
SELECT t.run_id, t.plain_id, min(c.seq) AS seq, sum(c.share_pct ORDER BY c.seq) AS share_pct, bool_or(c.kept) AS kept
FROM run_plain AS t
JOIN run_contribution AS c ON c.run_id = t.run_id AND c.problem_id = t.problem_id
GROUP BY t.run_id, t.plain_id;
