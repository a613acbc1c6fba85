-- Rows of gemms.csv.
SELECT * EXCLUDE (run_id, row_order) FROM export_gemms WHERE run_id = $run_id::UUID ORDER BY row_order;
