-- Jobs that ended badly on a device that was found to be at fault ($device_ids), and on no other: other devices try them again.
-- Only failures since the device's last success count, and only while their stage goes on.
UPDATE job SET state = 'pending', max_attempts = max_attempts + blamed.n, not_before = NULL, updated_at = $now
FROM (
    SELECT a.job_id, count(*) AS n
    FROM job_attempt AS a
    JOIN (
        SELECT device_id, max(ended_at) FILTER (WHERE outcome NOT IN ('hang', 'memory_fault', 'crash', 'timeout', 'released', 'lost')) AS good_at
        FROM job_attempt WHERE device_id IN (SELECT unnest($device_ids::UUID[])) GROUP BY device_id
    ) AS d ON d.device_id = a.device_id
    WHERE a.outcome IN ('hang', 'memory_fault', 'crash', 'timeout') AND NOT a.late AND a.ended_at >= coalesce(d.good_at, '-infinity')
    GROUP BY a.job_id
) AS blamed
WHERE job.job_id = blamed.job_id AND job.state = 'failed' AND job.outcome IN ('hang', 'memory_fault', 'crash', 'timeout')
  AND NOT EXISTS (FROM job_attempt AS o
                  WHERE o.job_id = job.job_id AND NOT o.late AND o.outcome IN ('hang', 'memory_fault', 'crash', 'timeout')
                    AND o.device_id NOT IN (SELECT unnest($device_ids::UUID[])))
  AND EXISTS (FROM job AS p WHERE p.run_id = job.run_id AND p.kind = job.kind AND p.state IN ('pending', 'leased'))
  AND EXISTS (FROM device AS e JOIN runner AS r ON r.device_id = e.device_id AND r.ended_at IS NULL
              WHERE e.environment_id = job.environment_id AND e.quarantined_at IS NULL
                AND r.last_seen > $now::TIMESTAMPTZ - INTERVAL 1 MINUTE);
