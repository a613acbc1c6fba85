-- metrics.json: one JSON document per run. Improved, regressed and neutral are ratios above, below and equal to 1 among the
-- valid shapes; shapes that have a new solution are counted, and in nothing else; e2e figures weigh each shape with its share of the workload's time. e2e_speedup is what the workload gains
-- (Amdahl: 1 / (1 - saved share)); e2e_uplift_pct is the saved share itself, as the original tool names it.
CREATE OR REPLACE VIEW export_metrics AS
WITH result AS MATERIALIZED (
    SELECT run_id, valid, class, ratio, solution_tuned, kernel_changed, weighted_uplift_contribution_pct, pct_of_total, weighted_us_saved,
           verified, a_type, "transA", "transB"
    FROM export_raw_results
), news AS (
    SELECT run_id, count(*) AS n_new FROM selection WHERE class = 'new_solution' GROUP BY run_id
), rows_of AS (
    SELECT r.run_id, r.options, r.simulated,
        count(x.run_id) AS n_attempted,
        count(*) FILTER (WHERE x.valid) AS n_valid,
        count(*) FILTER (WHERE NOT x.valid) AS n_invalid,
        count(*) FILTER (WHERE x.class = 'kept') AS n_kept,
        coalesce(list(x.ratio ORDER BY x.ratio) FILTER (WHERE x.valid AND isfinite(x.ratio)), []) AS ratios,
        coalesce(list(x.ratio ORDER BY x.ratio) FILTER (WHERE x.class = 'kept'), []) AS kept_ratios,
        count(DISTINCT x.solution_tuned) FILTER (WHERE x.class = 'kept') AS n_unique_winners,
        100.0 * count(*) FILTER (WHERE x.kernel_changed) / nullif(count(x.run_id), 0) AS pct_changed,
        sum(x.weighted_uplift_contribution_pct ORDER BY x.weighted_uplift_contribution_pct) FILTER (WHERE x.class = 'kept') AS saved_pct,
        sum(x.pct_of_total ORDER BY x.pct_of_total) FILTER (WHERE x.class = 'kept') AS coverage_pct,
        sum(x.weighted_us_saved ORDER BY x.weighted_us_saved) FILTER (WHERE x.class = 'kept') AS us_saved,
        coalesce(list(x.weighted_uplift_contribution_pct ORDER BY x.weighted_uplift_contribution_pct DESC)
                 FILTER (WHERE x.class = 'kept' AND x.weighted_uplift_contribution_pct IS NOT NULL), []) AS contributions,
        -- It was asked for, something was checked, and nothing was kept without it.
        coalesce(TRY_CAST(r.options ->> '$.verify' AS BOOLEAN), true) AND coalesce(bool_or(x.verified), false)
            AND coalesce(bool_and(x.verified) FILTER (WHERE x.class = 'kept'), true) AS verified
    FROM run AS r
    LEFT JOIN result AS x ON x.run_id = r.run_id
    GROUP BY r.run_id, r.options, r.simulated
), lists AS (
    SELECT *, list_transform(list_filter(ratios, lambda x: x > 1), lambda x: (x - 1) * 100) AS up,
              list_transform(list_filter(ratios, lambda x: x < 1), lambda x: (1 / x - 1) * 100) AS down
    FROM rows_of
), per_type AS (
    SELECT run_id, to_json(map_from_entries(list({'key': name, 'value': stats} ORDER BY name))) AS by_type
    FROM (
        SELECT run_id, concat(a_type, '_', "transA", "transB") AS name,
               {'n': count(*), 'geomean_uplift_pct': (exp(avg(ln(ratio) ORDER BY ratio)) - 1) * 100,
                'median_uplift_pct': (median(ratio) - 1) * 100, 'max_uplift_pct': (max(ratio) - 1) * 100} AS stats
        FROM result WHERE class = 'kept' GROUP BY ALL
    ) GROUP BY run_id
)
SELECT
    l.run_id,
    json_object(
        'simulated', l.simulated,
        'config', json_object(
            'up_thr', coalesce(TRY_CAST(options ->> '$.up_thr' AS DOUBLE), 1.03),
            'error_thr', coalesce(TRY_CAST(options ->> '$.err_thr' AS DOUBLE), 0.03), 'verify', verified,
            'rule', coalesce(options ->> '$.rule', 'point')),
        'counts', json_merge_patch(
            json_object('n_attempted', n_attempted),
            if(verified, json_object('n_valid', n_valid, 'n_invalid', n_invalid), json_object()),
            if(n.n_new IS NULL, json_object(), json_object('n_new_solutions', n.n_new)),
            json_object(
                'n_improved', len(up), 'n_regressed', len(down), 'n_neutral', len(ratios) - len(up) - len(down), 'n_kept', n_kept,
                'improved_cumulative', json_object(
                    'ge_1_pct', count_within(up, 1, 'inf'::DOUBLE), 'ge_3_pct', count_within(up, 3, 'inf'::DOUBLE),
                    'ge_5_pct', count_within(up, 5, 'inf'::DOUBLE), 'ge_10_pct', count_within(up, 10, 'inf'::DOUBLE),
                    'ge_25_pct', count_within(up, 25, 'inf'::DOUBLE), 'ge_50_pct', count_within(up, 50, 'inf'::DOUBLE),
                    'ge_100_pct', count_within(up, 100, 'inf'::DOUBLE)),
                'regressed_cumulative', json_object(
                    'ge_1_pct', count_within(down, 1, 'inf'::DOUBLE), 'ge_3_pct', count_within(down, 3, 'inf'::DOUBLE),
                    'ge_5_pct', count_within(down, 5, 'inf'::DOUBLE), 'ge_10_pct', count_within(down, 10, 'inf'::DOUBLE)),
                'improved_in_ranges', json_object(
                    'lt_1_pct', count_within(up, 0, 1), '1_to_3_pct', count_within(up, 1, 3), '3_to_5_pct', count_within(up, 3, 5),
                    '5_to_10_pct', count_within(up, 5, 10), '10_to_25_pct', count_within(up, 10, 25),
                    '25_to_50_pct', count_within(up, 25, 50), '50_to_100_pct', count_within(up, 50, 100),
                    'ge_100_pct', count_within(up, 100, 'inf'::DOUBLE)),
                'regressed_in_ranges', json_object(
                    'lt_1_pct', count_within(down, 0, 1), '1_to_3_pct', count_within(down, 1, 3),
                    '3_to_5_pct', count_within(down, 3, 5), '5_to_10_pct', count_within(down, 5, 10),
                    'ge_10_pct', count_within(down, 10, 'inf'::DOUBLE)))),
        'uplift_all_attempted', uplift_stats(ratios),
        'uplift_kept', if(n_kept = 0, json_object(), json_merge_patch(uplift_stats(kept_ratios), '{"min_uplift_pct":null,"std_uplift_pct":null}')),
        'diversity', json_object(
            'n_unique_winning_kernels', n_unique_winners, 'unique_winners_per_gemm', n_unique_winners / nullif(n_kept, 0),
            'pct_kernel_changed_in_attempted', pct_changed),
        'e2e', if(n_kept = 0, json_object(), json_object(
            'e2e_uplift_pct', saved_pct, 'e2e_speedup', 1 / (1 - saved_pct / 100), 'e2e_speedup_low', v.speedup_low,
            'e2e_speedup_high', v.speedup_high, 'coverage_pct', coverage_pct,
            'e2e_us_saved_per_iter', us_saved,
            'top10pct_contribution_share',
            list_sum(contributions[1:ceil(len(contributions) / 10.0)::BIGINT]) / nullif(list_sum(contributions), 0))),
        'per_dtype_layout', coalesce(p.by_type, json_object())
    )::VARCHAR AS document
FROM lists AS l
LEFT JOIN (SELECT run_id, speedup_low, speedup_high FROM run_worth) AS v ON v.run_id = l.run_id
LEFT JOIN news AS n ON n.run_id = l.run_id
LEFT JOIN per_type AS p ON p.run_id = l.run_id;
