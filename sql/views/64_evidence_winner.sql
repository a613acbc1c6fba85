-- The fastest solution of each problem in all evidence, ingested results too, within one environment, protocol and library. There is
-- no ratio to another harness or protocol here: such a difference is none between kernels. Ratios come from pairs (run_pair,
-- run_confirm_pair) alone.
CREATE OR REPLACE VIEW evidence_winner AS
SELECT problem_id, environment_id, protocol_id, library_id, solution_id, us, n_samples, n_candidates, simulated
FROM (
    SELECT problem_id, environment_id, protocol_id, library_id, solution_id, median(us) AS us, count(*) AS n_samples,
           bool_or(simulated) AS simulated, count(*) OVER (PARTITION BY problem_id, environment_id, protocol_id, library_id) AS n_candidates
    FROM timing
    WHERE solution_id IS NOT NULL AND role <> 'baseline'
    GROUP BY problem_id, environment_id, protocol_id, library_id, solution_id
)
QUALIFY row_number() OVER (PARTITION BY problem_id, environment_id, protocol_id, library_id ORDER BY us, solution_id) = 1;
