-- One baseline job per problem of the run. With a duration, iterations come from the probe's time where there is one.
SELECT
    job_key('baseline', q.problem_id::VARCHAR, $library_id, $protocol_id, $environment_id, '') AS job_id,
    'baseline' AS kind, $priority::DOUBLE AS priority,
    2e-6 * coalesce(probe.us, guessed_us(q)) * n.iters AS cost_s,
    concat_ws('|', 'baseline', $library_id, $protocol_id, $environment_id) AS batch_key,
    q.problem_id, $library_id::UUID AS library_id, $protocol_id::UUID AS protocol_id, $environment_id::UUID AS environment_id,
    $max_attempts::INTEGER AS max_attempts,
    $timeout_s + 10 * 2e-6 * coalesce(probe.us, guessed_us(q)) * n.iters AS timeout_s,
    json_object(
        'harness', 'hipblaslt-bench', 'root', $root, 'problem_ids', [q.problem_id::VARCHAR],
        'rows', [timed_row(q, $settings::JSON, n.iters, n.cold_iters)],
        'arms', [json_object('name', NULL, 'library_id', $library_id, 'libpath', $libpath)],
        'rounds', 1, 'env', $env::JSON, 'check', false)::VARCHAR AS spec
FROM run_problem AS rp
JOIN problem AS q ON q.problem_id = rp.problem_id
LEFT JOIN (
    SELECT problem_id, median(us) AS us FROM run_timing
    WHERE run_id = $run_id::UUID AND role = 'probe' GROUP BY problem_id
) AS probe ON probe.problem_id = rp.problem_id,
LATERAL (SELECT iterations($duration_s, probe.us, $iters) AS iters,
                iterations($duration_s, probe.us, $cold_iters) AS cold_iters) AS n
WHERE rp.run_id = $run_id::UUID
ORDER BY rp.seq;
