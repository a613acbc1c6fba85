-- Which of some configs are known, with what they are for.
SELECT w.config_id, g.arch, g.gemm, g.backend, g.n_sizes, g.n_tiles, g.n_kernels::VARCHAR AS n_kernels
FROM wanted AS w JOIN tuning_config AS g ON g.config_id = w.config_id::UUID;
