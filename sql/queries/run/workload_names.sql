SELECT name FROM workload ORDER BY name;
