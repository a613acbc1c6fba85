-- Texts of the configs of a run, to write its folder again.
SELECT r.file_name, g.yaml FROM run_config AS r JOIN tuning_config AS g ON g.config_id = r.config_id
WHERE r.run_id = $run_id::UUID AND r.state IN ('generated', 'edited', 'added') ORDER BY r.file_name;
