-- The next look at the candidates of a run's shapes. Look 1: the first of `run_proposal`, while they are faster than the stock
-- library's own choice. Later looks: shapes that are still open, with their open candidates, as many pairs again as
-- they have; left alone are those that the rest of the shape's budget can't decide. The run's budget goes to the shapes that
-- could save most. One job is a chunk of shapes on one device; in every round the rows of a shape stand side by side, and the
-- order is turned around from round to round.
WITH candidate AS (
    SELECT problem_id, solution_index, us, place AS rank FROM run_proposal
    WHERE $look = 1 AND run_id = $run_id::UUID AND place <= $n_candidates AND (log_ratio > 0 OR n_rounds = 0 OR place = 1)
    UNION ALL BY NAME
    SELECT c.problem_id, c.solution_index, c.us_candidate AS us,
           row_number() OVER (PARTITION BY c.problem_id ORDER BY c.ratio DESC, c.solution_index) AS rank
    FROM confirmation AS c
    JOIN run_confirm AS s ON s.run_id = c.run_id AND s.problem_id = c.problem_id AND s.state = 'open' AND s.n_looks = $look - 1
    WHERE $look > 1 AND c.run_id = $run_id::UUID AND c.state = 'open'
), shape AS (
    SELECT k.problem_id, k.seq, k.us, k.call_count * (k.us - min(c.us)) AS worth_us, count(*) AS n_rows,
           look_pairs($look) - if($look = 1, 0, look_pairs(greatest($look - 1, 1))) AS n_rounds
    FROM run_contribution AS k
    JOIN candidate AS c ON c.problem_id = k.problem_id
    WHERE k.run_id = $run_id::UUID AND k.kept
    GROUP BY k.problem_id, k.seq, k.us, k.call_count
), priced AS (
    SELECT s.*, (s.n_rows + 1) * coalesce(f.row_s, 2e-6 * s.us * iterations($duration_s, s.us, $iters)) AS round_s,
           coalesce(f.spent_s, 0) AS spent_s, f.n_pairs, f.n_needed
    FROM shape AS s
    LEFT JOIN run_confirm AS f ON f.run_id = $run_id::UUID AND f.problem_id = s.problem_id
), affordable AS (
    SELECT * FROM priced
    WHERE spent_s + n_rounds * round_s <= $shape_budget_s
      AND ($look = 1 OR n_needed <= n_pairs + ($shape_budget_s - spent_s) / round_s)
), chosen AS (
    SELECT *, (row_number() OVER (ORDER BY worth_us DESC, seq) - 1) // $chunk AS chunk_no
    FROM (SELECT *, sum(n_rounds * round_s) OVER (ORDER BY worth_us DESC, seq) AS until_s FROM affordable)
    WHERE until_s + coalesce((SELECT sum(spent_s) FROM run_confirm WHERE run_id = $run_id::UUID), 0) <= $run_budget_s
), entry AS (
    SELECT s.chunk_no, s.seq, s.problem_id, s.n_rounds, s.round_s, s.us, q, unnest([true, false]) AS is_first
    FROM chosen AS s JOIN problem AS q ON q.problem_id = s.problem_id
), cell AS (
    SELECT e.chunk_no, e.seq, e.problem_id, e.n_rounds, if(e.is_first, e.round_s, 0) AS round_s, if(e.is_first, 0, 1) AS arm,
           coalesce(c.rank, 0) AS rank, c.solution_index,
           timed_row(q, $settings::JSON, iterations($duration_s, e.us, $iters), iterations($duration_s, e.us, $cold_iters)) AS bench
    FROM entry AS e
    LEFT JOIN candidate AS c ON NOT e.is_first AND c.problem_id = e.problem_id
)
SELECT
    job_key('confirm', string_agg(concat(problem_id, '=', coalesce(solution_index, -1)), ',' ORDER BY seq, rank),
            $candidate_library_id, $protocol_id, $environment_id, concat($library_id, '|', $look)) AS job_id,
    'confirm' AS kind, $priority::DOUBLE AS priority, sum(round_s) * any_value(n_rounds) AS cost_s,
    concat_ws('|', 'confirm', $candidate_library_id, $protocol_id, $look, chunk_no) AS batch_key,
    NULL::UUID AS problem_id, $candidate_library_id::UUID AS library_id, $protocol_id::UUID AS protocol_id,
    $environment_id::UUID AS environment_id, $max_attempts::INTEGER AS max_attempts,
    $timeout_s * any_value(n_rounds) + 10 * sum(round_s) * any_value(n_rounds) AS timeout_s,
    json_object(
        'harness', 'hipblaslt-bench', 'root', $root, 'problem_ids', list(problem_id::VARCHAR ORDER BY seq, rank),
        'rows', list(if(arm = 0, bench, json_merge_patch(bench, json_object('algo_method', 2, 'solution_index', solution_index)))
                     ORDER BY seq, rank),
        'row_arms', list(arm ORDER BY seq, rank),
        'arms', [json_object('name', 'reference', 'library_id', $library_id, 'libpath', $libpath),
                 json_object('name', 'candidate', 'library_id', $candidate_library_id, 'libpath', $candidate_libpath)],
        'rounds', any_value(n_rounds), 'env', $env::JSON, 'check', false)::VARCHAR AS spec
FROM cell
GROUP BY chunk_no
ORDER BY chunk_no;
