-- One job per given hipblaslt-bench row, which runs exactly as it stands: $rows are JSON objects, $problem_ids and $protocol_ids
-- theirs. $salt tells apart what is to be timed again. A dense search (requested_solution_num −1) takes many times as long.
WITH given AS (
    SELECT unnest($rows::VARCHAR[]) AS bench_row, unnest($problem_ids::VARCHAR[]) AS problem_id, unnest($protocol_ids::VARCHAR[]) AS protocol_id,
           generate_subscripts($rows::VARCHAR[], 1) AS position
), costed AS (
    SELECT g.*, q.problem_id AS known_id,
           2e-6 * guessed_us(q) * greatest(coalesce(TRY_CAST(g.bench_row ->> '$.iters' AS BIGINT), 10), 1)
               * if($kind = 'screen', $expected_candidates, 1) AS cost_s
    FROM given AS g
    JOIN run_problem AS r ON r.problem_id = g.problem_id::UUID AND r.run_id = $run_id::UUID
    JOIN problem AS q ON q.problem_id = r.problem_id
)
SELECT
    job_key($kind, problem_id, $library_id, protocol_id, $environment_id, concat(bench_row, $salt)) AS job_id,
    $kind AS kind, $priority::DOUBLE AS priority, cost_s, concat_ws('|', 'rows', $kind, $library_id, protocol_id, $environment_id, $salt) AS batch_key,
    known_id AS problem_id, $library_id::UUID AS library_id, protocol_id::UUID AS protocol_id, $environment_id::UUID AS environment_id,
    $max_attempts::INTEGER AS max_attempts, $timeout_s + 20 * cost_s AS timeout_s,
    json_object(
        'harness', 'hipblaslt-bench', 'root', $root, 'problem_ids', [problem_id], 'rows', [bench_row::JSON],
        'arms', [json_object('name', NULL, 'library_id', $library_id, 'libpath', $libpath)],
        'rounds', 1, 'env', $env::JSON,
        'check', lower(coalesce(bench_row ->> '$.norm_check', 'false')) IN ('true', '1')
            OR lower(coalesce(bench_row ->> '$.allclose_check', 'false')) IN ('true', '1'))::VARCHAR AS spec
FROM costed
ORDER BY position;
