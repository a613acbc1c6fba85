-- A runner said goodbye.
UPDATE runner SET ended_at = $now, last_seen = $now WHERE runner = $runner;
