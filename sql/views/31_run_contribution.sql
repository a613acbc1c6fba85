-- Share of each problem in the time of the run's workload: call_count × baseline time. Added up in a fixed order, here as in all
-- views: the last digits of a sum depend on it, and the same run must give the same bytes.
CREATE OR REPLACE VIEW run_contribution AS
SELECT
    p.run_id, p.problem_id, p.seq, p.call_count, p.kept, b.us, b.solution_id, b.solution_index, b.measurement_id,
    p.call_count * b.us AS total_us,
    100.0 * p.call_count * b.us / sum(p.call_count * b.us) OVER (
        PARTITION BY p.run_id ORDER BY p.seq ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS share_pct
FROM run_problem AS p
LEFT JOIN run_baseline AS b ON b.run_id = p.run_id AND b.problem_id = p.problem_id;
