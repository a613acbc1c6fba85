-- The end of a run. One that another process has finished in the meantime stays finished when this one is interrupted. The summary
-- keeps by which views it was decided.
UPDATE run SET state = $state, ended_at = $now::TIMESTAMPTZ, pid = NULL,
               summary = json_merge_patch($summary::JSON, json_object('views', (SELECT max(sha256) FROM schema_object WHERE kind = 'all')))
WHERE run_id = $run_id::UUID AND NOT (state = 'finished' AND pid IS NULL AND $state = 'interrupted');
