//! One update in the making.

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

/// What the writer may hold in memory.
const MEMORY: usize = 96 << 20;

/// So many segments of about one size become one.
const MERGED: usize = 4;
/// Segments of fewer documents are of one size.
const SMALL: u32 = 250;

/// When segments become one. A question looks each of its terms up in each segment, so there are to be few; and each
/// document is written once for each time that there are [`MERGED`] times as many. Below [`SMALL`], what edits of single
/// files leave is put together without what was there before, if that is more than [`MERGED`] times as many.
fn merging() -> LogMergePolicy {
    let mut merging = LogMergePolicy::default();
    merging.set_min_num_segments(MERGED);
    merging.set_min_layer_size(SMALL);
    #[expect(clippy::cast_precision_loss, reason = "it is a small number")]
    merging.set_level_log_size((MERGED as f64).log2());
    merging
}

/// What reading a file came to.
pub(crate) enum Read {
    /// With why it is known by its lines alone, if it is.
    Changed(FileRow, Vec<HeldDocument>, Option<String>),
    /// Its metadata changed alone.
    Same(FileRow),
    NoText(FileRow),
    /// It says that a machine wrote it, and such files are not wanted.
    Generated(FileRow),
    /// It could not be read, and why; without a row what will be is another matter.
    Fault(String, Option<FileRow>),
}

/// Puts what was read into the text index and the manifest. Whoever has one holds the lock.
pub(crate) struct Writer<'i> {
    index: &'i Index,
    store: &'i Store,
    /// Whether everything is written, in place of all there was.
    is_anew: bool,
    /// Opened for the first change.
    text: Option<IndexWriter<HeldDocument>>,
    /// Whether the text index has changes that are not committed.
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
            // A writer that came to no end may have committed one more: none is to have the same number.
            self.generation = generation;
            sweep(&text, &self.index.folder)?;
            // One thread: the order of documents is that of their paths, whatever the machine does.
            let text = text.writer_with_num_threads(1, MEMORY)?;
            text.set_merge_policy(Box::new(merging()));
            self.text = Some(text);
        }
        Ok(self.text.as_mut().expect("it was opened above"))
    }

    /// Has the next commit begin from nothing: until then all is there, and what is not taken up to then is gone.
    pub(crate) fn forget_all(&mut self) -> Result<(), Fault> {
        self.is_anew = true;
        self.text()?.delete_query(Box::new(AllQuery))?;
        Ok(())
    }

    /// Marks a file of which the text index is to have what `new` is of in the place of `known`, and has it forget that.
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

    /// Notes that a file, of which `known` was known, is gone.
    pub(crate) fn is_gone(&mut self, path: &str, known: Option<&FileRow>) {
        self.moves.gone(path, known);
    }

    /// The same for one that is to have nothing; whether it may have had something.
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

    /// What reading a file came to, of which `known` was known before.
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

    /// The marks first, the text index second, the rows third.
    pub(crate) fn commit(&mut self) -> Result<(), Fault> {
        let manifest = &self.store.manifest;
        let changes = std::mem::take(&mut self.changes);
        if !self.is_dirty && changes.is_empty() {
            return Ok(());
        }
        if let Some(text) = self.text.as_mut().filter(|_| self.is_dirty) {
            let generation = self.generation;
            // What is prepared is in no list yet, and both wait for the disk.
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

    /// Commits what there is, has it answered, and tells which files went where as far as it was taken.
    pub(crate) fn finish(mut self) -> Result<Moves, Fault> {
        self.commit()?;
        // Merges may take long, and what is there is not to be told as if it were answered, nor to be kept from whoever asks.
        let reloaded = self.store.reload();
        if let Some(text) = self.text {
            text.wait_merging_threads()?;
        }
        reloaded?;
        Ok(self.moves)
    }
}
