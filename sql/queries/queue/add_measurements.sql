-- Measurements of results, with what follows from their jobs (input: measured). The id follows from job, lease and
-- position. Rows of a late result are evidence that never wins.
INSERT INTO measurement BY NAME
SELECT content_id('measurement', concat_ws('|', job_id, token, ordinal)) AS measurement_id,
       coalesce(problem_id, job_problem_id)::UUID AS problem_id, coalesce(library_id, job_library_id)::UUID AS library_id,
       CASE WHEN late THEN 'late' ELSE outcome END AS outcome, coalesce(measured_at, $now) AS measured_at,
       * EXCLUDE (token, ordinal, problem_id, library_id, outcome, measured_at, late, job_problem_id, job_library_id)
FROM measured;
