//! What holds where no flag says otherwise: the environment, then `ctx.toml` in the folder that is asked about,
//! then the user's own `ctx.toml`, then the defaults.
//!
//! Each place is read as one [`Layer`]; a key or variable that nobody knows, or that makes no sense, is an
//! error that names it. What came from where is noted for `--explain`.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

use ctx::index;
use ctx::model::{BuildOptions, CounterName, Format, Selection, Tokens};
use ctx::retrieve;
use ctx::source::{Root, SourceError, read_up_to};
use serde::{Deserialize, Deserializer};

use crate::args::{Indexed, Search};
use crate::failure::Failure;
use crate::options::OptionFlags;
use crate::place;
use crate::report;
use crate::values::{Kinds, Strategies, Value};
use crate::walk::shown;

/// The name of the file, in any folder.
const NAME: &str = "ctx.toml";
/// Keys of what the index remembers.
pub(crate) const INCLUDE_GENERATED: &str = "include-generated";
pub(crate) const MAX_FILE_SIZE: &str = "max-file-size";
/// How long it is waited for another process that writes the index.
const WAIT: Duration = Duration::from_mins(1);
/// No settings are larger.
const MOST_BYTES: u64 = 1 << 20;

/// What one place says. The schema of `ctx.toml`; [`environment`] has the names of the variables.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Layer {
    query: QueryKeys,
    output: OutputKeys,
    index: IndexKeys,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct QueryKeys {
    #[serde(deserialize_with = "value")]
    max_tokens: Option<Tokens>,
    #[serde(deserialize_with = "value")]
    strategies: Option<Strategies>,
    #[serde(deserialize_with = "value")]
    types: Option<Kinds>,
    #[serde(deserialize_with = "value")]
    limit: Option<usize>,
    #[serde(deserialize_with = "value")]
    min_score: Option<f64>,
    #[serde(deserialize_with = "value")]
    selection: Option<Selection>,
    #[serde(deserialize_with = "value")]
    relevance_power: Option<u8>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct OutputKeys {
    #[serde(deserialize_with = "value")]
    format: Option<Format>,
    #[serde(deserialize_with = "value")]
    counter: Option<CounterName>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct IndexKeys {
    #[serde(deserialize_with = "value")]
    include_generated: Option<bool>,
    #[serde(deserialize_with = "value")]
    max_file_size: Option<u64>,
    #[serde(deserialize_with = "value")]
    wait: Option<Duration>,
}

/// Reads a value as a flag is read: a list is what its items are with commas between.
fn value<'de, T: Value, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    let value = toml::Value::deserialize(deserializer)?;
    let word = word(&value).ok_or_else(|| serde::de::Error::custom("not a plain value"))?;
    T::read(&word).map(Some).map_err(serde::de::Error::custom)
}

fn word(value: &toml::Value) -> Option<String> {
    Some(match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Integer(n) => n.to_string(),
        toml::Value::Float(x) => x.to_string(),
        toml::Value::Boolean(is) => is.to_string(),
        toml::Value::Array(items) => items
            .iter()
            .map(word)
            .collect::<Option<Vec<_>>>()?
            .join(","),
        toml::Value::Datetime(_) | toml::Value::Table(_) => return None,
    })
}

/// A setting, what it is, and who says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) key: &'static str,
    pub(crate) value: String,
    pub(crate) origin: String,
}

/// What every place says, the first that does so deciding.
#[derive(Debug)]
pub(crate) struct Settings {
    /// With the names of their files; that of the environment is empty.
    layers: Vec<(String, Layer)>,
    told: Vec<Told>,
}

impl Settings {
    /// Reads the environment and the files, for questions about `root`.
    ///
    /// # Errors
    /// One of them cannot be read, or says what nobody understands.
    pub(crate) fn load(root: &Path) -> Result<Settings, Failure> {
        let mut layers = vec![(String::new(), environment(place::variable)?)];
        if let Some(bytes) = project(root)? {
            layers.push(layer(&root.join(NAME), bytes)?);
        }
        if let Some(path) = place::user_settings()
            && let Some(bytes) = user(&path)?
        {
            layers.push(layer(&path, bytes)?);
        }
        Ok(Settings {
            layers,
            told: Vec::new(),
        })
    }

    /// What was asked for, where something was; else the default.
    fn pick<T: Value>(
        &mut self,
        key: &'static str,
        flag: Option<&T>,
        of: impl Fn(&Layer) -> Option<&T>,
        default: T,
    ) -> T {
        self.find(key, flag, of).unwrap_or_else(|| {
            self.tell(key, &default, "the default");
            default
        })
    }

    /// What was asked for, where something was.
    fn find<T: Value>(
        &mut self,
        key: &'static str,
        flag: Option<&T>,
        of: impl Fn(&Layer) -> Option<&T>,
    ) -> Option<T> {
        let flag = flag.map(|it| (it, "the command line"));
        let given = flag.or_else(|| {
            let mut layers = self.layers.iter();
            layers.find_map(|(origin, layer)| Some((of(layer)?, origin.as_str())))
        });
        let (value, origin) = match given? {
            (value, "") => (value.clone(), variable_of(key)),
            (value, origin) => (value.clone(), origin.to_owned()),
        };
        self.tell(key, &value, &origin);
        Some(value)
    }

    fn tell<T: Value>(&mut self, key: &'static str, value: &T, origin: &str) {
        self.told.push(Told {
            key,
            value: value.tell(),
            origin: origin.to_owned(),
        });
    }

    /// How a context is built.
    ///
    /// # Errors
    /// Those of [`OptionFlags::apply`].
    pub(crate) fn build(&mut self, flags: &OptionFlags) -> Result<BuildOptions, Failure> {
        let mut options = BuildOptions::default();
        options.max_tokens = self.pick(
            "max-tokens",
            flags.max_tokens.as_ref(),
            |it| it.query.max_tokens.as_ref(),
            options.max_tokens,
        );
        options.relevance_power = self.pick(
            "relevance-power",
            flags.relevance_power.as_ref(),
            |it| it.query.relevance_power.as_ref(),
            options.relevance_power,
        );
        options.selection = self.pick(
            "selection",
            flags.selection.as_ref(),
            |it| it.query.selection.as_ref(),
            Selection::Optimal,
        );
        options.format = self.pick(
            "format",
            flags.format.as_ref(),
            |it| it.output.format.as_ref(),
            options.format,
        );
        options.counter = self.pick(
            "counter",
            flags.counter.as_ref(),
            |it| it.output.counter.as_ref(),
            options.counter.clone(),
        );
        flags.apply(&mut options)?;
        Ok(options)
    }

    /// What is looked for.
    pub(crate) fn retrieve(&mut self, flags: &Search) -> retrieve::Options {
        let mut options = retrieve::Options::default();
        options.strategies = self
            .pick(
                "strategies",
                flags.strategies.as_ref(),
                |it| it.query.strategies.as_ref(),
                Strategies(options.strategies),
            )
            .0;
        options.kinds = self
            .pick(
                "types",
                flags.types.as_ref(),
                |it| it.query.types.as_ref(),
                Kinds(options.kinds),
            )
            .0;
        options.limit = self.pick(
            "limit",
            flags.limit.as_ref(),
            |it| it.query.limit.as_ref(),
            options.limit,
        );
        options.min_score = self.pick(
            "min-score",
            flags.min_score.as_ref(),
            |it| it.query.min_score.as_ref(),
            options.min_score,
        );
        options
    }

    /// What is indexed. What nothing says is left to the index, which remembers what flags said before.
    pub(crate) fn index(&mut self, flags: Indexed) -> index::Options {
        let kept = flags.kept();
        let mut options = index::Options::default();
        options.include_generated =
            self.find(INCLUDE_GENERATED, kept.include_generated.as_ref(), |it| {
                it.index.include_generated.as_ref()
            });
        options.max_file_bytes = self.find(MAX_FILE_SIZE, kept.max_file_bytes.as_ref(), |it| {
            it.index.max_file_size.as_ref()
        });
        options.patience = self.pick(
            "wait",
            flags.wait.as_ref(),
            |it| it.index.wait.as_ref(),
            WAIT,
        );
        options
    }

    /// Notes what was left to the index, of which `status` tells.
    pub(crate) fn note_index(&mut self, status: &index::Status, kept: index::Kept) {
        let origin = |is_kept: bool| {
            if is_kept {
                "the index, as a flag said before"
            } else {
                "the default"
            }
        };
        let is_told = |told: &[Told], key| told.iter().any(|it| it.key == key);
        if !is_told(&self.told, INCLUDE_GENERATED) {
            let origin = origin(kept.include_generated.is_some());
            self.tell(INCLUDE_GENERATED, &status.include_generated, origin);
        }
        if !is_told(&self.told, MAX_FILE_SIZE) {
            let origin = origin(kept.max_file_bytes.is_some());
            self.tell(MAX_FILE_SIZE, &status.max_file_bytes, origin);
        }
    }

    /// Who says what `key` is, as far as it is known by now.
    pub(crate) fn origin(&self, key: &str) -> &str {
        let told = self.told.iter().find(|it| it.key == key);
        told.map_or("the default", |it| &it.origin)
    }

    /// What was picked so far, and from where.
    pub(crate) fn told(&self) -> &[Told] {
        &self.told
    }
}

/// The variable that says what `key` is.
fn variable_of(key: &str) -> String {
    format!("CTX_{}", key.to_uppercase().replace('-', "_"))
}

/// The variables, named as [`variable_of`] has it.
fn environment(variable: impl Fn(&str) -> Option<OsString>) -> Result<Layer, Failure> {
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
                .with_hint(format!("unset {name}, or give it a value of its kind"))
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

/// The folder's own settings. Whoever wrote the folder wrote them: nothing but a regular file in it is read.
fn project(root: &Path) -> Result<Option<Vec<u8>>, Failure> {
    let unreadable = |error: SourceError| {
        let why = with_cause(&error);
        Failure::input(format!(
            "failed to use the settings in {}: {why}",
            shown(root)
        ))
        .with_hint(format!("make {NAME} a readable file, or remove it"))
    };
    match Root::open(root).and_then(|root| root.read(NAME, MOST_BYTES)) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(SourceError::NotFound { .. }) => Ok(None),
        Err(error) => Err(unreadable(error)),
    }
}

fn with_cause(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

fn user(path: &Path) -> Result<Option<Vec<u8>>, Failure> {
    let unreadable = |why: &dyn std::fmt::Display| {
        Failure::input(format!("failed to read {}: {why}", shown(path)))
            .with_hint("make it a readable file, or remove it")
    };
    let read = File::open(path).and_then(|mut file| read_up_to(&mut file, 0, MOST_BYTES));
    match read {
        Ok(Some(bytes)) => Ok(Some(bytes)),
        Ok(None) => Err(unreadable(&format_args!(
            "it is larger than {MOST_BYTES} bytes"
        ))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        // As for those who run this as somebody else, with the home of who they were.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            report::warning(&format!("{} is not ours to read", shown(path)));
            Ok(None)
        }
        Err(error) => Err(unreadable(&error)),
    }
}

/// What a file says, and its name.
fn layer(path: &Path, bytes: Vec<u8>) -> Result<(String, Layer), Failure> {
    let name = shown(path);
    let refuse = |line: usize, what: &str| {
        Failure::input(format!("{name}:{line}: {what}"))
            .with_hint("`ctx query --help` lists what can be set")
    };
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        refuse(line_of(valid), "it is not UTF-8")
    })?;
    parse(&text)
        .map(|layer| (name.clone(), layer))
        .map_err(|(line, what)| refuse(line, &what))
}

/// What `text` says, or the line that it does not say anything on, and why.
fn parse(text: &str) -> Result<Layer, (usize, String)> {
    let located = |error: &toml::de::Error, key: String| {
        let start = error.span().map_or(0, |span| span.start.min(text.len()));
        let line = line_of(&text.as_bytes()[..start]);
        (line, format!("{key}{}", error.message().trim_end()))
    };
    let deserializer =
        toml::Deserializer::parse(text).map_err(|error| located(&error, String::new()))?;
    serde_path_to_error::deserialize(deserializer).map_err(|error| {
        let key = match error.path().to_string().as_str() {
            "." => String::new(),
            path => format!("{path}: "),
        };
        located(error.inner(), key)
    })
}

/// The number of the line that comes after `before`.
fn line_of(before: &[u8]) -> usize {
    1 + memchr::memchr_iter(b'\n', before).count()
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
