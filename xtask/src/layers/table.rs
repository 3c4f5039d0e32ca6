//! The table of layers, as data. A new crate gets its place here before it compiles anywhere.

/// What the rules are held against.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table {
    /// From the bottom up: a crate may name crates of earlier rows, and none of its own.
    pub(super) rows: &'static [Row],
    /// The crates another team takes alone; each must build alone.
    pub(super) core: &'static [&'static str],
    /// The crate that has others behind features, and those features of it that must each build alone: the light
    /// ones, as the rest would take minutes.
    pub(super) facade: (&'static str, &'static [&'static str]),
    /// The other crates with features, which must compile without them. Those of a group have no feature of each other on, and are
    /// checked together: most of what they need is the same.
    pub(super) bare: &'static [&'static [&'static str]],
    /// All that a crate may depend on outside the workspace, for those that must stay small.
    pub(super) outside: &'static [(&'static str, &'static [&'static str])],
    /// The others that open no file, socket or clock.
    pub(super) pure: &'static [&'static str],
    /// What no core crate and none of those may say in its source: the ways to files, sockets and clocks.
    pub(super) impure: &'static [&'static str],
    /// The files that may nevertheless, each with the word it may say.
    pub(super) reaching: &'static [(&'static str, &'static str)],
    /// The most crates one chain of dependencies may have, both ends included.
    pub(super) longest_chain: usize,
}

/// Crates that know nothing of each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// What the row is called.
    pub(super) layer: &'static str,
    /// Who is in it.
    pub(super) crates: &'static [&'static str],
}

const fn row(layer: &'static str, crates: &'static [&'static str]) -> Row {
    Row { layer, crates }
}

/// The law. Names without a crate yet keep the place of what is planned.
pub(super) const TABLE: Table = Table {
    rows: &[
        row("vocabulary", &["ctx-model"]),
        row(
            "capability: counting, masking",
            &["ctx-tokens", "ctx-secrets"],
        ),
        row(
            "capability",
            &[
                "ctx-format",
                "ctx-source",
                "ctx-syntax",
                "ctx-rank",
                "ctx-hosts",
            ],
        ),
        row("decision", &["ctx-budget", "ctx-citations"]),
        row(
            "composition",
            &["ctx-resolve", "ctx-assemble", "ctx-retrieve"],
        ),
        row(
            "service and adapters",
            &["ctx-service", "ctx-git", "ctx-index", "ctx-postgres"],
        ),
        row("facade", &["ctx"]),
        row("protocol", &["ctx-server", "ctx-mcp"]),
        row("tool", &["ctx-cli"]),
        row("laws", &["ctx-testkit"]),
        row("chores", &["xtask"]),
    ],
    core: &[
        "ctx-model",
        "ctx-tokens",
        "ctx-format",
        "ctx-budget",
        "ctx-assemble",
    ],
    facade: (
        "ctx",
        &[
            "openai",
            "cache",
            "citations",
            "rank",
            "secrets",
            "source",
            "syntax",
            "resolve",
            "service",
        ],
    ),
    bare: &[&["ctx-mcp", "ctx-server", "ctx-testkit"], &["ctx-cli"]],
    outside: &[
        ("ctx-model", &["serde", "thiserror"]),
        (
            "ctx-tokens",
            &[
                "bpe",
                "bpe-openai",
                "quick_cache",
                "siphasher",
                "strsim",
                "thiserror",
                "tokenizers",
                "unicode-general-category",
            ],
        ),
        (
            "ctx-format",
            &["quick-xml", "serde", "serde_json", "thiserror"],
        ),
        ("ctx-budget", &["thiserror"]),
        ("ctx-citations", &["blake3", "serde"]),
        (
            "ctx-assemble",
            &[
                "async-trait",
                "blake3",
                "memchr",
                "rapidhash",
                "rayon",
                "smallvec",
                "thiserror",
                "tokio",
                "tokio-util",
                "tracing",
            ],
        ),
        ("ctx", &[]),
    ],
    pure: &["ctx-citations"],
    impure: &[
        "std::env",
        "std::fs",
        "std::net",
        "std::process",
        "std::time::Instant",
        "Instant::now",
        "SystemTime",
        "tokio::fs",
        "tokio::net",
        "tokio::time",
    ],
    reaching: &[],
    longest_chain: 7,
};
