-- Whoever works for an owner is `ctx_app`, and sees the rows of the owner that the transaction names: also where
-- a statement forgets to say so. `ctx_search` is nobody: the functions of the next migration run as it, because
-- row-level security keeps text and trigram indexes from being used.

DO $$
DECLARE
    wanted text;
BEGIN
    FOREACH wanted IN ARRAY ARRAY['ctx_app', 'ctx_search'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = wanted) THEN
            BEGIN
                EXECUTE format('CREATE ROLE %I NOLOGIN', wanted);
            EXCEPTION WHEN duplicate_object OR unique_violation THEN
                -- Another database of this server is being migrated.
                NULL;
            END;
        END IF;
        IF NOT pg_has_role(current_user, wanted, 'MEMBER') THEN
            EXECUTE format('GRANT %I TO %I', wanted, current_user);
        END IF;
    END LOOP;
END
$$;

GRANT USAGE ON SCHEMA ctx TO ctx_app, ctx_search;
GRANT SELECT ON ctx.files, ctx.parts TO ctx_search;

DO $$
DECLARE
    its text;
BEGIN
    FOREACH its IN ARRAY ARRAY[
        'owners', 'files', 'parts', 'terms', 'threads', 'messages', 'pinned', 'usage', 'feedback'
    ] LOOP
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

CREATE POLICY of_search ON ctx.files FOR SELECT TO ctx_search USING (true);
CREATE POLICY of_search ON ctx.parts FOR SELECT TO ctx_search USING (true);
