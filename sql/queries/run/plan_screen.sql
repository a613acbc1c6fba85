-- One dense search per kept problem: every solution of the library is timed for duration_s; a solution whose warm-up is much
-- slower than the best so far is skipped (ratio 0.6 for long GEMMs, 0.3 for short ones, where warm-ups are noisier).
SELECT
    job_key('screen', q.problem_id::VARCHAR, $library_id, $protocol_id, $environment_id, '') AS job_id,
    'screen' AS kind, $priority::DOUBLE AS priority, 2 * $duration_s * $expected_candidates AS cost_s,
    concat_ws('|', 'screen', $library_id, $protocol_id, $environment_id) AS batch_key,
    q.problem_id, $library_id::UUID AS library_id, $protocol_id::UUID AS protocol_id, $environment_id::UUID AS environment_id,
    $max_attempts::INTEGER AS max_attempts, $timeout_s + 20 * $duration_s * $expected_candidates AS timeout_s,
    json_object(
        'harness', 'hipblaslt-bench', 'root', $root, 'problem_ids', [q.problem_id::VARCHAR],
        'rows', [json_merge_patch(
            timed_row(q, $settings::JSON, iterations($duration_s, c.us, $iters), iterations($duration_s, c.us, $cold_iters)),
            json_object(
                'algo_method', 0, 'requested_solution_num', -1,
                'skip_slow_solution_ratio',
                CASE WHEN c.us IS NOT NULL THEN if(c.us > 20, 0.6, 0.3)
                     WHEN q.m > 2048 AND q.n > 2048 AND q.k > 1024 THEN 0.6 ELSE 0.3 END))],
        'arms', [json_object('name', NULL, 'library_id', $library_id, 'libpath', $libpath)],
        'rounds', 1, 'env', $env::JSON, 'check', false)::VARCHAR AS spec
FROM run_contribution AS c
JOIN problem AS q ON q.problem_id = c.problem_id
WHERE c.run_id = $run_id::UUID AND c.kept AND c.us IS NOT NULL
ORDER BY c.total_us DESC, c.seq;
