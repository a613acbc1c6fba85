-- Rows of table library_entry: what a tuned table prescribes for a problem, on which GPU. -1: it names a solution without a
-- number. Inputs: results, problems, solutions, machines (environment, arch, cu_count).
SELECT
    $library_id AS library_id, $logic_file AS logic_file, p.trans_a, p.trans_b, p.a_type, p.b_type, p.c_type, p.compute_type,
    p.m, p.n, p.batch, p.k, p.ldd, p.ldc, p.lda, p.ldb, coalesce(r.solution_index, -1) AS local_index,
    CAST(content_id('solution', s.canonical) AS VARCHAR) AS solution_id,
    CAST(content_id('problem', problem_text(p)) AS VARCHAR) AS problem_id, e.arch, e.cu_count
FROM results AS r
JOIN problems AS p USING (problem_no)
LEFT JOIN solutions AS s USING (solution_no)
LEFT JOIN machines AS e USING (environment)
ORDER BY r.row_no;
