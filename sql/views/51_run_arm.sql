-- What each library did with a shape in the comparison of a run: median time and the kernel it really chose.
CREATE OR REPLACE VIEW run_arm AS
SELECT
    t.run_id, t.problem_id, t.arm, median(t.us) AS us, count(*) AS n_samples, mode(t.solution_id) AS solution_id,
    mode(t.solution_index) AS solution_index, arg_min(t.measurement_id, abs(t.us - m.us_median)) AS measurement_id
FROM run_timing AS t
JOIN run AS r ON r.run_id = t.run_id
JOIN job AS j ON j.job_id = t.job_id
JOIN (SELECT run_id, problem_id, arm, median(us) AS us_median FROM run_timing WHERE job_kind = 'compare' GROUP BY ALL) AS m
  ON m.run_id = t.run_id AND m.problem_id = t.problem_id AND m.arm = t.arm
WHERE t.job_kind = 'compare' AND (r.tuned_library_id IS NULL OR j.library_id = r.tuned_library_id)
GROUP BY t.run_id, t.problem_id, t.arm;
