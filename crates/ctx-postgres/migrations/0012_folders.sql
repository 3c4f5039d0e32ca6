-- Files below a folder are found by what their paths end with from that folder on: a range of a B-tree, in the order in which
-- they are told. No answer goes through all that is below a folder.

CREATE TABLE ctx.endings (
    owner text COLLATE "C" NOT NULL CHECK (owner <> ''),
    -- In lower case, with a folder at least: of `A/b/c.rs` there are `a/b/c.rs` and `b/c.rs`.
    ending text COLLATE "C" NOT NULL,
    path text COLLATE "C" NOT NULL,
    PRIMARY KEY (owner, ending, path)
);

ALTER TABLE ctx.endings ENABLE ROW LEVEL SECURITY;
ALTER TABLE ctx.endings FORCE ROW LEVEL SECURITY;
CREATE POLICY of_owner ON ctx.endings TO ctx_app
    USING (owner = current_setting('ctx.owner', true))
    WITH CHECK (owner = current_setting('ctx.owner', true));
GRANT SELECT, INSERT, UPDATE, DELETE ON ctx.endings TO ctx_app;

-- Of the path that `reversed` is of. All those of a path of five hundred folders would be a quarter of a megabyte. Longer ones than a
-- path are no keys: in lower case a path may be longer than it is.
CREATE FUNCTION ctx.endings_of(reversed text) RETURNS SETOF text
LANGUAGE sql IMMUTABLE ROWS 8 SET search_path = pg_catalog, pg_temp
AS $$
    SELECT e.ending
    FROM (SELECT string_to_array(reverse(reversed), '/') AS names) it
    CROSS JOIN generate_series(greatest(cardinality(it.names) - 64, 1), cardinality(it.names) - 1) AS first
    CROSS JOIN LATERAL (SELECT array_to_string(it.names[first:], '/') AS ending) e
    WHERE octet_length(e.ending) <= 1024
$$;

-- Row-level security is forced: without an owner, whoever migrates would see no rows.
ALTER TABLE ctx.files NO FORCE ROW LEVEL SECURITY;
ALTER TABLE ctx.endings NO FORCE ROW LEVEL SECURITY;
INSERT INTO ctx.endings (owner, ending, path)
    SELECT f.owner, e.ending, f.path FROM ctx.files f CROSS JOIN LATERAL ctx.endings_of(f.reversed) AS e (ending)
    ORDER BY 1, 2, 3;
ALTER TABLE ctx.endings FORCE ROW LEVEL SECURITY;
ALTER TABLE ctx.files FORCE ROW LEVEL SECURITY;

-- They come and go with their files, of which no path changes. By the key, however many there are.
CREATE FUNCTION ctx.keep_endings() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO ctx.endings (owner, ending, path)
            SELECT c.owner, e.ending, c.path FROM changed c CROSS JOIN LATERAL ctx.endings_of(c.reversed) AS e (ending)
            ORDER BY 1, 2, 3;
    ELSE
        -- What is gone is taken apart first, so that each is looked for by the whole key.
        WITH gone AS MATERIALIZED (
            SELECT c.owner, e.ending COLLATE "C" AS ending, c.path
            FROM changed c CROSS JOIN LATERAL ctx.endings_of(c.reversed) AS e (ending)
        )
        DELETE FROM ctx.endings it USING gone
            WHERE it.owner = gone.owner AND it.ending = gone.ending AND it.path = gone.path;
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER endings_added AFTER INSERT ON ctx.files
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ctx.keep_endings();
CREATE TRIGGER endings_gone AFTER DELETE ON ctx.files
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ctx.keep_endings();

-- For each of `folders`, in lower case, by its place among them, the first `most` files below it. What comes after a slash comes before
-- a zero. A file below two folders of that name counts for the one that is nearer to it. To compare texts leaks nothing, so
-- the index is used under row-level security; and it is read in its order, whatever the planner thinks of how much there is.
CREATE FUNCTION ctx.files_below(folders text[], most integer) RETURNS TABLE (place bigint, path text)
LANGUAGE plpgsql STABLE ROWS 100
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
BEGIN
    RETURN QUERY
    SELECT n.place, it.path
    FROM unnest(folders) WITH ORDINALITY AS n (folder, place)
    CROSS JOIN LATERAL (
        SELECT e.path FROM ctx.endings e
        WHERE e.owner = current_setting('ctx.owner')
          AND e.ending > n.folder || '/' COLLATE "C" AND e.ending < n.folder || '0' COLLATE "C"
          AND strpos(e.ending, '/' || n.folder || '/') = 0
        ORDER BY e.ending, e.path LIMIT most
    ) it;
END
$$;
REVOKE ALL ON FUNCTION ctx.files_below(text[], integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ctx.files_below(text[], integer) TO ctx_app;
