//! The arguments of the verbs that search: `ctx query` and `ctx index`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use ctx::index::StoredOptions;

use super::{Output, SecretFlags};
use crate::options::OptionFlags;
use crate::values::{Kinds, Strategies, Value as _};

pub(super) const QUERY_HELP: &str = "\
The first question indexes the folder, and each later one updates the index first, so that the
answer is from the files as they are now. The index is in DIR/.ctx if that folder exists and is not
just the data folder of `ctx serve`, otherwise below $CTX_CACHE_DIR, otherwise in your cache folder.
Nothing is sent over the network. TEXT may be words, names, paths, an error message or a whole issue
report; names and paths in it are looked up as such, and the rest is searched by its words. In a git
repository, the messages of the last 2,000 commits are searched too; code that those commits touched
ranks higher.

Settings without a flag are taken from the environment (CTX_MAX_TOKENS, CTX_STRATEGIES, CTX_TYPES,
CTX_LIMIT, CTX_MIN_SCORE, CTX_MIN_CHANCE, CTX_SELECTION, CTX_RELEVANCE_POWER, CTX_FORMAT,
CTX_COUNTER, CTX_INCLUDE_GENERATED, CTX_MAX_FILE_SIZE, CTX_WAIT), then from ctx.toml in DIR or, in
a git repository, in the nearest folder above it, then from ctx/ctx.toml in your configuration
folder:
  [query]    max-tokens, strategies, types, limit, min-score, min-chance, selection,
             relevance-power
  [output]   format, counter
  [index]    include-generated, max-file-size, wait
The default of --selection is optimal. The flags --include-generated and --max-file-size are
remembered with the index, in place of the defaults, until another flag changes them.

If another process is indexing DIR, the question waits for it, at most 60 seconds (--wait). If that
is too short, or the index cannot be written, the answer is from the index as it is, if there is
one, and a warning says how many files have changed since.

--hits includes the results of another search, as the strategy semantic. They are ordered by their
relevance, on any scale; the first 200 are used, and the parts of files at their lines are ranked
with the other results. Hits, and a question on standard input, may have at most 16 MiB.

Hidden files and folders are skipped unless a .ctxignore includes them by name: with the line
!.github, the files of .github are indexed, and packed by `ctx pack`.

Secrets are masked in the context and in the index, which is reported; files of keys and settings
(.env, *.pem) are not indexed. --keep-secrets shows secrets in the context, but they are not in the
index, so they cannot be searched for.

--json writes one value: what `ctx assemble --json` writes (context, tokens, included, omitted and
more) and \"retrieval\": query (terms, names, places, frames (path?, line?, function?, found),
folders, fileNames, patterns, phrases, options), settings (key, value, origin), strategies (name,
found, tookMs, failure?), items (path, startLine, endLine, kind, name?, role, score, worth?,
raised?, contributions, signals, shown, snippet?), leftOut and tookMs. A snippet has the one or two
lines of an item that answer the question best: line, text and matches (byte offsets in text). An
item without any word of the question has no snippet.
If nothing is found, the context is empty, and the exit code is 0, with a warning.

Examples:
  ctx query 'how does a session end?'
  ctx query 'resolve_redirects drops the fragment' --root ~/src/requests --max-tokens 4000
  ctx query - --format xml < issue.md > context.xml
  ctx query 'Parser::next' --types function,method --limit 20 --explain > /dev/null
  ctx query 'retry with backoff' --json | jq .retrieval.strategies
  my-vector-search 'retry with backoff' | ctx query 'retry with backoff' --hits -";

pub(super) const INDEX_HELP: &str = "\
`ctx query` does this itself; indexing ahead, or with --watch, makes the first question faster.
Files that .gitignore, .ignore or .ctxignore exclude are skipped, and so are hidden, generated and
vendored files, and files larger than --max-file-size. The index is in PATH/.ctx if that folder
exists and is not just the data folder of `ctx serve`, otherwise below $CTX_CACHE_DIR, otherwise in
your cache folder. It can be removed at any time. What it remembers (how useful files were, and
flags) is lost then; --rebuild keeps it.

--list shows the indexes in the cache folder, not those in a PATH/.ctx: their sizes, when they were
written and used, whether their folders are there, gone, unreadable or unknown, and which will be
rebuilt when they are next opened, because they are damaged or of another format. The folder is
unknown if the index was last opened by a version that did not record it.
--prune removes indexes whose folder is gone, which includes a folder on a drive that is not
mounted, and with --unused-for also those that were not used for so many days, even if their folder
is there. An index is kept if another process is writing it, or if there are other files in its
folder.

Examples:
  ctx index
  ctx index ~/src/requests --watch
  ctx index --status --json | jq .pending
  ctx index --include-generated
  ctx index --list
  ctx index --prune --unused-for 90 --dry-run
  mkdir .ctx && ctx index --rebuild";

/// What is indexed.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Index")]
pub(crate) struct Indexed {
    /// Index generated and vendored files too; remembered with the index
    #[arg(long, overrides_with = "no_include_generated")]
    pub(crate) include_generated: bool,
    /// Skip generated and vendored files; remembered with the index [default]
    #[arg(long, overrides_with = "include_generated")]
    pub(crate) no_include_generated: bool,
    /// Skip files larger than this, in bytes or with K or M, at most 64M; remembered with the index
    /// [default: 1M]
    #[arg(long, value_name = "SIZE", value_parser = u64::read, allow_hyphen_values = true)]
    pub(crate) max_file_size: Option<u64>,
    /// Wait at most this many seconds for another process that writes the index [default: 60]
    #[arg(long, value_name = "SECONDS", value_parser = Duration::read, allow_negative_numbers = true)]
    pub(crate) wait: Option<Duration>,
}

impl Indexed {
    /// The flags given here, to be remembered with the index.
    pub(crate) fn kept(self) -> StoredOptions {
        let mut kept = StoredOptions::default();
        kept.include_generated = match (self.include_generated, self.no_include_generated) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        };
        kept.max_file_bytes = self.max_file_size;
        kept
    }
}

/// The search for a question.
#[derive(Debug, Args)]
#[command(next_help_heading = "Search")]
pub(crate) struct Search {
    /// The folder to search, without those above it; each folder has its own index
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    /// Use only these strategies: text, coverage, files, names, places, similar, changes, semantic
    /// (with --hits), relations [default: all]
    #[arg(long, value_name = "NAMES", value_parser = Strategies::read)]
    pub(crate) strategies: Option<Strategies>,
    /// Find only parts of these types: function, method, class, struct, enum, interface, impl,
    /// module, type, constant, field, macro, section, lines; constants, fields and types of fewer
    /// than 15 lines are part of lines, or of the definition around them [default: all]
    #[arg(long, value_name = "KINDS", value_parser = Kinds::read)]
    pub(crate) types: Option<Kinds>,
    /// Omit parts with less than this share of the best score, from 0 to 1 [default: 0]
    #[arg(long, value_name = "SHARE", value_parser = f64::read, allow_negative_numbers = true)]
    pub(crate) min_score: Option<f64>,
    /// Omit sentences of prose with a lower chance, from 0 to 1, of being part of the answer, and
    /// passages of only such sentences; 0 fills the budget [default: 0.002]
    #[arg(long, value_name = "CHANCE", value_parser = f64::read, allow_negative_numbers = true)]
    pub(crate) min_chance: Option<f64>,
    /// Find at most this many parts of files [default: one for every 80 tokens, and at least 100]
    #[arg(long, value_name = "N", value_parser = usize::read, allow_negative_numbers = true)]
    pub(crate) limit: Option<usize>,
    /// Include the results of another search, such as one by embeddings, as JSON or JSON Lines
    /// (filePath, startLine, endLine, relevance); - is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) hits: Option<PathBuf>,
    /// Answer from the index as it is, even if files have changed since
    #[arg(long, conflicts_with = "wait")]
    pub(crate) no_index_update: bool,
}

#[derive(Debug, Args)]
pub(crate) struct QueryArgs {
    /// The question, in one argument or several; - alone is standard input. Put -- before text that
    /// begins with -. The folder to search is given by --root, not here
    #[arg(value_name = "TEXT", required = true, num_args = 1..)]
    pub(crate) text: Vec<String>,
    #[command(flatten)]
    pub(crate) search: Search,
    #[command(flatten)]
    pub(crate) indexed: Indexed,
    #[command(flatten)]
    pub(crate) secrets: SecretFlags,
    #[command(flatten)]
    pub(crate) options: OptionFlags,
    #[command(flatten)]
    pub(crate) output: Output,
}

fn days(text: &str) -> Result<u32, String> {
    let refuse = |_| "not a whole number of days".to_owned();
    text.parse().map_err(refuse)
}

#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[derive(Debug, Args)]
pub(crate) struct IndexArgs {
    /// The folder to index
    #[arg(value_name = "PATH", default_value = ".")]
    pub(crate) path: PathBuf,
    /// Show what is indexed and where the index is; change nothing
    #[arg(long, conflicts_with_all = ["rebuild", "watch", "include_generated", "no_include_generated", "max_file_size", "wait"])]
    pub(crate) status: bool,
    /// Index every file again, also unchanged ones; until that is done, questions are answered from
    /// the old index
    #[arg(long)]
    pub(crate) rebuild: bool,
    /// Keep indexing changes, until interrupted or the folder is gone
    #[arg(long)]
    pub(crate) watch: bool,
    /// Write the result as one JSON value
    #[arg(long, conflicts_with = "watch")]
    pub(crate) json: bool,
    /// List the indexes in the cache folder: their folders, sizes, and when they were written and
    /// used; change nothing
    #[arg(long, conflicts_with_all = OF_ONE)]
    pub(crate) list: bool,
    /// Remove the indexes in the cache folder whose folders are gone, with what they remember
    #[arg(long, conflicts_with = "list", conflicts_with_all = OF_ONE)]
    pub(crate) prune: bool,
    /// With --prune, also remove those that were not used for this many days
    #[arg(
        long,
        value_name = "DAYS",
        value_parser = days,
        requires = "prune",
        conflicts_with = "list",
        conflicts_with_all = OF_ONE,
        allow_negative_numbers = true
    )]
    pub(crate) unused_for: Option<u32>,
    /// With --prune, show what would be removed, and remove nothing
    #[arg(long, requires = "prune", conflicts_with = "list", conflicts_with_all = OF_ONE)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) indexed: Indexed,
}

/// The arguments about the index of one folder. In clap, `requires` is not enforced if the required
/// argument conflicts with a given one, so the companions of `--prune` conflict with these
/// themselves.
const OF_ONE: [&str; 8] = [
    "path",
    "status",
    "rebuild",
    "watch",
    "include_generated",
    "no_include_generated",
    "max_file_size",
    "wait",
];
