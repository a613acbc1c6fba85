-- The tuning jobs of a run with their state.
SELECT config_name AS config, gemm, backend, state, outcome, attempts, generation, n_done AS kernels_tried, best_gflops
FROM run_tuning WHERE run_id = $run_id::UUID ORDER BY config_name;
