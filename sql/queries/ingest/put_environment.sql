-- Rows of `environment` whose identity is new.
INSERT INTO environment BY NAME
SELECT DISTINCT ON (environment_id) r.*, $now::TIMESTAMPTZ AS first_seen FROM rows AS r
WHERE NOT EXISTS (SELECT 1 FROM environment AS old WHERE old.environment_id = r.environment_id::UUID);
