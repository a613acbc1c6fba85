-- Solutions that a runner saw and the warehouse doesn't know (input: seen).
INSERT INTO solution BY NAME
SELECT s.* REPLACE (s.solution_id::UUID AS solution_id)
FROM seen AS s
WHERE s.solution_id::UUID NOT IN (SELECT solution_id FROM solution);
