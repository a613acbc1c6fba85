-- Where a run was timed, as name and value.
UNPIVOT (
    SELECT coalesce(device_name, '') AS "GPU", coalesce(gfx, '') AS "target", coalesce(cu_count::VARCHAR, '') AS "CUs",
           coalesce(partition, '') AS "partition", coalesce(driver, '') AS "driver", coalesce(rocm, '') AS "ROCm", coalesce(hip, '') AS "HIP",
           concat_ws(', git ', hipblaslt_version, hipblaslt_git) AS "hipBLASLt", coalesce(clock_policy, '') AS "clock policy",
           coalesce(nullif(env_vars::VARCHAR, '{}'), '') AS "environment variables"
    FROM environment WHERE environment_id = (SELECT environment_id FROM run WHERE run_id = $run_id::UUID)
) ON COLUMNS(*) INTO NAME name VALUE value;
