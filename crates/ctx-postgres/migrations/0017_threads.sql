-- Threads have the numbers of their owner, from 1: from those of one sequence for all, an owner could tell how many others
-- begin.

ALTER TABLE ctx.said ADD COLUMN begun bigint NOT NULL DEFAULT 0;
ALTER TABLE ctx.threads ALTER COLUMN number DROP IDENTITY;

-- Row-level security is forced: without an owner, whoever migrates would see no rows.
ALTER TABLE ctx.threads NO FORCE ROW LEVEL SECURITY;
ALTER TABLE ctx.said NO FORCE ROW LEVEL SECURITY;
UPDATE ctx.threads t SET number = it.place
    FROM (SELECT owner, thread, row_number() OVER (PARTITION BY owner ORDER BY number) AS place FROM ctx.threads) it
    WHERE t.owner = it.owner AND t.thread = it.thread;
UPDATE ctx.said s SET begun = it.begun
    FROM (SELECT owner, max(number) AS begun FROM ctx.threads GROUP BY owner) it
    WHERE s.owner = it.owner;
ALTER TABLE ctx.said FORCE ROW LEVEL SECURITY;
ALTER TABLE ctx.threads FORCE ROW LEVEL SECURITY;

CREATE FUNCTION ctx.number_thread() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- One that is there keeps its number, and nothing is locked for it.
    SELECT t.number INTO NEW.number FROM ctx.threads t WHERE t.owner = NEW.owner AND t.thread = NEW.thread;
    IF NOT FOUND THEN
        INSERT INTO ctx.said AS s (owner, begun) VALUES (NEW.owner, 1)
            ON CONFLICT (owner) DO UPDATE SET begun = s.begun + 1 RETURNING s.begun INTO NEW.number;
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER number_begun BEFORE INSERT ON ctx.threads
    FOR EACH ROW EXECUTE FUNCTION ctx.number_thread();
