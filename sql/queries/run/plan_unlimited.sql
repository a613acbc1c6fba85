-- One baseline job without the limit of workspace per problem of the run that has no solution within it.
SELECT
    job_key('baseline', q.problem_id::VARCHAR, $library_id, $protocol_id, $environment_id, '') AS job_id,
    'baseline' AS kind, $priority::DOUBLE AS priority, 2e-6 * guessed_us(q) * $iters AS cost_s,
    concat_ws('|', 'baseline', $library_id, $protocol_id, $environment_id) AS batch_key,
    q.problem_id, $library_id::UUID AS library_id, $protocol_id::UUID AS protocol_id, $environment_id::UUID AS environment_id,
    $max_attempts::INTEGER AS max_attempts, $timeout_s + 10 * 2e-6 * guessed_us(q) * $iters AS timeout_s,
    json_object(
        'harness', 'hipblaslt-bench', 'root', $root, 'problem_ids', [q.problem_id::VARCHAR],
        'rows', [timed_row(q, $settings::JSON, $iters, $cold_iters)],
        'arms', [json_object('name', NULL, 'library_id', $library_id, 'libpath', $libpath)],
        'rounds', 1, 'env', $env::JSON, 'check', false)::VARCHAR AS spec
FROM run_problem AS rp
JOIN problem AS q ON q.problem_id = rp.problem_id
WHERE rp.run_id = $run_id::UUID
  AND EXISTS (SELECT 1 FROM run_failure AS f
              WHERE f.run_id = rp.run_id AND f.problem_id = rp.problem_id AND f.kind = 'baseline' AND f.outcome = 'no_solution')
ORDER BY rp.seq;
