-- Every shape of two sides (an environment, a library or a run each): time, ratio a / b with its interval, kernel, class.
-- A side's time of a shape is that of the library's own choice, or of the fastest solution where only candidates were timed;
-- the median over the samples, with the standard error of its logarithm (1.2533 · 1.4826 · MAD / √n). Two times compare only
-- under one protocol: one with several samples on both sides if there is one, then in the order baseline, compare, confirm,
-- screen, import.
-- The tuned library of a run counts only where that library is the side.
WITH sample AS MATERIALIZED (
    SELECT 'a' AS side, problem_id, protocol_id, role, solution_id, us FROM timing
    WHERE CASE $a_kind
              WHEN 'environment' THEN environment_id = $a_id::UUID AND coalesce(arm, 'reference') = 'reference'
              WHEN 'library' THEN library_id = $a_id::UUID AND arm IS DISTINCT FROM 'candidate'
              ELSE coalesce(arm, 'reference') = 'reference' AND job_id IN (SELECT job_id FROM run_job WHERE run_id = $a_id::UUID)
          END
    UNION ALL
    SELECT 'b', problem_id, protocol_id, role, solution_id, us FROM timing
    WHERE CASE $b_kind
              WHEN 'environment' THEN environment_id = $b_id::UUID AND coalesce(arm, 'reference') = 'reference'
              WHEN 'library' THEN library_id = $b_id::UUID AND arm IS DISTINCT FROM 'candidate'
              ELSE coalesce(arm, 'reference') = 'reference' AND job_id IN (SELECT job_id FROM run_job WHERE run_id = $b_id::UUID)
          END
), kernel_time AS (
    SELECT side, problem_id, protocol_id, any_value(role) AS role, solution_id, median(us) AS us, count(*) AS n,
           1.2533 * 1.4826 * mad(ln(us)) / sqrt(count(*)) AS se
    FROM sample GROUP BY side, problem_id, protocol_id, solution_id
), best AS (
    SELECT side, problem_id, protocol_id, any_value(role) AS role, min(us) AS us, arg_min(solution_id, us) AS solution_id,
           arg_min(n, us) AS n, arg_min(se, us) AS se
    FROM kernel_time GROUP BY side, problem_id, protocol_id
), matched AS (
    SELECT a.problem_id, a.role, a.us AS us_a, b.us AS us_b, a.solution_id AS solution_a, b.solution_id AS solution_b,
           a.n AS n_a, b.n AS n_b, if(a.n > 1 AND b.n > 1, sqrt(a.se ** 2 + b.se ** 2), NULL) AS se
    FROM (SELECT * FROM best WHERE side = 'a') AS a
    JOIN (SELECT * FROM best WHERE side = 'b') AS b ON b.problem_id = a.problem_id AND b.protocol_id = a.protocol_id
    QUALIFY row_number() OVER (
        PARTITION BY a.problem_id
        ORDER BY a.n > 1 AND b.n > 1 DESC, coalesce(list_position(['baseline', 'compare', 'confirm', 'screen', 'import'], a.role), 9), a.protocol_id) = 1
), single AS (
    SELECT problem_id, min(us) FILTER (WHERE side = 'a') AS us_a, min(us) FILTER (WHERE side = 'b') AS us_b,
           arg_min(solution_id, us) FILTER (WHERE side = 'a') AS solution_a,
           arg_min(solution_id, us) FILTER (WHERE side = 'b') AS solution_b
    FROM best WHERE problem_id NOT IN (SELECT problem_id FROM matched) GROUP BY problem_id
), weight AS (
    SELECT c.problem_id, sum(wc.call_count) AS calls
    FROM workload_file AS f JOIN workload_call AS wc ON wc.file_id = f.file_id JOIN call AS c ON c.call_id = wc.call_id
    WHERE f.workload_id = $workload_id::UUID GROUP BY c.problem_id
), joined AS (
    SELECT problem_id, role, us_a, us_b, solution_a, solution_b, n_a, n_b, us_a / us_b AS ratio,
           exp(ln(us_a / us_b) - 1.96 * se) AS ratio_low, exp(ln(us_a / us_b) + 1.96 * se) AS ratio_high
    FROM matched
    UNION ALL
    SELECT problem_id, NULL, us_a, us_b, solution_a, solution_b, NULL, NULL, NULL, NULL, NULL FROM single
)
SELECT j.problem_id::VARCHAR AS problem_id, gemm_name(p) AS type, p.m, p.n, p.batch, p.k, w.calls, j.role,
       j.us_a, j.us_b, j.ratio, j.ratio_low, j.ratio_high, j.n_a, j.n_b,
       CASE WHEN j.solution_a IS NULL OR j.solution_b IS NULL THEN 'unknown'
            WHEN j.solution_a = j.solution_b THEN 'same' ELSE 'changed' END AS kernel,
       CASE
           WHEN j.us_b IS NULL THEN 'only in A'
           WHEN j.us_a IS NULL THEN 'only in B'
           WHEN j.ratio IS NULL THEN 'no common protocol'
           WHEN coalesce(j.ratio_high, j.ratio) < 1 AND j.ratio <= 1 / $threshold THEN 'regressed'
           WHEN coalesce(j.ratio_low, j.ratio) > 1 AND j.ratio >= $threshold THEN 'improved'
           ELSE 'unchanged'
       END AS class,
       la.solution AS solution_a, lb.solution AS solution_b
FROM joined AS j
JOIN problem AS p ON p.problem_id = j.problem_id
LEFT JOIN weight AS w ON w.problem_id = j.problem_id
LEFT JOIN solution_label AS la ON la.solution_id = j.solution_a
LEFT JOIN solution_label AS lb ON lb.solution_id = j.solution_b
WHERE $workload_id IS NULL OR w.calls IS NOT NULL
ORDER BY coalesce(w.calls, 1) * (coalesce(j.us_b, 0) - coalesce(j.us_a, 0)) DESC, type, p.m, p.n, p.batch, p.k, j.problem_id;
