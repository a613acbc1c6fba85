-- Ids of workload rows, in the order of the rows.
SELECT content_id('problem', problem_text(r)) AS problem_id, content_id('call', r.fields) AS call_id
FROM raw_calls AS r;
