-- The part of an error alpha that one of n_candidates may spend at a look: alpha/2, alpha/6, alpha/12, ... over the looks, which
-- sums to alpha over any number of them, divided by the number of candidates (Bonferroni). See docs/verdicts.md.
CREATE OR REPLACE MACRO look_alpha(alpha, look, n_candidates) AS alpha / (look * (look + 1)) / n_candidates;
