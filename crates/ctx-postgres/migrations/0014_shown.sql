-- Files that were shown within the same second are in their order, too.
DROP INDEX ctx.usage_shown;
CREATE INDEX usage_shown ON ctx.usage (owner, shown_at, path);
