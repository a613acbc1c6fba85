-- Rows of `device` whose identity is new.
INSERT INTO device BY NAME
SELECT DISTINCT ON (device_id) r.*, $now::TIMESTAMPTZ AS last_seen FROM rows AS r
WHERE NOT EXISTS (SELECT 1 FROM device AS old WHERE old.device_id = r.device_id::UUID);
