-- Validations of results, with what follows from their jobs (input: validated). Those of a late result check nothing and
-- keep their outcome in extra.
INSERT INTO validation BY NAME
SELECT concat(left(token, 28), printf('%08x', ordinal))::UUID AS validation_id,
       coalesce(problem_id, job_problem_id)::UUID AS problem_id, coalesce(library_id, job_library_id)::UUID AS library_id,
       CASE WHEN late THEN 'not_checked' ELSE outcome END AS outcome, coalesce(measured_at, now_at) AS measured_at,
       CASE WHEN late
            THEN json_merge_patch(coalesce(extra, '{}')::JSON, json_object('late', true, 'outcome', outcome))::VARCHAR
            ELSE extra END AS extra,
       * EXCLUDE (token, ordinal, problem_id, library_id, outcome, measured_at, extra, now_at, late, job_problem_id,
                  job_library_id)
FROM validated;
