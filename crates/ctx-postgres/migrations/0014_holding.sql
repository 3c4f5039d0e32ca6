-- For each term, what holds it: lists that whoever reads them keeps, so that a question asks for those of its terms alone
-- that nobody has asked for.

CREATE FUNCTION ctx.parts_holding(terms tsquery[], most integer) RETURNS TABLE (place bigint, numbers bigint[])
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 32
SET search_path = pg_catalog, {extensions}, pg_temp SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off
AS $$
BEGIN
    RETURN QUERY
    SELECT q.place, ARRAY(
        SELECT p.number FROM ctx.parts p
        WHERE p.owner = current_setting('ctx.owner') AND p.terms @@ q.term
        LIMIT most
    )
    FROM unnest(terms) WITH ORDINALITY AS q (term, place);
END
$$;

CREATE FUNCTION ctx.files_holding(terms tsquery[], most integer) RETURNS TABLE (place bigint, numbers bigint[])
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 32
SET search_path = pg_catalog, {extensions}, pg_temp SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off
AS $$
BEGIN
    RETURN QUERY
    SELECT q.place, ARRAY(
        SELECT f.number FROM ctx.files f
        WHERE f.owner = current_setting('ctx.owner') AND f.terms @@ q.term
        LIMIT most
    )
    FROM unnest(terms) WITH ORDINALITY AS q (term, place);
END
$$;

-- Files that were shown within the same second are in their order, too.
DROP INDEX ctx.usage_shown;
CREATE INDEX usage_shown ON ctx.usage (owner, shown_at, path);

DO $$
DECLARE
    its regprocedure;
BEGIN
    -- To own a function one must be allowed to make it.
    GRANT CREATE ON SCHEMA ctx TO ctx_search;
    FOR its IN SELECT p.oid FROM pg_proc p WHERE p.pronamespace = 'ctx'::regnamespace
        AND p.proname IN ('parts_holding', 'files_holding')
    LOOP
        EXECUTE format('ALTER FUNCTION %s OWNER TO ctx_search', its);
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', its);
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO ctx_app', its);
    END LOOP;
    REVOKE CREATE ON SCHEMA ctx FROM ctx_search;
END
$$;
