-- The configs of a run that are tuned, by their files: files of one text are one config and one job, under the name of the first.
CREATE OR REPLACE VIEW run_config_name AS
SELECT run_id, config_id, min(file_name) AS file_name,
       string_agg(parse_filename(file_name, true), ' and ' ORDER BY file_name) AS names
FROM run_config
WHERE state IN ('generated', 'edited', 'added')
GROUP BY run_id, config_id;
