-- The fastest candidate per problem of a run; among equals the stock library's own choice, then the lowest solution index.
CREATE OR REPLACE VIEW run_winner AS
SELECT c.run_id, c.problem_id, c.solution_id, c.solution_index, c.us, c.n_samples, c.measurement_id, c.simulated,
       c.solution_id IS NOT DISTINCT FROM b.solution_id AS is_stock_choice
FROM run_candidate AS c
LEFT JOIN run_baseline AS b ON b.run_id = c.run_id AND b.problem_id = c.problem_id
QUALIFY row_number() OVER (
    PARTITION BY c.run_id, c.problem_id
    ORDER BY c.us, (c.solution_id IS NOT DISTINCT FROM b.solution_id) DESC, c.solution_index, c.solution_id) = 1;
