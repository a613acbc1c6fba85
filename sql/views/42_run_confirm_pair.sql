-- Reference and candidate of one shape in one round of one confirmation job: same device, seconds apart. A look is a job.
CREATE OR REPLACE VIEW run_confirm_pair AS
WITH t AS (
    SELECT t.run_id, t.problem_id, t.job_id, t.block_id, t.round, t.arm, t.solution_id, median(t.us) AS us,
           min(t.solution_index) AS solution_index, bool_or(t.simulated) AS simulated
    FROM run_timing AS t
    JOIN run AS r ON r.run_id = t.run_id
    JOIN job AS j ON j.job_id = t.job_id
    WHERE t.job_kind = 'confirm' AND t.role = 'confirm' AND t.solution_id IS NOT NULL
      -- Not of a tuned library that the run has built anew since.
      AND (r.kind = 'search' OR j.library_id = r.tuned_library_id)
    GROUP BY ALL
)
SELECT c.run_id, c.problem_id, c.job_id, c.block_id, c.round, c.solution_id, c.solution_index, r.solution_id AS reference_id,
       r.us AS us_reference, c.us AS us_candidate, ln(r.us / c.us) AS log_ratio, c.simulated
FROM t AS c
JOIN t AS r ON r.run_id = c.run_id AND r.problem_id = c.problem_id AND r.block_id = c.block_id AND r.round = c.round
           AND r.arm = 'reference'
WHERE c.arm = 'candidate';
