//! Updates as files change.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::take;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use ctx_source::{Ignoring, Root, SourceError, Stamp};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use crate::options::Wanted;
use crate::{Index, IndexError, Options, Updated};

/// An update begins once no change has come for this long.
const QUIET: Duration = Duration::from_millis(100);
/// An update begins at most this long after the first change.
const PATIENCE: Duration = Duration::from_secs(2);
/// The wait before a failed update is tried again, and before files that could not be read are.
const AGAIN: Duration = Duration::from_secs(1);
/// The longest wait before unreadable files are tried again; the wait doubles each time.
const AGAIN_AT_MOST: Duration = Duration::from_mins(1);
/// How often the files are scanned for new folders before an update, at most.
const LOOKS: usize = 3;
/// How often ignore files are looked at that no event is reported of.
const LOOK: Duration = Duration::from_secs(1);
/// How often `stop` is checked.
const TICK: Duration = Duration::from_millis(50);

impl Index {
    /// Updates the index, and again whenever files change, until `stop` is set (checked every 50
    /// ms) or `on_update` breaks. `on_update` is called for the first update, for each that changed
    /// something, failed, or met other faults than the one before, and for the first that succeeds
    /// after failed ones. A failed update, as with [`IndexError::Busy`], is tried again after a
    /// second, and files that could not be read ([`Updated::unread`]) after one, two, four seconds
    /// and so on, up to a minute. Changes within 100 ms of each other are handled together, for at
    /// most 2 s. Only indexed folders are watched; ignore files beside them, such as git's
    /// `info/exclude`, are looked at each second.
    ///
    /// # Errors
    /// [`IndexError::Root`] once the root is removed or replaced by another folder;
    /// [`IndexError::Watch`] if the operating system cannot report changes, no longer does, or
    /// cannot watch that many folders; and if the stored settings cannot be read.
    pub fn watch(
        &self,
        stop: &AtomicBool,
        on_update: &mut dyn FnMut(Result<Updated, IndexError>) -> ControlFlow<()>,
    ) -> Result<(), IndexError> {
        self.watch_with(stop, &mut || self.options, on_update)
    }

    /// Like [`Index::watch`], but before each update `options` is called for which files to index
    /// from then on: whether generated and blank ones, up to which size, and with which names
    /// excluded. All other options stay as the index was opened with.
    ///
    /// # Errors
    /// Those of [`Index::watch`].
    pub fn watch_with(
        &self,
        stop: &AtomicBool,
        options: &mut dyn FnMut() -> Options,
        on_update: &mut dyn FnMut(Result<Updated, IndexError>) -> ControlFlow<()>,
    ) -> Result<(), IndexError> {
        let refused = |error| refused(self.root(), error);
        let (send, events) = channel();
        let watcher = notify::recommended_watcher(send).map_err(refused)?;
        let mut folders = Folders::new(watcher);
        let mut rules = RuleFiles::default();
        rules.note(&self.root, &BTreeSet::new());
        // Whether nothing has succeeded since the beginning or the last error.
        let mut is_awaited = true;
        let (mut again, mut faults) = (None, Vec::new());
        while !stop.load(Ordering::Relaxed) {
            if !self.root.is_there() {
                return Err(gone(self.root()));
            }
            let wanted = Wanted::of(&options(), self.stored_options()?);
            rules.look_again();
            let scan = settled(stop, &mut || {
                let scan = self.scan(wanted);
                match folders.watch(self.root(), &scan.folders) {
                    Ok(is_new) => Ok((scan, is_new)),
                    Err(_) if !self.root.is_there() => Err(gone(self.root())),
                    Err(error) => Err(refused(error)),
                }
            })?;
            let Some(scan) = scan else {
                break;
            };
            rules.note(&self.root, &scan.folders);
            // The scan may have seen files that rely on settings changed meanwhile, so it is
            // repeated with these.
            if Wanted::of(&options(), self.stored_options()?) != wanted {
                continue;
            }
            if !self.root.is_there() {
                return Err(gone(self.root()));
            }
            let result = self.update_to(wanted, scan, &mut |_| {
                if stop.load(Ordering::Relaxed) {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            });
            let result = self.with_folder(result);
            if stop.load(Ordering::Relaxed) && matches!(result, Err(IndexError::Cancelled)) {
                break;
            }
            again = after(&result, again);
            let is_news = is_awaited || is_news(&result, &faults);
            is_awaited = result.is_err();
            if let Ok(updated) = &result {
                faults.clone_from(&updated.faults);
            }
            if is_news && on_update(result).is_break() {
                break;
            }
            let is_over = || stop.load(Ordering::Relaxed) || !self.root.is_there();
            let has_changed = || wanted.ignoring == Ignoring::AsRulesSay && rules.have_changed();
            wait(&events, &is_over, &has_changed, again, &mut |event| {
                folders.note(&event);
                self.is_relevant(&event)
            })
            .map_err(refused)?;
        }
        Ok(())
    }

    fn is_relevant(&self, event: &Event) -> bool {
        if event.need_rescan() {
            return true;
        }
        if matches!(event.kind, EventKind::Access(_)) {
            return false;
        }
        event.paths.is_empty()
            || event
                .paths
                .iter()
                .any(|path| !is_own(path, self.root(), self.folder()))
    }
}

/// Repeats `look` until it meets no folder that was not watched before, since files created in a
/// folder before it was watched are only seen by another look. If new folders keep coming, returns
/// the last result: these folders are watched by then and will report changes. `None` once `stop`
/// is set.
fn settled<T>(
    stop: &AtomicBool,
    look: &mut dyn FnMut() -> Result<(T, bool), IndexError>,
) -> Result<Option<T>, IndexError> {
    let mut seen = None;
    for _ in 0..LOOKS {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let (scan, is_new) = look()?;
        seen = Some(scan);
        if !is_new {
            break;
        }
    }
    Ok(seen)
}

/// The error for a root that is gone or was replaced by another folder.
fn gone(root: &Path) -> IndexError {
    IndexError::Root(SourceError::Root {
        path: root.display().to_string(),
        source: std::io::Error::new(
            std::io::ErrorKind::NotFound,
            "it was removed or replaced while it was watched",
        ),
    })
}

/// The error of a system that cannot report changes below `root`, in words.
fn refused(root: &Path, mut error: notify::Error) -> IndexError {
    let paths = take(&mut error.paths);
    let folder = paths.first().filter(|it| *it != root);
    let why = match folder {
        _ if matches!(error.kind, notify::ErrorKind::MaxFilesWatch) => {
            "each folder needs a watch, and the system has no more".to_owned()
        }
        Some(folder) => format!("{}: {error}", folder.display()),
        None => error.to_string(),
    };
    IndexError::Watch {
        root: root.to_owned(),
        source: why.into(),
    }
}

/// Whether the update is to be reported, given the faults of the update before.
fn is_news(result: &Result<Updated, IndexError>, before: &[String]) -> bool {
    match result {
        Ok(updated) => {
            let has_faults = !updated.faults.is_empty() && updated.faults != before;
            updated.changed + updated.removed > 0 || has_faults
        }
        Err(_) => true,
    }
}

/// The wait before the next attempt even if nothing changes, given the wait before the last one.
fn after(result: &Result<Updated, IndexError>, before: Option<Duration>) -> Option<Duration> {
    match result {
        Ok(updated) if updated.unread.is_empty() => None,
        Ok(_) => Some(before.map_or(AGAIN, |it| (it * 2).min(AGAIN_AT_MOST))),
        Err(_) => Some(AGAIN),
    }
}

/// Whether the path belongs to the index or to version control.
fn is_own(path: &Path, root: &Path, index: &Path) -> bool {
    let below = path.strip_prefix(root).unwrap_or(path);
    path.starts_with(index)
        || below
            .iter()
            .next()
            .is_some_and(|it| it == ".ctx" || it == ".git")
}

/// The watched folders.
struct Folders {
    watcher: RecommendedWatcher,
    watched: BTreeSet<PathBuf>,
}

impl Folders {
    /// Where each folder costs a watch, only indexed folders are watched; elsewhere the root is
    /// watched recursively.
    const MODE: RecursiveMode = if cfg!(target_os = "linux") {
        RecursiveMode::NonRecursive
    } else {
        RecursiveMode::Recursive
    };

    fn new(watcher: RecommendedWatcher) -> Self {
        Folders {
            watcher,
            watched: BTreeSet::new(),
        }
    }

    /// Watches `folders` and no others. Returns whether any of them was not watched before.
    fn watch(&mut self, root: &Path, folders: &BTreeSet<PathBuf>) -> notify::Result<bool> {
        let of_root = BTreeSet::from([root.to_owned()]);
        let wanted = match Self::MODE {
            RecursiveMode::NonRecursive => folders,
            RecursiveMode::Recursive => &of_root,
        };
        let gone: BTreeSet<PathBuf> = self.watched.difference(wanted).cloned().collect();
        self.forget(gone);
        let mut is_new = false;
        for folder in wanted {
            if self.watched.contains(folder) {
                continue;
            }
            match self.watcher.watch(folder, Self::MODE) {
                Ok(()) => is_new |= self.watched.insert(folder.clone()),
                // It is gone already, and the folder above it reports that.
                Err(error) if folder != root && is_gone(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(is_new)
    }

    /// Stops watching a folder that was moved or removed, even if another now has its name. If
    /// events were lost, that is done for all folders.
    fn note(&mut self, event: &Event) {
        if matches!(Self::MODE, RecursiveMode::Recursive) {
            return;
        }
        if event.need_rescan() {
            let all = take(&mut self.watched);
            self.forget(all);
        }
        if !matches!(
            event.kind,
            EventKind::Create(_)
                | EventKind::Remove(_)
                | EventKind::Modify(notify::event::ModifyKind::Name(_))
        ) {
            return;
        }
        for path in &event.paths {
            let below = self.watched.range(path.clone()..);
            let below = below.take_while(|it| it.starts_with(path)).cloned();
            self.forget(below.collect());
        }
    }

    fn forget(&mut self, folders: BTreeSet<PathBuf>) {
        for folder in folders {
            let _ = self.watcher.unwatch(&folder);
            self.watched.remove(&folder);
        }
    }
}

/// The ignore files in folders that are not watched, each with its state before the last scan. Most
/// of these folders are not the root's, and may be busy with other files.
#[derive(Default)]
struct RuleFiles(BTreeMap<PathBuf, Option<Stamp>>);

impl RuleFiles {
    /// Takes in those of a scan that are new.
    fn note(&mut self, root: &Root, folders: &BTreeSet<PathBuf>) {
        let now = root.rules_elsewhere(folders.iter().map(|it| &**it));
        self.0 = now
            .into_iter()
            .map(|file| {
                let known = self.0.get(&file).copied();
                let stamp = known.unwrap_or_else(|| Stamp::at(&file).ok());
                (file, stamp)
            })
            .collect();
    }

    fn look_again(&mut self) {
        for (file, stamp) in &mut self.0 {
            *stamp = Stamp::at(file).ok();
        }
    }

    fn have_changed(&self) -> bool {
        (self.0.iter()).any(|(file, stamp)| Stamp::at(file).ok() != *stamp)
    }
}

fn is_gone(error: &notify::Error) -> bool {
    match &error.kind {
        notify::ErrorKind::PathNotFound => true,
        notify::ErrorKind::Io(error) => matches!(
            error.kind(),
            std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
        ),
        _ => false,
    }
}

/// Waits until files changed, as events or `has_changed` report, and then were quiet, `again` has
/// passed, or it is time to stop. Fails if no more events can come.
fn wait(
    events: &Receiver<notify::Result<Event>>,
    is_over: &dyn Fn() -> bool,
    has_changed: &dyn Fn() -> bool,
    again: Option<Duration>,
    note: &mut dyn FnMut(Event) -> bool,
) -> notify::Result<()> {
    let began = Instant::now();
    let mut first: Option<Instant> = None;
    let (mut last, mut looked) = (began, began);
    while !is_over() {
        match events.recv_timeout(TICK) {
            Ok(event) => {
                // After an error, a change may have been missed.
                if event.map_or(true, &mut *note) {
                    last = Instant::now();
                    first.get_or_insert(last);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(notify::Error::generic("changes are no longer reported"));
            }
        }
        if looked.elapsed() >= LOOK {
            looked = Instant::now();
            if first.is_none() && has_changed() {
                last = looked;
                first = Some(looked);
            }
        }
        let is_quiet = first.is_some() && last.elapsed() >= QUIET;
        let is_late = first.is_some_and(|it| it.elapsed() >= PATIENCE);
        let is_again = again.is_some_and(|it| began.elapsed() >= it);
        if is_quiet || is_late || is_again {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_that_come_and_come_keep_nobody_from_updating_or_ending() {
        let stop = AtomicBool::new(false);
        let mut looks = 0;
        let mut look = |most: usize, ends: bool| {
            looks = 0;
            let settled = settled(&stop, &mut || {
                looks += 1;
                stop.store(ends, Ordering::Relaxed);
                Ok((looks, looks < most))
            });
            (settled.unwrap(), looks)
        };
        assert_eq!(look(1, false), (Some(1), 1));
        assert_eq!(look(2, false), (Some(2), 2));
        assert_eq!(look(usize::MAX, false), (Some(LOOKS), LOOKS));
        assert_eq!(look(usize::MAX, true), (None, 1));
        assert_eq!(look(usize::MAX, true), (None, 0));
    }

    #[test]
    fn unreadable_files_are_retried_and_reported_once() {
        let updated = |faults: &[&str]| {
            Ok(Updated {
                faults: faults.iter().map(|&it| it.to_owned()).collect(),
                unread: faults.iter().map(PathBuf::from).collect(),
                ..Updated::default()
            })
        };
        let mut again = None;
        let mut seconds = |result: &Result<Updated, IndexError>| {
            again = after(result, again);
            again.map(|it| it.as_secs())
        };
        let (one, both) = (updated(&["a"]), updated(&["a", "b"]));
        assert_eq!(seconds(&updated(&[])), None);
        let told = [1, 2, 4, 8, 16, 32, 60, 60];
        assert_eq!(told.map(|_| seconds(&one).unwrap()), told);
        assert_eq!(seconds(&Err(IndexError::Cancelled)), Some(1));
        assert_eq!((seconds(&both), seconds(&updated(&[]))), (Some(2), None));
        assert_eq!(seconds(&both), Some(1));
        let told = |it| is_news(it, &["a".to_owned()]);
        assert_eq!([&one, &both].map(told), [false, true]);
        assert_eq!(
            [&updated(&[]), &Err(IndexError::Cancelled)].map(told),
            [false, true]
        );
    }

    #[test]
    fn a_watch_that_gets_no_more_events_fails() {
        let (send, events) = channel();
        drop(send);
        let waited = wait(&events, &|| false, &|| true, None, &mut |_| true);
        assert_eq!(
            ctx_model::error_chain(&refused(Path::new("/a"), waited.unwrap_err())),
            "watch /a: changes are no longer reported"
        );
    }

    #[test]
    fn why_a_folder_cannot_be_watched_is_told_in_words() {
        let told = |kind, folder: &str| {
            let error = notify::Error::new(kind).add_path(folder.into());
            ctx_model::error_chain(&refused(Path::new("/a"), error))
        };
        let closed = || notify::ErrorKind::Io(std::io::ErrorKind::PermissionDenied.into());
        let no_more = "each folder needs a watch, and the system has no more";
        for (told, why) in [
            (told(notify::ErrorKind::MaxFilesWatch, "/a/b"), no_more),
            (told(closed(), "/a/b"), "/a/b: permission denied"),
            (told(closed(), "/a"), "permission denied"),
        ] {
            assert_eq!(told, format!("watch /a: {why}"));
        }
    }

    /// Simulates the case that the system lost the event of a recreated folder among too many
    /// changes.
    #[cfg(target_os = "linux")]
    #[test]
    fn where_events_were_lost_all_folders_are_watched_anew() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let folder = root.join("a");
        std::fs::create_dir(&folder).unwrap();
        let (send, events) = channel();
        let mut folders = Folders::new(notify::recommended_watcher(send).unwrap());
        let wanted = BTreeSet::from([root.clone(), folder.clone()]);
        assert!(folders.watch(&root, &wanted).unwrap());
        std::fs::remove_dir(&folder).unwrap();
        std::fs::create_dir(&folder).unwrap();
        let lost = Event::new(EventKind::Other).set_flag(notify::event::Flag::Rescan);
        folders.note(&lost);
        assert!(folders.watch(&root, &wanted).unwrap());
        assert!(!folders.watch(&root, &wanted).unwrap());
        let file = folder.join("b.rs");
        std::fs::write(&file, "x").unwrap();
        let is_of_it = || {
            let event = events.recv_timeout(Duration::from_secs(20));
            let event = event.expect("it is noticed").unwrap();
            event.paths.contains(&file)
        };
        while !is_of_it() {}
    }
}
