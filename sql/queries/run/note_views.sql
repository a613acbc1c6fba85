-- The views that decided a run are those of now.
UPDATE run SET summary = json_merge_patch(coalesce(summary, '{}'), json_object('views', (SELECT max(sha256) FROM schema_object WHERE kind = 'all')))
WHERE run_id = $run_id::UUID;
