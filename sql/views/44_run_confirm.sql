-- Where the confirmation of each shape stands (table confirmation): kept when a candidate is, rejected when all are, else open,
-- with the pairs that would decide it and the device seconds that it has cost.
CREATE OR REPLACE VIEW run_confirm AS
WITH cost AS (
    SELECT k.run_id, m.problem_id, count(DISTINCT m.job_id) AS n_looks,
           sum(m.us * (m.iters + coalesce(m.cold_iters, 0)) ORDER BY m.us, m.iters) / 1e6 AS spent_s,
           avg(m.us * (m.iters + coalesce(m.cold_iters, 0)) ORDER BY m.us, m.iters) / 1e6 AS row_s
    FROM run_job AS k
    JOIN run AS r ON r.run_id = k.run_id
    JOIN job AS j ON j.job_id = k.job_id AND j.kind = 'confirm' AND (r.kind = 'search' OR j.library_id = r.tuned_library_id)
    JOIN measurement AS m ON m.job_id = j.job_id AND m.outcome = 'ok'
    GROUP BY ALL
), states AS (
    SELECT run_id, problem_id, max(n_candidates) AS n_candidates, count(*) FILTER (WHERE state = 'open') AS n_open,
           max(n_pairs) AS n_pairs, max(spread) FILTER (WHERE state = 'open') AS spread, max(ratio) AS ratio,
           CASE WHEN bool_or(state = 'kept') THEN 'kept' WHEN bool_or(state = 'open') THEN 'open' ELSE 'rejected' END AS state,
           -- One candidate must be kept, or all rejected.
           least(min(n_keep) FILTER (WHERE state = 'open'),
                 max(coalesce(n_reject, 'inf'::DOUBLE)) FILTER (WHERE state = 'open')) AS n_needed
    FROM confirmation
    GROUP BY run_id, problem_id
)
SELECT s.run_id, s.problem_id, s.state, s.n_candidates, s.n_open, s.n_pairs, c.n_looks, s.ratio, s.spread, s.n_needed, c.spent_s,
       c.row_s
FROM states AS s
JOIN cost AS c ON c.run_id = s.run_id AND c.problem_id = s.problem_id;
