-- What a library has for each problem of a workload: an entry, only a file that serves any size, or nothing, and why.
--
-- Every file (logic), every kind of row (tuned table) and every entry of the library is a candidate for every problem. Each is
-- asked in this order; the best fails at the fewest questions, and among equals gets furthest. The reason is the first at which
-- it fails:
--   0 type, 1 arch, 2 cu (CU count), 3 epilogue, 4 size, 5 padding (leading dimensions and strides), 6 none: a hit
-- Weight is call_count x time: of the environment given where the problem was timed there, else guessed from its size.
WITH
called AS (
    SELECT c.problem_id, sum(w.call_count)::BIGINT AS call_count
    FROM workload_file AS wf
    JOIN workload_call AS w ON w.file_id = wf.file_id
    JOIN call AS c ON c.call_id = w.call_id
    WHERE wf.workload_id = $workload_id::UUID
    GROUP BY c.problem_id
),
timed AS (
    SELECT problem_id, bool_or(simulated) AS simulated,
           -- The stock library's choice where it was timed as such, else the best that is known.
           coalesce(median(us) FILTER (WHERE role = 'baseline'),
                    median(us) FILTER (WHERE role = 'compare' AND arm = 'reference'), min(us)) AS us
    FROM timing
    WHERE environment_id = $environment_id::UUID AND problem_id IN (SELECT problem_id FROM called)
    GROUP BY problem_id
),
wanted AS (
    SELECT p.*, called.call_count, coalesce(timed.us, guessed_us(p)) AS us,
           CASE WHEN timed.us IS NULL THEN 'guessed' WHEN timed.simulated THEN 'simulated' ELSE 'measured' END AS us_source,
           epilogue_text(p) AS epilogue, leading_text(p) AS layout,
           -- Problems that differ in size alone are answered alike by a file.
           concat_ws('|', p.trans_a, p.trans_b, p.a_type, p.b_type, p.c_type, p.d_type, p.compute_type, p.swizzle_a, p.swizzle_b,
                     epilogue_text(p)) AS family
    FROM called JOIN problem AS p ON p.problem_id = called.problem_id
    LEFT JOIN timed ON timed.problem_id = called.problem_id
),
member AS (
    SELECT l.library_id, l.arch, l.cu_count, coalesce(m.path, l.name) AS file, l.detail->>'program' AS program
    FROM library AS l
    LEFT JOIN library_member AS m ON m.member_id = l.library_id AND m.library_id = $library_id::UUID
    WHERE l.library_id = $library_id::UUID OR m.library_id IS NOT NULL
),
-- Rows of tuned tables, each with the problem that it was tuned for.
tuned AS (
    SELECT e.local_index, e.solution_id, e.efficiency, m.file, m.program, q.*, epilogue_text(q) AS epilogue,
           leading_text(q) AS layout, m.library_id, coalesce(e.arch, m.arch) AS arch, coalesce(e.cu_count, m.cu_count) AS cu_count,
           concat_ws('|', q.trans_a, q.trans_b, q.a_type, q.b_type, q.c_type, q.d_type, q.compute_type, q.swizzle_a, q.swizzle_b,
                     epilogue_text(q), e.arch, e.cu_count) AS kind
    FROM library_entry AS e
    JOIN member AS m ON m.library_id = e.library_id
    JOIN problem AS q ON q.problem_id = e.problem_id
),
offer AS (
    SELECT m.library_id, '' AS kind, m.file, h.library_type, false AS exact, m.arch, m.cu_count, h.trans_a, h.trans_b, h.a_type,
           h.b_type, h.c_type, h.c_type AS d_type, h.compute_type, h.swizzle_a, h.swizzle_b, h.mx_scale_a, h.mx_scale_b,
           NULL::VARCHAR AS epilogue, h.use_bias, h.bias_types, h.bias_sources, h.activation, h.use_e, h.gradient, h.use_scale_ab,
           h.use_scale_cd, h.scale_alpha_vector, h.grouped
    FROM member AS m JOIN logic_header AS h ON h.library_id = m.library_id
    UNION ALL BY NAME
    SELECT DISTINCT library_id, kind, file, true AS exact, arch, cu_count, trans_a, trans_b, a_type, b_type, c_type, d_type,
           compute_type, swizzle_a, swizzle_b, epilogue
    FROM tuned
),
asked AS (
    SELECT DISTINCT ON (family) * FROM wanted ORDER BY family, problem_id
),
question AS (
    SELECT w.family, o.library_id, o.kind, o.file, o.library_type, o.arch, o.cu_count, o.exact,
           NOT (real_trans(w.trans_a, w.a_type) = real_trans(o.trans_a, w.a_type)
                AND real_trans(w.trans_b, w.b_type) = real_trans(o.trans_b, w.b_type)
                AND w.a_type = o.a_type AND w.b_type = o.b_type AND w.c_type = o.c_type AND w.d_type = o.d_type
                AND w.compute_type = o.compute_type AND w.swizzle_a = o.swizzle_a AND w.swizzle_b = o.swizzle_b
                AND (o.exact OR CASE WHEN w.scale_a > 2 THEN w.scale_a ELSE 0 END = o.mx_scale_a)
                AND (o.exact OR CASE WHEN w.scale_b > 2 THEN w.scale_b ELSE 0 END = o.mx_scale_b)) AS other_type,
           coalesce(split_part(o.arch, ':', 1) <> $arch, false) AS other_arch,
           coalesce(o.cu_count <> $cu_count::INTEGER, false) AS other_cu,
           CASE WHEN o.exact THEN w.epilogue <> o.epilogue
                ELSE NOT (
                   (w.bias_type IS NULL
                    OR o.use_bias > 0 AND list_contains(o.bias_types, w.bias_type)
                       AND list_contains(o.bias_sources, coalesce(w.bias_source, 'd')))
                   AND (w.activation = 'none' OR o.activation IN ('all', 'hipblaslt_all', w.activation))
                   AND scale_mode(w.scale_a, w.scale_b) IN ('', o.use_scale_ab)
                   AND ((w.scale_c = 0 AND w.scale_d = 0) OR o.use_scale_cd)
                   AND (NOT w.scale_alpha_vector OR o.scale_alpha_vector)
                   AND (w.aux_type IS NOT NULL) = o.use_e AND w.gradient = o.gradient AND w.grouped = o.grouped)
           END AS other_epilogue
    FROM asked AS w CROSS JOIN offer AS o
),
answer AS (
    SELECT *, CASE WHEN other_type THEN 0 WHEN other_arch THEN 1 WHEN other_cu THEN 2 WHEN other_epilogue THEN 3 ELSE 4 END AS passed,
           other_type::INTEGER + other_arch::INTEGER + other_cu::INTEGER + other_epilogue::INTEGER AS n_failed
    FROM question
),
-- aiter looks a size up under M (its M is our n), then under M rounded up coarsely, then to a power of 2.
looked_up AS (
    SELECT problem_id, 0 AS step, n FROM wanted
    UNION ALL
    SELECT problem_id, 1, CASE WHEN n <= 256 THEN (n + 15) // 16 * 16 WHEN n <= 1024 THEN (n + 31) // 32 * 32
                               WHEN n <= 4096 THEN (n + 63) // 64 * 64 ELSE (n + 127) // 128 * 128 END
    FROM wanted
    UNION ALL
    SELECT problem_id, 2, (2 ** ceil(log2(n)))::BIGINT FROM wanted
),
entry AS (
    SELECT e.library_id, '' AS kind, e.m, e.n, e.batch, e.k, e.local_index, e.solution_id, e.efficiency, NULL::VARCHAR AS layout,
           NULL::VARCHAR AS program
    FROM library_entry AS e JOIN member AS m ON m.library_id = e.library_id
    WHERE e.problem_id IS NULL
    UNION ALL BY NAME
    SELECT library_id, kind, m, n, batch, k, local_index, solution_id, efficiency, layout, program FROM tuned
),
candidate AS (
    -- Each file as such ...
    SELECT w.problem_id, a.passed, a.n_failed + 1 AS n_failed, a.file, a.library_type, a.arch, a.cu_count, a.exact, 9 AS step, NULL::BIGINT AS found_n,
           NULL::BIGINT AS local_index, NULL::UUID AS solution_id, NULL::DOUBLE AS efficiency, NULL::VARCHAR AS layout
    FROM wanted AS w JOIN answer AS a ON a.family = w.family
    UNION ALL
    -- ... and each entry of the problem's size. Logic is looked up by M, N, batch, K alone, other leading dimensions or not; so
    -- are the tables of hipBLASLt and aiter, while PyTorch's key has them.
    SELECT w.problem_id,
           CASE WHEN a.passed < 4 THEN a.passed WHEN e.program = 'pytorch' AND e.layout <> w.layout THEN 5 ELSE 6 END,
           a.n_failed + CASE WHEN e.program = 'pytorch' AND e.layout <> w.layout THEN 1 ELSE 0 END,
           a.file, a.library_type, a.arch, a.cu_count, a.exact, s.step, e.n, e.local_index, e.solution_id, e.efficiency, e.layout
    FROM wanted AS w
    JOIN looked_up AS s ON s.problem_id = w.problem_id
    JOIN entry AS e ON e.m = w.m AND e.n = s.n AND e.batch = w.batch AND e.k = w.k
    JOIN answer AS a ON a.family = w.family AND a.library_id = e.library_id AND a.kind = e.kind
    WHERE s.step = 0 OR e.program = 'aiter'
),
best AS (
    SELECT DISTINCT ON (problem_id) * FROM candidate
    ORDER BY problem_id, n_failed, passed DESC, step, library_type <> 'Equality', efficiency DESC NULLS LAST, file, local_index, solution_id
),
-- Files that serve any size of their type: a grid of sizes, a model, or all solutions.
fallback AS (
    SELECT family, arg_min(concat(library_type, ' file ', file), concat(library_type <> 'GridBased', file)) AS served_by
    FROM answer WHERE passed = 4 AND NOT exact AND coalesce(library_type, '') NOT IN ('Equality', '')
    GROUP BY family
),
-- Types that would be there but for the kind of fp8: fnuz (gfx942) and OCP (gfx950) are different types.
fp8 AS (
    SELECT DISTINCT w.family, CASE WHEN contains(concat(w.a_type, w.b_type, w.d_type), 'fnuz') THEN 'OCP' ELSE 'fnuz' END AS has
    FROM asked AS w JOIN offer AS o
      ON real_trans(w.trans_a, w.a_type) = real_trans(o.trans_a, w.a_type)
     AND real_trans(w.trans_b, w.b_type) = real_trans(o.trans_b, w.b_type)
     AND replace(w.a_type, '_fnuz', '') = replace(o.a_type, '_fnuz', '')
     AND replace(w.b_type, '_fnuz', '') = replace(o.b_type, '_fnuz', '')
     AND replace(w.d_type, '_fnuz', '') = replace(o.d_type, '_fnuz', '')
     AND w.compute_type = o.compute_type AND (w.a_type, w.b_type, w.d_type) <> (o.a_type, o.b_type, o.d_type)
)
SELECT
    w.problem_id::VARCHAR AS problem_id, gemm_name(w) AS gemm, w.m, w.n, w.batch, w.k, w.epilogue, w.layout, w.call_count, w.us,
    w.us_source, 100 * w.call_count * w.us / sum(w.call_count * w.us) OVER () AS share_pct,
    CASE WHEN b.passed = 6 THEN 'hit' WHEN f.served_by IS NOT NULL THEN 'fallback' ELSE 'miss' END AS status,
    CASE coalesce(b.passed, 0) WHEN 6 THEN NULL WHEN 0 THEN 'type' WHEN 1 THEN 'arch' WHEN 2 THEN 'cu' WHEN 3 THEN 'epilogue'
         WHEN 4 THEN 'size' ELSE 'padding' END AS reason,
    CASE coalesce(b.passed, 0)
        WHEN 0 THEN concat('nothing for ', gemm_name(w), CASE WHEN w.scale_a > 2 OR w.scale_b > 2 THEN ' with block scales' ELSE '' END,
                      CASE WHEN fp8.has IS NOT NULL THEN concat(', only with ', fp8.has, ' fp8') ELSE '' END)
        WHEN 1 THEN concat('made for ', b.arch, ', not ', $arch)
        WHEN 2 THEN concat('made for ', b.cu_count, ' CUs, not ', $cu_count)
        WHEN 3 THEN concat('not with ', w.epilogue)
        WHEN 4 THEN coalesce('by ' || f.served_by, 'no entry of this size')
        WHEN 5 THEN concat('tuned ', b.layout, ', called ', w.layout)
        ELSE CASE WHEN b.step > 0 THEN concat('under n = ', b.found_n, ', to which n is rounded up') END
    END AS detail,
    CASE WHEN b.passed > 0 THEN b.file END AS file, CASE WHEN b.passed > 0 THEN b.library_type END AS library_type,
    CASE WHEN b.passed > 0 THEN b.local_index END AS solution_index,
    CASE WHEN b.passed > 0 THEN b.solution_id END::VARCHAR AS solution_id, CASE WHEN b.passed > 0 THEN b.efficiency END AS efficiency
FROM wanted AS w
LEFT JOIN best AS b ON b.problem_id = w.problem_id
LEFT JOIN fallback AS f ON f.family = w.family
LEFT JOIN fp8 ON fp8.family = w.family
ORDER BY share_pct DESC, w.problem_id;
