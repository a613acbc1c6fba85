-- Tuning configs whose text is new.
INSERT INTO tuning_config BY NAME
SELECT DISTINCT ON (config_id) r.*, $now::TIMESTAMPTZ AS first_seen
FROM rows AS r
WHERE NOT EXISTS (SELECT 1 FROM tuning_config AS old WHERE old.config_id = r.config_id::UUID);
