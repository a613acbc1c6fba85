-- Names under which a runner saw solutions (input: seen).
INSERT INTO solution_name BY NAME
SELECT s.* REPLACE (s.solution_id::UUID AS solution_id)
FROM seen AS s
WHERE NOT EXISTS (
    FROM solution_name AS n WHERE n.solution_id = s.solution_id::UUID AND n.kind = s.kind AND n.name = s.name);
