-- The plain problems of tuning configs that are new.
INSERT INTO tuning_config_problem BY NAME
SELECT DISTINCT ON (config_id, problem_id) r.*
FROM rows AS r
WHERE NOT EXISTS (SELECT 1 FROM tuning_config_problem AS old WHERE old.config_id = r.config_id::UUID)
ORDER BY config_id, problem_id, seq;
