-- A file that was read as proof of what an application used counts like any other from now on.
UPDATE ingest_file SET detail = json_merge_patch(detail, '{"purpose": null}') WHERE file_id = $file_id::UUID;
