-- One solution name and one kernel name per solution: the first in alphabetical order, so that exports are stable.
CREATE OR REPLACE VIEW solution_label AS
SELECT coalesce(a.solution_id, n.solution_id) AS solution_id,
       min(n.name) FILTER (WHERE n.kind = 'solution') AS solution,
       min(n.name) FILTER (WHERE n.kind = 'kernel') AS kernel
FROM solution_name AS n
LEFT JOIN solution_alias AS a ON a.alias_id = n.solution_id
GROUP BY ALL;
