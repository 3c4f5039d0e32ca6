//! Every option of a build as a flag.
//!
//! A flag that was given overrides the input; one that was not given leaves it unchanged. Values
//! are the words of the wire format in kebab case; those of the wire format are accepted too.

use std::num::{IntErrorKind, ParseIntError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use ctx::model::{
    BuildOptions, CounterName, Format, GroupBy, Order, Relevance, Selection, Tokens, XmlContent,
};
use ctx::tokens::{Counters, TokensError};
use serde::de::DeserializeOwned;

use crate::failure::Failure;
use crate::receipt;
use crate::values::Value as _;

/// The formats of a context.
pub(crate) const FORMATS: &[&str] = &["markdown", "xml", "json", "plain"];
/// The selection policies.
pub(crate) const SELECTIONS: &[&str] = &["in-order", "density", "optimal"];

/// The options of a build that were given as flags.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Options of the context")]
pub(crate) struct OptionFlags {
    /// The budget in tokens, for context and reserve together [default: 8000]
    #[arg(short = 't', long, value_name = "N", value_parser = budget, allow_negative_numbers = true)]
    pub(crate) max_tokens: Option<Tokens>,
    /// Tokens of the budget reserved for the answer [default: 0]
    #[arg(long, value_name = "N", value_parser = tokens, allow_negative_numbers = true)]
    reserve: Option<Tokens>,
    /// Include at most this many chunks; 0 includes none
    #[arg(long, value_name = "N", value_parser = whole, allow_negative_numbers = true)]
    max_chunks: Option<usize>,
    #[arg(short, long, visible_alias = "token-estimation", value_name = "NAME",
        help = "Token counter: an encoding, a model, character-based or word-based [default: o200k_base]", value_parser = counter)]
    pub(crate) counter: Option<CounterName>,
    /// The format of the context [default: markdown]
    #[arg(short, long, value_name = "FORM", value_parser = Words::<Format>::of(FORMATS))]
    pub(crate) format: Option<Format>,
    /// How chunks are grouped [default: file]
    #[arg(long, value_name = "BY", value_parser = Words::<GroupBy>::of(&["file", "kind", "none"]))]
    group_by: Option<GroupBy>,
    /// The order of groups and chunks [default: relevance]
    #[arg(long, value_name = "ORDER", value_parser = Words::<Order>::of(&["relevance", "stable", "edges"]))]
    order: Option<Order>,
    /// How chunks are chosen when not all of them fit
    #[arg(long, value_name = "POLICY", value_parser = Words::<Selection>::of(SELECTIONS))]
    pub(crate) selection: Option<Selection>,
    /// Omit chunks with a lower relevance, from 0 to 1
    #[arg(long, value_name = "SHARE", value_parser = relevance, allow_negative_numbers = true)]
    min_relevance: Option<Relevance>,
    /// Value a chunk at its relevance to this power; give more than 1 if relevances are scores, not
    /// probabilities [default: 1]
    #[arg(long, value_name = "N", value_parser = u8::read, allow_negative_numbers = true)]
    pub(crate) relevance_power: Option<u8>,
    /// How much new information counts against relevance, from 0 to 1 [default: 0]
    #[arg(long, value_name = "SHARE", value_parser = relevance, allow_negative_numbers = true)]
    diversity: Option<Relevance>,
    /// Keep the beginning of the context of this receipt, for a prompt cache
    #[arg(long, value_name = "RECEIPT", value_parser = file)]
    previous: Option<PathBuf>,
    /// Select for at most this many milliseconds, then use the best found so far
    #[arg(long, value_name = "MS", value_parser = milliseconds, allow_negative_numbers = true)]
    deadline: Option<Duration>,
    /// Text before the first chunk
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    header: Option<String>,
    /// Text after the last chunk
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    footer: Option<String>,
    /// Text between two chunks, instead of the format's default
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    separator: Option<String>,
    /// How XML separates text from markup [default: escaped]
    #[arg(long, value_name = "HOW", value_parser = Words::<XmlContent>::of(&["escaped", "cdata"]))]
    xml_content: Option<XmlContent>,
    #[command(flatten)]
    switches: Switches,
}

impl OptionFlags {
    /// The policy, if one was given.
    pub(crate) fn selection(&self) -> Option<Selection> {
        self.selection
    }

    /// How long the selection may take.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.deadline
    }

    /// Sets the given options in `options`.
    ///
    /// # Errors
    /// The receipt of the previous context cannot be read.
    pub(crate) fn apply(&self, options: &mut BuildOptions) -> Result<(), Failure> {
        fn set<T: Clone>(flag: Option<&T>, field: &mut T) {
            if let Some(value) = flag {
                field.clone_from(value);
            }
        }
        fn set_some<T: Clone>(flag: Option<&T>, field: &mut Option<T>) {
            if flag.is_some() {
                *field = flag.cloned();
            }
        }
        set(self.max_tokens.as_ref(), &mut options.max_tokens);
        set(self.reserve.as_ref(), &mut options.reserve);
        set_some(self.max_chunks.as_ref(), &mut options.max_chunks);
        set(self.counter.as_ref(), &mut options.counter);
        set(self.format.as_ref(), &mut options.format);
        set(self.group_by.as_ref(), &mut options.group_by);
        set(self.order.as_ref(), &mut options.order);
        set(self.selection.as_ref(), &mut options.selection);
        set(self.relevance_power.as_ref(), &mut options.relevance_power);
        set_some(self.min_relevance.as_ref(), &mut options.min_relevance);
        set_some(self.header.as_ref(), &mut options.header);
        set_some(self.footer.as_ref(), &mut options.footer);
        set_some(self.separator.as_ref(), &mut options.chunk_separator);
        set(self.xml_content.as_ref(), &mut options.xml_content);
        if let Some(diversity) = self.diversity {
            options.diversity = diversity.get();
        }
        if let Some(path) = &self.previous {
            options.previous = Some(receipt::previous(path)?);
        }
        self.switches.apply(options);
        Ok(())
    }
}

/// A part that can be shown or hidden by `--name` and `--no-name`; the last one given decides.
struct Switch {
    name: &'static str,
    negation: &'static str,
    help: &'static str,
    negated_help: &'static str,
    field: fn(&mut BuildOptions) -> &mut bool,
}

const SWITCHES: [Switch; 13] = [
    Switch {
        name: "file-headers",
        negation: "no-file-headers",
        help: "Show each chunk's path [default]",
        negated_help: "Leave the paths out",
        field: |options| &mut options.include_file_headers,
    },
    Switch {
        name: "line-numbers",
        negation: "no-line-numbers",
        help: "Show each chunk's line numbers [default]",
        negated_help: "Leave the line numbers out",
        field: |options| &mut options.include_line_numbers,
    },
    Switch {
        name: "content",
        negation: "no-content",
        help: "Show each chunk's text [default]",
        negated_help: "Show summaries only; for a chunk without one, only its location",
        field: |options| &mut options.include_content,
    },
    Switch {
        name: "notice",
        negation: "no-notice",
        help: "State in the context how many chunks were left out [default]",
        negated_help: "Do not state in the context how many chunks were left out",
        field: |options| &mut options.include_notice,
    },
    Switch {
        name: "scores",
        negation: "no-scores",
        help: "Show each chunk's relevance",
        negated_help: "Leave the relevance out [default]",
        field: |options| &mut options.include_scores,
    },
    Switch {
        name: "sources",
        negation: "no-sources",
        help: "End with a list of the sources",
        negated_help: "Leave the sources out [default]",
        field: |options| &mut options.include_sources,
    },
    Switch {
        name: "imports",
        negation: "no-imports",
        help: "Show each chunk's imports",
        negated_help: "Leave the imports out [default]",
        field: |options| &mut options.include_imports,
    },
    Switch {
        name: "relations",
        negation: "no-relations",
        help: "Show each chunk's relations",
        negated_help: "Leave the relations out [default]",
        field: |options| &mut options.include_relations,
    },
    Switch {
        name: "ids",
        negation: "no-ids",
        help: "Show each chunk's id, so that it can be cited",
        negated_help: "Leave the ids out [default]",
        field: |options| &mut options.include_ids,
    },
    Switch {
        name: "metadata",
        negation: "no-metadata",
        help: "Show the id, kind and name of each chunk for programs",
        negated_help: "Leave the metadata out [default]",
        field: |options| &mut options.include_metadata,
    },
    Switch {
        name: "merge",
        negation: "no-merge",
        help: "Merge chunks whose lines overlap or adjoin, and show duplicates once [default]",
        negated_help: "Leave overlapping, adjoining and duplicate chunks as they are",
        field: |options| &mut options.merge,
    },
    Switch {
        name: "exact",
        negation: "no-exact",
        help: "With --selection optimal, go on selecting until the result is proved optimal. With --counter character-based, up to half a token that would fit may stay unused",
        negated_help: "Accept a selection close to the optimum [default]",
        field: |options| &mut options.exact,
    },
    Switch {
        name: "caps",
        negation: "no-caps",
        help: "Limit each chunk to its share of the budget by relevance, and to what is usual for its kind; one that cannot be shown that small is left out as over_budget, and most of the budget may stay unused",
        negated_help: "Let a chunk take as much of the budget as it is worth [default]",
        field: |options| &mut options.caps,
    },
];

/// The switches that were given, in the order of [`SWITCHES`].
#[derive(Clone, Debug, Default)]
struct Switches([Option<bool>; SWITCHES.len()]);

impl Switches {
    fn apply(&self, options: &mut BuildOptions) {
        for (switch, given) in SWITCHES.iter().zip(self.0) {
            if let Some(on) = given {
                *(switch.field)(options) = on;
            }
        }
    }
}

impl Args for Switches {
    fn augment_args(command: Command) -> Command {
        SWITCHES.iter().fold(command, |command, switch| {
            // Only the form that changes the default is listed in the short help.
            let shown_by_default = (switch.field)(&mut BuildOptions::default()).to_owned();
            let flag = |name, other, help, hidden| {
                Arg::new(name)
                    .long(name)
                    .action(ArgAction::SetTrue)
                    .overrides_with(other)
                    .help(help)
                    .hide_short_help(hidden)
            };
            command
                .arg(flag(
                    switch.name,
                    switch.negation,
                    switch.help,
                    shown_by_default,
                ))
                .arg(flag(
                    switch.negation,
                    switch.name,
                    switch.negated_help,
                    !shown_by_default,
                ))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Switches {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |switch: &Switch| {
            let on = matches.get_flag(switch.name);
            (on || matches.get_flag(switch.negation)).then_some(on)
        };
        Ok(Switches(SWITCHES.each_ref().map(given)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Parses one of a few words as the wire format does.
#[derive(Clone)]
pub(crate) struct Words<T> {
    words: &'static [&'static str],
    read: fn(&str) -> Option<T>,
}

impl<T: DeserializeOwned> Words<T> {
    pub(crate) fn of(words: &'static [&'static str]) -> Self {
        Words {
            words,
            read: |word| serde_json::from_value(camel(word).into()).ok(),
        }
    }
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for Words<T> {
    type Value = T;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<T, clap::Error> {
        if let Some(known) = value.to_str().and_then(|word| (self.read)(word)) {
            return Ok(known);
        }
        // Clap's own parser words the error, with the nearest known word.
        let refusal = clap::builder::PossibleValuesParser::new(self.words);
        Err(match refusal.parse_ref(command, arg, value) {
            Err(error) => error,
            Ok(_) => clap::Error::new(ErrorKind::InvalidValue).with_cmd(command),
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.words.iter().map(PossibleValue::new)))
    }
}

/// Parses one of `words` as the wire format does.
pub(crate) fn word<T: DeserializeOwned>(word: &str, words: &[&str]) -> Result<T, String> {
    let known = serde_json::from_value(camel(word).into()).ok();
    known.ok_or_else(|| format!("not one of {}", words.join(", ")))
}

/// The camel case of a word: `inOrder` for `in-order`.
fn camel(word: &str) -> String {
    let mut parts = word.split('-');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mut chars = part.chars();
        out.extend(chars.next().map(|c| c.to_ascii_uppercase()));
        out.push_str(chars.as_str());
    }
    out
}

/// The name of a counter that exists. A tokenizer file is only checked when it is loaded.
pub(crate) fn counter(name: &str) -> Result<CounterName, String> {
    let name = match name {
        "" => return Err("the name of a counter cannot be empty".to_owned()),
        "character-based" | "characters" => CounterName::CharacterBased,
        "word-based" | "words" => CounterName::WordBased,
        other => CounterName::from(other.to_owned()),
    };
    if cfg!(feature = "tokenizer-json") && is_tokenizer(&name) {
        return Ok(name);
    }
    match ctx::tokens::counter(&name) {
        Ok(_) => Ok(name),
        Err(error @ TokensError::UnknownName { .. }) => {
            let known = "o200k_base, cl100k_base, gpt-4o, character-based and word-based are some of the known ones";
            Err(format!("{error}; {known}"))
        }
        Err(error) => Err(error.to_string()),
    }
}

/// The counters by name, including tokenizer files by path: whoever runs this program may read
/// them.
pub(crate) fn counters() -> Counters {
    let counters = Counters::default();
    #[cfg(feature = "tokenizer-json")]
    let counters = counters.with_files();
    counters
}

/// The same counter; a relative path of a tokenizer is taken relative to `folder`.
pub(crate) fn counter_below(folder: &Path, counter: &CounterName) -> CounterName {
    match counter {
        CounterName::Named(path) if is_tokenizer(counter) => {
            CounterName::from(folder.join(path).to_string_lossy().into_owned())
        }
        counter => counter.clone(),
    }
}

/// Whether it is the path of a tokenizer.
pub(crate) fn is_tokenizer(name: &CounterName) -> bool {
    matches!(name, CounterName::Named(path) if path.to_ascii_lowercase().ends_with(".json"))
}

pub(crate) fn budget(text: &str) -> Result<Tokens, String> {
    match tokens(text)? {
        Tokens::ZERO => Err("a budget must be at least 1 token".to_owned()),
        tokens => Ok(tokens),
    }
}

/// A number of tokens; its digits may be separated by `_` and `,`.
pub(crate) fn tokens(text: &str) -> Result<Tokens, String> {
    let digits: String = text.chars().filter(|c| !matches!(c, '_' | ',')).collect();
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(format!("{} of tokens", not_whole(text)));
    }
    match digits.parse::<u32>() {
        Ok(n) => Ok(Tokens::new(n)),
        Err(_) => Err(format!("too many tokens, the most is {}", Tokens::MAX)),
    }
}

/// A whole number, including 0.
pub(crate) fn whole(text: &str) -> Result<usize, String> {
    text.parse()
        .map_err(|error: ParseIntError| match error.kind() {
            IntErrorKind::PosOverflow => {
                format!("the number is too large, the largest is {}", usize::MAX)
            }
            _ => not_whole(text).to_owned(),
        })
}

/// Why `text` is not a valid whole number.
fn not_whole(text: &str) -> &'static str {
    if text.starts_with('-') {
        "not a positive whole number"
    } else {
        "not a whole number"
    }
}

/// A file that is read besides the input, so not `-`.
fn file(path: &str) -> Result<PathBuf, String> {
    match path {
        "-" => Err("standard input is read for other input; give a file".to_owned()),
        path => Ok(path.into()),
    }
}

fn milliseconds(text: &str) -> Result<Duration, String> {
    text.parse()
        .map(Duration::from_millis)
        .map_err(|_| format!("{} of milliseconds", not_whole(text)))
}

fn relevance(text: &str) -> Result<Relevance, String> {
    let value = text.parse().ok().map(Relevance::new);
    match value {
        Some(Ok(value)) => Ok(value),
        _ => Err("not a number from 0 to 1".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_tells_the_defaults() {
        let defaults = BuildOptions::default();
        let help = OptionFlags::augment_args(Command::new("ctx"))
            .render_long_help()
            .to_string();
        for (flag, default) in [
            ("--max-tokens", defaults.max_tokens.to_string()),
            ("--reserve", defaults.reserve.to_string()),
            ("--counter", defaults.counter.to_string()),
            ("--format", defaults.format.to_string()),
            ("--group-by", word(&defaults.group_by)),
            ("--order", word(&defaults.order)),
            ("--xml-content", word(&defaults.xml_content)),
        ] {
            let (_, about) = help.split_once(&format!("{flag} ")).unwrap();
            let told = about
                .split("[default: ")
                .nth(1)
                .unwrap()
                .split(']')
                .next()
                .unwrap();
            assert_eq!(told, default, "{flag}");
        }
    }

    fn word(value: &impl serde::Serialize) -> String {
        serde_json::to_value(value)
            .unwrap()
            .as_str()
            .unwrap()
            .to_owned()
    }

    #[test]
    fn every_switch_shows_or_hides_a_field_of_its_own() {
        let defaults = BuildOptions::default();
        for (at, switch) in SWITCHES.iter().enumerate() {
            assert_eq!(switch.negation, format!("no-{}", switch.name));
            let on_by_default = *(switch.field)(&mut defaults.clone());
            assert_eq!(
                switch.help.ends_with("[default]"),
                on_by_default,
                "{}",
                switch.name
            );
            assert_eq!(
                switch.negated_help.ends_with("[default]"),
                !on_by_default,
                "{}",
                switch.name
            );
            let mut changed = defaults.clone();
            let mut given = Switches::default();
            given.0[at] = Some(!on_by_default);
            given.apply(&mut changed);
            assert_ne!(changed, defaults, "{}", switch.name);
        }
    }

    #[test]
    fn a_tokenizer_is_below_the_folder_of_whoever_names_it() {
        for (name, expected) in [
            ("a/tokenizer.json", "/p/a/tokenizer.json"),
            ("/q/Tokenizer.JSON", "/q/Tokenizer.JSON"),
            ("gpt-4o", "gpt-4o"),
        ] {
            let counter = counter_below(Path::new("/p"), &CounterName::from(name.to_owned()));
            assert_eq!(counter.to_string(), expected);
        }
    }

    #[test]
    fn numbers_of_tokens_are_read() {
        for (text, expected) in [
            ("1", Some(1)),
            ("32_000", Some(32_000)),
            ("32,000", Some(32_000)),
            ("4294967295", Some(u32::MAX)),
            ("4294967296", None),
            ("", None),
            ("_", None),
            ("1.5", None),
            ("+1", None),
            ("１", None),
        ] {
            assert_eq!(tokens(text).ok(), expected.map(Tokens::new), "{text:?}");
        }
        assert!(budget("0").is_err());
    }
}
