-- Rows of winners.csv.
SELECT * EXCLUDE (run_id, row_order) FROM export_winners WHERE run_id = $run_id::UUID ORDER BY row_order;
