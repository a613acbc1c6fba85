-- Ids of rows of one file; $source names its content, so that they are the same on every machine. Input: numbers.
SELECT CAST(content_id($kind, concat($source, ':', row_no)) AS VARCHAR) AS id FROM numbers;
