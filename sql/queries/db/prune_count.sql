-- What a prune would drop: texts of outputs of which every attempt succeeded, and attempts that came to nothing.
SELECT
    (SELECT count(*) FROM output AS o
     WHERE o.text <> '' AND EXISTS (FROM job_attempt AS a WHERE a.output_id = o.output_id)
       AND NOT EXISTS (FROM job_attempt AS a WHERE a.output_id = o.output_id
                       AND (a.outcome <> 'ok' OR a.ended_at >= coalesce($before::TIMESTAMPTZ, 'infinity')))) AS outputs,
    (SELECT count(*) FROM job_attempt
     WHERE outcome IN ('released', 'lost') AND ended_at < coalesce($before::TIMESTAMPTZ, 'infinity')) AS attempts;
