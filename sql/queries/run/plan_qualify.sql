-- The fastest solutions of the dense search timed again beside the stock library's own choice, for shapes that have more of them than
-- are confirmed: the fastest of hundreds is fast by luck, and the one that really is may stand behind some that were luckier.
-- As long as in the search, $rounds times; rows of a shape stand side by side, a job is a chunk of shapes on one device.
WITH candidate AS (
    SELECT problem_id, solution_index, search_place FROM run_proposal
    WHERE run_id = $run_id::UUID AND search_place <= $n_qualify
    QUALIFY count(*) OVER (PARTITION BY problem_id) > $n_candidates
), shape AS (
    SELECT k.problem_id, k.us, q, row_number() OVER (ORDER BY k.seq) AS nr
    FROM run_contribution AS k
    JOIN problem AS q ON q.problem_id = k.problem_id
    WHERE k.run_id = $run_id::UUID AND k.kept AND k.problem_id IN (SELECT problem_id FROM candidate)
), cell AS (
    SELECT (s.nr - 1) // $chunk AS chunk_no, s.nr, s.problem_id, 0 AS place, 0 AS arm, NULL::BIGINT AS solution_index, s.us, s.q FROM shape AS s
    UNION ALL BY NAME
    SELECT (s.nr - 1) // $chunk AS chunk_no, s.nr, s.problem_id, c.search_place AS place, 1 AS arm, c.solution_index, s.us, s.q
    FROM shape AS s JOIN candidate AS c ON c.problem_id = s.problem_id
), bench AS (
    SELECT chunk_no, nr, problem_id, place, arm, solution_index, 2e-6 * us * iterations($duration_s, us, $iters) AS row_s,
           timed_row(q, $settings::JSON, iterations($duration_s, us, $iters), iterations($duration_s, us, $cold_iters)) AS bench_row
    FROM cell
)
SELECT
    job_key('screen', string_agg(concat(problem_id, '=', coalesce(solution_index, -1)), ',' ORDER BY nr, place), $library_id, $protocol_id,
            $environment_id, $rounds::VARCHAR) AS job_id,
    'screen' AS kind, $priority::DOUBLE AS priority, sum(row_s) * $rounds AS cost_s,
    concat_ws('|', 'qualify', $library_id, $protocol_id, $environment_id, chunk_no) AS batch_key,
    NULL::UUID AS problem_id, $library_id::UUID AS library_id, $protocol_id::UUID AS protocol_id, $environment_id::UUID AS environment_id,
    $max_attempts::INTEGER AS max_attempts, ($timeout_s + 10 * sum(row_s)) * $rounds AS timeout_s,
    json_object(
        'harness', 'hipblaslt-bench', 'root', $root, 'problem_ids', list(problem_id::VARCHAR ORDER BY nr, place),
        'rows', list(if(arm = 0, bench_row, json_merge_patch(bench_row, json_object('algo_method', 2, 'solution_index', solution_index)))
                     ORDER BY nr, place),
        'row_arms', list(arm ORDER BY nr, place),
        'arms', [json_object('name', 'reference', 'library_id', $library_id, 'libpath', $libpath),
                 json_object('name', 'candidate', 'library_id', $library_id, 'libpath', $libpath)],
        'rounds', $rounds, 'env', $env::JSON, 'check', false)::VARCHAR AS spec
FROM bench
GROUP BY chunk_no
ORDER BY chunk_no;
