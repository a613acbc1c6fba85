-- Rows of final_results.csv; lib names the logic file that holds the kept solution.
SELECT * EXCLUDE (run_id, row_order, problem_id, simulated), simulated FROM export_final_results WHERE run_id = $run_id::UUID ORDER BY row_order;
