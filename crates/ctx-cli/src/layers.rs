//! The settings of the environment and of each `ctx.toml`, each parsed as one [`Layer`].

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

use ctx::model::{CounterName, Format, Selection, Tokens, error_chain, json_error};
use ctx::source::{Root, SourceError, read_up_to};
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::failure::Failure;
use crate::options;
use crate::report;
use crate::values::{Kinds, Strategies, Value};
use crate::walk::shown;

/// The name of a settings file, in any folder.
pub(crate) const NAME: &str = "ctx.toml";
/// The most bytes of a settings file.
const MOST_BYTES: u64 = 1 << 20;

/// An error of the parser that does not name its key.
const DUPLICATE: &str = "duplicate key";

/// The settings of one source. This is the schema of `ctx.toml`; [`environment`] has the names of
/// the variables.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a table of settings")]
pub(crate) struct Layer {
    pub(crate) query: QueryKeys,
    pub(crate) output: OutputKeys,
    pub(crate) index: IndexKeys,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(
    default,
    deny_unknown_fields,
    rename_all = "kebab-case",
    expecting = "a table of settings"
)]
pub(crate) struct QueryKeys {
    #[serde(deserialize_with = "value")]
    pub(crate) max_tokens: Option<Tokens>,
    #[serde(deserialize_with = "value")]
    pub(crate) strategies: Option<Strategies>,
    #[serde(deserialize_with = "value")]
    pub(crate) types: Option<Kinds>,
    #[serde(deserialize_with = "value")]
    pub(crate) limit: Option<usize>,
    #[serde(deserialize_with = "value")]
    pub(crate) min_score: Option<f64>,
    #[serde(deserialize_with = "value")]
    pub(crate) min_chance: Option<f64>,
    #[serde(deserialize_with = "value")]
    pub(crate) selection: Option<Selection>,
    #[serde(deserialize_with = "value")]
    pub(crate) relevance_power: Option<u8>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(
    default,
    deny_unknown_fields,
    rename_all = "kebab-case",
    expecting = "a table of settings"
)]
pub(crate) struct OutputKeys {
    #[serde(deserialize_with = "value")]
    pub(crate) format: Option<Format>,
    #[serde(deserialize_with = "value")]
    pub(crate) counter: Option<CounterName>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(
    default,
    deny_unknown_fields,
    rename_all = "kebab-case",
    expecting = "a table of settings"
)]
pub(crate) struct IndexKeys {
    #[serde(deserialize_with = "value")]
    pub(crate) include_generated: Option<bool>,
    #[serde(deserialize_with = "value")]
    pub(crate) max_file_size: Option<u64>,
    #[serde(deserialize_with = "value")]
    pub(crate) wait: Option<Duration>,
}

/// Reads a value like the value of a flag; a list is like its items separated by commas.
fn value<'de, T: Value, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    let Word(word) = Word::deserialize(deserializer)?;
    T::read(&word).map(Some).map_err(serde::de::Error::custom)
}

/// A value as it would be given to a flag; a number may be larger than any valid one.
struct Word(String);

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Plain)
    }
}

struct Plain;

impl<'de> Visitor<'de> for Plain {
    type Value = Word;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a plain value")
    }

    fn visit_str<E>(self, text: &str) -> Result<Word, E> {
        Ok(Word(text.to_owned()))
    }

    fn visit_bool<E>(self, is: bool) -> Result<Word, E> {
        Ok(Word(is.to_string()))
    }

    fn visit_i64<E>(self, n: i64) -> Result<Word, E> {
        Ok(Word(n.to_string()))
    }

    fn visit_u64<E>(self, n: u64) -> Result<Word, E> {
        Ok(Word(n.to_string()))
    }

    fn visit_i128<E>(self, n: i128) -> Result<Word, E> {
        Ok(Word(n.to_string()))
    }

    fn visit_u128<E>(self, n: u128) -> Result<Word, E> {
        Ok(Word(n.to_string()))
    }

    fn visit_f64<E>(self, x: f64) -> Result<Word, E> {
        Ok(Word(x.to_string()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Word, A::Error> {
        let mut words = Vec::new();
        while let Some(Word(word)) = items.next_element()? {
            words.push(word);
        }
        Ok(Word(words.join(",")))
    }
}

/// Reads the variables, which are named `CTX_` and the key.
pub(crate) fn environment(variable: impl Fn(&str) -> Option<OsString>) -> Result<Layer, Failure> {
    fn read<T: Value>(
        variable: &impl Fn(&str) -> Option<OsString>,
        name: &str,
    ) -> Result<Option<T>, Failure> {
        let Some(value) = variable(name) else {
            return Ok(None);
        };
        let word = value.to_string_lossy();
        T::read(&word).map(Some).map_err(|why| {
            Failure::usage(format!("the variable {name} is {word:?}: {why}"))
                .with_hint(format!("unset {name}, or set it to a valid value"))
        })
    }
    let of = &variable;
    Ok(Layer {
        query: QueryKeys {
            max_tokens: read(of, "CTX_MAX_TOKENS")?,
            strategies: read(of, "CTX_STRATEGIES")?,
            types: read(of, "CTX_TYPES")?,
            limit: read(of, "CTX_LIMIT")?,
            min_score: read(of, "CTX_MIN_SCORE")?,
            min_chance: read(of, "CTX_MIN_CHANCE")?,
            selection: read(of, "CTX_SELECTION")?,
            relevance_power: read(of, "CTX_RELEVANCE_POWER")?,
        },
        output: OutputKeys {
            format: read(of, "CTX_FORMAT")?,
            counter: read(of, "CTX_COUNTER")?,
        },
        index: IndexKeys {
            include_generated: read(of, "CTX_INCLUDE_GENERATED")?,
            max_file_size: read(of, "CTX_MAX_FILE_SIZE")?,
            wait: read(of, "CTX_WAIT")?,
        },
    })
}

/// Reads the settings of a folder. They come from the author of the folder, so only a regular file
/// within it is read.
pub(crate) fn project(root: &Path) -> Result<Option<Vec<u8>>, Failure> {
    // If this fails, it is unknown whether there is such a file.
    let found = root.join(NAME).symlink_metadata();
    let is_closed = found.is_err_and(|it| it.kind() == io::ErrorKind::PermissionDenied);
    let unreadable = |error: SourceError| {
        let why = error_chain(&error);
        Failure::input(format!(
            "failed to use the settings in {}: {why}",
            shown(root)
        ))
        .with_hint(if is_closed {
            "give a folder that you may enter".to_owned()
        } else {
            format!("make {NAME} a readable file, or remove it")
        })
    };
    match Root::open(root).and_then(|root| root.read(NAME, MOST_BYTES)) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(SourceError::NotFound { .. } | SourceError::DeadLink { .. }) => Ok(None),
        Err(error) => Err(unreadable(error)),
    }
}

pub(crate) fn user(path: &Path) -> Result<Option<Vec<u8>>, Failure> {
    #[cfg(unix)]
    use std::os::unix::fs::FileTypeExt as _;
    let unreadable = |why: &dyn fmt::Display| {
        Failure::input(format!("failed to read {}: {why}", shown(path)))
            .with_hint("make it a readable file, or remove it")
    };
    // Opening a pipe blocks until it has a writer.
    #[cfg(unix)]
    if path.metadata().is_ok_and(|it| it.file_type().is_fifo()) {
        return Err(unreadable(&"it is a pipe"));
    }
    let read = File::open(path).and_then(|mut file| read_up_to(&mut file, 0, MOST_BYTES));
    match read {
        Ok(Some(bytes)) => Ok(Some(bytes)),
        Ok(None) => Err(unreadable(&format_args!(
            "it is larger than {MOST_BYTES} bytes"
        ))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        // For example if the program runs as another user, with the home folder of the first.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            report::warning(&format!("{} is ignored: permission denied", shown(path)));
            Ok(None)
        }
        Err(error) => Err(unreadable(&error)),
    }
}

/// The name of a file, and its settings, whose paths are relative to its folder.
pub(crate) fn layer(path: &Path, bytes: Vec<u8>) -> Result<(String, Layer), Failure> {
    let name = shown(path);
    let refuse = |line: usize, what: &str| {
        Failure::input(format!("{name}:{line}: {what}"))
            .with_hint("`ctx query --help` lists what can be set")
    };
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        refuse(line_of(valid), "it is not UTF-8")
    })?;
    let mut layer = parse(&text).map_err(|(line, what)| refuse(line, &what))?;
    if let Some(counter) = &mut layer.output.counter {
        *counter = options::counter_below(path.parent().unwrap_or(path), counter);
    }
    Ok((name.clone(), layer))
}

/// Parses `text`; an error has the line number, and why it is invalid.
fn parse(text: &str) -> Result<Layer, (usize, String)> {
    let located = |error: &toml::de::Error, key: String| {
        let start = error.span().map_or(0, |span| span.start.min(text.len()));
        let line = line_of(&text.as_bytes()[..start]);
        (
            line,
            format!("{key}{}", json_error(error.message().trim_end())),
        )
    };
    let deserializer = toml::Deserializer::parse(text).map_err(|error| {
        let (line, what) = located(&error, String::new());
        let key = error.span().and_then(|span| text.get(span));
        match key.filter(|_| error.message() == DUPLICATE) {
            Some(key) => (line, format!("{what} {key}")),
            None => (line, what),
        }
    })?;
    serde_path_to_error::deserialize(deserializer).map_err(|error| {
        let key = match error.path().to_string().as_str() {
            "." => String::new(),
            path => format!("{path}: "),
        };
        located(error.inner(), key)
    })
}

/// The number of the line that follows `before`.
fn line_of(before: &[u8]) -> usize {
    1 + memchr::memchr_iter(b'\n', before).count()
}

#[cfg(test)]
#[path = "layers_tests.rs"]
mod tests;
