-- Timings of the tuned library alone, where the reference library has no solution: there is nothing to pair with, but the tuned
-- library must choose its kernel and give a time. Of a tuning ($guarded_run_id NULL): the kept problems with a new kernel; of a guard:
-- what the guarded run found a new solution for. At least two rounds: a job of one row and one round knows no arms.
WITH wanted AS (
    SELECT w.problem_id, p.seq, w.us
    FROM run_choice AS w
    JOIN run_problem AS p ON p.run_id = w.run_id AND p.problem_id = w.problem_id AND p.kept
    JOIN run_no_stock AS n ON n.run_id = w.run_id AND n.problem_id = w.problem_id
    WHERE $guarded_run_id::UUID IS NULL AND w.run_id = $run_id::UUID
    UNION ALL
    SELECT p.problem_id, p.seq, s.us_tuned AS us
    FROM run_problem AS p
    JOIN selection AS s ON s.run_id = $guarded_run_id::UUID AND s.problem_id = p.problem_id AND s.class = 'new_solution'
    WHERE p.run_id = $run_id::UUID
), item AS (
    SELECT problem_id, seq, us, (row_number() OVER (ORDER BY seq) - 1) // $chunk AS chunk_no FROM wanted
), timed AS (
    SELECT i.problem_id, i.seq, i.chunk_no, i.us, iterations($duration_s, i.us, $iters) AS n,
           timed_row(q, $settings::JSON, iterations($duration_s, i.us, $iters), iterations($duration_s, i.us, $cold_iters)) AS bench
    FROM item AS i JOIN problem AS q ON q.problem_id = i.problem_id
)
SELECT
    job_key('compare', string_agg(problem_id::VARCHAR, ',' ORDER BY seq), $tuned_library_id, $protocol_id, $environment_id,
            concat('new|', greatest($rounds, 2))) AS job_id,
    'compare' AS kind, $priority::DOUBLE AS priority, sum(2e-6 * us * n ORDER BY seq) * greatest($rounds, 2) AS cost_s,
    concat_ws('|', 'new', $tuned_library_id, $protocol_id, chunk_no) AS batch_key,
    NULL::UUID AS problem_id, $tuned_library_id::UUID AS library_id, $protocol_id::UUID AS protocol_id,
    $environment_id::UUID AS environment_id, $max_attempts::INTEGER AS max_attempts,
    $timeout_s * greatest($rounds, 2) + 10 * sum(2e-6 * us * n ORDER BY seq) * greatest($rounds, 2) AS timeout_s,
    json_object(
        'harness', 'hipblaslt-bench', 'root', $root, 'problem_ids', list(problem_id::VARCHAR ORDER BY seq),
        'rows', list(bench ORDER BY seq),
        'arms', [json_object('name', 'tuned', 'library_id', $tuned_library_id, 'libpath', $tuned_libpath)],
        'rounds', greatest($rounds, 2)::INTEGER, 'env', $env::JSON, 'check', false)::VARCHAR AS spec
FROM timed
GROUP BY chunk_no
ORDER BY chunk_no;
