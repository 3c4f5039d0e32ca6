-- Labels are looked up in the latest receipts of one thread, whatever was shown to others since.

DROP INDEX ctx.contexts_thread;
CREATE INDEX contexts_thread ON ctx.contexts (owner, thread, number) WHERE thread IS NOT NULL;
