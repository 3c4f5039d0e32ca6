-- Contexts are kept by their bytes and by when they were given. How many bytes an owner's come to is kept by triggers, with every
-- row that comes or goes.

ALTER TABLE ctx.contexts
    ADD COLUMN kept_at timestamptz NOT NULL DEFAULT now(),
    ADD COLUMN bytes bigint NOT NULL GENERATED ALWAYS AS (octet_length(receipt)) STORED;
DROP INDEX ctx.contexts_number;
CREATE INDEX contexts_number ON ctx.contexts (owner, number) INCLUDE (bytes, kept_at);

CREATE TABLE ctx.kept (
    owner text COLLATE "C" PRIMARY KEY CHECK (owner <> ''),
    bytes bigint NOT NULL
) WITH (fillfactor = 50);

-- Row-level security is forced: without an owner, whoever migrates would see no rows.
ALTER TABLE ctx.contexts NO FORCE ROW LEVEL SECURITY;
INSERT INTO ctx.kept (owner, bytes) SELECT owner, sum(bytes)::bigint FROM ctx.contexts GROUP BY owner;
ALTER TABLE ctx.contexts FORCE ROW LEVEL SECURITY;

ALTER TABLE ctx.kept ENABLE ROW LEVEL SECURITY;
ALTER TABLE ctx.kept FORCE ROW LEVEL SECURITY;
CREATE POLICY of_owner ON ctx.kept TO ctx_app
    USING (owner = current_setting('ctx.owner', true))
    WITH CHECK (owner = current_setting('ctx.owner', true));
GRANT SELECT, INSERT, UPDATE, DELETE ON ctx.kept TO ctx_app;

CREATE FUNCTION ctx.count_kept() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    step bigint := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
    INSERT INTO ctx.kept AS k (owner, bytes)
        SELECT owner, step * sum(bytes)::bigint FROM changed GROUP BY owner
        ON CONFLICT (owner) DO UPDATE SET bytes = k.bytes + excluded.bytes;
    RETURN NULL;
END
$$;

CREATE TRIGGER count_added AFTER INSERT ON ctx.contexts
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ctx.count_kept();
CREATE TRIGGER count_gone AFTER DELETE ON ctx.contexts
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ctx.count_kept();
