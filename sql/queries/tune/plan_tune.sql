-- One tuning job per config of the run: a config under its protocol and environment is tuned once, whoever asks. The configs
-- of the GEMMs that take most time come first. Costs are rough: a kernel is built and timed in some 0.2 s, the genetic
-- algorithm looks at 15,000 of them at most.
WITH share AS (
    SELECT t.config_id, sum(c.share_pct) AS share_pct, list(t.problem_id::VARCHAR ORDER BY t.seq) AS problem_ids,
           list([p.m, p.n, p.batch, p.k] ORDER BY t.seq) AS sizes
    FROM (SELECT DISTINCT config_id FROM run_config WHERE run_id = $run_id::UUID) AS r
    JOIN tuning_config_problem AS t ON t.config_id = r.config_id
    JOIN problem AS p ON p.problem_id = t.problem_id
    LEFT JOIN (
        SELECT plain_id, sum(share_pct) AS share_pct FROM run_plain_contribution WHERE run_id = $run_id::UUID GROUP BY plain_id
    ) AS c ON c.plain_id = t.problem_id
    GROUP BY t.config_id
)
SELECT
    job_key('tune', g.config_id::VARCHAR, NULL, g.protocol_id, $environment_id, '') AS job_id,
    'tune' AS kind, g.config_id, coalesce(s.share_pct, 0) / 100 AS priority,
    60 + 0.2 * least(g.n_kernels, 15000)::DOUBLE AS cost_s,
    concat_ws('|', 'tune', g.config_id, g.protocol_id, $environment_id) AS batch_key,
    NULL::UUID AS problem_id, NULL::UUID AS library_id, g.protocol_id, $environment_id::UUID AS environment_id,
    $max_attempts::INTEGER AS max_attempts,
    $timeout_s + 20 * (60 + 0.2 * least(g.n_kernels, 15000)::DOUBLE) AS timeout_s,
    json_object(
        'harness', 'tensilelite', 'config_id', g.config_id::VARCHAR, 'name', parse_filename(r.file_name, true),
        'backend', g.backend, 'arch', g.arch, 'root', $root, 'yaml', g.yaml, 'problem_ids', s.problem_ids,
        'sizes', s.sizes, 'build_dir', $build_dir, 'tuning_dir', $tuning_dir,
        'stall_timeout_s', $stall_timeout_s, 'abort_after', $abort_after, 'max_attempts', $max_attempts)::VARCHAR AS spec
FROM (
    -- Two files of the same text are one job.
    SELECT config_id, min(file_name) AS file_name FROM run_config
    WHERE run_id = $run_id::UUID AND state IN ('generated', 'edited', 'added') GROUP BY config_id
) AS r
JOIN tuning_config AS g ON g.config_id = r.config_id
LEFT JOIN share AS s ON s.config_id = r.config_id
ORDER BY coalesce(s.share_pct, 0) DESC, r.file_name;
