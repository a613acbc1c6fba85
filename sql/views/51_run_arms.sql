-- Both arms of `run_arm` side by side, a row a shape; an arm has one row there.
CREATE OR REPLACE VIEW run_arms AS
SELECT run_id, problem_id,
       min(solution_id) FILTER (WHERE arm = 'reference') AS reference_id, min(solution_id) FILTER (WHERE arm = 'tuned') AS tuned_id,
       min(solution_index) FILTER (WHERE arm = 'reference') AS reference_index,
       min(solution_index) FILTER (WHERE arm = 'tuned') AS tuned_index, min(us) FILTER (WHERE arm = 'tuned') AS tuned_us,
       min(measurement_id) FILTER (WHERE arm = 'reference') AS reference_measurement_id,
       min(measurement_id) FILTER (WHERE arm = 'tuned') AS tuned_measurement_id,
       coalesce(bool_or(is_compared) FILTER (WHERE arm = 'tuned'), false) AS is_compared
FROM run_arm
GROUP BY run_id, problem_id;
