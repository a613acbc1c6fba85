-- Problems of a run without a (full) result of one of its jobs, with the outcome and message of the last attempt: jobs that
-- ended badly (each of the problems of a job of several), and what failed inside a job that went on: shapes of a comparison,
-- candidates of a search that could not be read. A tuning job is of plain problems: it stands for the run's problems behind
-- them, and kernels that fail inside a job that went on are no failure of it.
CREATE OR REPLACE VIEW run_failure AS
SELECT rj.run_id, coalesce(j.problem_id, t.problem_id, p.problem_id) AS problem_id, j.job_id, j.kind, j.state, j.outcome, j.attempts, a.message
FROM run_job AS rj
JOIN job AS j ON j.job_id = rj.job_id
LEFT JOIN (
    SELECT job_id, unnest((spec ->> '$.problem_ids')::UUID[]) AS problem_id FROM job_spec
) AS p ON p.job_id = j.job_id AND j.problem_id IS NULL
LEFT JOIN run_plain AS t ON j.kind = 'tune' AND t.run_id = rj.run_id AND t.plain_id = p.problem_id
LEFT JOIN (
    SELECT job_id, arg_max(message, (attempt, ended_at)) AS message
    FROM job_attempt WHERE NOT late AND outcome <> 'released' GROUP BY job_id
) AS a ON a.job_id = j.job_id
WHERE j.state IN ('failed', 'dead', 'cancelled') OR (j.state = 'done' AND j.outcome <> 'ok')
UNION ALL
SELECT rj.run_id, m.problem_id, j.job_id, j.kind, j.state, min(m.outcome) AS outcome, j.attempts, min(m.extra ->> '$.message') AS message
FROM run_job AS rj
JOIN job AS j ON j.job_id = rj.job_id AND j.kind <> 'tune' AND j.state = 'done' AND j.outcome = 'ok'
JOIN measurement AS m ON m.job_id = j.job_id
JOIN (SELECT job_id, max(attempt) AS attempt FROM measurement WHERE job_id IS NOT NULL GROUP BY job_id) AS l
  ON l.job_id = m.job_id AND m.attempt IS NOT DISTINCT FROM l.attempt
WHERE m.outcome NOT IN ('ok', 'skipped', 'not_checked', 'late')
GROUP BY rj.run_id, m.problem_id, j.job_id, j.kind, j.state, j.attempts;
