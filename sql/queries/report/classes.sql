-- The verdicts of a run: shapes and share of the time by class.
SELECT class, count(*) AS shapes, sum(share_pct) AS share_pct, any_value(reason ORDER BY share_pct DESC NULLS LAST) AS example
FROM selection WHERE run_id = $run_id::UUID
GROUP BY class ORDER BY shapes DESC, class;
