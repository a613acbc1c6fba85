-- The tuning jobs of a run with what is known of their progress.
CREATE OR REPLACE VIEW run_tuning AS
SELECT k.run_id, j.job_id, g.config_id, parse_filename(c.file_name, true) AS config_name, g.gemm, g.backend, g.n_kernels, j.state, j.outcome,
       j.attempts, j.device_id, j.runner, p.phase, p.generation, p.n_done, p.n_total, p.best_gflops, p.reported_at
FROM run_job AS k
JOIN job AS j ON j.job_id = k.job_id AND j.kind = 'tune'
JOIN tuning_job AS t ON t.job_id = j.job_id
JOIN tuning_config AS g ON g.config_id = t.config_id
JOIN (
    SELECT run_id, config_id, min(file_name) AS file_name FROM run_config
    WHERE state IN ('generated', 'edited', 'added') GROUP BY ALL
) AS c ON c.run_id = k.run_id AND c.config_id = t.config_id
LEFT JOIN (
    SELECT job_id, arg_max(phase, reported_at) AS phase, max(generation) AS generation, max(n_done) AS n_done,
           arg_max(n_total, reported_at) AS n_total, max(best_gflops) AS best_gflops, max(reported_at) AS reported_at
    FROM tuning_progress
    WHERE (job_id, attempt) IN (SELECT (job_id, max(attempt)) FROM tuning_progress GROUP BY job_id)
    GROUP BY job_id
) AS p ON p.job_id = j.job_id;
