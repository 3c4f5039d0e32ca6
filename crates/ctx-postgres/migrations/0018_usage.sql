-- Of a file that is removed, a row that says nothing more goes with it: it was of no use, and when it was shown is forgotten. Here go those
-- that were left.

-- Row-level security is forced: without an owner, whoever migrates would see no rows.
ALTER TABLE ctx.usage NO FORCE ROW LEVEL SECURITY;
DELETE FROM ctx.usage WHERE uses = 0 AND shown_at = 0;
ALTER TABLE ctx.usage FORCE ROW LEVEL SECURITY;
