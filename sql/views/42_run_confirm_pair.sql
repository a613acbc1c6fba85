-- Reference and candidate of one shape in one round of one confirmation job: same device, seconds apart. A look is a job.
CREATE OR REPLACE VIEW run_confirm_pair AS
WITH t AS (
    SELECT run_id, problem_id, job_id, block_id, round, arm, solution_id, median(us) AS us,
           min(solution_index) AS solution_index, bool_or(simulated) AS simulated
    FROM run_timing
    WHERE job_kind = 'confirm' AND role = 'confirm' AND solution_id IS NOT NULL
    GROUP BY ALL
)
SELECT c.run_id, c.problem_id, c.job_id, c.block_id, c.round, c.solution_id, c.solution_index, r.solution_id AS reference_id,
       r.us AS us_reference, c.us AS us_candidate, ln(r.us / c.us) AS log_ratio, c.simulated
FROM t AS c
JOIN t AS r ON r.run_id = c.run_id AND r.problem_id = c.problem_id AND r.block_id = c.block_id AND r.round = c.round
           AND r.arm = 'reference'
WHERE c.arm = 'candidate';
