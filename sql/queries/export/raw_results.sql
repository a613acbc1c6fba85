-- Rows of raw_results.csv.
SELECT * EXCLUDE (run_id, row_order, problem_id, lib, class, reason, winner, simulated), class, reason, simulated FROM export_raw_results WHERE run_id = $run_id::UUID ORDER BY row_order;
