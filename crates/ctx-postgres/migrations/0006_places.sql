-- What is chosen is told by where its row is, which costs a third of a key to look up. A place is good for the
-- snapshot that it was found in: for the one statement that asks. Rows are still read under row-level security.

DROP FUNCTION ctx.passages(tsquery, tsquery[], real[], real[], text[], real, integer, integer);
DROP FUNCTION ctx.fitting_files(tsquery, tsquery[], real[], real[], text[], real, integer, integer);

-- The parts among which `essential` chooses, by how well they fit `groups`: each is worth its factor. A part of
-- average length counts in full, longer ones less.
CREATE FUNCTION ctx.passages(
    essential tsquery, groups tsquery[], factors real[], weights real[], within text[],
    average real, candidates integer, most integer
) RETURNS TABLE (place tid, score double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 400
SET search_path = pg_catalog, {extensions}, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off
AS $$
BEGIN
    RETURN QUERY
    SELECT it.place, {score} AS fit
    FROM (
        SELECT p.ctid AS place, p.path, p.first, p.length, p.terms
        FROM ctx.parts p
        WHERE p.owner = current_setting('ctx.owner')
          AND p.terms @@ essential
          AND (within IS NULL OR p.path = ANY (within))
        LIMIT candidates
    ) it
    ORDER BY 2 DESC, it.path, it.first
    LIMIT most;
END
$$;

-- The same by presence: each of `each` that a part holds is worth its factor, however often and wherever it stands.
CREATE FUNCTION ctx.covering(
    essential tsquery, each tsquery[], factors real[], within text[], candidates integer, most integer
) RETURNS TABLE (place tid, score double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 400
SET search_path = pg_catalog, {extensions}, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off
AS $$
BEGIN
    RETURN QUERY
    SELECT it.place, {presence} AS fit
    FROM (
        SELECT p.ctid AS place, p.path, p.first, p.terms
        FROM ctx.parts p
        WHERE p.owner = current_setting('ctx.owner')
          AND p.terms @@ essential
          AND (within IS NULL OR p.path = ANY (within))
        LIMIT candidates
    ) it
    ORDER BY 2 DESC, it.path, it.first
    LIMIT most;
END
$$;

CREATE FUNCTION ctx.fitting_files(
    essential tsquery, groups tsquery[], factors real[], weights real[], within text[],
    average real, candidates integer, most integer
) RETURNS TABLE (place tid, score double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 400
SET search_path = pg_catalog, {extensions}, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off
AS $$
BEGIN
    RETURN QUERY
    SELECT it.place, {score} AS fit
    FROM (
        -- To weigh none of its terms anew makes a copy: else each group would read it from outside the row again.
        SELECT f.ctid AS place, f.path, f.length, setweight(f.terms, 'D', '{}') AS terms
        FROM ctx.files f
        WHERE f.owner = current_setting('ctx.owner')
          AND f.terms @@ essential
          AND (within IS NULL OR f.path = ANY (within))
        LIMIT candidates
    ) it
    ORDER BY 2 DESC, it.path
    LIMIT most;
END
$$;

CREATE FUNCTION ctx.covering_files(
    essential tsquery, each tsquery[], factors real[], within text[], candidates integer, most integer
) RETURNS TABLE (place tid, score double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 400
SET search_path = pg_catalog, {extensions}, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off
AS $$
BEGIN
    RETURN QUERY
    SELECT it.place, {presence} AS fit
    FROM (
        SELECT f.ctid AS place, f.path, setweight(f.terms, 'D', '{}') AS terms
        FROM ctx.files f
        WHERE f.owner = current_setting('ctx.owner')
          AND f.terms @@ essential
          AND (within IS NULL OR f.path = ANY (within))
        LIMIT candidates
    ) it
    ORDER BY 2 DESC, it.path
    LIMIT most;
END
$$;

DO $$
DECLARE
    its regprocedure;
BEGIN
    -- To own a function one must be allowed to make it.
    GRANT CREATE ON SCHEMA ctx TO ctx_search;
    FOR its IN SELECT p.oid FROM pg_proc p WHERE p.pronamespace = 'ctx'::regnamespace
        AND p.proname IN ('passages', 'covering', 'fitting_files', 'covering_files')
    LOOP
        EXECUTE format('ALTER FUNCTION %s OWNER TO ctx_search', its);
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', its);
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO ctx_app', its);
    END LOOP;
    REVOKE CREATE ON SCHEMA ctx FROM ctx_search;
END
$$;
