-- Whole outputs, once by content.
INSERT INTO output BY NAME
SELECT p.output_id, p.sha256, p.n_bytes, p.text
FROM (
    SELECT unnest($output_ids::UUID[]) AS output_id, unnest($sha256::VARCHAR[]) AS sha256,
           unnest($n_bytes::BIGINT[]) AS n_bytes, unnest($texts::VARCHAR[]) AS text
) AS p
WHERE NOT EXISTS (FROM output AS o WHERE o.output_id = p.output_id);
