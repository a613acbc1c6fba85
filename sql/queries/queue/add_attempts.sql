-- One row for every result, late ones too (input: attempted, whose columns are those of the table).
INSERT INTO job_attempt BY NAME SELECT * FROM attempted;
