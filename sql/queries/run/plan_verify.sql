-- One correctness check with the tuned library per kept problem that has a chosen solution.
SELECT
    job_key('verify', q.problem_id::VARCHAR, $tuned_library_id, $protocol_id, $environment_id, '') AS job_id,
    'verify' AS kind, $priority::DOUBLE AS priority,
    -- The reference result is computed on the host, at some 5 GFLOP/s.
    1.0 + 2e0 * q.m * q.n * q.k * q.batch / 5e9 AS cost_s,
    concat_ws('|', 'verify', $tuned_library_id, $protocol_id, $environment_id) AS batch_key,
    q.problem_id, $tuned_library_id::UUID AS library_id, $protocol_id::UUID AS protocol_id, $environment_id::UUID AS environment_id,
    $max_attempts::INTEGER AS max_attempts, $timeout_s + 10 * 2e0 * q.m * q.n * q.k * q.batch / 5e9 AS timeout_s,
    json_object(
        'harness', 'hipblaslt-bench', 'root', $root, 'problem_ids', [q.problem_id::VARCHAR],
        'rows', [json_merge_patch(timed_row(q, $settings::JSON, 1, 0),
                                  json_object('norm_check', 1, 'norm_check_assert', 0, 'allclose_check', 1))],
        'arms', [json_object('name', 'tuned', 'library_id', $tuned_library_id, 'libpath', $tuned_libpath)],
        'rounds', 1, 'env', $env::JSON, 'check', true)::VARCHAR AS spec
FROM run_choice AS w
JOIN run_problem AS rp ON rp.run_id = w.run_id AND rp.problem_id = w.problem_id AND rp.kept
JOIN problem AS q ON q.problem_id = w.problem_id
WHERE w.run_id = $run_id::UUID
ORDER BY rp.seq;
