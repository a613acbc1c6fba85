-- Problems under the column names and in the order of hipblaslt-bench's output.
CREATE OR REPLACE VIEW bench_gemm AS
SELECT
    problem_id, trans_a AS "transA", trans_b AS "transB", grouped::INTEGER AS grouped_gemm, batch AS batch_count, m, n, k,
    if(alpha_class = 'one', 1, 2) AS alpha, full_lda(p) AS lda, coalesce(stride_a, full_lda(p) * if(trans_a = 'N', k, m)) AS stride_a,
    if(beta_class = 'zero', 0, 1) AS beta, full_ldb(p) AS ldb, coalesce(stride_b, full_ldb(p) * if(trans_b = 'N', n, k)) AS stride_b,
    coalesce(ldc, m) AS ldc, coalesce(stride_c, coalesce(ldc, m) * n) AS stride_c,
    coalesce(ldd, m) AS ldd, coalesce(stride_d, coalesce(ldd, m) * n) AS stride_d,
    a_type, b_type, c_type, d_type, compute_type, scale_a AS "scaleA", scale_b AS "scaleB", scale_c AS "scaleC",
    scale_d AS "scaleD", 0 AS "amaxD", swizzle_a::INTEGER AS swizzle_a, swizzle_b::INTEGER AS swizzle_b,
    activation AS activation_type, (bias_type IS NOT NULL)::INTEGER AS bias_vector,
    coalesce(bias_type, d_type) AS bias_type, coalesce(aux_type, d_type) AS aux_type
FROM problem AS p;
