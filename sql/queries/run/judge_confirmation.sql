-- Judge the candidates of a run by all pairs that it has, and how much slower than the best of the shape each of them is over the
-- rounds that both ran in.
INSERT INTO confirmation BY NAME
WITH judged AS MATERIALIZED (
    FROM run_confirm_candidate WHERE run_id = $run_id::UUID
), pair AS MATERIALIZED (
    SELECT problem_id, solution_id, block_id, round, us_candidate FROM run_confirm_pair WHERE run_id = $run_id::UUID
), best AS (
    SELECT problem_id, solution_id FROM judged
    QUALIFY row_number() OVER (PARTITION BY problem_id ORDER BY state = 'kept' DESC, ratio DESC, solution_index, solution_id) = 1
), lost AS (
    SELECT c.problem_id, c.solution_id, avg(ln(c.us_candidate / b.us_candidate) ORDER BY c.us_candidate / b.us_candidate) AS loss, count(*) AS n,
           coalesce(stddev_samp(ln(c.us_candidate / b.us_candidate) ORDER BY c.us_candidate / b.us_candidate), 0) / sqrt(count(*)) AS se
    FROM best AS x
    JOIN pair AS b ON b.problem_id = x.problem_id AND b.solution_id = x.solution_id
    JOIN pair AS c ON c.problem_id = b.problem_id AND c.block_id = b.block_id AND c.round = b.round
    GROUP BY ALL
)
SELECT j.*, l.loss, if(l.n >= 4, l.loss - t_quantile(0.025, l.n - 1) * l.se, NULL) AS loss_low, $now::TIMESTAMPTZ AS decided_at
FROM judged AS j
LEFT JOIN lost AS l ON l.problem_id = j.problem_id AND l.solution_id = j.solution_id;
