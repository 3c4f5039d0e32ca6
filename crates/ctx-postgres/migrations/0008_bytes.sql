-- How many bytes the files of an owner have is kept, as their number is.

-- Row-level security is forced: without an owner, whoever migrates would see no rows.
ALTER TABLE ctx.owners NO FORCE ROW LEVEL SECURITY;
ALTER TABLE ctx.files NO FORCE ROW LEVEL SECURITY;

ALTER TABLE ctx.owners ADD COLUMN bytes bigint NOT NULL DEFAULT 0;
UPDATE ctx.owners o SET bytes = (
    SELECT coalesce(sum(octet_length(f.content)), 0) FROM ctx.files f WHERE f.owner = o.owner
);

ALTER TABLE ctx.files FORCE ROW LEVEL SECURITY;
ALTER TABLE ctx.owners FORCE ROW LEVEL SECURITY;
