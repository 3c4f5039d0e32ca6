-- What needs a text or trigram index. Each function answers for the owner that the transaction names, and with
-- keys alone: the rows are then read under row-level security. The planner does not know what it costs to read a
-- vector that is not in its row, and would rather read all of them than use the index.

-- From PostgreSQL 16 on, who makes a role may grant it and is not let become it, and is called a member all the same: so
-- the step before this one granted nothing. Nothing here can be had without that, so no database is beyond this step that
-- would need it.
DO $$
DECLARE
    wanted text;
    needed text := CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'SET' ELSE 'MEMBER' END;
BEGIN
    FOREACH wanted IN ARRAY ARRAY['ctx_app', 'ctx_search'] LOOP
        IF NOT pg_has_role(current_user, wanted, needed) THEN
            EXECUTE format('GRANT %I TO %I', wanted, current_user);
        END IF;
    END LOOP;
END
$$;

-- The parts among which `essential` chooses, by how well they fit `groups`: each is worth its factor. A part of
-- average length counts in full, longer ones less.
CREATE FUNCTION ctx.passages(
    essential tsquery, groups tsquery[], factors real[], weights real[], within text[],
    average real, candidates integer, most integer
) RETURNS TABLE (path text, first integer, score double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 200
SET search_path = pg_catalog, {extensions}, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off
AS $$
BEGIN
    RETURN QUERY
    SELECT it.path, it.first, {score} AS fit
    FROM (
        SELECT p.path, p.first, p.length, p.terms
        FROM ctx.parts p
        WHERE p.owner = current_setting('ctx.owner')
          AND p.terms @@ essential
          AND (within IS NULL OR p.path = ANY (within))
        LIMIT candidates
    ) it
    ORDER BY 3 DESC, 1, 2
    LIMIT most;
END
$$;

CREATE FUNCTION ctx.fitting_files(
    essential tsquery, groups tsquery[], factors real[], weights real[], within text[],
    average real, candidates integer, most integer
) RETURNS TABLE (path text, score double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 200
SET search_path = pg_catalog, {extensions}, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off
AS $$
BEGIN
    RETURN QUERY
    SELECT it.path, {score} AS fit
    FROM (
        -- Filtering makes a copy: else each group would read it from its place outside the row again.
        SELECT f.path, f.length, ts_filter(f.terms, '{a,d}') AS terms
        FROM ctx.files f
        WHERE f.owner = current_setting('ctx.owner')
          AND f.terms @@ essential
          AND (within IS NULL OR f.path = ANY (within))
        LIMIT candidates
    ) it
    ORDER BY 2 DESC, 1
    LIMIT most;
END
$$;

CREATE FUNCTION ctx.defining(names text[], most integer)
RETURNS TABLE (path text, first integer)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 40
SET search_path = pg_catalog, {extensions}, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off
AS $$
BEGIN
    RETURN QUERY
    SELECT p.path, p.first FROM ctx.parts p
    WHERE p.owner = current_setting('ctx.owner') AND p.defines && names
    ORDER BY 1, 2 LIMIT most;
END
$$;

CREATE FUNCTION ctx.using_names(names text[], most integer)
RETURNS TABLE (path text, first integer)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 40
SET search_path = pg_catalog, {extensions}, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off
AS $$
BEGIN
    RETURN QUERY
    SELECT p.path, p.first FROM ctx.parts p
    WHERE p.owner = current_setting('ctx.owner') AND p.uses && names
    ORDER BY 1, 2 LIMIT most;
END
$$;

-- Names and file names that are like `wanted`: half of the score is how alike they are as wholes, half how alike
-- `wanted` is to a run of words of it. `first` is 0 for a file.
CREATE FUNCTION ctx.like_names(names text[], most integer)
RETURNS TABLE (path text, first integer, score double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 40
SET search_path = pg_catalog, {extensions}, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off
SET pg_trgm.word_similarity_threshold = 0.4
AS $$
BEGIN
    RETURN QUERY
    SELECT it.path, it.first, max(it.fit) FROM (
        SELECT p.path, p.first, (similarity(wanted, p.name) + word_similarity(wanted, p.name)) / 2::double precision AS fit
        FROM unnest(names) AS wanted
        JOIN ctx.parts p ON p.owner = current_setting('ctx.owner') AND p.name %> wanted
        UNION ALL
        SELECT f.path, 0, (similarity(wanted, f.name) + word_similarity(wanted, f.name)) / 2::double precision
        FROM unnest(names) AS wanted
        JOIN ctx.files f ON f.owner = current_setting('ctx.owner') AND f.name %> wanted
    ) it
    GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT most;
END
$$;

-- Puts what was just written in its place in the indexes: entries go there together, some ten times as fast as one
-- by one, and searches do not go through those that wait. Only who owns an index may do it.
CREATE FUNCTION ctx.settle() RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    SELECT gin_clean_pending_list('ctx.parts_search'), gin_clean_pending_list('ctx.files_search');
$$;
REVOKE ALL ON FUNCTION ctx.settle() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ctx.settle() TO ctx_app;

DO $$
DECLARE
    its regprocedure;
BEGIN
    -- To own a function one must be allowed to make it.
    GRANT CREATE ON SCHEMA ctx TO ctx_search;
    FOR its IN SELECT p.oid FROM pg_proc p WHERE p.pronamespace = 'ctx'::regnamespace
        AND p.proname IN ('passages', 'fitting_files', 'defining', 'using_names', 'like_names')
    LOOP
        EXECUTE format('ALTER FUNCTION %s OWNER TO ctx_search', its);
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', its);
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO ctx_app', its);
    END LOOP;
    REVOKE CREATE ON SCHEMA ctx FROM ctx_search;
END
$$;
