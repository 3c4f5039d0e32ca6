-- What a grammar read in a file when it was stored, sealed for its text, need not be read again to show it. Files of before
-- have none, and are parsed when they are shown, until they change.

ALTER TABLE ctx.files ADD COLUMN outline bytea;

DO $$
BEGIN
    ALTER TABLE ctx.files ALTER COLUMN outline SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
    NULL;
END
$$;
