-- When a thread began or got its last message, in milliseconds, is what threads are listed by, in the order in which that
-- happened: each has a number of its owner for it, from 1, by which a list goes on. Times may be equal, and clocks go back.

DROP INDEX ctx.threads_changed;
-- Seconds until now.
ALTER TABLE ctx.threads RENAME COLUMN changed_at TO active_at;
ALTER TABLE ctx.threads ADD COLUMN activity bigint NOT NULL DEFAULT 0;
ALTER TABLE ctx.said ADD COLUMN active bigint NOT NULL DEFAULT 0;

-- Row-level security is forced: without an owner, whoever migrates would see no rows.
ALTER TABLE ctx.threads NO FORCE ROW LEVEL SECURITY;
ALTER TABLE ctx.messages NO FORCE ROW LEVEL SECURITY;
ALTER TABLE ctx.said NO FORCE ROW LEVEL SECURITY;
UPDATE ctx.threads t SET active_at = it.at, activity = it.place
    FROM (
        SELECT owner, thread, at, row_number() OVER (PARTITION BY owner ORDER BY at, number) AS place
        FROM (
            SELECT t.owner, t.thread, t.number, greatest(
                -- Whatever was stored as a time, the product is a bigint.
                t.begun_at, max(least(greatest(m.created_at, 0), 9007199254740) * 1000 + m.milliseconds)
            ) AS at
            FROM ctx.threads t LEFT JOIN ctx.messages m ON m.owner = t.owner AND m.thread = t.thread
            GROUP BY t.owner, t.thread
        ) active
    ) it
    WHERE t.owner = it.owner AND t.thread = it.thread;
UPDATE ctx.said s SET active = it.active
    FROM (SELECT owner, max(activity) AS active FROM ctx.threads GROUP BY owner) it
    WHERE s.owner = it.owner;
ALTER TABLE ctx.said FORCE ROW LEVEL SECURITY;
ALTER TABLE ctx.messages FORCE ROW LEVEL SECURITY;
ALTER TABLE ctx.threads FORCE ROW LEVEL SECURITY;

CREATE INDEX threads_activity ON ctx.threads (owner, activity);

CREATE OR REPLACE FUNCTION ctx.number_thread() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- One that is there keeps its numbers, and nothing is locked for it.
    SELECT t.number, t.activity INTO NEW.number, NEW.activity
        FROM ctx.threads t WHERE t.owner = NEW.owner AND t.thread = NEW.thread;
    IF NOT FOUND THEN
        INSERT INTO ctx.said AS s (owner, begun, active) VALUES (NEW.owner, 1, 1)
            ON CONFLICT (owner) DO UPDATE SET begun = s.begun + 1, active = s.active + 1
            RETURNING s.begun, s.active INTO NEW.number, NEW.activity;
    END IF;
    RETURN NEW;
END
$$;

CREATE FUNCTION ctx.number_activity() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    INSERT INTO ctx.said AS s (owner, active) VALUES (NEW.owner, 1)
        ON CONFLICT (owner) DO UPDATE SET active = s.active + 1 RETURNING s.active INTO NEW.activity;
    RETURN NEW;
END
$$;

CREATE TRIGGER number_active BEFORE UPDATE OF active_at ON ctx.threads
    FOR EACH ROW EXECUTE FUNCTION ctx.number_activity();
