-- The per-size table of a run.
SELECT concat(gemm, ' ', m, '×', n, '×', k, if(batch > 1, concat(' b', batch), '')) AS size, state, config_name AS config,
       n_tiles AS tiles, n_kernels::DECIMAL(38, 0) AS kernels, reason
FROM run_size WHERE run_id = $run_id::UUID ORDER BY seq;
