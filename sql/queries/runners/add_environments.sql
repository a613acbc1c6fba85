-- Environments that were probed and are not known yet (input: seen).
INSERT INTO environment BY NAME
SELECT s.* REPLACE (s.environment_id::UUID AS environment_id, s.cu_count::INTEGER AS cu_count)
FROM seen AS s
WHERE s.environment_id::UUID NOT IN (SELECT environment_id FROM environment);
