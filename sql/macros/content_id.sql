-- Id of anything known by its content: the first 128 bits of sha256 over 'kind:' and its canonical text.
-- The same as geko.domain.identity.content_id.
CREATE OR REPLACE MACRO content_id(kind, canonical_text) AS
    CAST(left(sha256(concat(kind, ':', canonical_text)), 32) AS UUID);
