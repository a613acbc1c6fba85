-- The fields in which the environments of two sides differ.
WITH side AS (
    SELECT 'a' AS side, e.* FROM environment AS e WHERE e.environment_id IN (SELECT unnest($a_ids)::UUID)
    UNION ALL
    SELECT 'b', e.* FROM environment AS e WHERE e.environment_id IN (SELECT unnest($b_ids)::UUID)
), field AS (
    UNPIVOT (
        SELECT side, coalesce(gfx, '') AS gfx, coalesce(device_name, '') AS device, coalesce(pci_id, '') AS pci_id,
               coalesce(cu_count::VARCHAR, '') AS "CUs", coalesce(partition, '') AS partition, coalesce(driver, '') AS driver,
               coalesce(rocm, '') AS rocm, coalesce(hip, '') AS hip, coalesce(hipblaslt_version, '') AS hipblaslt,
               coalesce(hipblaslt_git, '') AS git, coalesce(clock_policy, '') AS clocks, coalesce(env_vars::VARCHAR, '{}') AS env_vars,
               if(simulated, 'simulated', 'measured') AS times
        FROM side
    ) ON gfx, device, pci_id, "CUs", partition, driver, rocm, hip, hipblaslt, git, clocks, env_vars, times INTO NAME field VALUE value
)
SELECT field, string_agg(DISTINCT value, ' | ' ORDER BY value) FILTER (WHERE side = 'a') AS a,
       string_agg(DISTINCT value, ' | ' ORDER BY value) FILTER (WHERE side = 'b') AS b
FROM field GROUP BY field
HAVING a IS DISTINCT FROM b ORDER BY field;
