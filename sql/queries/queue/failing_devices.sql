-- Devices whose last $n attempts all failed in a way that points to the hardware, with the outcome of the last.
SELECT f.device_id::VARCHAR AS device_id, arg_min(f.outcome, f.nr) AS outcome, concat(any_value(d.ordinal), ' of ', any_value(d.host)) AS name
FROM (
    SELECT device_id, outcome, row_number() OVER (PARTITION BY device_id ORDER BY ended_at DESC, rowid DESC) AS nr
    FROM job_attempt
    WHERE device_id IN (SELECT unnest($device_ids::UUID[])) AND outcome NOT IN ('released', 'lost')
    QUALIFY nr <= $n
) AS f
JOIN device AS d ON d.device_id = f.device_id
GROUP BY f.device_id
HAVING count(*) = $n AND bool_and(f.outcome IN ('hang', 'memory_fault', 'crash', 'timeout'));
