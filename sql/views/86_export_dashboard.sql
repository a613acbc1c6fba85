-- dashboard_data.csv: kept shapes with the tuned figures only, under plain column names.
CREATE OR REPLACE VIEW export_dashboard AS
SELECT
    run_id, row_order, "transA", "transB", grouped_gemm, batch_count, m, n, k, alpha, lda, stride_a, beta, ldb, stride_b, ldc,
    stride_c, ldd, stride_d, a_type, b_type, c_type, d_type, compute_type, "scaleA", "scaleB", "scaleC", "scaleD", "amaxD",
    swizzle_a, swizzle_b, activation_type, bias_vector, bias_type, aux_type, rotating_buffer, flush, use_gpu_timer,
    "hipblaslt-Gflops_tuned" AS "hipblaslt-Gflops", "hipblaslt-GB/s_tuned" AS "hipblaslt-GB/s", us_tuned AS us,
    kernel_tuned AS solution_name, "solutionIdx_tuned" AS solution_index, uplift_pct, us_saved, arith_intensity, category,
    category_2, call_count, pct_of_total, simulated
FROM export_final_results;
