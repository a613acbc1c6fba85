-- Measurements of results, with what follows from their jobs (input: measured). The id follows from the lease and the
-- position. Rows of a late result are evidence that never wins.
INSERT INTO measurement BY NAME
SELECT concat(left(token, 28), printf('%08x', ordinal))::UUID AS measurement_id,
       coalesce(problem_id, job_problem_id)::UUID AS problem_id, coalesce(library_id, job_library_id)::UUID AS library_id,
       CASE WHEN late THEN 'late' ELSE outcome END AS outcome, coalesce(measured_at, now_at) AS measured_at,
       * EXCLUDE (token, ordinal, problem_id, library_id, outcome, measured_at, now_at, late, job_problem_id,
                  job_library_id)
FROM measured;
