-- What many owners keep. The owner is the first column of every key and index.

CREATE TABLE ctx.owners (
    owner text COLLATE "C" PRIMARY KEY CHECK (owner <> ''),
    generation bigint NOT NULL DEFAULT 0,
    files bigint NOT NULL DEFAULT 0,
    parts bigint NOT NULL DEFAULT 0,
    -- Terms of all parts and of all files, each as often as it occurs.
    part_terms bigint NOT NULL DEFAULT 0,
    file_terms bigint NOT NULL DEFAULT 0
);

CREATE TABLE ctx.files (
    owner text COLLATE "C" NOT NULL CHECK (owner <> ''),
    path text COLLATE "C" NOT NULL,
    -- The path in lower case, its last character first: what it ends with is a prefix.
    reversed text COLLATE "C" NOT NULL,
    -- Its last part.
    name text NOT NULL,
    hash bytea NOT NULL,
    modified_at bigint,
    role text NOT NULL,
    language text,
    lines integer NOT NULL,
    parts integer NOT NULL,
    length integer NOT NULL,
    -- Weight A: its path. Weight D: all its text.
    terms tsvector NOT NULL,
    content text NOT NULL,
    PRIMARY KEY (owner, path)
);
CREATE INDEX files_reversed ON ctx.files (owner, reversed);
CREATE INDEX files_search ON ctx.files USING gin (owner, terms, name gin_trgm_ops) WITH (fastupdate = off);

CREATE TABLE ctx.parts (
    owner text COLLATE "C" NOT NULL CHECK (owner <> ''),
    path text COLLATE "C" NOT NULL,
    first integer NOT NULL,
    last integer NOT NULL,
    kind text NOT NULL,
    name text,
    qualified_name text,
    language text,
    refers_to text[] NOT NULL,
    length integer NOT NULL,
    -- Weight A: its names. B: its signature. C: what is said of it. D: the rest.
    terms tsvector NOT NULL,
    -- Names in lower case.
    defines text[] NOT NULL,
    uses text[] NOT NULL,
    PRIMARY KEY (owner, path, first)
)
-- Ranking reads the terms of each candidate: they stay in the row, and as they are.
WITH (toast_tuple_target = 8160);
ALTER TABLE ctx.parts ALTER COLUMN terms SET STORAGE EXTERNAL;
CREATE INDEX parts_search ON ctx.parts
    USING gin (owner, terms, defines, uses, name gin_trgm_ops) WITH (fastupdate = off);

-- How many parts and files of an owner hold a term: rare terms tell more.
CREATE TABLE ctx.terms (
    owner text COLLATE "C" NOT NULL CHECK (owner <> ''),
    term text COLLATE "C" NOT NULL,
    parts integer NOT NULL,
    files integer NOT NULL,
    PRIMARY KEY (owner, term)
) WITH (fillfactor = 80);

CREATE TABLE ctx.threads (
    owner text COLLATE "C" NOT NULL CHECK (owner <> ''),
    thread text COLLATE "C" NOT NULL,
    -- The number of its last message.
    last bigint NOT NULL DEFAULT 0,
    pins bigint NOT NULL DEFAULT 0,
    changed_at bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (owner, thread)
);
CREATE INDEX threads_changed ON ctx.threads (owner, changed_at);

CREATE TABLE ctx.messages (
    owner text COLLATE "C" NOT NULL CHECK (owner <> ''),
    thread text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    id text COLLATE "C" NOT NULL,
    role text NOT NULL,
    content text NOT NULL,
    created_at bigint NOT NULL,
    PRIMARY KEY (owner, thread, number),
    UNIQUE (owner, thread, id),
    FOREIGN KEY (owner, thread) REFERENCES ctx.threads ON DELETE CASCADE
);

CREATE TABLE ctx.pinned (
    owner text COLLATE "C" NOT NULL CHECK (owner <> ''),
    thread text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    what text COLLATE "C" NOT NULL,
    PRIMARY KEY (owner, thread, number),
    UNIQUE (owner, thread, what),
    FOREIGN KEY (owner, thread) REFERENCES ctx.threads ON DELETE CASCADE
);

CREATE TABLE ctx.usage (
    owner text COLLATE "C" NOT NULL CHECK (owner <> ''),
    path text COLLATE "C" NOT NULL,
    uses bigint NOT NULL DEFAULT 0 CHECK (uses >= 0),
    shown_at bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (owner, path)
);
CREATE INDEX usage_shown ON ctx.usage (owner, shown_at);

CREATE TABLE ctx.feedback (
    owner text COLLATE "C" NOT NULL CHECK (owner <> ''),
    context text COLLATE "C" NOT NULL,
    is_useful boolean NOT NULL,
    paths text[] NOT NULL,
    given_at bigint NOT NULL,
    PRIMARY KEY (owner, context)
);
