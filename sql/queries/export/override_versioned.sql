-- Rows of hipBLASLt's tuning file with schema_version 1 (the whole key of a problem), and why a winner can't be one.
-- Numbers are those of hipDataType and hipblasLtEpilogue_t. What a log doesn't tell is at the library's default (assumed names it
-- for each row): no input type of its own for the computation and no bias or aux type (255), no stride of the bias, no CU target,
-- no tile scheduling. A call of the workload that tells another value makes its winner none for this file.
WITH kind(token, number) AS (
    VALUES ('f32_r', 0), ('f64_r', 1), ('f16_r', 2), ('i8_r', 3), ('f32_c', 4), ('f64_c', 5), ('i32_r', 10), ('bf16_r', 14), ('f8_r', 28),
           ('bf8_r', 29), ('f8_fnuz_r', 1000), ('bf8_fnuz_r', 1001)
), epilogue(activation, bias, aux, gradient, number) AS (
    VALUES ('none', false, false, false, 1), ('relu', false, false, false, 2), ('none', true, false, false, 4), ('relu', true, false, false, 6),
           ('gelu', false, false, false, 32), ('gelu', true, false, false, 36), ('relu', false, true, false, 130), ('relu', true, true, false, 134),
           ('relu', false, true, true, 136), ('relu', true, true, true, 152), ('gelu', false, true, false, 160), ('gelu', true, true, false, 164),
           ('gelu', false, true, true, 192), ('gelu', true, true, true, 208), ('swish', false, false, false, 65536),
           ('swish', true, false, false, 65540), ('clamp', false, false, false, 131072)
), fixed(name, written) AS (
    VALUES ('compute_input_type_a', '255'), ('compute_input_type_b', '255'), ('batch_mode', '0'), ('bias_stride', '0'), ('scaleE', '0'), ('amaxD', '0'),
           ('streamk_tile_scheduling', '0'), ('sm_count_target', '0'), ('uniform_summation_order', '0')
), told AS (
    SELECT c.problem_id, f.name, f.written, replace(replace(lower(json_extract_string(c.fields, f.name)), 'false', '0'), 'true', '1') AS said
    FROM run AS r
    JOIN workload_file AS w ON w.workload_id = r.workload_id
    JOIN workload_call AS x ON x.file_id = w.file_id
    JOIN call AS c ON c.call_id = x.call_id
    CROSS JOIN fixed AS f
    WHERE r.run_id = $run_id::UUID AND json_extract_string(c.fields, f.name) IS NOT NULL
), said AS (
    SELECT problem_id, list(DISTINCT name) AS names,
           min(concat('the workload''s calls have ', name, ' ', said, ', and rows are written with ', written)) FILTER (WHERE said <> written) AS contrary
    FROM told GROUP BY problem_id
)
SELECT concat(gemm_name(p), ' ', p.m, '×', p.n, '×', p.k, if(p.batch > 1, concat(' b', p.batch), '')) AS gemm,
       CASE
           WHEN p.grouped THEN 'grouped GEMMs have no entry in a tuning file'
           WHEN d.solution_index IS NULL THEN 'its kernel is not in the library that was measured; merge final_libs and rebuild'
           WHEN d.kernel_name IS NULL OR d.solution_name IS NULL THEN 'rows with schema_version need the names of the solution and of the kernel'
           WHEN d.gfx IS NULL OR d.cu_count IS NULL THEN 'rows with schema_version need the GPU''s full target and its number of CUs'
           WHEN coalesce(o.number, b.number) IS NULL THEN concat('no number is known for the epilogue of activation ', p.activation,
               if(p.bias_type IS NULL, '', ' with bias'), if(p.aux_type IS NULL, '', ' with auxiliary output'), if(p.gradient, ', gradient', ''))
           WHEN p.bias_type IS NOT NULL AND tb.number IS NULL THEN concat('no number is known for bias type ', p.bias_type)
           WHEN p.aux_type IS NOT NULL AND tx.number IS NULL THEN concat('no number is known for aux type ', p.aux_type)
           ELSE t.contrary
       END AS refusal,
       list_concat(
           (SELECT list(concat(name, ' ', written) ORDER BY name) FROM fixed WHERE NOT list_contains(coalesce(t.names, []), name)),
           ['lde = m', 'stride_e packed'], if(p.bias_type IS NULL, ['bias_type 255'], []), if(p.aux_type IS NULL, ['aux_type 255'], [])) AS assumed,
       1 AS schema_version, d.hipblaslt_git AS git_version, g."transA", g."transB", g.m, g.n, g.k, g.batch_count, g.a_type, g.b_type,
       g.c_type, g.d_type, replace(g.compute_type, '_fast_', '_') AS compute_type, 255 AS compute_input_type_a, 255 AS compute_input_type_b,
       g.lda, g.ldb, g.ldc, g.ldd, g.stride_a, g.stride_b, g.stride_c, g.stride_d, g.m AS lde, if(p.aux_type IS NULL, 0, g.m * g.n) AS stride_e,
       0 AS batch_mode, coalesce(b.number, o.number) AS epilogue, p.gradient::INTEGER AS gradient, coalesce(tb.number, 255) AS bias_type,
       0 AS bias_stride, g.bias_vector, coalesce(tx.number, 255) AS aux_type, p.scale_a AS "scaleA_format", p.scale_b AS "scaleB_format",
       (p.scale_a <> 0)::INTEGER AS "scaleA", (p.scale_b <> 0)::INTEGER AS "scaleB", (p.scale_c <> 0)::INTEGER AS "scaleC",
       (p.scale_d <> 0)::INTEGER AS "scaleD", 0 AS "scaleE", p.scale_alpha_vector::INTEGER AS "scaleAlphaVec", 0 AS "amaxD", g.swizzle_a,
       g.swizzle_b, 0 AS streamk_tile_scheduling, 0 AS sm_count_target, 0 AS uniform_summation_order, d.gfx AS "gcnArchName",
       d.cu_count AS "CUs", d.solution_index, d.kernel_name, d.solution_name, coalesce(d.workspace, 0) AS required_workspace,
       round(d.us_tuned, 4) AS us
FROM deploy_entry AS d
JOIN bench_gemm AS g ON g.problem_id = d.problem_id
JOIN problem AS p ON p.problem_id = d.problem_id
LEFT JOIN said AS t ON t.problem_id = d.problem_id
LEFT JOIN kind AS tb ON tb.token = p.bias_type
LEFT JOIN kind AS tx ON tx.token = p.aux_type
LEFT JOIN epilogue AS o ON o.activation = p.activation AND o.bias = (p.bias_type IS NOT NULL) AND o.aux = (p.aux_type IS NOT NULL)
    AND o.gradient = p.gradient
-- The gradient of a bias over A or B is an epilogue of its own.
LEFT JOIN (VALUES ('a', 256), ('b', 512)) AS b(source, number)
    ON p.gradient AND p.activation = 'none' AND p.bias_type IS NOT NULL AND b.source = p.bias_source
WHERE d.run_id = $run_id::UUID
ORDER BY d.seq;
