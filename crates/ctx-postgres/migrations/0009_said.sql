-- How many threads and messages an owner has is kept by triggers, with every row that comes or goes: nothing is
-- counted anew when something is added.

CREATE TABLE ctx.said (
    owner text COLLATE "C" PRIMARY KEY CHECK (owner <> ''),
    threads bigint NOT NULL DEFAULT 0,
    messages bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

-- Row-level security is forced: without an owner, whoever migrates would see no rows.
ALTER TABLE ctx.threads NO FORCE ROW LEVEL SECURITY;
ALTER TABLE ctx.messages NO FORCE ROW LEVEL SECURITY;
INSERT INTO ctx.said (owner, threads, messages)
    SELECT t.owner, count(*), (SELECT count(*) FROM ctx.messages m WHERE m.owner = t.owner)
    FROM ctx.threads t GROUP BY t.owner;
ALTER TABLE ctx.messages FORCE ROW LEVEL SECURITY;
ALTER TABLE ctx.threads FORCE ROW LEVEL SECURITY;

ALTER TABLE ctx.said ENABLE ROW LEVEL SECURITY;
ALTER TABLE ctx.said FORCE ROW LEVEL SECURITY;
CREATE POLICY of_owner ON ctx.said TO ctx_app
    USING (owner = current_setting('ctx.owner', true))
    WITH CHECK (owner = current_setting('ctx.owner', true));
GRANT SELECT, INSERT, UPDATE, DELETE ON ctx.said TO ctx_app;

CREATE FUNCTION ctx.count_said() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    step bigint := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
    is_of_threads boolean := TG_TABLE_NAME = 'threads';
BEGIN
    INSERT INTO ctx.said AS s (owner, threads, messages)
        SELECT owner, CASE WHEN is_of_threads THEN step * count(*) ELSE 0 END,
            CASE WHEN is_of_threads THEN 0 ELSE step * count(*) END
        FROM changed GROUP BY owner
        ON CONFLICT (owner) DO UPDATE
            SET threads = s.threads + excluded.threads, messages = s.messages + excluded.messages;
    RETURN NULL;
END
$$;

CREATE TRIGGER count_added AFTER INSERT ON ctx.threads
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ctx.count_said();
CREATE TRIGGER count_gone AFTER DELETE ON ctx.threads
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ctx.count_said();
CREATE TRIGGER count_added AFTER INSERT ON ctx.messages
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ctx.count_said();
CREATE TRIGGER count_gone AFTER DELETE ON ctx.messages
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ctx.count_said();
