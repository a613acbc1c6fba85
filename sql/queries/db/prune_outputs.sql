-- Drop the texts of outputs of which every attempt succeeded; hash and length stay.
UPDATE output SET text = ''
WHERE text <> '' AND EXISTS (FROM job_attempt AS a WHERE a.output_id = output.output_id)
  AND NOT EXISTS (FROM job_attempt AS a WHERE a.output_id = output.output_id
                  AND (a.outcome <> 'ok' OR a.ended_at >= coalesce($before::TIMESTAMPTZ, 'infinity')));
