//! Settings that no flag gives: from the environment, then from `ctx.toml` in the folder that is
//! searched or the nearest above it in its repository, then from the user's own `ctx.toml`, then
//! from what the index remembers, then the defaults.
//!
//! Each source is parsed as one [`Layer`]; an unknown or invalid key or variable is an error that
//! names it. The origin of each value is recorded for `--explain`.

use std::path::Path;
use std::time::Duration;

use ctx::index;
use ctx::model::{BuildOptions, Selection, Tokens};
use ctx::retrieve::{self, Strategy};

use crate::args::{Indexed, Search};
use crate::failure::Failure;
use crate::layers::{self, Layer};
use crate::options::OptionFlags;
use crate::user_dirs;
use crate::values::{Kinds, Strategies, Value};

/// Keys that the index remembers.
pub(crate) const INCLUDE_GENERATED: &str = "include-generated";
pub(crate) const MAX_FILE_SIZE: &str = "max-file-size";
/// Where values come from that the index remembers.
const KEPT: &str = "the index, by an earlier flag";
/// The size of the largest file that is indexed where nothing is said.
pub(crate) const DEFAULT_FILE_SIZE: u64 = 1 << 20;
/// How long to wait for another process that writes the index.
const WAIT: Duration = Duration::from_mins(1);

/// A setting, its value, and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AppliedSetting {
    pub(crate) key: &'static str,
    pub(crate) value: String,
    pub(crate) origin: String,
}

/// The settings of all sources; the first that has a value decides.
#[derive(Debug)]
pub(crate) struct Settings {
    /// The layers with the names of their files; that of the environment is empty.
    layers: Vec<(String, Layer)>,
    told: Vec<AppliedSetting>,
}

impl Settings {
    /// Reads the environment and the files, for questions about `root`.
    ///
    /// # Errors
    /// One of them cannot be read, or is invalid.
    pub(crate) fn load(root: &Path) -> Result<Settings, Failure> {
        let mut all = vec![(String::new(), layers::environment(user_dirs::variable)?)];
        let folder = user_dirs::settings_folder(root, layers::NAME);
        if let Some(bytes) = layers::project(folder)? {
            all.push(layers::layer(&folder.join(layers::NAME), bytes)?);
        }
        if let Some(path) = user_dirs::user_settings()
            && let Some(bytes) = layers::user(&path)?
        {
            all.push(layers::layer(&path, bytes)?);
        }
        Ok(Settings {
            layers: all,
            told: Vec::new(),
        })
    }

    /// The value that a flag or a source gives, or else the default.
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

    /// The value that a flag or a source gives.
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
        self.told.push(AppliedSetting {
            key,
            value: value.tell(),
            origin: origin.to_owned(),
        });
    }

    /// The options of a build.
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

    /// The options of a search.
    pub(crate) fn retrieve(&mut self, flags: &Search, max_tokens: Tokens) -> retrieve::Options {
        let mut options = retrieve::Options::default();
        options.strategies = self.strategies(flags.strategies.as_ref());
        options.kinds = self
            .pick(
                "types",
                flags.types.as_ref(),
                |it| it.query.types.as_ref(),
                Kinds(options.kinds),
            )
            .0;
        options.limit = self.find("limit", flags.limit.as_ref(), |it| it.query.limit.as_ref());
        options.min_score = self.pick(
            "min-score",
            flags.min_score.as_ref(),
            |it| it.query.min_score.as_ref(),
            options.min_score,
        );
        if options.limit.is_none() {
            options = options.for_budget(max_tokens, retrieve::DEFAULT_LIMIT);
            self.tell("limit", &options.limit.unwrap_or_default(), "the budget");
        }
        options.min_chance = self.pick(
            "min-chance",
            flags.min_chance.as_ref(),
            |it| it.query.min_chance.as_ref(),
            options.min_chance,
        );
        options
    }

    /// The strategies to search with.
    pub(crate) fn strategies(&mut self, flag: Option<&Strategies>) -> Vec<Strategy> {
        let all = Strategies(Strategy::ALL.to_vec());
        let picked = self.pick("strategies", flag, |it| it.query.strategies.as_ref(), all);
        picked.0
    }

    /// The options of the index. Values that no source gives are left to the index, which remembers
    /// earlier flags.
    pub(crate) fn index(&mut self, flags: Indexed) -> index::Options {
        self.index_with(flags, WAIT)
    }

    /// The same for a server that keeps the index open. Unless a source says so, it does not wait
    /// for long, since its clients have deadlines of their own, and the index answers as it is.
    pub(crate) fn served_index(&mut self) -> index::Options {
        let wait = index::Options::default().patience;
        self.index_with(Indexed::default(), wait)
    }

    fn index_with(&mut self, flags: Indexed, wait: Duration) -> index::Options {
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
            wait,
        );
        options
    }

    /// Records the values that were left to the index, as reported by `status`.
    pub(crate) fn note_index(&mut self, status: &index::Status, kept: index::StoredOptions) {
        let origin = |is_kept: bool| {
            if is_kept { KEPT } else { "the default" }
        };
        let is_told = |told: &[AppliedSetting], key| told.iter().any(|it| it.key == key);
        if !is_told(&self.told, INCLUDE_GENERATED) {
            let origin = origin(kept.include_generated.is_some());
            self.tell(INCLUDE_GENERATED, &status.include_generated, origin);
        }
        if !is_told(&self.told, MAX_FILE_SIZE) {
            let origin = origin(kept.max_file_bytes.is_some());
            self.tell(MAX_FILE_SIZE, &status.max_file_bytes, origin);
        }
    }

    /// Where the value of `key` comes from, as far as known.
    pub(crate) fn origin(&self, key: &str) -> &str {
        let told = self.told.iter().find(|it| it.key == key);
        told.map_or("the default", |it| &it.origin)
    }

    /// Where the value of `key` comes from, and, if the index remembers another than the default,
    /// which flag undoes that.
    pub(crate) fn by(&self, key: &str) -> String {
        let origin = self.origin(key);
        let told = self.told.iter().find(|it| it.key == key);
        let value = told.map_or("", |it| &it.value);
        let flag = match key {
            _ if origin != KEPT => return origin.to_owned(),
            INCLUDE_GENERATED if value == true.tell() => "--no-include-generated",
            MAX_FILE_SIZE if value != DEFAULT_FILE_SIZE.tell() => "--max-file-size 1M",
            _ => return origin.to_owned(),
        };
        format!("{origin}; {flag} undoes it")
    }

    /// The value of `key`, and where it comes from.
    pub(crate) fn say(&self, key: &str) -> String {
        let told = self.told.iter().find(|it| it.key == key);
        let value = told.map_or("not known", |it| &it.value);
        format!("{key} is {value} ({})", self.by(key))
    }

    /// The values picked so far, and where they come from.
    pub(crate) fn applied(&self) -> &[AppliedSetting] {
        &self.told
    }
}

/// The environment variable for `key`.
fn variable_of(key: &str) -> String {
    format!("CTX_{}", key.to_uppercase().replace('-', "_"))
}
