-- Where libraries of an origin were last seen, the newest first.
SELECT path FROM library WHERE kind = 'built' AND origin = $origin AND path IS NOT NULL ORDER BY first_seen DESC, path;
