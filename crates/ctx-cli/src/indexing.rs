//! Opening the index of a folder and bringing it up to date, for the verbs that need one.

use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, UNIX_EPOCH};

use ctx::assemble::Cancel;
use ctx::index::{self, Index, IndexError, Options, Pending, Status, StoredOptions, Updated};
use ctx::model::{UnixSeconds, error_chain};
use ctx::source;

use crate::emit::{counted, grouped};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::report::{self, Report};
use crate::settings::{self, Settings};
use crate::skipped;
use crate::user_dirs;
use crate::walk::shown;

/// The most unreadable files that are named, unless all are requested.
const NAMED: usize = 5;

/// Waits shorter than this are not reported.
const NOTICED: Duration = Duration::from_millis(500);

/// The canonical path of the folder at `path`.
///
/// # Errors
/// There is no such folder.
pub(crate) fn root(path: &Path) -> Result<PathBuf, Failure> {
    let name = shown(path);
    let root = fs::canonicalize(path).map_err(|error| {
        Failure::input(format!("failed to open the folder {name}: {error}"))
            .with_hint("give a folder that exists")
    })?;
    if root.is_dir() {
        Ok(root)
    } else {
        Err(Failure::input(format!("{name} is a file, not a folder"))
            .with_hint("give the folder that it is in"))
    }
}

/// Opens the index of `root`, and creates an empty one if there is none. Reports if an existing
/// index had to be rebuilt, or if what it remembers could not be read.
///
/// # Errors
/// See [`user_dirs::index_folder`] and [`Index::open`].
pub(crate) fn open(root: &Path, options: Options) -> Result<Index, Failure> {
    let folder = user_dirs::index_folder(root)?;
    make_private(&folder)?;
    let index = Index::open(root, &folder, options).map_err(|it| failure(&it))?;
    if let Some(loss) = index.loss() {
        report::warning(loss);
    }
    if let Some(error) = index.rebuilt() {
        report::warning(&format!(
            "rebuilding the index of {}: failed to {}",
            shown(root),
            error_chain(error)
        ));
    }
    Ok(index)
}

/// Makes the index remember the values of its flags.
pub(crate) fn keep(index: &Index, kept: StoredOptions) {
    if kept != StoredOptions::default()
        && let Err(error) = index.store_options(kept)
    {
        let why = why(&error);
        report::warning(&format!(
            "the flags are not remembered with the index: {why}"
        ));
    }
}

/// Creates `folder` and its parents, readable by the user only, since it contains the text of
/// files. A `.ctx` folder of the user's is made private when its index is created, and is excluded
/// from repositories.
pub(crate) fn make_private(folder: &Path) -> Result<(), Failure> {
    make_private_as(folder).map_err(|source| {
        failure(&IndexError::Folder {
            folder: folder.to_owned(),
            source,
        })
    })
}

fn make_private_as(folder: &Path) -> io::Result<()> {
    if user_dirs::is_own(folder) {
        index::begin_in(folder)
    } else {
        source::make_private(folder)
    }
}

/// Indexes changed files, with progress on a terminal. If it waits long for another process, it
/// reports which.
///
/// # Errors
/// Those of [`Index::update`].
pub(crate) fn update(
    index: &Index,
    report: Report,
    cancel: &Cancel,
) -> Result<Updated, IndexError> {
    shown_by(report, cancel, |progress| index.update(progress))
}

/// Like `update`, but indexes every file again, whatever is known of it.
///
/// # Errors
/// Those of [`Index::rebuild`].
pub(crate) fn rebuild(
    index: &Index,
    report: Report,
    cancel: &Cancel,
) -> Result<Updated, IndexError> {
    shown_by(report, cancel, |progress| index.rebuild(progress))
}

fn shown_by(
    report: Report,
    cancel: &Cancel,
    act: impl FnOnce(&mut OnProgress<'_>) -> Result<Updated, IndexError>,
) -> Result<Updated, IndexError> {
    let progress = Progress::start("indexing", 0, report);
    let mut waiting = Waiting::default();
    act(&mut |it| {
        if it.is_waiting {
            waiting.note(it.holder, report);
        }
        progress.set(it.done, it.of);
        if cancel.is_cancelled() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })
}

/// A callback for progress.
type OnProgress<'t> = dyn FnMut(index::Progress) -> ControlFlow<()> + 't;

/// Since when another process is being waited for.
#[derive(Default)]
struct Waiting {
    since: Option<Instant>,
    is_told: bool,
}

impl Waiting {
    /// Reports the wait once, when it has lasted long enough.
    fn note(&mut self, holder: Option<u32>, report: Report) {
        let since = self.since.get_or_insert_with(Instant::now);
        if self.is_told || since.elapsed() < NOTICED {
            return;
        }
        self.is_told = true;
        report.note(&format!(
            "waiting for {}, which is writing the index (--wait 0 to not wait)",
            process(holder)
        ));
    }
}

/// That a process is writing the index.
pub(crate) fn writing(holder: Option<u32>) -> String {
    let holder = holder.map_or("unknown".to_owned(), |id| id.to_string());
    format!("process {holder} is writing the index")
}

fn process(holder: Option<u32>) -> String {
    holder.map_or("another process".to_owned(), |id| format!("process {id}"))
}

/// The content of the index, and when it was written.
pub(crate) fn status(index: &Index) -> Result<Status, Failure> {
    index.status().map_err(|it| failure(&it))
}

/// The settings that the index remembers.
pub(crate) fn kept(index: &Index) -> Result<StoredOptions, Failure> {
    index.stored_options().map_err(|it| failure(&it))
}

/// How old the index is that could not be updated, and how much it lacks; `None` if nothing.
pub(crate) fn behind(index: &Index) -> Result<Option<String>, Failure> {
    let pending = index.pending().map_err(|it| failure(&it))?;
    if pending.is_nothing() {
        return Ok(None);
    }
    let status = status(index)?;
    let age = status.written_at.map_or("before".to_owned(), ago);
    Ok(Some(format!(
        "using the index as it was written {age}: since then {}",
        changes(pending)
    )))
}

/// How many files are out of date in an index.
pub(crate) fn changes(pending: Pending) -> String {
    let files = |n: usize, one: &str, more: &str| match n {
        1 => format!("1 file {one}"),
        n => format!("{} files {more}", grouped(n as u64)),
    };
    let changed = files(
        pending.changed,
        "is new or has changed",
        "are new or have changed",
    );
    let removed = files(pending.removed, "is gone", "are gone");
    match (pending.changed, pending.removed) {
        (0, 0) => "no file has changed".to_owned(),
        (_, 0) => changed,
        (0, _) => removed,
        _ => format!("{changed}, {removed}"),
    }
}

/// The time now.
pub(crate) fn now() -> UnixSeconds {
    UnixSeconds::after_1970(UNIX_EPOCH.elapsed().unwrap_or_default())
}

/// How long ago `time` is.
pub(crate) fn ago(time: UnixSeconds) -> String {
    let seconds = now().get().saturating_sub(time.get()).max(0);
    match seconds {
        0..=119 => format!("{seconds} s ago"),
        120..=7_199 => format!("{} min ago", seconds / 60),
        7_200..=172_799 => format!("{} h ago", seconds / 3_600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

/// Reports which files could not be read, and how many formerly indexed files are left out.
pub(crate) fn report_losses(updated: &Updated, settings: &Settings, report: Report) {
    report_faults(updated, report);
    skipped::report_faults(&updated.unheeded);
    skipped::report_by_lines(&updated.by_lines, report);
    if updated.left_out > 0 {
        let (are, them) = match updated.left_out {
            1 => ("is", "it"),
            _ => ("are", "them"),
        };
        report.note(&format!(
            "{} of the folder {are} no longer indexed: ignore files or settings exclude {them} ({} is set by {}, {} by {})",
            counted(updated.left_out as u64, "file"),
            settings::INCLUDE_GENERATED,
            settings.by(settings::INCLUDE_GENERATED),
            settings::MAX_FILE_SIZE,
            settings.by(settings::MAX_FILE_SIZE),
        ));
    }
}

/// Reports which files could not be read.
fn report_faults(updated: &Updated, report: Report) {
    let all = updated.faults.len();
    let named = if report.is_verbose() { all } else { NAMED };
    for fault in updated.faults.iter().take(named) {
        report::warning(&format!("not indexed: {fault}"));
    }
    if all > named {
        let more = all - named;
        report::warning(&format!(
            "{more} more {} not indexed (--verbose names them)",
            if more == 1 { "is" } else { "are" }
        ));
    }
}

/// The failure for an error of the index.
pub(crate) fn failure(error: &IndexError) -> Failure {
    match error {
        IndexError::Cancelled => Failure::cancelled(),
        IndexError::Root(error) => Failure::input(error_chain(error)).with_hint("give a folder that exists"),
        IndexError::Busy { .. } => Failure::program(why(error))
            .with_hint("try again when it is done, or give --wait more seconds"),
        IndexError::Folder { folder, .. } if user_dirs::is_own(folder) => Failure::program(why(error)).with_hint(format!(
            "make {} a writable folder, free disk space if the disk is full, or remove it to keep the index below CTX_CACHE_DIR or in your cache folder",
            shown(folder)
        )),
        IndexError::Folder { .. } => Failure::program(why(error))
            .with_hint("set CTX_CACHE_DIR to a writable folder, or free disk space"),
        IndexError::Foreign { .. } => Failure::program(why(error))
            .with_hint("move the other files away, or set CTX_CACHE_DIR to another folder"),
        IndexError::Watch { .. } => Failure::program(why(error)).with_hint(if cfg!(target_os = "linux") {
            "raise fs.inotify.max_user_watches (folders) or fs.inotify.max_user_instances (programs that watch) with sysctl, end other watches, or exclude folders by ignore files"
        } else {
            "end other programs that watch folders, or exclude folders by ignore files"
        }),
        other => Failure::program(why(other))
            .with_hint("is the folder of the index writable, and is the disk not full? `ctx index --rebuild` rebuilds the index"),
    }
}

/// The same of `index`, which answers as it is where there is something in it.
pub(crate) fn failure_of(index: &Index, error: &IndexError) -> Failure {
    let is_busy = matches!(error, IndexError::Busy { .. });
    match index.status() {
        Ok(status) if is_busy && status.files > 0 => failure(error).with_hint(
            "try again when it is done, give --wait more seconds, or ask with `ctx query --no-index-update`",
        ),
        _ => failure(error),
    }
}

/// An error with its causes, on one line.
pub(crate) fn why(error: &IndexError) -> String {
    format!("failed to {}", error_chain(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hint_for_a_folder_that_cannot_be_watched_names_no_disk() {
        let error = IndexError::Watch {
            root: "/a".into(),
            source: "it is enough".into(),
        };
        let failure = failure(&error);
        assert_eq!(
            failure.error.to_string(),
            "failed to watch /a: it is enough"
        );
        let hint = failure.hint.unwrap();
        assert!(hint.contains("watch") && !hint.contains("disk"), "{hint}");
    }

    #[test]
    fn the_hint_for_a_folder_that_cannot_be_written_depends_on_the_folder() {
        for (folder, part) in [("/a/.ctx", "remove it"), ("/a/0123", "set CTX_CACHE_DIR")] {
            let error = IndexError::Folder {
                folder: folder.into(),
                source: io::ErrorKind::PermissionDenied.into(),
            };
            let hint = failure(&error).hint.unwrap();
            assert!(hint.contains(part), "{hint}");
        }
    }
}
