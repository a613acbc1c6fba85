-- Rows of summary.csv.
SELECT * EXCLUDE (run_id, row_order) FROM export_summary WHERE run_id = $run_id::UUID ORDER BY row_order;
