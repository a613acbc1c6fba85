-- Reference and tuned time of one shape in one round of one block: same device, minutes apart. Nothing else pairs up.
CREATE OR REPLACE VIEW run_pair AS
SELECT
    t.run_id, t.problem_id, t.block_id, t.round,
    median(t.us) FILTER (WHERE t.arm = 'reference') AS us_reference,
    median(t.us) FILTER (WHERE t.arm = 'tuned') AS us_tuned,
    ln(median(t.us) FILTER (WHERE t.arm = 'reference') / median(t.us) FILTER (WHERE t.arm = 'tuned')) AS log_ratio
FROM run_timing AS t
JOIN run AS r ON r.run_id = t.run_id
JOIN job AS j ON j.job_id = t.job_id
WHERE t.job_kind = 'compare'
  AND (r.tuned_library_id IS NULL OR j.library_id = r.tuned_library_id)
GROUP BY t.run_id, t.problem_id, t.block_id, t.round
HAVING us_reference IS NOT NULL AND us_tuned IS NOT NULL;
