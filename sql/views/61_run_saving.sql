-- What each kept shape saves of its workload's GEMM time, in percent of it: share · (1 − 1/ratio), with the interval of its ratio.
CREATE OR REPLACE VIEW run_saving AS
SELECT run_id, problem_id, row_number() OVER (PARTITION BY run_id ORDER BY share_pct * (1 - 1 / ratio) DESC, problem_id) AS rank,
       share_pct, ratio, share_pct * (1 - 1 / ratio) AS saved_pct, share_pct * (1 - 1 / ratio_low) AS saved_low_pct,
       share_pct * (1 - 1 / ratio_high) AS saved_high_pct,
       sum(share_pct * (1 - 1 / ratio)) OVER (
           PARTITION BY run_id ORDER BY share_pct * (1 - 1 / ratio) DESC, problem_id) AS running_pct,
       check_outcome IS NOT DISTINCT FROM 'passed' AS checked, simulated
FROM selection
WHERE class = 'kept';
