-- Runs that are said to go on in a process of one host.
SELECT run_id::VARCHAR AS run_id, pid FROM run WHERE state = 'running' AND host = $host AND pid IS NOT NULL;
