-- final_results.csv: the shapes that were kept.
CREATE OR REPLACE VIEW export_final_results AS
SELECT * EXCLUDE (valid, winner, class) FROM export_raw_results WHERE class = 'kept';
