-- The sizes of the tuned library (libs/): solution by logic file and size. With $kept_only, only those of shapes that were kept.
SELECT e.logic_file, e.library_type, e.local_index, e.solution_index AS "solutionIdx", e.m, e.n, e.batch AS batch_count, e.k
FROM export_library_entry AS e
WHERE e.run_id = $run_id::UUID
  AND (NOT $kept_only::BOOLEAN OR EXISTS (
      SELECT 1 FROM selection AS s
      WHERE s.run_id = e.run_id AND s.problem_id = e.problem_id AND s.class = 'kept'))
ORDER BY e.logic_file, e.library_type, e.m, e.n, e.batch, e.k;
