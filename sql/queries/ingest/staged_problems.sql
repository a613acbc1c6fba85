-- Distinct problems of the staged rows.
SELECT DISTINCT ON (problem_id)
    problem_id, trans_a, trans_b, m, n, batch, k, a_type, b_type, c_type, d_type, compute_type, scale_type,
    scale_a, scale_b, scale_c, scale_d, swizzle_a, swizzle_b, bias_type, bias_source, activation, aux_type, gradient,
    scale_alpha_vector, grouped, alpha_class, beta_class, lda, ldb, ldc, ldd, stride_a, stride_b, stride_c, stride_d
FROM staged_call;
