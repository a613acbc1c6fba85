-- Key of a job: the same work is the same job, whichever run asks for it.
CREATE OR REPLACE MACRO job_key(kind, problems, library_id, protocol_id, environment_id, block) AS
    content_id('job', concat_ws('|', kind, problems, coalesce(library_id::VARCHAR, '~'), protocol_id::VARCHAR,
                                environment_id::VARCHAR, block));
