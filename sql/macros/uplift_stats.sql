-- Statistics over a list of ratios as in metrics.json: percentages above 1; NULL for an empty list.
CREATE OR REPLACE MACRO uplift_stats(ratios) AS
    json_object(
        'mean_uplift_pct', (list_avg(ratios) - 1) * 100,
        'geomean_uplift_pct', (exp(list_avg(list_transform(list_filter(ratios, lambda x: x > 0), lambda x: ln(x)))) - 1) * 100,
        'median_uplift_pct', (list_median(ratios) - 1) * 100,
        'max_uplift_pct', (list_max(ratios) - 1) * 100,
        'min_uplift_pct', (list_min(ratios) - 1) * 100,
        'std_uplift_pct', list_stddev_pop(ratios) * 100,
        'p25', (list_aggregate(ratios, 'quantile_cont', 0.25) - 1) * 100,
        'p50', (list_aggregate(ratios, 'quantile_cont', 0.5) - 1) * 100,
        'p75', (list_aggregate(ratios, 'quantile_cont', 0.75) - 1) * 100,
        'p90', (list_aggregate(ratios, 'quantile_cont', 0.9) - 1) * 100,
        'p99', (list_aggregate(ratios, 'quantile_cont', 0.99) - 1) * 100);
