-- The candidate whose figures stand for a shape: the one that was chosen, else the best that is open, else the best.
CREATE OR REPLACE VIEW run_shown_candidate AS
SELECT c.*
FROM confirmation AS c
LEFT JOIN run_choice AS x ON x.run_id = c.run_id AND x.problem_id = c.problem_id AND x.solution_id = c.solution_id
QUALIFY row_number() OVER (
    PARTITION BY c.run_id, c.problem_id
    ORDER BY x.solution_id IS NOT NULL DESC, c.state = 'kept' DESC, c.state = 'open' DESC, c.ratio DESC, c.solution_index, c.solution_id) = 1;
