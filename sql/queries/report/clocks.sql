-- Clocks during the timings of a run, where the bench recorded them, MHz.
SELECT concat(d.host, ' GPU ', d.ordinal) AS device, t.sclk_mhz, t.mclk_mhz
FROM run_timing AS t LEFT JOIN device AS d ON d.device_id = t.device_id
WHERE t.run_id = $run_id::UUID AND t.sclk_mhz > 0
ORDER BY device, t.measured_at, t.measurement_id;
