-- Votes that need not be remembered any more are found by when they were given.

CREATE INDEX feedback_given ON ctx.feedback (owner, given_at);
