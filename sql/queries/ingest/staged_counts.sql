-- How often each call was made: every line counts call_count times as often as it stands in the file.
SELECT call_id, sum(call_count * n_lines)::BIGINT AS call_count, sum(n_lines)::BIGINT AS n_lines,
       min(first_line) AS first_line
FROM staged_call GROUP BY call_id ORDER BY first_line, call_id;
