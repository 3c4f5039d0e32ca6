//! `ctx index --list` and `ctx index --prune`: the indexes in the cache folder, one for each
//! indexed folder.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ctx::index::{IndexError, Stored};
use ctx::model::UnixSeconds;
use serde::Serialize;

use crate::args::IndexArgs;
use crate::emit::{self, counted, grouped};
use crate::explain::aligned;
use crate::failure::Failure;
use crate::indexing;
use crate::past;
use crate::report::{self, Report, clean};
use crate::user_dirs;
use crate::walk::shown;

const DAY: Duration = Duration::from_hours(24);

/// The indexes in a cache folder.
struct Cache {
    folder: PathBuf,
    indexes: Vec<Found>,
    passed: Vec<SkippedFolder>,
}

/// An index, and the state of its folder.
struct Found {
    stored: Stored,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
enum State {
    /// The folder exists.
    There,
    /// The folder does not exist, or is no folder any more.
    Gone,
    /// The folder cannot be accessed.
    Unreadable,
    /// The index does not say which folder it belongs to.
    Unknown,
}

impl State {
    fn of(root: Option<&Path>) -> Self {
        match root.map(fs::metadata) {
            None => State::Unknown,
            Some(Ok(it)) if it.is_dir() => State::There,
            Some(Ok(_)) => State::Gone,
            Some(Err(error)) => match error.kind() {
                ErrorKind::NotFound | ErrorKind::NotADirectory => State::Gone,
                _ => State::Unreadable,
            },
        }
    }

    fn word(self) -> &'static str {
        match self {
            State::There => "there",
            State::Gone => "gone",
            State::Unreadable => "unreadable",
            State::Unknown => "unknown",
        }
    }
}

/// An entry of the cache folder that is left alone.
#[derive(Serialize)]
struct SkippedFolder {
    path: String,
    reason: String,
    /// Whether its name is that of an index.
    #[serde(skip)]
    is_named: bool,
}

/// An index, as `--json` writes it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CachedIndexJson<'t> {
    #[serde(skip_serializing_if = "Option::is_none")]
    root: Option<String>,
    root_is: State,
    folder: String,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<&'t str>,
    /// When it was written, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    written_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    used_at: Option<i64>,
    /// Why it would be rebuilt, or why it is removed or kept.
    #[serde(flatten)]
    why: Why,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Why {
    #[serde(skip_serializing_if = "Option::is_none")]
    begun_anew: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl Found {
    fn to_json(&self, why: Why) -> CachedIndexJson<'_> {
        let stored = &self.stored;
        CachedIndexJson {
            root: stored.root.as_deref().map(shown),
            root_is: self.state,
            folder: shown(&stored.folder),
            bytes: stored.bytes,
            format: stored.format.as_deref(),
            written_at: stored.written_at.map(UnixSeconds::get),
            used_at: stored.used_at.map(UnixSeconds::get),
            why,
        }
    }

    /// The name of the index in messages.
    fn name(&self) -> String {
        let stored = &self.stored;
        match &stored.root {
            Some(root) => format!("the index of {}", shown(root)),
            None => format!("the index {}", shown(&stored.folder)),
        }
    }

    /// Why it should be removed, if so. The state of its folder is checked again: other indexes
    /// were removed since, and the folder may be back, with the drive that it is on.
    fn is_unwanted(&self, unused_for: Option<u32>, now: UnixSeconds) -> Option<String> {
        let is_gone_still = || State::of(self.stored.root.as_deref()) == State::Gone;
        if self.state == State::Gone && is_gone_still() {
            return Some("its folder is gone".to_owned());
        }
        let (days, used_at) = (unused_for?, self.stored.used_at?);
        let is_unused = used_at <= now.saturating_sub(DAY.saturating_mul(days));
        is_unused.then(|| format!("it was last used {}", indexing::ago(used_at)))
    }
}

/// Lists the indexes, and changes nothing.
///
/// # Errors
/// There is no cache folder, or it cannot be read.
pub(crate) fn list(args: &IndexArgs, report: Report) -> Result<(), Failure> {
    let cache = Cache::look()?;
    cache.tell_passed(report);
    let faults = cache.indexes.iter().map(|it| fault(&it.stored));
    let faults: Vec<Option<String>> = faults.collect();
    if args.json {
        return emit::json(&cache.listed(faults));
    }
    let bytes = cache.indexes.iter().map(|it| it.stored.bytes).sum();
    let rows = cache.indexes.iter().zip(&faults).map(|(it, fault)| {
        let stored = &it.stored;
        let time = |it: Option<UnixSeconds>| it.map_or("-".to_owned(), indexing::ago);
        let format = stored.format.as_deref().unwrap_or("-");
        let anew = fault.as_ref().map_or("", |_| ", to be rebuilt");
        let root = stored.root.as_deref().map_or("-".to_owned(), shown);
        let name = stored.folder.file_name().map(Path::new);
        [
            grouped(stored.bytes),
            time(stored.written_at),
            time(stored.used_at),
            format!("{}{anew}", clean(format)),
            it.state.word().to_owned(),
            name.map(shown).unwrap_or_default(),
            clean(&root).into_owned(),
        ]
    });
    let titles = [
        "bytes", "written", "used", "format", "is", "index", "folder",
    ];
    let mut table = String::new();
    if !cache.indexes.is_empty() {
        aligned(&mut table, titles, rows);
    }
    emit::text(&table)?;
    for (it, fault) in cache.indexes.iter().zip(&faults) {
        if let Some(fault) = fault {
            report.note(&format!(
                "{} will be rebuilt when it is next opened: failed to {fault}",
                it.name()
            ));
        }
    }
    report.note(&cache.total(bytes));
    Ok(())
}

/// Removes the indexes of folders that are gone and, if requested, those that were not used for
/// long.
///
/// # Errors
/// There is no cache folder, it cannot be read, or an index in it cannot be removed; the others are
/// removed all the same.
pub(crate) fn prune(args: &IndexArgs, report: Report) -> Result<(), Failure> {
    let cache = Cache::look()?;
    cache.tell_passed(report);
    let now = indexing::now();
    let mut pruned = Pruned {
        folder: shown(&cache.folder),
        dry_run: args.dry_run,
        removed: Vec::new(),
        kept: Vec::new(),
        bytes: 0,
    };
    let (mut failed, mut written) = (0, Ok(()));
    for found in &cache.indexes {
        let Some(why) = found.is_unwanted(args.unused_for, now) else {
            continue;
        };
        match remove(&found.stored, args.dry_run) {
            Ok(true) => {
                let line = pruned.removed(found, why);
                // If standard output is closed, the remaining indexes are removed all the same.
                if !args.json && written.is_ok() {
                    written = emit::write(|out| writeln!(out, "{line}"));
                }
            }
            Ok(false) => pruned.kept(found, "it was used or removed meanwhile".to_owned()),
            Err(error) => {
                failed += u64::from(!matches!(error, IndexError::Busy { .. }));
                pruned.kept(found, indexing::why(&error));
            }
        }
    }
    let (removed, bytes) = (pruned.removed.len() as u64, pruned.bytes);
    if args.json {
        written = emit::json(&pruned);
    } else if written.is_ok() {
        let done = if args.dry_run {
            "would be removed"
        } else {
            "removed"
        };
        let line = format!(
            "{} {done}, {}",
            index_or_indexes(removed),
            counted(bytes, "byte")
        );
        written = emit::write(|out| writeln!(out, "{line}"));
    }
    if failed == 0 {
        return written;
    }
    Err(Failure::program(format!(
        "failed to remove {} of {}",
        index_or_indexes(failed),
        shown(&cache.folder)
    ))
    .with_hint("check that the folder is writable and has no other files in it"))
}

/// Removes an index, unless `is_dry`. Returns whether it was, or would be, removed.
fn remove(stored: &Stored, is_dry: bool) -> Result<bool, IndexError> {
    if is_dry {
        stored.is_removable(&past::is_file).map(|()| true)
    } else {
        stored.remove(&past::is_file)
    }
}

/// The result of `--prune`, as `--json` writes it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Pruned<'p> {
    folder: String,
    dry_run: bool,
    removed: Vec<CachedIndexJson<'p>>,
    /// Indexes that should have been removed and were not.
    kept: Vec<CachedIndexJson<'p>>,
    /// The total size of the removed ones.
    bytes: u64,
}

impl<'p> Pruned<'p> {
    /// Records a removed index, and returns the line that reports it.
    fn removed(&mut self, found: &'p Found, why: String) -> String {
        self.bytes += found.stored.bytes;
        let did = if self.dry_run {
            "would remove"
        } else {
            "removed"
        };
        let (name, bytes) = (found.name(), counted(found.stored.bytes, "byte"));
        let line = format!("{did} {} ({bytes}): {why}", clean(&name));
        self.removed.push(found.to_json(Why::of(why)));
        line
    }

    fn kept(&mut self, found: &'p Found, why: String) {
        report::warning(&format!("{} is not removed: {why}", found.name()));
        self.kept.push(found.to_json(Why::of(why)));
    }
}

impl Why {
    fn of(reason: String) -> Self {
        Why {
            reason: Some(reason),
            ..Why::default()
        }
    }
}

/// The list, as `--json` writes it.
#[derive(Serialize)]
struct Listed<'l> {
    folder: String,
    indexes: Vec<CachedIndexJson<'l>>,
    passed: &'l [SkippedFolder],
}

impl Cache {
    /// Reads the entries of the cache folder whose names are those of indexes.
    fn look() -> Result<Self, Failure> {
        let folder = user_dirs::cache()?;
        let mut cache = Cache {
            folder: folder.clone(),
            indexes: Vec::new(),
            passed: Vec::new(),
        };
        let unreadable = |error| {
            let why = format!(
                "failed to read the cache folder {}: {error}",
                shown(&folder)
            );
            Failure::program(why).with_hint("set CTX_CACHE_DIR to a folder that can be read")
        };
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(cache),
            Err(error) => return Err(unreadable(error)),
        };
        let paths = entries.map(|it| Ok(it?.path()));
        let mut paths = paths
            .collect::<std::io::Result<Vec<_>>>()
            .map_err(unreadable)?;
        paths.sort();
        for path in paths {
            match found(&path) {
                Ok(found) => cache.indexes.push(found),
                Err(passed) => cache.passed.push(passed),
            }
        }
        // By their folders; indexes without a known folder come last.
        let key = |it: &Found| (it.stored.root.is_none(), it.stored.root.clone());
        cache.indexes.sort_by_key(key);
        Ok(cache)
    }

    fn listed(&self, faults: Vec<Option<String>>) -> Listed<'_> {
        let indexes = self.indexes.iter().zip(faults).map(|(it, fault)| {
            it.to_json(Why {
                begun_anew: fault.map(|it| format!("failed to {it}")),
                ..Why::default()
            })
        });
        Listed {
            folder: shown(&self.folder),
            indexes: indexes.collect(),
            passed: &self.passed,
        }
    }

    fn tell_passed(&self, report: Report) {
        for it in &self.passed {
            let line = format!("skipped {}: {}", it.path, it.reason);
            if it.is_named {
                report.note(&line);
            } else {
                report.detail(&line);
            }
        }
    }

    fn total(&self, bytes: u64) -> String {
        format!(
            "{} in {}, {}",
            index_or_indexes(self.indexes.len() as u64),
            shown(&self.folder),
            counted(bytes, "byte")
        )
    }
}

/// The index at `path`, or why there is none to list.
fn found(path: &Path) -> Result<Found, SkippedFolder> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_named = user_dirs::is_name(&name);
    let passed = |reason: String| SkippedFolder {
        path: shown(path),
        reason,
        is_named,
    };
    if !is_named {
        return Err(passed("its name is not that of an index".to_owned()));
    }
    let kind = fs::symlink_metadata(path).map_err(|it| passed(it.to_string()))?;
    if kind.is_symlink() {
        return Err(passed("it is a link, which is not followed".to_owned()));
    }
    let stored = Stored::at(path).map_err(|it| passed(indexing::why(&it)))?;
    let mut stored = stored.ok_or_else(|| passed("there is no index in it".to_owned()))?;
    // An index that names another folder was copied, or is damaged.
    stored.root = stored.root.filter(|root| user_dirs::name_of(root) == name);
    let state = State::of(stored.root.as_deref());
    Ok(Found { stored, state })
}

/// Why an index would be rebuilt. If it cannot be read, this is the system's error.
fn fault(stored: &Stored) -> Option<String> {
    stored
        .fault()
        .unwrap_or_else(|error| Some(error.to_string()))
}

/// `1 index`, `2 indexes`.
fn index_or_indexes(n: u64) -> String {
    let word = if n == 1 { "index" } else { "indexes" };
    format!("{} {word}", grouped(n))
}

#[cfg(test)]
mod tests {
    use std::env;

    use ctx::index::{Index, Options};

    use super::*;

    #[test]
    fn an_index_is_wanted_where_its_folder_is_there_again() {
        let all = env::temp_dir().join(format!("ctx-cached-{}", std::process::id()));
        let (root, folder) = (all.join("root"), all.join("index"));
        fs::create_dir_all(&root).unwrap();
        drop(Index::open(&root, &folder, Options::default()).unwrap());
        let stored = Stored::at(&folder).unwrap().unwrap();
        let state = State::Gone;
        let found = Found { stored, state };
        assert_eq!(found.is_unwanted(None, UnixSeconds::default()), None);
        fs::remove_dir(&root).unwrap();
        assert!(found.is_unwanted(None, UnixSeconds::default()).is_some());
        fs::remove_dir_all(&all).unwrap();
    }
}
