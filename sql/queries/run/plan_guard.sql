-- Comparisons of the library before and the deployed one over all problems of a guard, tuned or not, in chunks: as in
-- run/plan_compare. Times for the iterations come from the run that is guarded.
WITH item AS (
    SELECT q, p.problem_id, p.seq, c.us, (row_number() OVER (ORDER BY p.seq) - 1) // $chunk AS chunk_no
    FROM run_problem AS p
    JOIN run_contribution AS c ON c.run_id = $guarded_run_id::UUID AND c.problem_id = p.problem_id
    JOIN problem AS q ON q.problem_id = p.problem_id
    WHERE p.run_id = $run_id::UUID AND c.us IS NOT NULL
), timed AS (
    SELECT problem_id, seq, chunk_no, us, iterations($duration_s, us, $iters) AS n,
           timed_row(q, $settings::JSON, iterations($duration_s, us, $iters), iterations($duration_s, us, $cold_iters)) AS bench
    FROM item
)
SELECT
    job_key('compare', string_agg(problem_id::VARCHAR, ',' ORDER BY seq), $tuned_library_id, $protocol_id, $environment_id,
            concat($library_id, '|', $rounds)) AS job_id,
    'compare' AS kind, $priority::DOUBLE AS priority, sum(2e-6 * us * n ORDER BY seq) * 2 * $rounds AS cost_s,
    concat_ws('|', 'compare', $tuned_library_id, $protocol_id, chunk_no) AS batch_key,
    NULL::UUID AS problem_id, $tuned_library_id::UUID AS library_id, $protocol_id::UUID AS protocol_id,
    $environment_id::UUID AS environment_id, $max_attempts::INTEGER AS max_attempts,
    $timeout_s * $rounds + 10 * sum(2e-6 * us * n ORDER BY seq) * 2 * $rounds AS timeout_s,
    json_object(
        'harness', 'hipblaslt-bench', 'root', $root, 'problem_ids', list(problem_id::VARCHAR ORDER BY seq),
        'rows', list(bench ORDER BY seq),
        'arms', [json_object('name', 'reference', 'library_id', $library_id, 'libpath', $libpath),
                 json_object('name', 'tuned', 'library_id', $tuned_library_id, 'libpath', $tuned_libpath)],
        'rounds', $rounds::INTEGER, 'env', $env::JSON, 'check', false)::VARCHAR AS spec
FROM timed
GROUP BY chunk_no
ORDER BY chunk_no;
