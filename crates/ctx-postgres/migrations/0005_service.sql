-- What a service over HTTP keeps beside: titles and beginnings of threads, contexts that were built, how many votes
-- an owner has, and one secret for all processes.

ALTER TABLE ctx.threads
    -- In which order they began.
    ADD COLUMN number bigint GENERATED ALWAYS AS IDENTITY,
    ADD COLUMN title text,
    -- Milliseconds since 1970.
    ADD COLUMN begun_at bigint NOT NULL DEFAULT 0;
CREATE INDEX threads_number ON ctx.threads (owner, number);

-- Beyond the seconds of `created_at`.
ALTER TABLE ctx.messages ADD COLUMN milliseconds smallint NOT NULL DEFAULT 0;

CREATE TABLE ctx.contexts (
    owner text COLLATE "C" NOT NULL CHECK (owner <> ''),
    id text COLLATE "C" NOT NULL,
    number bigint GENERATED ALWAYS AS IDENTITY,
    receipt text NOT NULL,
    PRIMARY KEY (owner, id)
);
CREATE INDEX contexts_number ON ctx.contexts (owner, number);

CREATE TABLE ctx.votes (
    owner text COLLATE "C" PRIMARY KEY CHECK (owner <> ''),
    counted bigint NOT NULL
);
INSERT INTO ctx.votes (owner, counted) SELECT owner, count(*) FROM ctx.feedback GROUP BY owner;
-- As many uses as make a difference.
UPDATE ctx.usage SET uses = 10 WHERE uses > 10;

-- Two random UUIDs are 244 random bits.
CREATE TABLE ctx.secret (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    secret bytea NOT NULL CHECK (length(secret) = 32)
);
INSERT INTO ctx.secret (secret)
    SELECT decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex');
GRANT SELECT ON ctx.secret TO ctx_app;

DO $$
DECLARE
    its text;
BEGIN
    FOREACH its IN ARRAY ARRAY['contexts', 'votes'] LOOP
        EXECUTE format('ALTER TABLE ctx.%I ENABLE ROW LEVEL SECURITY', its);
        EXECUTE format('ALTER TABLE ctx.%I FORCE ROW LEVEL SECURITY', its);
        EXECUTE format(
            'CREATE POLICY of_owner ON ctx.%I TO ctx_app
                 USING (owner = current_setting(''ctx.owner'', true))
                 WITH CHECK (owner = current_setting(''ctx.owner'', true))',
            its
        );
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON ctx.%I TO ctx_app', its);
    END LOOP;
END
$$;
