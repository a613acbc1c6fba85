-- Ids must follow from the content of their rows; for large tables a sample tells.
WITH wrong AS (
    SELECT 'problem' AS what, problem_id AS id
    FROM (FROM problem USING SAMPLE reservoir(20000 ROWS) REPEATABLE (1)) AS p
    WHERE problem_id <> content_id('problem', problem_text(p))
    UNION ALL SELECT 'environment', environment_id FROM environment
    WHERE environment_id <> content_id('environment', identity::VARCHAR)
    UNION ALL SELECT 'protocol', protocol_id FROM protocol WHERE protocol_id <> content_id('protocol', settings::VARCHAR)
    UNION ALL SELECT 'output', output_id
    FROM (FROM output USING SAMPLE reservoir(2000 ROWS) REPEATABLE (1)) AS o
    WHERE text <> '' AND (sha256 <> sha256(text) OR output_id <> content_id('output', sha256))
)
SELECT concat('id fits content of ', rule.what) AS rule, count(wrong.id) AS n, min(wrong.id)::VARCHAR AS example
FROM (VALUES ('problem'), ('environment'), ('protocol'), ('output')) AS rule(what)
LEFT JOIN wrong ON wrong.what = rule.what
GROUP BY rule.what ORDER BY rule.what;
