//! The writer of one update.

use std::panic::resume_unwind;
use std::thread;

use tantivy::indexer::UserOperation;
use tantivy::merge_policy::LogMergePolicy;
use tantivy::query::AllQuery;
use tantivy::{IndexWriter, Term};

use crate::documents::HeldDocument;
use crate::error::Fault;
use crate::manifest::{Changes, FileRow};
use crate::moves::Moves;
use crate::scan::Seen;
use crate::store::{Store, generation_of, open_text, sweep};
use crate::{Index, Updated};

/// The memory of the writer of the text index, in bytes.
const MEMORY: usize = 96 << 20;

/// How many segments of about one size are merged into one.
const MERGED: usize = 4;
/// Segments with fewer documents count as being of one size.
const SMALL: u32 = 250;

/// The policy for merging segments. A question looks up each of its terms in each segment, so there
/// should be few; and each document is rewritten once each time the index has grown by a factor of
/// [`MERGED`]. Segments below [`SMALL`], which edits of single files leave, are merged with each
/// other, but not with segments of more than [`MERGED`] × [`SMALL`] documents.
fn merging() -> LogMergePolicy {
    let mut merging = LogMergePolicy::default();
    merging.set_min_num_segments(MERGED);
    merging.set_min_layer_size(SMALL);
    #[expect(clippy::cast_precision_loss, reason = "it is a small number")]
    merging.set_level_log_size((MERGED as f64).log2());
    merging
}

/// The result of reading a file.
pub(crate) enum Read {
    /// With the reason why it was indexed by runs of lines, if it was.
    Changed(FileRow, Vec<HeldDocument>, Option<String>),
    /// Only its metadata changed.
    Same(FileRow),
    NoText(FileRow),
    /// Its text says that it is generated, and such files are not wanted.
    Generated(FileRow),
    /// It could not be read, with the reason; without a row if it is gone or has grown, which the
    /// next scan notices.
    Fault(String, Option<FileRow>),
}

/// Writes what was read to the text index and the manifest. The owner of a writer holds the writer
/// lock.
pub(crate) struct Writer<'i> {
    index: &'i Index,
    store: &'i Store,
    /// Whether everything is written anew, in place of all previous content.
    is_anew: bool,
    /// Opened at the first change.
    text: Option<IndexWriter<HeldDocument>>,
    /// Whether the text index has uncommitted changes.
    is_dirty: bool,
    changes: Changes,
    generation: u64,
    moves: Moves,
}

impl<'i> Writer<'i> {
    pub(crate) fn new(
        index: &'i Index,
        store: &'i Store,
        generation: Option<u64>,
        moves: Moves,
    ) -> Self {
        Writer {
            index,
            store,
            is_anew: false,
            text: None,
            is_dirty: false,
            changes: Changes::default(),
            generation: generation.unwrap_or(0),
            moves,
        }
    }

    fn text(&mut self) -> Result<&mut IndexWriter<HeldDocument>, Fault> {
        self.is_dirty = true;
        if self.text.is_none() {
            let text = open_text(&self.index.folder)?;
            let generation = generation_of(&text)?;
            if generation < self.generation {
                let what = "its text is older than its manifest".to_owned();
                return Err(Fault::Damaged { what });
            }
            // An interrupted writer may have made one more commit, whose number must not be reused.
            self.generation = generation;
            sweep(&text, &self.index.folder)?;
            // One thread, so that documents are in the order of their paths on any machine.
            let text = text.writer_with_num_threads(1, MEMORY)?;
            text.set_merge_policy(Box::new(merging()));
            self.text = Some(text);
        }
        Ok(self.text.as_mut().expect("it was opened above"))
    }

    /// Makes the next commit start from nothing. Until then the previous content is answered; files
    /// not taken by then are gone.
    pub(crate) fn forget_all(&mut self) -> Result<(), Fault> {
        self.is_anew = true;
        self.text()?.delete_query(Box::new(AllQuery))?;
        Ok(())
    }

    /// Marks a file whose documents are about to be replaced by those of `new`, and deletes those
    /// of `known`.
    fn mark(
        &mut self,
        path: &str,
        known: Option<&FileRow>,
        new: Option<&FileRow>,
    ) -> Result<&mut IndexWriter<HeldDocument>, Fault> {
        let unsure = (path.to_owned(), FileRow::unsure(known, new));
        self.changes.unsure.push(unsure);
        let term = Term::from_field_text(self.index.fields.path, path);
        let text = self.text()?;
        if known.is_some_and(FileRow::may_be_found) {
            text.delete_term(term);
        }
        Ok(text)
    }

    /// Records that a file is gone, of which `known` was known.
    pub(crate) fn is_gone(&mut self, path: &str, known: Option<&FileRow>) {
        self.moves.gone(path, known);
    }

    /// Marks a file that is to have no documents any more. Returns whether it may have had some.
    fn forget(&mut self, path: &str, known: Option<&FileRow>) -> Result<bool, Fault> {
        let is_there = known.is_some_and(FileRow::may_be_found);
        if is_there {
            self.mark(path, known, None)?;
        }
        Ok(is_there)
    }

    pub(crate) fn remove(&mut self, path: String, known: Option<&FileRow>) -> Result<(), Fault> {
        self.forget(&path, known)?;
        self.changes.removed.push(path);
        Ok(())
    }

    /// Takes the result of reading a file, of which `known` was known before.
    pub(crate) fn take(
        &mut self,
        seen: &Seen,
        read: Read,
        known: Option<&FileRow>,
        updated: &mut Updated,
    ) -> Result<(), Fault> {
        let row = match read {
            Read::Changed(row, documents, by_lines) => {
                let documents = documents.into_iter().map(UserOperation::Add);
                self.mark(&seen.path, known, Some(&row))?.run(documents)?;
                updated.changed += 1;
                updated.by_lines.extend(by_lines);
                self.moves.changed(&seen.path, known, &row);
                row
            }
            Read::Same(row) => row,
            Read::NoText(row) => {
                updated.changed += usize::from(self.forget(&seen.path, known)?);
                row
            }
            Read::Generated(row) => {
                let was_there = usize::from(self.forget(&seen.path, known)?);
                updated.removed += was_there;
                updated.left_out += was_there;
                row
            }
            Read::Fault(why, row) => {
                updated.skipped += 1;
                updated.faults.push(why);
                updated.unread.push(seen.path.clone().into());
                self.forget(&seen.path, known)?;
                match row {
                    Some(row) => row,
                    None if known.is_some() => {
                        self.changes.removed.push(seen.path.clone());
                        return Ok(());
                    }
                    None => return Ok(()),
                }
            }
        };
        if self.is_anew || known != Some(&row) {
            self.changes.indexed.push((seen.path.clone(), row));
        }
        Ok(())
    }

    /// Commits in three steps: first the marks, then the text index, then the rows.
    pub(crate) fn commit(&mut self) -> Result<(), Fault> {
        let manifest = &self.store.manifest;
        let changes = std::mem::take(&mut self.changes);
        if !self.is_dirty && changes.is_empty() {
            return Ok(());
        }
        if let Some(text) = self.text.as_mut().filter(|_| self.is_dirty) {
            let generation = self.generation;
            // A prepared commit is in no list yet, and both steps wait for the disk.
            let (announced, prepared) = thread::scope(|scope| {
                let announced = scope.spawn(|| manifest.announce(&changes, generation));
                let prepared = text.prepare_commit();
                let announced = announced.join();
                (announced.unwrap_or_else(|it| resume_unwind(it)), prepared)
            });
            announced?;
            self.generation += 1;
            let mut prepared = prepared?;
            prepared.set_payload(&self.generation.to_string());
            prepared.commit()?;
            self.is_dirty = false;
        }
        manifest.commit(&changes, self.generation)
    }

    /// Commits the rest, makes queries answer from it, and returns the renames among the files
    /// taken.
    pub(crate) fn finish(mut self) -> Result<Moves, Fault> {
        self.commit()?;
        // Merges may take long; the new content must neither be hidden from queries meanwhile nor
        // be reported as answered before it is.
        let reloaded = self.store.reload();
        if let Some(text) = self.text {
            text.wait_merging_threads()?;
        }
        reloaded?;
        Ok(self.moves)
    }
}
