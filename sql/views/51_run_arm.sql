-- What each library did with a shape in the comparison of a run: median time and the kernel it really chose. Before a tuned
-- library is built and compared there are the arms of the confirmation: the stock library's choice and the best candidate.
CREATE OR REPLACE VIEW run_arm AS
WITH compared AS (
    SELECT
        t.run_id, t.problem_id, t.arm, median(t.us) AS us, count(*) AS n_samples,
        mode(t.solution_id ORDER BY t.solution_id) AS solution_id, mode(t.solution_index ORDER BY t.solution_index) AS solution_index,
        first(t.measurement_id ORDER BY abs(t.us - m.us_median), t.us, t.round) AS measurement_id
    FROM run_timing AS t
    JOIN run AS r ON r.run_id = t.run_id
    JOIN job AS j ON j.job_id = t.job_id
    JOIN (SELECT run_id, problem_id, arm, median(us) AS us_median FROM run_timing WHERE job_kind = 'compare' GROUP BY ALL) AS m
      ON m.run_id = t.run_id AND m.problem_id = t.problem_id AND m.arm = t.arm
    WHERE t.job_kind = 'compare' AND (r.tuned_library_id IS NULL OR j.library_id = r.tuned_library_id)
    GROUP BY t.run_id, t.problem_id, t.arm
), confirmed AS (
    SELECT t.run_id, t.problem_id, if(t.arm = 'reference', 'reference', 'tuned') AS arm, median(t.us) AS us, count(*) AS n_samples,
           mode(t.solution_id ORDER BY t.solution_id) AS solution_id, mode(t.solution_index ORDER BY t.solution_index) AS solution_index,
           first(t.measurement_id ORDER BY abs(t.us - if(t.arm = 'reference', s.us_reference, s.us_candidate)), t.us, t.round)
               AS measurement_id,
           -- In a run that tunes the candidate is what the built library chose.
           bool_and(r.kind <> 'search') AS is_compared
    FROM run_timing AS t
    JOIN run AS r ON r.run_id = t.run_id
    JOIN job AS j ON j.job_id = t.job_id AND (r.kind = 'search' OR j.library_id = r.tuned_library_id)
    JOIN run_shown_candidate AS s ON s.run_id = t.run_id AND s.problem_id = t.problem_id
    WHERE t.job_kind = 'confirm' AND t.role = 'confirm' AND (t.arm = 'reference' OR t.solution_id = s.solution_id)
    GROUP BY ALL
)
SELECT *, true AS is_compared FROM compared
UNION ALL BY NAME
SELECT c.* FROM confirmed AS c
WHERE NOT EXISTS (SELECT 1 FROM compared AS x WHERE x.run_id = c.run_id AND x.problem_id = c.problem_id AND x.arm = c.arm);
