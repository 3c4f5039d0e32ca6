-- What was shown to a thread goes with it: receipts are of their threads. Those of threads that are gone go here.

ALTER TABLE ctx.contexts ADD COLUMN thread text COLLATE "C";

-- Row-level security is forced: without an owner, whoever migrates would see no rows.
ALTER TABLE ctx.contexts NO FORCE ROW LEVEL SECURITY;
ALTER TABLE ctx.threads NO FORCE ROW LEVEL SECURITY;
ALTER TABLE ctx.kept NO FORCE ROW LEVEL SECURITY;
UPDATE ctx.contexts SET thread = it.thread
    FROM (
        SELECT owner, id, substring(
            receipt FROM '^\{"id":"[^"]*","createdAt":-?[0-9]+,"threadId":"([^"\\]+)"'
        ) AS thread FROM ctx.contexts
    ) it
    WHERE contexts.owner = it.owner AND contexts.id = it.id AND it.thread IS NOT NULL;
DELETE FROM ctx.contexts c WHERE thread IS NOT NULL
    AND NOT EXISTS (SELECT FROM ctx.threads t WHERE t.owner = c.owner AND t.thread = c.thread);
ALTER TABLE ctx.kept FORCE ROW LEVEL SECURITY;
ALTER TABLE ctx.threads FORCE ROW LEVEL SECURITY;
ALTER TABLE ctx.contexts FORCE ROW LEVEL SECURITY;

ALTER TABLE ctx.contexts
    ADD FOREIGN KEY (owner, thread) REFERENCES ctx.threads ON DELETE CASCADE;
CREATE INDEX contexts_thread ON ctx.contexts (owner, thread) WHERE thread IS NOT NULL;
