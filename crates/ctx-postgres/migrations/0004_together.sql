-- Many names are looked up together, each as if it were alone: at most `most` parts for each, which is told by its
-- number, from 1.

DROP FUNCTION ctx.defining(text[], integer);
DROP FUNCTION ctx.using_names(text[], integer);

CREATE FUNCTION ctx.defining(names text[], most integer)
RETURNS TABLE (number bigint, path text, first integer)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 100
SET search_path = pg_catalog, {extensions}, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off
-- To find few of them the planner would else go through all parts in their order.
SET enable_indexscan = off SET enable_indexonlyscan = off
AS $$
BEGIN
    RETURN QUERY
    SELECT n.number, it.path, it.first
    FROM unnest(names) WITH ORDINALITY AS n (name, number)
    CROSS JOIN LATERAL (
        SELECT q.path, q.first FROM (
            SELECT p.path, p.first FROM ctx.parts p
            WHERE p.owner = current_setting('ctx.owner') AND p.defines @> ARRAY[n.name]
            -- A name of thousands is nobody's in particular: which of them are its first is not worth reading all.
            LIMIT most + 256
        ) q
        ORDER BY 1, 2 LIMIT most
    ) it;
END
$$;

CREATE FUNCTION ctx.using_names(names text[], most integer)
RETURNS TABLE (number bigint, path text, first integer)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 100
SET search_path = pg_catalog, {extensions}, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off
-- To find few of them the planner would else go through all parts in their order.
SET enable_indexscan = off SET enable_indexonlyscan = off
AS $$
BEGIN
    RETURN QUERY
    SELECT n.number, it.path, it.first
    FROM unnest(names) WITH ORDINALITY AS n (name, number)
    CROSS JOIN LATERAL (
        SELECT q.path, q.first FROM (
            SELECT p.path, p.first FROM ctx.parts p
            WHERE p.owner = current_setting('ctx.owner') AND p.uses @> ARRAY[n.name]
            -- A name of thousands is nobody's in particular: which of them are its first is not worth reading all.
            LIMIT most + 256
        ) q
        ORDER BY 1, 2 LIMIT most
    ) it;
END
$$;

DO $$
DECLARE
    its regprocedure;
BEGIN
    -- To own a function one must be allowed to make it.
    GRANT CREATE ON SCHEMA ctx TO ctx_search;
    FOR its IN SELECT p.oid FROM pg_proc p WHERE p.pronamespace = 'ctx'::regnamespace
        AND p.proname IN ('defining', 'using_names')
    LOOP
        EXECUTE format('ALTER FUNCTION %s OWNER TO ctx_search', its);
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', its);
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO ctx_app', its);
    END LOOP;
    REVOKE CREATE ON SCHEMA ctx FROM ctx_search;
END
$$;
