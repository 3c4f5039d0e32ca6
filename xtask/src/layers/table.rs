//! The table of layers, as data. A new crate gets its place here before it compiles anywhere.

/// The rules for dependencies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table {
    /// From the bottom up: a crate may depend on crates of earlier rows, but not of its own.
    pub(super) rows: &'static [Row],
    /// The crates another team takes alone; each must build alone.
    pub(super) core: &'static [&'static str],
    /// The crate that re-exports others behind features, and those of its features that must each
    /// build alone: only the light ones, as the rest would take minutes.
    pub(super) facade: (&'static str, &'static [&'static str]),
    /// The other crates with features, which must compile without them. The crates of a group
    /// enable no features of each other and share most dependencies, so they are checked together.
    pub(super) bare: &'static [&'static [&'static str]],
    /// The registry crates that a crate may depend on, for those that must stay small.
    pub(super) outside: &'static [(&'static str, &'static [&'static str])],
    /// The others that open no file, socket or clock.
    pub(super) pure: &'static [&'static str],
    /// What no core crate and none of those may say in its source: the ways to files, sockets and
    /// clocks.
    pub(super) impure: &'static [&'static str],
    /// The exceptions: files, each with the word it may use.
    pub(super) reaching: &'static [(&'static str, &'static str)],
    /// The most crates one chain of dependencies may have, both ends included.
    pub(super) longest_chain: usize,
}

/// Crates that do not depend on each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// The name of the row.
    pub(super) layer: &'static str,
    /// Its crates.
    pub(super) crates: &'static [&'static str],
}

const fn row(layer: &'static str, crates: &'static [&'static str]) -> Row {
    Row { layer, crates }
}

/// The rules of this workspace. Names without a crate reserve the place of a planned one.
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
        row("calls of chores", &["xtask-call"]),
        row("chores", &["xtask", "xtask-measure"]),
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
            "async",
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
    bare: &[
        &["ctx-hosts"],
        &["ctx-mcp", "ctx-server", "ctx-testkit"],
        &["ctx-cli"],
    ],
    outside: &[
        ("ctx-model", &["serde", "thiserror"]),
        (
            "ctx-tokens",
            &[
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
