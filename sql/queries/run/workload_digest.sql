-- Content of a workload: its problems and counts, independent of files and order.
SELECT content_id('workload-content', coalesce(string_agg(concat(problem_id, '=', n), '|' ORDER BY problem_id), ''))::VARCHAR AS digest,
       count(*) AS n_problems, coalesce(sum(n), 0)::BIGINT AS n_calls,
       -- Hash of the files: of the one there is, or over the sorted hashes of several.
       (SELECT CASE WHEN count(DISTINCT f.sha256) = 1 THEN min(f.sha256)
                    ELSE sha256(string_agg(DISTINCT f.sha256, '' ORDER BY f.sha256)) END
        FROM workload_file AS wf JOIN ingest_file AS f ON f.file_id = wf.file_id
        WHERE wf.workload_id = $workload_id::UUID) AS input_sha256
FROM (
    SELECT c.problem_id, sum(w.call_count) AS n
    FROM workload_file AS wf
    JOIN workload_call AS w ON w.file_id = wf.file_id
    JOIN call AS c ON c.call_id = w.call_id
    WHERE wf.workload_id = $workload_id::UUID
    GROUP BY c.problem_id
);
