-- Comparisons of reference and tuned library over the kept problems that have a chosen solution, in chunks of equal cost order: one
-- job is a chunk on one device, so that its pairs are taken minutes apart under the same clocks.
WITH item AS (
    SELECT q, w.problem_id, c.seq, least(c.us, w.us) AS us,
           (row_number() OVER (ORDER BY c.seq) - 1) // $chunk AS chunk_no
    FROM run_choice AS w
    JOIN run_contribution AS c ON c.run_id = w.run_id AND c.problem_id = w.problem_id
    JOIN problem AS q ON q.problem_id = w.problem_id
    WHERE w.run_id = $run_id::UUID AND c.kept
), timed AS (
    SELECT problem_id, seq, chunk_no, us, iterations($duration_s, us, $iters) AS n,
           timed_row(q, $settings::JSON, iterations($duration_s, us, $iters), iterations($duration_s, us, $cold_iters)) AS bench
    FROM item
)
SELECT
    job_key('compare', string_agg(problem_id::VARCHAR, ',' ORDER BY seq), $tuned_library_id, $protocol_id, $environment_id,
            concat($library_id, '|', $rounds)) AS job_id,
    'compare' AS kind, $priority::DOUBLE AS priority, sum(2e-6 * us * n) * 2 * $rounds AS cost_s,
    concat_ws('|', 'compare', $tuned_library_id, $protocol_id, chunk_no) AS batch_key,
    NULL::UUID AS problem_id, $tuned_library_id::UUID AS library_id, $protocol_id::UUID AS protocol_id,
    $environment_id::UUID AS environment_id, $max_attempts::INTEGER AS max_attempts,
    $timeout_s * $rounds + 10 * sum(2e-6 * us * n) * 2 * $rounds AS timeout_s,
    json_object(
        'harness', 'hipblaslt-bench', 'root', $root, 'problem_ids', list(problem_id::VARCHAR ORDER BY seq),
        'rows', list(bench ORDER BY seq),
        'arms', [json_object('name', 'reference', 'library_id', $library_id, 'libpath', $libpath),
                 json_object('name', 'tuned', 'library_id', $tuned_library_id, 'libpath', $tuned_libpath)],
        'rounds', $rounds::INTEGER, 'env', $env::JSON, 'check', false)::VARCHAR AS spec
FROM timed
GROUP BY chunk_no
ORDER BY chunk_no;
