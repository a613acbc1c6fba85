-- Devices whose last $n attempts all failed in a way that points to the hardware.
SELECT device_id::VARCHAR AS device_id, max(outcome) AS outcome
FROM (
    SELECT device_id, outcome
    FROM job_attempt
    WHERE device_id IN (SELECT unnest($device_ids::UUID[])) AND outcome NOT IN ('released', 'lost')
    QUALIFY row_number() OVER (PARTITION BY device_id ORDER BY ended_at DESC, rowid DESC) <= $n
)
GROUP BY device_id
HAVING count(*) = $n AND bool_and(outcome IN ('hang', 'memory_fault', 'crash', 'timeout'));
