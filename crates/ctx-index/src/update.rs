//! Updating an index, and rebuilding it.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use ctx_model::error_chain;
use ctx_rank::Role;
use ctx_source::{Secrets, SourceError, Text};
use ctx_syntax::{Fallback, Language, Outline};

use crate::ahead::{Held, in_order};
use crate::documents::{HeldDocument, documents};
use crate::error::Fault;
use crate::lock::{WRITER, lock_patiently};
use crate::manifest::{FileRow, NO_TEXT, Snapshot};
use crate::moves::Moves;
use crate::options::{Pending, Progress, Updated, Wanted};
use crate::scan::{Scan, Seen, scan};
use crate::store::{open_text, sweep};
use crate::writer::{Read, Writer};
use crate::{Index, IndexError};

/// Progress is reported each time this many files were read.
const TELL_EVERY: usize = 64;
/// What was indexed is committed at least once per this many files.
const COMMIT_EVERY: usize = 8192;

impl Index {
    /// Indexes files that are new or have changed, and removes those that are gone. The usage of a
    /// renamed file follows it, if its text left one path and came to one within the update; the
    /// time when a removed file was shown is dropped. Metadata decides which files are read, and
    /// hashes which are indexed; if nothing changed, nothing is written. `progress` is called with
    /// each step and may end the update, which keeps what was done by then. Once this returns, its
    /// work survives a crash.
    ///
    /// # Errors
    /// [`IndexError::Busy`] if another process writes for longer than
    /// [`Options::patience`](crate::Options::patience); [`IndexError::Folder`] if the folder cannot
    /// be written or the disk is full. The previous content of the index is kept then.
    pub fn update(
        &self,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Updated, IndexError> {
        let wanted = self.with_folder(self.wanted())?;
        self.with_folder(self.update_to(wanted, self.scan(wanted), progress))
    }

    /// Indexes every file again, whatever is known of it. Until that is done, queries are answered
    /// from the previous content, also in other processes; if `progress` ends it, the previous
    /// content stays. Takes disk space for both. Remembered data is kept.
    ///
    /// # Errors
    /// Those of [`Index::update`].
    pub fn rebuild(
        &self,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Updated, IndexError> {
        self.with_folder(self.write_everything(progress))
    }

    fn write_everything(
        &self,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Updated, Fault> {
        let wanted = self.wanted()?;
        self.follow()?;
        let scan = self.scan(wanted);
        let updated = self.write(wanted, scan, Extent::Everything, progress)?;
        self.finish(updated)
    }

    pub(crate) fn scan(&self, wanted: Wanted) -> Scan {
        let since = self.store().manifest.moment().ok();
        Scan {
            since,
            ..scan(&self.root, &self.folder, wanted)
        }
    }

    pub(crate) fn update_to(
        &self,
        wanted: Wanted,
        mut scan: Scan,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Updated, Fault> {
        self.follow()?;
        // Another process may have written, and may be writing again: a caller that waits for it
        // answers from its last commit meanwhile.
        self.store().catch_up()?;
        let known = self.store().manifest.snapshot()?;
        let work = self.work(wanted, &known.files, &scan);
        let (is_nothing, faults) = (work.is_empty(), work.faults);
        if !is_nothing {
            match self.write(wanted, scan, Extent::Changes, progress) {
                // Only metadata changed, as in a copy of the files and their index, and that cannot
                // be recorded.
                Err(error)
                    if error.is_refusal() && self.pending().is_ok_and(Pending::is_nothing) =>
                {
                    scan = self.scan(wanted);
                }
                updated => return self.finish(updated?),
            }
        }
        let mut updated = Updated::of(&mut scan);
        updated.note_unread(faults);
        self.finish(updated)
    }

    /// Makes queries answer from what was written, and completes the report.
    fn finish(&self, mut updated: Updated) -> Result<Updated, Fault> {
        let store = self.store();
        store.reload()?;
        let totals = store.manifest.totals()?;
        updated.files = usize::try_from(totals.files).unwrap_or(usize::MAX);
        let passed = store.manifest.skipped_files()?;
        updated.skipped += passed.len();
        updated.skipped_files.extend(passed);
        updated.skipped_files.sort_unstable();
        Ok(updated)
    }

    fn write(
        &self,
        wanted: Wanted,
        mut scan: Scan,
        extent: Extent,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Updated, Fault> {
        let mut has_waited = false;
        let lock = lock_patiently(&self.folder, WRITER, self.options.patience, &mut |holder| {
            has_waited = true;
            progress(Progress::waiting(holder))
        })?;
        self.follow_alone(&lock)?;
        let now = self.store().manifest.moment().ok();
        if has_waited || now.is_none() || now != scan.since {
            // What was seen before is older than what the other process wrote.
            scan = self.scan(wanted);
        }
        let mut updated = Updated::of(&mut scan);
        let result = self.write_alone(wanted, &scan, extent, progress, &mut updated);
        // The cause, such as a full disk, must be found before the sweep frees space.
        let result = result.map_err(|it| it.while_writing(&self.folder));
        if result.is_err()
            && let Ok(text) = open_text(&self.folder)
        {
            let _ = sweep(&text, &self.folder);
        }
        result.map(|()| updated)
    }

    fn write_alone(
        &self,
        wanted: Wanted,
        scan: &Scan,
        extent: Extent,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
        updated: &mut Updated,
    ) -> Result<(), Fault> {
        let is_anew = extent == Extent::Everything;
        let store = self.store();
        // Another process may have written since the first look.
        let known = store.manifest.snapshot()?;
        let work = match extent {
            Extent::Changes => self.work(wanted, &known.files, scan),
            Extent::Everything => Work::anew(&known.files, scan),
        };
        let has_uses = self.remembered.has_uses()?;
        let moves = Moves::new(has_uses);
        let mut writer = Writer::new(self, &store, known.generation, moves);
        if is_anew && known.files.values().any(FileRow::may_be_found) {
            writer.forget_all()?;
        }
        updated.note_unread(work.faults);
        // A rebuild forgets what the walk did not reach, too, but that is not gone.
        let gone = work.removed.iter().filter(|it| !scan.may_miss(it));
        let gone: Vec<String> = gone.filter(|_| has_uses).cloned().collect();
        self.forget_removed(&mut writer, &known, work.removed, updated)?;
        let before = |seen: &Seen| known.files.get(&seen.path).filter(|_| !is_anew);
        let (mut done, of) = (0_usize, work.wanted.len());
        let mut tell = |done| {
            if done < of && progress(Progress::of(done, of)).is_break() {
                return Err(Fault::Public(IndexError::Cancelled));
            }
            Ok(())
        };
        let written = tell(done).and_then(|()| {
            in_order(
                &work.wanted,
                |seen| seen.size,
                |seen, held| self.read(wanted, seen, before(seen), held),
                |seen, read| {
                    writer.take(seen, read, known.files.get(&seen.path), updated)?;
                    done += 1;
                    if !is_anew && done.is_multiple_of(COMMIT_EVERY) {
                        writer.commit()?;
                    }
                    if done.is_multiple_of(TELL_EVERY) {
                        tell(done)?;
                    }
                    Ok(())
                },
            )
        });
        if written.is_ok() {
            let _ = progress(Progress::of(of, of));
        }
        self.complete(writer, written, extent, &gone)
    }

    /// Commits what was written, and lets the usage follow the files. A cancelled update of changes
    /// keeps the work done so far.
    fn complete(
        &self,
        writer: Writer<'_>,
        written: Result<(), Fault>,
        extent: Extent,
        gone: &[String],
    ) -> Result<(), Fault> {
        let is_cancelled = matches!(written, Err(Fault::Public(IndexError::Cancelled)));
        if is_cancelled && extent == Extent::Changes {
            let finished = writer.finish();
            self.uses_follow(&[], gone);
            finished?;
            return written;
        }
        if written.is_err() && extent == Extent::Changes {
            // Their removal may be committed already, and then the next update does not see them as
            // gone.
            self.uses_follow(&[], gone);
        }
        written?;
        let moves = writer.finish().map(Moves::all);
        self.uses_follow(moves.as_deref().unwrap_or_default(), gone);
        moves.map(drop)
    }

    /// Removes files from the index that are gone, or are there and no longer to be indexed.
    fn forget_removed(
        &self,
        writer: &mut Writer<'_>,
        known: &Snapshot,
        removed: Vec<String>,
        updated: &mut Updated,
    ) -> Result<(), Fault> {
        for path in removed {
            let row = known.files.get(&path);
            // Skipped files have a row but were not indexed.
            let was_indexed = row.is_some_and(FileRow::may_be_found);
            updated.removed += usize::from(was_indexed);
            // A link in its place is reported as a link.
            let is_file = !updated.is_no_file(&path);
            let is_left_out = is_file && self.root.stamp(&path).is_ok();
            updated.left_out += usize::from(is_left_out && was_indexed);
            if !is_left_out {
                writer.is_gone(&path, row);
            }
            writer.remove(path, row)?;
        }
        Ok(())
    }

    /// The files are indexed whether or not their usage can follow them.
    fn uses_follow(&self, moves: &[(String, String)], gone: &[String]) {
        if let Err(error) = self.remembered.moved(moves, gone) {
            let error = error.describe(&self.folder);
            tracing::warn!(error, "uses do not follow files that were moved or removed");
        }
    }

    fn read(&self, wanted: Wanted, seen: &Seen, known: Option<&FileRow>, held: Held) -> Read {
        let row = FileRow {
            size: seen.size,
            modified: seen.stamp(),
            changed: seen.changed,
            hash: NO_TEXT,
            parts: 0,
            lines: 0,
            is_generated: false,
        };
        let bytes = match self.root.read(&seen.path, wanted.max_file_bytes) {
            Ok(bytes) => bytes,
            Err(error) => {
                // A file that is gone or has grown is noticed by the next scan.
                let is_there = matches!(error, SourceError::Io { .. });
                return Read::Fault(error_chain(&error), is_there.then(|| row.unread()));
            }
        };
        let (text, is_generated) = match Content::of(&seen.path, bytes, wanted) {
            Content::Text(text, is_generated) => (text, is_generated),
            Content::NoText => return Read::NoText(row),
            Content::Empty => return Read::NoText(row.empty()),
            Content::Generated => return Read::Generated(row.generated()),
        };
        let row = FileRow {
            hash: *text.unmasked_hash(),
            parts: known.map_or(0, |it| it.parts),
            lines: text.lines().count(),
            is_generated,
            ..row
        };
        if known.and_then(FileRow::text_hash) == Some(row.hash) {
            return Read::Same(row);
        }
        let language = Language::of(&seen.path, text.as_str());
        let outline = Outline::of(text.as_str(), language, &self.options.syntax);
        let modified = seen.modified / 1_000_000_000;
        let documents = documents(&self.fields, &seen.path, &text, &outline, modified);
        let parts = u32::try_from(documents.len() - 1).unwrap_or(u32::MAX);
        let held = Arc::new(held);
        let documents = documents.into_iter().map(|document| HeldDocument {
            document,
            _held: Arc::clone(&held),
        });
        let by_lines = outline.fallback.filter(is_limit);
        let by_lines = by_lines.map(|why| format!("{:?}: {why}", seen.path));
        Read::Changed(FileRow { parts, ..row }, documents.collect(), by_lines)
    }

    /// The files to index and to remove so that `known` matches what was seen. Files that could not
    /// be read before are tried again.
    pub(crate) fn work<'s>(
        &self,
        wanted: Wanted,
        known: &BTreeMap<String, FileRow>,
        scan: &'s Scan,
    ) -> Work<'s> {
        let mut work = Work::of(wanted, known, scan);
        let is_unread = |it: &&Seen| known.get(&it.path).is_some_and(FileRow::is_unread);
        let tried: BTreeMap<&str, Option<String>> = (scan.files.iter().filter(is_unread))
            .map(
                |seen| match self.root.read(&seen.path, wanted.max_file_bytes) {
                    Err(error @ SourceError::Io { .. }) => (&*seen.path, Some(error_chain(&error))),
                    _ => (&*seen.path, None),
                },
            )
            .collect();
        work.try_again(scan, &tried);
        work
    }
}

/// Whether parsing hit a limit, as opposed to a missing or useless grammar.
fn is_limit(fallback: &Fallback) -> bool {
    use Fallback::{TooDeep, TooLarge, TooMuchWork, TooSlow};
    matches!(
        fallback,
        TooSlow | TooMuchWork { .. } | TooLarge { .. } | TooDeep { .. }
    )
}

/// The content of a file.
pub(crate) enum Content {
    /// Text, and whether it says that it is generated.
    Text(Text, bool),
    /// No text: binary, or only blanks if such files are not wanted.
    NoText,
    /// No bytes, if blank files are not wanted.
    Empty,
    /// Text that says that it is generated, if such files are not wanted.
    Generated,
}

impl Content {
    pub(crate) fn of(path: &str, bytes: Vec<u8>, wanted: Wanted) -> Self {
        let Some(text) = Text::decode(path, bytes, Secrets::Masked) else {
            return Content::NoText;
        };
        if text.as_str().trim().is_empty() && !wanted.include_blank {
            return match text.as_str() {
                "" => Content::Empty,
                _ => Content::NoText,
            };
        }
        let is_generated = Role::of_text(path, text.as_str()) == Role::Generated;
        if is_generated && !wanted.include_generated {
            return Content::Generated;
        }
        Content::Text(text, is_generated)
    }
}

/// How much is indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// The files that differ from their rows.
    Changes,
    /// All files, in place of everything indexed before.
    Everything,
}

/// The work of an update.
pub(crate) struct Work<'s> {
    /// Files that differ from their rows.
    pub(crate) wanted: Vec<&'s Seen>,
    /// Paths that are known and no longer exist.
    pub(crate) removed: Vec<String>,
    /// Files that could not be read before and still cannot, with their paths and a sentence that
    /// says why.
    pub(crate) faults: Vec<(PathBuf, String)>,
}

impl<'s> Work<'s> {
    fn of(wanted: Wanted, known: &BTreeMap<String, FileRow>, scan: &'s Scan) -> Self {
        let is_known = |it: &&Seen| {
            known.get(&it.path).is_some_and(|row| {
                (row.size, row.modified, row.changed) == (it.size, it.modified, it.changed)
                    && row.is_as_wanted(wanted)
            })
        };
        Work {
            wanted: scan.files.iter().filter(|it| !is_known(it)).collect(),
            removed: unseen(known, scan)
                .filter(|it| !scan.may_miss(it))
                .cloned()
                .collect(),
            faults: Vec::new(),
        }
    }

    /// The work of a rebuild, which first forgets everything, including files that the walk did not
    /// reach.
    fn anew(known: &BTreeMap<String, FileRow>, scan: &'s Scan) -> Self {
        Work {
            wanted: scan.files.iter().collect(),
            removed: unseen(known, scan).cloned().collect(),
            faults: Vec::new(),
        }
    }

    /// Adds each of the files `tried`: to `wanted` if it can be read now, or else to `faults`.
    /// O(files).
    fn try_again(&mut self, scan: &'s Scan, tried: &BTreeMap<&str, Option<String>>) {
        let is_tried = |it: &&Seen| tried.contains_key(&*it.path);
        self.wanted.retain(|it| !is_tried(it));
        for seen in scan.files.iter().filter(is_tried) {
            match &tried[&*seen.path] {
                Some(fault) => self.faults.push((PathBuf::from(&seen.path), fault.clone())),
                None => self.wanted.push(seen),
            }
        }
        self.wanted.sort_unstable();
    }

    fn is_empty(&self) -> bool {
        self.wanted.is_empty() && self.removed.is_empty()
    }
}

/// The known paths that were not met.
fn unseen<'k>(
    known: &'k BTreeMap<String, FileRow>,
    scan: &'k Scan,
) -> impl Iterator<Item = &'k String> {
    let seen = &scan.files;
    let is_unseen = |path: &&String| seen.binary_search_by(|it| it.path.cmp(path)).is_err();
    known.keys().filter(is_unseen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StoredOptions;
    use crate::manifest::Changes;

    #[test]
    fn files_that_a_walk_did_not_reach_stay_indexed() {
        let row = FileRow {
            size: 1,
            modified: 1,
            changed: 1,
            hash: [0; 32],
            parts: 1,
            lines: 1,
            is_generated: false,
        };
        let wanted = Wanted::of(&crate::Options::default(), StoredOptions::default());
        let known = BTreeMap::from([("a.rs".to_owned(), row)]);
        let mut scan = Scan::default();
        assert_eq!(Work::of(wanted, &known, &scan).removed, ["a.rs"]);
        scan.unlisted.insert("a".into());
        assert_eq!(Work::of(wanted, &known, &scan).removed, ["a.rs"]);
        let below = BTreeMap::from([("a/b/c.rs".to_owned(), known["a.rs"].clone())]);
        for folder in ["a", "a/b", ""] {
            scan.unlisted = [folder.into()].into();
            assert!(Work::of(wanted, &below, &scan).is_empty(), "{folder:?}");
            assert_eq!(Work::anew(&below, &scan).removed, ["a/b/c.rs"]);
        }
        scan.unlisted.clear();
        scan.is_partial = true;
        assert!(Work::of(wanted, &known, &scan).is_empty());
        // A rebuild keeps no rows of them either, so they are indexed the next time.
        assert_eq!(Work::anew(&known, &scan).removed, ["a.rs"]);
    }

    /// Another process writes, and starts writing again before this one gets the lock.
    #[test]
    fn who_waits_for_a_writer_answers_as_the_last_one_left_it() {
        let (root, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let options = crate::Options::default().with_patience(std::time::Duration::ZERO);
        let open = || Index::open(root.path(), folder.path(), options).unwrap();
        let all = |index: &Index| index.searcher().num_docs();
        let update = |index: &Index| index.update(&mut |_| ControlFlow::Continue(()));
        let (here, there) = (open(), open());
        std::fs::write(root.path().join("a.rs"), "fn one() {}\n").unwrap();
        let before = here.state().unwrap();
        update(&there).unwrap();
        assert_eq!((here.state().unwrap(), all(&here)), (before, 0));
        std::fs::write(root.path().join("b.rs"), "fn two() {}\n").unwrap();
        let lock = crate::lock::lock(folder.path(), WRITER).unwrap();
        let busy = update(&here);
        assert!(matches!(busy, Err(IndexError::Busy { .. })), "{busy:?}");
        let between = here.state().unwrap();
        assert!(between != before && all(&here) == all(&there));
        drop(lock);
        update(&here).unwrap();
        assert!(here.state().unwrap() != between && all(&here) > all(&there));
    }

    /// The file was created, and indexed by another process, after this one looked at the files.
    #[test]
    fn files_added_since_the_walk_stay_indexed() {
        let (root, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let open = || Index::open(root.path(), folder.path(), crate::Options::default()).unwrap();
        let progress = &mut |_| ControlFlow::Continue(());
        let (here, there) = (open(), open());
        for (number, writer) in [&there, &here].into_iter().enumerate() {
            for extent in [Extent::Changes, Extent::Everything] {
                let wanted = here.wanted().unwrap();
                let scan = here.scan(wanted);
                let name = format!("{number}{extent:?}.rs");
                std::fs::write(root.path().join(&name), "fn one() {}\n").unwrap();
                writer.update(progress).unwrap();
                let updated = match extent {
                    Extent::Changes => here.update_to(wanted, scan, progress),
                    Extent::Everything => here.write(wanted, scan, extent, progress),
                };
                assert_eq!(updated.unwrap().removed, 0, "{name}");
                here.store().reload().unwrap();
                assert!(here.hash_of(&name).is_some(), "{name}");
            }
        }
    }

    #[test]
    fn files_of_an_index_begun_anew_stay_indexed() {
        let (root, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let open = || Index::open(root.path(), folder.path(), crate::Options::default()).unwrap();
        let progress = &mut |_| ControlFlow::Continue(());
        std::fs::write(root.path().join("a.rs"), "fn one() {}\n").unwrap();
        open().update(progress).unwrap();
        let here = open();
        let wanted = here.wanted().unwrap();
        let scan = here.scan(wanted);
        std::fs::write(root.path().join("b.rs"), "fn two() {}\n").unwrap();
        std::fs::remove_dir_all(folder.path().join("text")).unwrap();
        std::fs::remove_file(folder.path().join("manifest.db")).unwrap();
        open().update(progress).unwrap();
        assert_eq!(here.update_to(wanted, scan, progress).unwrap().removed, 0);
        assert!(here.hash_of("b.rs").is_some());
    }

    #[test]
    fn a_text_that_another_process_replaced_is_not_taken_for_that_which_is_answered() {
        let (root, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let open = || Index::open(root.path(), folder.path(), crate::Options::default()).unwrap();
        let update = |index: &Index| index.update(&mut |_| ControlFlow::Continue(())).unwrap();
        for name in ["a.rs", "b.rs", "a.txt", "b.txt"] {
            std::fs::write(root.path().join(name), "fn one() {}\n").unwrap();
        }
        let (here, there) = (open(), open());
        update(&here);
        let one = here.hash_of("a.rs");
        assert!(one.is_some());
        for name in ["a.rs", "a.txt"] {
            std::fs::write(root.path().join(name), "fn two() {}\n\nfn one() {}\n").unwrap();
        }
        update(&there);
        for name in ["a.rs", "a.txt"] {
            assert_eq!(here.hash_of(name), Some(NO_TEXT));
        }
        for name in ["b.rs", "b.txt"] {
            assert_eq!(here.hash_of(name), one);
        }
        update(&here);
        for name in ["a.rs", "a.txt"] {
            assert!(here.hash_of(name).is_some_and(|it| it != NO_TEXT));
            assert_eq!(here.hash_of(name), there.hash_of(name));
        }
    }

    /// A process ended after committing the text and before writing the rows, of a new file and of
    /// a known one.
    #[test]
    fn a_marked_file_replaces_its_earlier_parts() {
        for text in ["fn one() {}\n", "{}\n"] {
            is_indexed_again_after_a_mark(text);
        }
    }

    fn is_indexed_again_after_a_mark(text: &str) {
        let (root, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(root.path().join("a.rs"), text).unwrap();
        let open = || Index::open(root.path(), folder.path(), crate::Options::default()).unwrap();
        let update = |index: &Index| index.update(&mut |_| ControlFlow::Continue(())).unwrap();
        let index = open();
        update(&index);
        let documents = index.searcher().num_docs();
        for is_new in [true, false] {
            let manifest = &index.store().manifest;
            let known = manifest.snapshot().unwrap();
            let row = FileRow::unsure(known.files.get("a.rs").filter(|_| !is_new), None);
            let marks = Changes {
                unsure: vec![("a.rs".to_owned(), row)],
                ..Changes::default()
            };
            let generation = known.generation.unwrap() - 1;
            manifest.announce(&marks, generation).unwrap();
            let index = open();
            assert!(index.rebuilt().is_none());
            assert_eq!(index.status().unwrap().files, u64::from(!is_new));
            // Its lines belong to an unknown text, so they are not taken for those of the file as
            // it is.
            assert_eq!(index.hash_of("a.rs"), Some(NO_TEXT));
            let before = index.state().unwrap();
            assert_eq!(update(&index).changed, 1);
            assert_eq!(index.searcher().num_docs(), documents);
            assert_ne!(index.state().unwrap(), before);
        }
    }
}
