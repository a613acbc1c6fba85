-- The next look at a tuned library as a whole: reference and tuned library in alternating rounds over the shapes that have a chosen
-- solution, each library choosing for itself. Looks, budgets and order are those of run/plan_confirm.
WITH shape AS (
    SELECT w.problem_id, c.seq, c.us, c.call_count * (c.us - w.us) AS worth_us,
           look_pairs($look) - if($look = 1, 0, look_pairs(greatest($look - 1, 1))) AS n_rounds
    FROM run_choice AS w
    JOIN run_contribution AS c ON c.run_id = w.run_id AND c.problem_id = w.problem_id
    LEFT JOIN run_confirm AS s ON s.run_id = w.run_id AND s.problem_id = w.problem_id
    WHERE w.run_id = $run_id::UUID AND c.kept AND c.us IS NOT NULL
      AND if($look = 1, true, s.state = 'open' AND s.n_looks = $look - 1)
), priced AS (
    SELECT s.*, 2 * coalesce(f.row_s, 2e-6 * s.us * iterations($duration_s, s.us, $iters)) AS round_s,
           coalesce(f.spent_s, 0) AS spent_s, f.n_pairs, f.n_needed
    FROM shape AS s
    LEFT JOIN run_confirm AS f ON f.run_id = $run_id::UUID AND f.problem_id = s.problem_id
), affordable AS (
    SELECT * FROM priced
    WHERE $look = 1 OR (spent_s + n_rounds * round_s <= $shape_budget_s
                        AND n_needed <= n_pairs + ($shape_budget_s - spent_s) / round_s)
), chosen AS (
    SELECT *, (row_number() OVER (ORDER BY worth_us DESC, seq) - 1) // $chunk AS chunk_no
    FROM (SELECT *, sum(n_rounds * round_s) OVER (ORDER BY worth_us DESC, seq) AS until_s FROM affordable)
    WHERE $look = 1 OR until_s + coalesce((SELECT sum(spent_s ORDER BY problem_id) FROM run_confirm WHERE run_id = $run_id::UUID), 0) <= $run_budget_s
), cell AS (
    SELECT s.*, timed_row(q, $settings::JSON, iterations($duration_s, s.us, $iters), iterations($duration_s, s.us, $cold_iters)) AS bench
    FROM chosen AS s JOIN problem AS q ON q.problem_id = s.problem_id
)
SELECT
    job_key('confirm', string_agg(problem_id::VARCHAR, ',' ORDER BY seq), $candidate_library_id, $protocol_id, $environment_id,
            concat($library_id, '|', $look)) AS job_id,
    'confirm' AS kind, $priority::DOUBLE AS priority, sum(round_s ORDER BY seq) * any_value(n_rounds) AS cost_s,
    concat_ws('|', 'confirm', $candidate_library_id, $protocol_id, $look, chunk_no) AS batch_key,
    NULL::UUID AS problem_id, $candidate_library_id::UUID AS library_id, $protocol_id::UUID AS protocol_id,
    $environment_id::UUID AS environment_id, $max_attempts::INTEGER AS max_attempts,
    $timeout_s * any_value(n_rounds) + 10 * sum(round_s ORDER BY seq) * any_value(n_rounds) AS timeout_s,
    json_object(
        'harness', 'hipblaslt-bench', 'root', $root, 'problem_ids', list(problem_id::VARCHAR ORDER BY seq),
        'rows', list(bench ORDER BY seq),
        'arms', [json_object('name', 'reference', 'library_id', $library_id, 'libpath', $libpath),
                 json_object('name', 'candidate', 'library_id', $candidate_library_id, 'libpath', $candidate_libpath)],
        'rounds', any_value(n_rounds), 'env', $env::JSON, 'check', false)::VARCHAR AS spec
FROM cell
GROUP BY chunk_no
ORDER BY chunk_no;
