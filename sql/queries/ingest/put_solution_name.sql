-- Names of solutions that are new.
INSERT INTO solution_name BY NAME
SELECT DISTINCT r.* FROM rows AS r
WHERE NOT EXISTS (
    SELECT 1 FROM solution_name AS old
    WHERE old.solution_id = r.solution_id::UUID AND old.kind = r.kind AND old.name = r.name);
