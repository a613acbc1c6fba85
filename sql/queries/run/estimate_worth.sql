-- What a search could win at most (input: shapes): kept shapes would have to reach the roofline. Only shapes with a measured time
-- say something about that; the others count as if they could vanish.
SELECT count(*) AS n_shapes, count(*) FILTER (WHERE kept) AS n_kept, coalesce(sum(share_pct) FILTER (WHERE kept), 0) AS kept_pct,
       count(*) FILTER (WHERE source = 'no solution') AS n_without, count(*) FILTER (WHERE source = 'guessed') AS n_guessed,
       count(*) FILTER (WHERE kept AND least_us IS NULL) AS n_no_roofline,
       coalesce(sum(share_pct * (1 - coalesce(least_us / us, 0))) FILTER (WHERE kept), 0) AS at_most_pct
FROM shapes;
