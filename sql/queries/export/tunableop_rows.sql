-- Rows of a PyTorch TunableOp table, and why a winner can't be one. PyTorch names its operators after the type, and hands sizes
-- to BLAS column-major as hipBLASLt counts them. Index and time: Gemm_Hipblaslt_<index>,<ms>.
WITH name(token, torch) AS (
    VALUES ('f32_r', 'float'), ('f64_r', 'double'), ('f16_r', 'Half'), ('bf16_r', 'BFloat16'), ('f8_r', 'Float8_e4m3fn'),
           ('bf8_r', 'Float8_e5m2'), ('f8_fnuz_r', 'Float8_e4m3fnuz'), ('bf8_fnuz_r', 'Float8_e5m2fnuz')
), entry AS (
    SELECT d.*, p.*  EXCLUDE (problem_id), g.lda AS full_lda, g.ldb AS full_ldb, g.ldc AS full_ldc, g.ldd AS full_ldd,
           na.torch AS torch_a, nb.torch AS torch_b, nd.torch AS torch_d,
           p.a_type = p.b_type AND p.a_type = p.d_type AND p.c_type = p.d_type AS plain,
           p.a_type LIKE '%8_%' AND p.a_type NOT LIKE 'i8%' AS is_f8
    FROM deploy_entry AS d
    JOIN problem AS p ON p.problem_id = d.problem_id
    JOIN bench_gemm AS g ON g.problem_id = d.problem_id
    LEFT JOIN name AS na ON na.token = p.a_type
    LEFT JOIN name AS nb ON nb.token = p.b_type
    LEFT JOIN name AS nd ON nd.token = p.d_type
    WHERE d.run_id = $run_id::UUID
), judged AS (
    SELECT *,
        CASE
            WHEN solution_index IS NULL THEN 'its kernel is not in the library that was measured; merge final_libs and rebuild'
            WHEN grouped THEN 'TunableOp has no grouped GEMM'
            WHEN trans_a = 'C' OR trans_b = 'C' THEN 'TunableOp doesn''t tell conjugate transposes apart'
            WHEN torch_a IS NULL OR torch_b IS NULL OR torch_d IS NULL THEN concat('PyTorch has no operator of types ', a_type, ', ', b_type, ', ', d_type)
            WHEN activation <> 'none' THEN concat('TunableOp has no operator with activation ', activation)
            WHEN aux_type IS NOT NULL OR gradient THEN 'TunableOp has no operator with auxiliary output or gradient'
            WHEN swizzle_a OR swizzle_b THEN 'TunableOp has no swizzled operands'
            WHEN NOT (plain OR is_f8) THEN concat('TunableOp has no operator of mixed types ', a_type, ', ', b_type, ', ', d_type)
            WHEN is_f8 AND (scale_a NOT IN (1, 2) OR scale_b NOT IN (1, 2)) THEN 'PyTorch calls 8-bit float GEMMs with scalar or row-wise scales only'
            WHEN is_f8 AND bias_type IS NOT NULL THEN 'scaled operators with bias are not written: their parameter text is not known'
            WHEN is_f8 AND batch > 1 THEN 'TunableOp has no batched operator with scales'
            WHEN NOT is_f8 AND (scale_a <> 0 OR scale_b <> 0) THEN 'TunableOp has scales for 8-bit floats only'
            WHEN scale_c <> 0 OR scale_d <> 0 OR scale_alpha_vector THEN 'TunableOp has no scales of C, D or alpha'
            WHEN bias_type IS NOT NULL AND batch > 1 THEN 'TunableOp has no batched operator with bias'
            WHEN compute_type NOT IN ('f32_r', 'f64_r', 'xf32_r') THEN concat('TunableOp doesn''t tell compute type ', compute_type)
            WHEN coalesce(stride_a, full_lda * if(trans_a = 'N', k, m)) <> full_lda * if(trans_a = 'N', k, m)
              OR coalesce(stride_b, full_ldb * if(trans_b = 'N', n, k)) <> full_ldb * if(trans_b = 'N', n, k) THEN 'TunableOp doesn''t tell strides of a batch'
        END AS problem_refusal,
        concat(lower(trans_a), lower(trans_b), '_', m, '_', n, '_', k, if(batch > 1, concat('_B_', batch), ''),
               '_ld_', full_lda, '_', full_ldb, '_', full_ldd, if(is_f8, concat('_rw_', if(scale_a = 2, 1, 0), '_bias_None'), '')) AS params,
        concat(CASE WHEN is_f8 THEN 'ScaledGemm' WHEN batch > 1 THEN 'GemmStridedBatched' WHEN bias_type IS NOT NULL THEN 'GemmAndBias' ELSE 'Gemm' END,
               'TunableOp_', if(compute_type = 'xf32_r', 'tf32', torch_a), if(is_f8, concat('_', torch_b, '_', torch_d), ''), '_', trans_a, trans_b) AS operator
    FROM entry
)
SELECT concat(gemm_name(p), ' ', p.m, '×', p.n, '×', p.k, if(p.batch > 1, concat(' b', p.batch), '')) AS gemm,
       coalesce(j.problem_refusal,
                if(row_number() OVER (PARTITION BY j.operator, j.params, j.problem_refusal IS NULL
                                      ORDER BY j.share_pct * (1 - 1 / j.ratio) DESC NULLS LAST, j.seq) > 1,
                   'another winner has the same operator and parameters and saves more', NULL)) AS refusal,
       j.operator, j.params, concat('Gemm_Hipblaslt_', j.solution_index) AS solution, round(j.us_tuned / 1e3, 8) AS ms
FROM judged AS j JOIN problem AS p ON p.problem_id = j.problem_id
ORDER BY j.seq;
