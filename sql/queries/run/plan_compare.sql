-- Comparisons of a reference and another library in chunks of equal cost order: one job is a chunk on one device, so that its pairs
-- are taken minutes apart under the same clocks. Of a search or tuning ($guarded_run_id NULL): stock and tuned library over the kept
-- problems that have a chosen solution. Of a guard: the library before and the deployed one over all problems of the guarded run,
-- tuned or not.
WITH wanted AS (
    SELECT w.problem_id, c.seq, least(c.us, w.us) AS us
    FROM run_choice AS w
    JOIN run_contribution AS c ON c.run_id = w.run_id AND c.problem_id = w.problem_id
    WHERE $guarded_run_id::UUID IS NULL AND w.run_id = $run_id::UUID AND c.kept AND c.us IS NOT NULL
    UNION ALL
    SELECT p.problem_id, p.seq, c.us
    FROM run_problem AS p
    JOIN run_contribution AS c ON c.run_id = $guarded_run_id::UUID AND c.problem_id = p.problem_id
    WHERE p.run_id = $run_id::UUID AND c.us IS NOT NULL
), item AS (
    SELECT q, w.problem_id, w.seq, w.us, (row_number() OVER (ORDER BY w.seq) - 1) // $chunk AS chunk_no
    FROM wanted AS w
    JOIN problem AS q ON q.problem_id = w.problem_id
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
