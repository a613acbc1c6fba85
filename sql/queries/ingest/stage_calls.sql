-- Rows of a workload with their ids, to be read by staged_problems, staged_calls and staged_counts.
CREATE OR REPLACE TEMP TABLE staged_call AS
SELECT content_id('problem', problem_text(r)) AS problem_id, content_id('call', r.fields) AS call_id, r.*
FROM raw_calls AS r;
