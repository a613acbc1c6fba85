-- Rows of new_solutions.csv.
SELECT * EXCLUDE (run_id, row_order) FROM export_new_solutions WHERE run_id = $run_id::UUID ORDER BY row_order;
