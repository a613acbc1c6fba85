-- Document of metrics.json.
SELECT document FROM export_metrics WHERE run_id = $run_id::UUID;
