-- Which solution goes into the tuned library for which size. A library knows a size by M, N, batch and K inside one logic
-- file, so problems that differ only in epilogue or padding share an entry: the one that saves most time decides.
CREATE OR REPLACE VIEW export_library_entry AS
SELECT w.run_id, w.problem_id, s.logic_file, s.library_type, s.local_index, w.solution_index, w.solution_id,
       q.m, q.n, q.batch, q.k, c.share_pct
FROM run_choice AS w
JOIN run AS r ON r.run_id = w.run_id
JOIN run_contribution AS c ON c.run_id = w.run_id AND c.problem_id = w.problem_id
JOIN problem AS q ON q.problem_id = w.problem_id
JOIN library_solution AS s ON s.library_id = r.library_id AND s.solution_index = w.solution_index
WHERE c.kept
QUALIFY row_number() OVER (
    PARTITION BY w.run_id, s.logic_file, s.library_type, q.m, q.n, q.batch, q.k
    ORDER BY c.call_count * (c.us - w.us) DESC, c.seq) = 1;
