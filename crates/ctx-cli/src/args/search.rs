//! The arguments of the verbs that search: `ctx query` and `ctx index`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use ctx::index::StoredOptions;

use super::{Output, SecretFlags, size};
use crate::options::OptionFlags;
use crate::values::{Kinds, Strategies, Value as _};

pub(super) const QUERY_HELP: &str = "\
The folder is indexed first where it is not, and files that changed since are indexed anew: what
answers is the folder as it is now. The index is in DIR/.ctx if there is such a folder (one with
nothing in it but the data of `ctx serve` is none), else below $CTX_CACHE_DIR, else in your cache
folder. Nothing is sent anywhere. TEXT may be words, names, paths, an error message or a whole issue
report; what it names is found by name, and the rest by its words. In a git repository, the messages
of the last 2,000 commits are searched too; code that those commits touched ranks higher.

What no flag says is taken from the environment (CTX_MAX_TOKENS, CTX_STRATEGIES, CTX_TYPES,
CTX_LIMIT, CTX_MIN_SCORE, CTX_MIN_CHANCE, CTX_SELECTION, CTX_RELEVANCE_POWER, CTX_FORMAT,
CTX_COUNTER, CTX_INCLUDE_GENERATED, CTX_MAX_FILE_SIZE, CTX_WAIT), then from ctx.toml in DIR or, in
a git repository, in the nearest folder above it, then from ctx/ctx.toml in your configuration
folder:
  [query]    max-tokens, strategies, types, limit, min-score, min-chance, selection,
             relevance-power
  [output]   format, counter
  [index]    include-generated, max-file-size, wait
Unless something says otherwise --selection is optimal. What flags said of the index before holds
until something else is said.

While another process indexes DIR it is waited for, 60 seconds at most; --wait 0 answers at once
from what was indexed before, and so does an index that cannot be written: a warning says how far
it is behind.

--hits has the strategy semantic say what another search found. Its scores put its hits in order,
whatever their scale; 200 are looked at, and the parts of files that stand at their lines are
ranked with what is found here. Hits, and a question on standard input, are read up to 16 MiB.

Hidden files and folders are passed over unless a .ctxignore takes them in, each by its name: a line
!.github there has the files of .github indexed, and packed by `ctx pack`.

Secrets are masked, in the context and in the index, and told of; files of keys and settings
(.env, *.pem) are not indexed. --keep-secrets shows secrets in a context, which are not found by
their words.

--json writes one value: what `ctx assemble --json` writes (context, tokens, included, omitted and
more) and \"retrieval\": query (terms, names, places, frames (path?, line?, function?, found),
folders, fileNames, patterns, phrases, options), settings (key, value, origin), strategies (name,
found, tookMs, failure?), items (path, startLine, endLine, kind, name?, role, score, worth?,
raised?, contributions, signals, shown, snippet?), leftOut and tookMs. A snippet is the line, or
two, of an item that answers best: line, text and matches (bytes of text); none is where no word
of the question stands.
Nothing found is an empty context, a warning and exit code 0.

Examples:
  ctx query 'how does a session end?'
  ctx query 'resolve_redirects drops the fragment' --root ~/src/requests --max-tokens 4000
  ctx query - --format xml < issue.md > context.xml
  ctx query 'Parser::next' --types function,method --limit 20 --explain > /dev/null
  ctx query 'retry with backoff' --json | jq .retrieval.strategies
  my-vector-search 'retry with backoff' | ctx query 'retry with backoff' --hits -";

pub(super) const INDEX_HELP: &str = "\
`ctx query` does this by itself; done before, or with --watch, the first question is answered
sooner. What .gitignore, .ignore and .ctxignore name is passed over, and so are hidden, generated
and vendored files, and those over --max-file-size. The index is in PATH/.ctx if there is such a
folder (one with nothing in it but the data of `ctx serve` is none), else below $CTX_CACHE_DIR, else
in your cache folder. It can be removed at any time; with it goes what it remembers, which --rebuild
keeps: which files were of use, and what flags said of it.

--list tells of each index in the cache folder (and of none in a PATH/.ctx) how large it is, when
it was written and used, whether its folder is there, gone, unreadable or unknown, and which are
begun anew when they are next opened, as they are damaged or of another format. An index notes its
folder when it is opened; one that was not opened since versions before did is of an unknown one.
--prune removes those whose folder is gone, which a folder on a drive that is not mounted is too,
and with --unused-for also those that were not used for so long, wherever their folders are. An
index that another process writes is left, and so is one that has something else in its folder.

Examples:
  ctx index
  ctx index ~/src/requests --watch
  ctx index --status --json | jq .pending
  ctx index --include-generated
  ctx index --list
  ctx index --prune --unused-for 90 --dry-run
  mkdir .ctx && ctx index --rebuild";

/// What is indexed.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Index")]
pub(crate) struct Indexed {
    /// Index generated and vendored files too; remembered with the index
    #[arg(long, overrides_with = "no_include_generated")]
    pub(crate) include_generated: bool,
    /// Skip generated and vendored files; remembered with the index [default]
    #[arg(long, overrides_with = "include_generated")]
    pub(crate) no_include_generated: bool,
    /// Skip files larger than this, in bytes or with K, M or G; remembered with the index [default:
    /// 1M]
    #[arg(long, value_name = "SIZE", value_parser = size, allow_hyphen_values = true)]
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
    /// The folder to search, and nothing above it; each folder has its own index
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    /// Use only these strategies: text, coverage, files, names, places, similar, changes, semantic
    /// (with --hits), relations [default: all]
    #[arg(long, value_name = "NAMES", value_parser = Strategies::read)]
    pub(crate) strategies: Option<Strategies>,
    /// Find only parts of these types: function, method, class, struct, enum, interface, impl,
    /// module, type, constant, field, macro, section, lines; constants, fields and types of fewer
    /// than 15 lines are in lines, or with what they are in [default: all]
    #[arg(long, value_name = "KINDS", value_parser = Kinds::read)]
    pub(crate) types: Option<Kinds>,
    /// Omit parts with less than this share of the best score, from 0 to 1 [default: 0]
    #[arg(long, value_name = "SHARE", value_parser = f64::read, allow_negative_numbers = true)]
    pub(crate) min_score: Option<f64>,
    /// Omit sentences of prose that are less likely part of the answer, and passages without a
    /// likelier one, from 0 to 1; 0 fills the budget [default: 0.002]
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
    /// The question, in one argument or several; - alone is standard input, and text that begins
    /// with - comes after --. The folder is given by --root, not here
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
    /// The folder
    #[arg(value_name = "PATH", default_value = ".")]
    pub(crate) path: PathBuf,
    /// Show what is indexed and where the index is; change nothing
    #[arg(long, conflicts_with_all = ["rebuild", "watch", "include_generated", "no_include_generated", "max_file_size", "wait"])]
    pub(crate) status: bool,
    /// Index every file again, whatever is known of it; until that is done, questions are answered
    /// from the old index
    #[arg(long)]
    pub(crate) rebuild: bool,
    /// Go on indexing changes, until interrupted or the folder is gone
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
