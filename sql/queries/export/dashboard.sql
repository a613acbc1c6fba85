-- Rows of dashboard_data.csv.
SELECT * EXCLUDE (run_id, row_order) FROM export_dashboard WHERE run_id = $run_id::UUID ORDER BY row_order;
