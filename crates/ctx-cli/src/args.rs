//! The command line.

mod search;

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Parser, Subcommand};
use ctx::model::{CounterName, RenditionKind, Tokens};
use ctx::source::Secrets;
use ctx::syntax::Direction;

use crate::options::{self, OptionFlags, Words};
use crate::report::Verbosity;

use search::{INDEX_HELP, QUERY_HELP};
pub(crate) use search::{IndexArgs, Indexed, QueryArgs, Search};

/// The width of help texts, in characters.
const WIDTH: usize = 100;

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  output or the index could not be written, or an address is in use
  2  the arguments are invalid
  3  the input is invalid
  4  no context fits the budget
  5  cancelled
  6  a receipt does not hold (ctx verify)

The context goes to standard output; everything else goes to standard error.";

/// Questions, search hits and files in, one prompt-ready context out, never over its token budget.
#[derive(Debug, Parser)]
#[command(name = "ctx", version, about, max_term_width = WIDTH, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
    #[command(flatten)]
    pub(crate) talk: Talk,
}

/// How much is written to standard error.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Talk {
    /// Name each skipped file, and why, except ignored and hidden files
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    verbose: bool,
    /// Write nothing but errors and warnings
    #[arg(short, long, global = true)]
    quiet: bool,
}

impl Talk {
    pub(crate) fn verbosity(self) -> Verbosity {
        match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        }
    }
}

/// Adds to `error`, about the command line `words`, how to ask a question that begins with `-`, if
/// one was taken for flags.
pub(crate) fn with_question(mut error: clap::Error, words: &[OsString]) -> clap::Error {
    let words = words.iter().skip(1).map(|it| it.to_string_lossy());
    // Before the verb there are only flags.
    let mut words = words.skip_while(|it| it.starts_with('-'));
    if words.next().as_deref() != Some("query") {
        return error;
    }
    let flags: Vec<Cow<'_, str>> = words.filter(|it| it.starts_with('-')).collect();
    let flags = flags.iter().take_while(|it| *it != "--");
    let is_refused = |it: &&Cow<'_, str>| match (error.kind(), error.get(ContextKind::InvalidArg)) {
        // The flag is one letter of a word of several.
        (ErrorKind::UnknownArgument, Some(ContextValue::String(flag))) => {
            it.starts_with(&**flag) || is_text(it)
        }
        // The first letter is a flag, but the rest is not its value.
        (ErrorKind::InvalidValue | ErrorKind::ValueValidation, _) => is_text(it),
        _ => false,
    };
    let Some(question) = flags.clone().find(is_refused) else {
        return error;
    };
    let begin = match question.split_once(char::is_whitespace) {
        Some((first, _)) => format!("{first} …"),
        None => question.to_string(),
    };
    let tip = format!(
        "a question that begins with - comes after all flags and --: ctx query -- \"{begin}\""
    );
    let tips = ContextValue::StyledStrs(vec![tip.into()]);
    error.insert(ContextKind::Suggested, tips);
    error
}

/// Whether a word that looks like flags is rather a text of several words.
fn is_text(word: &str) -> bool {
    !word.contains('=') && word.contains(char::is_whitespace)
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Search a folder for a question, and assemble what is found into one context
    #[command(after_help = QUERY_HELP)]
    Query(Box<QueryArgs>),
    /// Index a folder, or bring its index up to date
    #[command(after_help = INDEX_HELP)]
    Index(IndexArgs),
    /// Assemble chunks into one context
    #[command(after_help = ASSEMBLE_HELP)]
    Assemble(AssembleArgs),
    /// Pack files into one context
    #[command(after_help = PACK_HELP)]
    Pack(PackArgs),
    /// Count the tokens of files, folder by folder, largest first
    #[command(after_help = TOKENS_HELP)]
    Tokens(TokensArgs),
    /// List what files define, and where
    #[command(after_help = OUTLINE_HELP)]
    Outline(OutlineArgs),
    /// Show a file or a part of it, in full or shortened
    #[command(after_help = SHOW_HELP)]
    Show(ShowArgs),
    /// Show what a symbol or file refers to, and what refers to it
    #[command(after_help = RELATIONS_HELP)]
    Relations(RelationsArgs),
    /// Check a context against its receipt, and against the files it was made from
    #[command(after_help = VERIFY_HELP)]
    Verify(VerifyArgs),
    /// Serve contexts over HTTP, and print the token that clients need
    #[command(after_help = crate::serve::HELP)]
    Serve(crate::serve::ServeArgs),
    /// Serve agents over the Model Context Protocol
    #[command(after_help = crate::mcp::HELP)]
    Mcp(crate::mcp::McpArgs),
    /// Write a completion script for a shell
    #[command(after_help = crate::completions::HELP)]
    Completions(crate::completions::CompletionsArgs),
}

impl Verb {
    /// Whether the verb answers in JSON, because of `--json`.
    pub(crate) fn is_json(&self) -> bool {
        match self {
            Verb::Query(args) => args.output.json,
            Verb::Index(args) => args.json,
            Verb::Assemble(args) => args.output.json,
            Verb::Pack(args) => args.output.json,
            Verb::Tokens(args) => args.json,
            Verb::Outline(args) => args.json,
            Verb::Show(args) => args.json,
            Verb::Relations(args) => args.json,
            Verb::Verify(args) => args.json,
            Verb::Serve(_) | Verb::Mcp(_) | Verb::Completions(_) => false,
        }
    }
}

const ASSEMBLE_HELP: &str = r#"Input is one of:
  {"chunks": [...], "options": {...}}   an object; flags override its options
  [...]                                 an array of chunks
  {"id": "a", ...}                      one chunk a line (JSON Lines)
A chunk needs "id", "content" and "relevance" (0 to 1); the rest is optional. With --root, a chunk
with a "filePath" needs no "content"; "startLine" and "endLine" select lines of the file. The README
of ctx-model lists all fields and options. The input may have at most 256 MiB.

Examples:
  ctx assemble hits.json --max-tokens 4000
  search 'token budget' | ctx assemble --format xml --sources > context.xml
  ctx assemble hits.jsonl --max-tokens 4000 --explain > context.md
  ctx assemble hits.json --root . --selection optimal > context.md
  ctx assemble request.json --json | jq .omitted"#;

const PACK_HELP: &str = "\
Folders are walked in the order of their paths. Links, files without text and files larger than
--max-file-size are skipped, and so are hidden files and those that .gitignore, .ignore or
.ctxignore exclude, unless PATH names them. Secrets are masked, and files of keys and settings
(.env, *.pem) skipped, unless --keep-secrets is given. Files that are not UTF-8 are decoded.

If not everything fits, files are ranked: first those that PATH names, then README and manifests of
the folder; sources; documents, settings and examples; tests; lock files, minified code and vendored
copies. Longer files of a rank come first. Files are then shown in part, as skeletons, signatures or
the line that names them, whichever is worth most for its tokens (--selection optimal by default).

Examples:
  ctx pack . --max-tokens 32000 > context.md
  ctx pack src README.md --counter gpt-4o --format xml
  ctx pack . --max-tokens 8000 --explain > /dev/null
  ctx pack . --order stable --json > receipt.json";

const TOKENS_HELP: &str = "\
Files are skipped as by `ctx pack`; - is standard input.

Examples:
  ctx tokens
  ctx tokens src --depth 2
  ctx tokens src docs --counter cl100k_base --json
  git diff | ctx tokens -";

const OUTLINE_HELP: &str = "\
Files are parsed by the grammar of their language, and skipped as by `ctx pack`.

Examples:
  ctx outline src/main.rs
  ctx outline src --json | jq '.files[].symbols[] | select(.kind == \"function\") | .name'";

const SHOW_HELP: &str = "\
PLACE is a file, lines of it or a definition in it: PATH, PATH:12, PATH:12-40 or PATH#name.
PATH:12:5, as compilers print it, and PATH#L12-L40, as in links, are accepted too.
If several definitions have the name, one with a body is shown; standard error lists the others.
Lines are shown unchanged; a comment in the file's language says how many were left out. With
--max-tokens, the lines that --strategy prefers are shown, and the budget includes these comments.
If not even one line fits, the beginning of one is shown, without a number.

Examples:
  ctx show src/main.rs --rendition skeleton
  ctx show 'src/main.rs#run' --rendition signature
  ctx show src/main.rs:10-80 --rendition excerpt --match 42 --numbers
  ctx show src/main.rs --max-tokens 300 --strategy bookend";

const RELATIONS_HELP: &str = "\
Names are resolved by scope, imports and uniqueness. If a name may refer to several symbols, each
of them is listed with its certainty. Name a file by its path as `ctx outline` shows it, or with
PATH before it.

Examples:
  ctx relations Parser src
  ctx relations src/main.rs --direction outgoing
  ctx relations parse src --depth 2 --json";

const VERIFY_HELP: &str = "\
Checks that
  - the context has the digest and the number of tokens of the receipt, and the parts add up;
  - each chunk is either included or omitted;
  - the lists of the receipt agree with each other and with the notice in the context;
  - each block of the context agrees with the receipt and with its citation;
  - with --root, the files still have the cited text on the cited lines.
If a check fails, the exit code is 6. Paths in the receipt are relative to the folder that was
packed or searched; those that lead out of it (../a, /b) are followed. What nothing else in the
receipt or the context depends on cannot be checked: the README of ctx-cli lists it. The receipt
and the context may have at most 256 MiB each.

Examples:
  ctx pack . --json > receipt.json && ctx verify receipt.json --root .
  ctx verify receipt.json --context context.md
  ctx assemble hits.json --json | ctx verify - --json | jq .holds";

/// What is written besides the context, or instead of it.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct Output {
    /// Write the whole result, context and receipt, as one JSON value
    #[arg(long)]
    pub(crate) json: bool,
    /// Explain on standard error what was included and omitted, and why
    #[arg(long)]
    pub(crate) explain: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AssembleArgs {
    /// The file with the chunks; - or nothing is standard input
    #[arg(value_name = "FILE")]
    pub(crate) input: Option<PathBuf>,
    /// Read the text of chunks from their files in this folder, and report those that differ
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// With --root, show this many more lines before and after each hit
    #[arg(
        long,
        value_name = "LINES",
        default_value_t = 0,
        requires = "root",
        allow_negative_numbers = true
    )]
    pub(crate) context_lines: u32,
    #[command(flatten)]
    pub(crate) secrets: SecretFlags,
    #[command(flatten)]
    pub(crate) options: OptionFlags,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Whether secrets are shown.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct SecretFlags {
    /// Show secrets unmasked, and files of keys and settings; hidden ones, such as .env, if named
    #[arg(long)]
    keep_secrets: bool,
}

impl SecretFlags {
    pub(crate) fn secrets(self) -> Secrets {
        if self.keep_secrets {
            Secrets::Shown
        } else {
            Secrets::Masked
        }
    }
}

/// The files to read.
#[derive(Debug, Args)]
#[command(next_help_heading = "Files")]
pub(crate) struct Files {
    /// Files and folders [default: the current folder]
    #[arg(value_name = "PATH", default_value = ".", hide_default_value = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// Skip files larger than this, in bytes or with K, M or G
    #[arg(long, value_name = "SIZE", default_value = "64M", value_parser = size, allow_hyphen_values = true)]
    pub(crate) max_file_size: u64,
    #[command(flatten)]
    pub(crate) secrets: SecretFlags,
}

#[derive(Debug, Args)]
pub(crate) struct PackArgs {
    #[command(flatten)]
    pub(crate) files: Files,
    /// Omit files that do not fit, instead of showing them in part
    #[arg(long)]
    pub(crate) whole_files: bool,
    #[command(flatten)]
    pub(crate) options: OptionFlags,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct TokensArgs {
    #[command(flatten)]
    pub(crate) files: Files,
    /// The token counter: an encoding, a model, character-based or word-based
    #[arg(short, long, visible_alias = "token-estimation", value_name = "NAME", default_value = "o200k_base", value_parser = options::counter)]
    pub(crate) counter: CounterName,
    /// Show folders and files down to this depth
    #[arg(short, long, value_name = "N", value_parser = options::whole, allow_negative_numbers = true)]
    pub(crate) depth: Option<usize>,
    /// Write the tree as one JSON value
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct OutlineArgs {
    #[command(flatten)]
    pub(crate) files: Files,
    /// Write the outlines as one JSON value
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// What to show
    #[arg(value_name = "PLACE")]
    pub(crate) place: String,
    /// How much of it to show
    #[arg(short, long, value_name = "KIND", default_value = "full", value_parser = Words::<RenditionKind>::of(&["full", "excerpt", "skeleton", "signature", "mention"]))]
    pub(crate) rendition: RenditionKind,
    /// With --rendition excerpt, a line that it must show; may be given more than once
    #[arg(long = "match", value_name = "LINE", allow_negative_numbers = true)]
    pub(crate) matches: Vec<u32>,
    /// Show at most this many tokens
    #[arg(long, value_name = "N", value_parser = options::tokens, conflicts_with = "rendition", allow_negative_numbers = true)]
    pub(crate) max_tokens: Option<Tokens>,
    /// With --max-tokens, which lines to prefer
    #[arg(long, value_name = "NAME", default_value = "signature-first", value_parser = ["signature-first", "bookend", "head", "outline"], requires = "max_tokens", conflicts_with = "rendition")]
    pub(crate) strategy: String,
    /// The token counter of --max-tokens: an encoding, a model, character-based or word-based
    #[arg(short, long, value_name = "NAME", default_value = "o200k_base", value_parser = options::counter, requires = "max_tokens", conflicts_with = "rendition")]
    pub(crate) counter: CounterName,
    /// Write the number of each line before it
    #[arg(short, long)]
    pub(crate) numbers: bool,
    /// Refuse files larger than this, in bytes or with K, M or G
    #[arg(long, value_name = "SIZE", default_value = "64M", value_parser = size, allow_hyphen_values = true)]
    pub(crate) max_file_size: u64,
    #[command(flatten)]
    pub(crate) secrets: SecretFlags,
    /// Write one JSON value: path, language, rendition (with --max-tokens, strategy) and lines
    #[arg(long, conflicts_with = "numbers")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RelationsArgs {
    /// A symbol's name, qualified or not, or a file's path
    #[arg(value_name = "SYMBOL")]
    pub(crate) symbol: String,
    #[command(flatten)]
    pub(crate) files: Files,
    /// Follow relations for at most this many steps
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = steps, allow_negative_numbers = true)]
    pub(crate) depth: usize,
    /// The direction of the relations
    #[arg(long, value_name = "WAY", default_value = "both", value_parser = direction)]
    pub(crate) direction: Direction,
    /// Write the relations as one JSON value
    #[arg(long)]
    pub(crate) json: bool,
}

fn steps(text: &str) -> Result<usize, String> {
    match options::whole(text)? {
        0 => Err("it must be at least 1".to_owned()),
        n => Ok(n),
    }
}

fn direction(word: &str) -> Result<Direction, String> {
    match word {
        "outgoing" => Ok(Direction::Outgoing),
        "incoming" => Ok(Direction::Incoming),
        "both" => Ok(Direction::Both),
        _ => Err("it must be outgoing, incoming or both".to_owned()),
    }
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// The output of an earlier run with --json; - is standard input
    #[arg(value_name = "RECEIPT")]
    pub(crate) receipt: PathBuf,
    /// Check this context instead of the one in the receipt
    #[arg(long, value_name = "FILE")]
    pub(crate) context: Option<PathBuf>,
    /// The folder that the paths in the receipt are relative to
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// Write the checks as one JSON value
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn size(text: &str) -> Result<u64, String> {
    let refused = || {
        let kind = if text.starts_with('-') {
            "positive "
        } else {
            ""
        };
        format!("not a {kind}size such as 500K, 64M or 1G")
    };
    let (digits, unit) = match text.find(|c: char| !c.is_ascii_digit()) {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let shift = match unit.to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        _ => return Err(refused()),
    };
    let size = digits.parse::<u64>().ok();
    match size.and_then(|n| n.checked_mul(1 << shift)) {
        Some(0) => Err("0 would skip every file; give at least 1".to_owned()),
        size => size.ok_or_else(refused),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    /// A negative number is refused as a number, and not taken for a flag.
    #[test]
    fn every_number_is_read_with_its_sign() {
        const NUMBERS: [&str; 10] = [
            "N", "SHARE", "CHANCE", "LINE", "LINES", "MS", "SECONDS", "HOURS", "DAYS", "MIB",
        ];
        const SIZES: [&str; 1] = ["SIZE"];
        const OTHERS: [&str; 25] = [
            "ADDR",
            "BY",
            "CLIENT",
            "DIR",
            "FILE",
            "FORM",
            "HOW",
            "KIND",
            "KINDS",
            "NAME",
            "NAME=FILE",
            "NAMES",
            "ORDER",
            "ORIGIN",
            "OWNER",
            "PATH",
            "PLACE",
            "POLICY",
            "RECEIPT",
            "SCHEME://NAME:PORT",
            "SHELL",
            "SYMBOL",
            "TEXT",
            "URL",
            "WAY",
        ];
        let mut seen = 0;
        for verb in Cli::command().get_subcommands() {
            for arg in verb
                .get_arguments()
                .filter(|it| it.get_action().takes_values())
            {
                let name = arg.get_value_names().unwrap_or_default().first();
                let name = name.expect("it is named").as_str();
                let values: &[&str] = match name {
                    _ if NUMBERS.contains(&name) => &["-1", "-0.5"],
                    _ if SIZES.contains(&name) => &["-1", "-64M", "-1.5GiB"],
                    _ => {
                        assert!(OTHERS.contains(&name), "is {name} a number?");
                        continue;
                    }
                };
                seen += 1;
                let flag = format!("--{}", arg.get_long().expect("it is a flag"));
                for value in values {
                    let words = ["ctx", verb.get_name(), &flag, value];
                    let error = Cli::try_parse_from(words).expect_err("it is below zero");
                    let told = error.to_string();
                    let expected = format!("invalid value '{value}' for '{flag}");
                    assert!(told.contains(&expected), "{words:?}: {told}");
                }
            }
        }
        assert!(seen > 40, "{seen}");
    }

    /// Longer lines of a help text would be wrapped, with their last words on lines of their own.
    #[test]
    fn no_line_of_a_help_is_broken_twice() {
        let verbs: Vec<_> = Cli::command().get_subcommands().cloned().collect();
        for verb in verbs.iter().chain([&Cli::command()]) {
            let help = verb.get_after_help().map(ToString::to_string);
            for line in help.iter().flat_map(|it| it.lines()) {
                assert!(line.chars().count() <= WIDTH, "{}: {line}", verb.get_name());
            }
        }
    }

    #[test]
    fn each_help_has_examples_and_says_what_a_token_is_where_there_is_one() {
        for verb in Cli::command().get_subcommands() {
            let help = verb.get_after_help().map(ToString::to_string);
            let help = help.unwrap_or_default();
            let name = verb.get_name();
            assert!(help.contains("\n\nExamples:\n  ctx "), "{name}");
            let is_token_told = help.contains("\"Authorization: Bearer TOKEN\"");
            assert_eq!(is_token_told, ["serve", "mcp"].contains(&name), "{name}");
        }
    }

    #[test]
    fn sizes_are_read() {
        for (text, expected) in [
            ("0", None),
            ("0K", None),
            ("500", Some(500)),
            ("2K", Some(2048)),
            ("64m", Some(64 << 20)),
            ("1GiB", Some(1 << 30)),
            ("", None),
            ("K", None),
            ("1.5M", None),
            ("-1", None),
            ("99999999999999G", None),
        ] {
            assert_eq!(size(text).ok(), expected, "{text:?}");
        }
        let told = "not a positive size such as 500K, 64M or 1G";
        assert_eq!(size("-64M"), Err(told.to_owned()));
    }
}
