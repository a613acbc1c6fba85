-- Distinct calls of the staged rows: lines that differ only in spelling or in call_count are one.
SELECT DISTINCT ON (call_id) call_id, problem_id, alpha, beta, solution_index, fields FROM staged_call;
