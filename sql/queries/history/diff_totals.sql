-- Totals of a diff by class, then of all shapes that compare; shapes are the rows of history/shape_diff. Times are weighted
-- with the calls of the workload, else every shape counts once.
SELECT class, shapes, ms_a, ms_b, ms_a / ms_b AS ratio, kernel_changed, kernel_unknown FROM (
    SELECT class, count(*) AS shapes, sum(coalesce(calls, 1) * us_a) / 1e3 AS ms_a, sum(coalesce(calls, 1) * us_b) / 1e3 AS ms_b,
           count(*) FILTER (WHERE kernel = 'changed') AS kernel_changed, count(*) FILTER (WHERE kernel = 'unknown') AS kernel_unknown
    FROM shapes GROUP BY class
    UNION ALL
    SELECT 'all that compare', count(*), sum(coalesce(calls, 1) * us_a) / 1e3, sum(coalesce(calls, 1) * us_b) / 1e3,
           count(*) FILTER (WHERE kernel = 'changed'), count(*) FILTER (WHERE kernel = 'unknown')
    FROM shapes WHERE ratio IS NOT NULL
)
ORDER BY list_position(['regressed', 'improved', 'unchanged', 'no common protocol', 'only in A', 'only in B', 'all that compare'], class);
