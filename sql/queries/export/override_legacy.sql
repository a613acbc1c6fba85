-- Rows of hipBLASLt's tuning file in the form without schema_version, and why a winner can't be one.
-- Builds before 1.0 (version below 100000) call the fnuz types f8_r and bf8_r.
SELECT concat(gemm_name(p), ' ', p.m, '×', p.n, '×', p.k, if(p.batch > 1, concat(' b', p.batch), '')) AS gemm,
       CASE
           WHEN p.grouped THEN 'grouped GEMMs have no entry in a tuning file'
           WHEN d.solution_index IS NULL THEN 'its kernel is not in the library that was measured; merge final_libs and rebuild'
           WHEN d.hipblaslt_git IS NULL AND d.kernel_name IS NULL AND d.solution_name IS NULL
               THEN 'neither the git version of the build nor a kernel name is known'
           WHEN d.legacy_rank > 1 THEN 'a shape of the same sizes and types, with another epilogue, padding or scaling, saves more, and rows without '
               || 'schema_version can''t tell them apart; use --rows versioned'
       END AS refusal,
       g."transA", g."transB", g.grouped_gemm, g.batch_count, g.m, g.n, g.k, g.alpha, g.lda, g.stride_a, g.beta, g.ldb, g.stride_b,
       g.ldc, g.stride_c, g.ldd, g.stride_d,
       if(TRY_CAST(d.hipblaslt_version AS BIGINT) < 100000, replace(g.a_type, '_fnuz', ''), g.a_type) AS a_type,
       if(TRY_CAST(d.hipblaslt_version AS BIGINT) < 100000, replace(g.b_type, '_fnuz', ''), g.b_type) AS b_type,
       if(TRY_CAST(d.hipblaslt_version AS BIGINT) < 100000, replace(g.c_type, '_fnuz', ''), g.c_type) AS c_type,
       if(TRY_CAST(d.hipblaslt_version AS BIGINT) < 100000, replace(g.d_type, '_fnuz', ''), g.d_type) AS d_type,
       replace(g.compute_type, '_fast_', '_') AS compute_type, g."scaleA", g."scaleB", g."scaleC", g."scaleD", g."amaxD",
       g.swizzle_a, g.swizzle_b, g.activation_type, g.bias_vector, g.bias_type, g.aux_type,
       d.rotating_mib AS rotating_buffer, d.flush, d.use_gpu_timer,
       round(2e0 * p.m * p.n * p.k * p.batch / d.us_tuned / 1e3, 1) AS "hipblaslt-Gflops", round(d.gbps, 3) AS "hipblaslt-GB/s",
       round(d.us_tuned, 4) AS us, d.solution_index, d.gfx AS "gcnArchName", d.cu_count AS "CUs", d.solution_name, d.kernel_name
FROM deploy_entry AS d
JOIN bench_gemm AS g ON g.problem_id = d.problem_id
JOIN problem AS p ON p.problem_id = d.problem_id
WHERE d.run_id = $run_id::UUID
ORDER BY d.seq;
