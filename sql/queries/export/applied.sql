-- Which deployed winners of a run an application really used, by the rows of its log or of its bench output ($file_ids).
-- A row proves a kernel by its name; without one by its index, which must be that of the winner in the measured reference
-- library (override, TunableOp) or in the tuned library of the run (rebuilt). Problems with several rows count their calls.
-- Bench output that timed several solutions of a problem tells nothing of the library's choice; where it was told an index, the
-- kernel of that index ran. (The algo_method of an application's log is for replaying: the index in it was the library's choice.)
WITH evidence AS (
    SELECT c.problem_id, w.call_count AS calls, c.solution_index,
           coalesce(c.fields ->> '$.solution_Name', c.fields ->> '$.solution_name') AS solution_name, c.fields ->> '$.kernel_name' AS kernel_name,
           NULL::UUID AS solution_id, false AS several, false AS asked
    FROM workload_call AS w JOIN call AS c ON c.call_id = w.call_id
    WHERE w.file_id IN (SELECT unnest($file_ids)::UUID)
    UNION ALL
    SELECT m.problem_id, 1, m.solution_index, NULL, NULL, coalesce(a.solution_id, m.solution_id),
           max(m.rank) OVER (PARTITION BY m.file_id, m.problem_id) > 0, (t.settings ->> '$.extra.algo_method') IN ('index', '2')
    FROM measurement AS m
    JOIN protocol AS t ON t.protocol_id = m.protocol_id
    LEFT JOIN solution_alias AS a ON a.alias_id = m.solution_id
    WHERE m.file_id IN (SELECT unnest($file_ids)::UUID) AND NOT coalesce(m.winner_echo, false)
), winner_name AS (
    SELECT d.problem_id, n.name
    FROM deploy_entry AS d
    JOIN solution_name AS n ON n.solution_id = d.solution_id
        OR n.solution_id IN (SELECT alias_id FROM solution_alias AS a WHERE a.solution_id = d.solution_id)
    WHERE d.run_id = $run_id::UUID
), judged AS (
    SELECT e.problem_id, e.calls, e.solution_index, e.several, e.asked, coalesce(e.solution_name, e.kernel_name, l.solution, l.kernel) AS used,
        CASE
            WHEN e.several THEN NULL
            WHEN e.solution_id IS NOT NULL
                THEN e.solution_id = d.solution_id OR EXISTS (SELECT 1 FROM winner_name AS n WHERE n.problem_id = e.problem_id AND n.name IN (l.solution, l.kernel))
            WHEN e.solution_name IS NOT NULL OR e.kernel_name IS NOT NULL
                THEN EXISTS (SELECT 1 FROM winner_name AS n WHERE n.problem_id = e.problem_id AND n.name IN (e.solution_name, e.kernel_name))
            WHEN e.solution_index IS NOT NULL THEN coalesce(e.solution_index = d.solution_index, false) OR coalesce(e.solution_index = t.solution_index, false)
        END AS applied,
        e.solution_id IS NULL AND e.solution_name IS NULL AND e.kernel_name IS NULL AS by_index
    FROM evidence AS e
    JOIN deploy_entry AS d ON d.problem_id = e.problem_id AND d.run_id = $run_id::UUID
    LEFT JOIN run_arm AS t ON t.run_id = d.run_id AND t.problem_id = d.problem_id AND t.arm = 'tuned'
    LEFT JOIN solution_label AS l ON l.solution_id = e.solution_id
), per_problem AS (
    SELECT problem_id, sum(calls) AS calls, coalesce(sum(calls) FILTER (WHERE applied), 0) AS calls_applied,
           count(*) FILTER (WHERE applied IS NOT NULL) AS n_told, bool_and(by_index) FILTER (WHERE applied) AS by_index,
           coalesce(bool_and(asked), false) AS asked, bool_or(several) AS several,
           first(coalesce(used, 'index ' || solution_index) ORDER BY calls DESC, solution_index) FILTER (WHERE NOT applied) AS other
    FROM judged GROUP BY problem_id
), near AS (
    -- The size was called, but not as it was tuned.
    SELECT d.problem_id, first(concat(gemm_name(q), ' with ', epilogue_text(q), ', ', leading_text(q)) ORDER BY e.calls DESC, q.problem_id) AS called
    FROM deploy_entry AS d
    JOIN problem AS p ON p.problem_id = d.problem_id
    JOIN problem AS q ON q.m = p.m AND q.n = p.n AND q.batch = p.batch AND q.k = p.k AND q.problem_id <> p.problem_id
    JOIN evidence AS e ON e.problem_id = q.problem_id
    WHERE d.run_id = $run_id::UUID
    GROUP BY d.problem_id
), states AS (
    SELECT d.*, concat(gemm_name(p), ' ', p.m, '×', p.n, '×', p.k, if(p.batch > 1, concat(' b', p.batch), '')) AS gemm,
           CASE
               WHEN j.problem_id IS NULL THEN 'not called'
               WHEN j.n_told = 0 THEN 'no evidence'
               WHEN j.calls_applied = j.calls THEN if(j.by_index, 'applied (by index)', 'applied')
               WHEN j.calls_applied > 0 THEN 'partly applied'
               ELSE 'other kernel'
           END AS state,
           j.calls, j.calls_applied, j.other, j.asked, j.several, n.called
    FROM deploy_entry AS d
    JOIN problem AS p ON p.problem_id = d.problem_id
    LEFT JOIN per_problem AS j ON j.problem_id = d.problem_id
    LEFT JOIN near AS n ON n.problem_id = d.problem_id
    WHERE d.run_id = $run_id::UUID
)
SELECT gemm, state, calls, calls_applied, ratio, share_pct, coalesce(solution_name, kernel_name) AS winner, other AS used_instead,
       CASE state
           WHEN 'not called' THEN coalesce('this size was called as ' || called || ' only', 'no call of this size')
           WHEN 'no evidence' THEN if(several, 'several solutions were timed, which tells nothing of the library''s choice',
                                      'neither kernel nor index is told (log with HIPBLASLT_LOG_MASK=128, bench with --print_kernel_info)')
           WHEN 'partly applied' THEN concat(calls - calls_applied, ' of ', calls, ' calls ran another kernel')
           WHEN 'other kernel' THEN 'every call ran another kernel'
           ELSE if(asked, 'the benchmark was told the index: the kernel runs, but the library did not choose it by itself', NULL)
       END AS why,
       simulated
FROM states
ORDER BY list_position(['other kernel', 'partly applied', 'no evidence', 'not called', 'applied (by index)', 'applied'], state),
         share_pct DESC NULLS LAST, seq;
