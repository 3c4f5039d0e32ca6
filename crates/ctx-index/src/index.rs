//! The index of one folder: opening, inspecting and querying its state.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::SystemTime;

use ctx_model::UnixSeconds;
use ctx_retrieve::indexing_threads;
use ctx_source::{Limits, Root, Sources, make_private};
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};
use tantivy::Searcher;

use crate::IndexError;
use crate::database::short;
use crate::error::Fault;
use crate::lock::Lock;
use crate::manifest::FileRow;
use crate::options::{Options, Pending, SkippedFile, Status, StoredOptions, Wanted};
use crate::own;
use crate::parts::Parts;
use crate::remembered::Remembered;
use crate::scan::{Scan, Seen};
use crate::schema::Fields;
use crate::statistics::Statistics;
use crate::store::{Answered, Store};
use crate::stored::seconds;
use crate::update::Content;

/// The index of one folder. Any number of readers may use it while one process writes.
pub struct Index {
    pub(crate) fields: Fields,
    /// What is on the disk, as far as this process has noticed.
    store: RwLock<Arc<Store>>,
    pub(crate) remembered: Remembered,
    loss: Option<String>,
    rebuilt: Option<IndexError>,
    pub(crate) statistics: Statistics,
    pub(crate) parts: Parts,
    pub(crate) root: Root,
    pub(crate) folder: PathBuf,
    pub(crate) options: Options,
}

/// The result of [`Index::inspect`].
#[derive(Debug)]
pub enum Inspected {
    /// There is no index.
    Nothing,
    /// An intact index. It answers, but cannot be updated and records nothing.
    Whole(Box<Index>),
    /// The index is damaged or of another format; the text says why, as a fragment that follows
    /// "failed to". Opening it would start it over.
    Damaged(String),
}

impl std::fmt::Debug for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Index")
            .field("root", &self.root.path())
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

impl Index {
    /// Opens the index in `folder` of the files below the folder at `root`. See [`Index::open_in`].
    ///
    /// # Errors
    /// Those of [`Index::open_in`], and if the root cannot be opened.
    pub fn open(root: &Path, folder: &Path, options: Options) -> Result<Index, IndexError> {
        Index::open_in(Root::open(root)?, folder, options)
    }

    /// Opens the index in `folder` of the files below `root`, and creates it if there is none. A
    /// new folder is private to the user, since the index holds all texts and questions; the
    /// permissions of an existing one are not changed. Every checksum is verified. An index that is
    /// damaged or of another format is removed and started over ([`Index::rebuilt`]). An index that
    /// cannot be written still answers. O(bytes of the index).
    ///
    /// # Errors
    /// The folder cannot be created or read; it lies in the root through a link, which is not
    /// followed; something that does not belong to an index has the name of one of its files
    /// ([`IndexError::Foreign`]; nothing in the folder is changed then); or the index has to be
    /// removed while another process is writing it.
    pub fn open_in(root: Root, folder: &Path, options: Options) -> Result<Index, IndexError> {
        Index::open_as(root, folder, options).map_err(|it| it.within(folder))
    }

    fn open_as(root: Root, folder: &Path, options: Options) -> Result<Index, Fault> {
        own::check_place(root.path(), folder)?;
        make_private(folder).map_err(|source| IndexError::folder(folder, source))?;
        own::check(folder)?;
        // Before the manifest is opened, since earlier versions kept remembered data in it, which
        // is migrated.
        let (remembered, loss) = remembered(root.path(), folder)?;
        let (store, rebuilt) = Store::open(folder).map_err(|it| it.while_writing(folder))?;
        let index = Index::of(root, folder, store, (remembered, loss), options);
        Ok(Index { rebuilt, ..index })
    }

    /// Opens the index in `folder` of the files below `root` without changing anything. Every
    /// checksum is verified. O(bytes of the index).
    ///
    /// # Errors
    /// The root or the index cannot be opened, or the folder holds something that does not belong
    /// to an index.
    pub fn inspect(root: &Path, folder: &Path, options: Options) -> Result<Inspected, IndexError> {
        Index::look(Root::open(root)?, folder, options).map_err(|it| it.within(folder))
    }

    fn look(root: Root, folder: &Path, options: Options) -> Result<Inspected, Fault> {
        own::check_place(root.path(), folder)?;
        own::check(folder)?;
        let store = match Store::look(folder) {
            Ok(Some(store)) => store,
            Ok(None) => return Ok(Inspected::Nothing),
            Err(error) if error.is_damage() => {
                return Ok(Inspected::Damaged(error.describe(folder)));
            }
            Err(error) => return Err(error),
        };
        let remembered = Remembered::look(folder)?;
        let index = Index::of(root, folder, store, remembered, options);
        Ok(Inspected::Whole(Box::new(index)))
    }

    fn of(
        root: Root,
        folder: &Path,
        store: Store,
        (remembered, loss): (Remembered, Option<String>),
        options: Options,
    ) -> Self {
        Index {
            fields: Fields::new(),
            store: RwLock::new(Arc::new(store)),
            remembered,
            loss,
            rebuilt: None,
            statistics: Statistics::default(),
            parts: Parts::default(),
            root,
            folder: folder.to_owned(),
            options,
        }
    }

    /// Adds the folder of the index to an error.
    pub(crate) fn with_folder<T>(&self, result: Result<T, Fault>) -> Result<T, IndexError> {
        result.map_err(|it| it.within(&self.folder))
    }

    pub(crate) fn store(&self) -> Arc<Store> {
        Arc::clone(&self.store.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn searcher(&self) -> Searcher {
        self.store().reader.searcher()
    }

    /// Reopens the store if another process removed or replaced it.
    pub(crate) fn follow(&self) -> Result<(), Fault> {
        self.follow_by(|| Ok(Store::open(&self.folder)?.0))
    }

    /// Reopens the store if another process removed or replaced it, for a caller that holds the
    /// writer lock.
    pub(crate) fn follow_alone(&self, lock: &Lock) -> Result<(), Fault> {
        self.follow_by(|| Ok(Store::open_alone(&self.folder, lock)?.0))
    }

    fn follow_by(&self, open: impl FnOnce() -> Result<Store, Fault>) -> Result<(), Fault> {
        if self.store().is_there(&self.folder) {
            return Ok(());
        }
        own::check_place(self.root.path(), &self.folder)?;
        make_private(&self.folder).map_err(|it| IndexError::folder(&self.folder, it))?;
        own::check(&self.folder)?;
        // Remembered data is removed together with the index. If it is still there, it is
        // unchanged.
        let (remembered, _) = remembered(self.root(), &self.folder)?;
        self.remembered.go_on_with(remembered);
        let store = Arc::new(open().map_err(|it| it.while_writing(&self.folder))?);
        *self.store.write().unwrap_or_else(PoisonError::into_inner) = store;
        Ok(())
    }

    /// The root: the folder that is indexed.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// Reads the files below the root, which is not opened again: hits are resolved to the text of
    /// the files that were indexed, even if another folder has taken the path of the root. Reading
    /// is limited by [`ctx_source::Limits::default`].
    ///
    /// # Errors
    /// The system has no handle to give.
    pub fn sources(&self) -> Result<Sources, IndexError> {
        Ok(Sources::new(self.root.try_clone()?, Limits::default()))
    }

    /// The folder of the index.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Why the index was started over when it was opened. `None` if it was intact, or new.
    pub fn rebuilt(&self) -> Option<&IndexError> {
        self.rebuilt.as_ref()
    }

    /// What was lost of the remembered data when the index was opened: a sentence that names the
    /// file where the damaged data is kept. `None` if nothing was lost.
    pub fn loss(&self) -> Option<&str> {
        self.loss.as_deref()
    }

    /// The size and settings of the index. O(files).
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn status(&self) -> Result<Status, IndexError> {
        self.with_folder(self.status_as_read())
    }

    fn status_as_read(&self) -> Result<Status, Fault> {
        let store = self.store();
        let (totals, known) = (store.manifest.totals()?, store.manifest.snapshot()?);
        let wanted = self.wanted()?;
        Ok(Status {
            root: self.root.path().to_owned(),
            folder: self.folder.clone(),
            files: totals.files,
            parts: totals.parts,
            lines: totals.lines,
            bytes: bytes_below(&self.folder),
            generation: known.generation.unwrap_or(0),
            written_at: known.written_at.map(UnixSeconds::new),
            include_generated: wanted.include_generated,
            max_file_bytes: wanted.max_file_bytes,
        })
    }

    /// How far the index is behind the files. Files that cannot be read do not count. Changes
    /// nothing. O(files), and the files whose metadata changed are read.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn pending(&self) -> Result<Pending, IndexError> {
        let known = self.with_folder(self.store().manifest.snapshot())?;
        let wanted = self.with_folder(self.wanted())?;
        let scan = self.scan(wanted);
        let work = self.work(wanted, &known.files, &scan);
        let is_changed =
            |seen: &&&Seen| !self.is_as_known(wanted, seen, known.files.get(&seen.path));
        let is_indexed = |path: &&String| known.files.get(*path).is_some_and(FileRow::may_be_found);
        Ok(Pending {
            generated: self.with_folder(self.generated(wanted, &scan))?,
            changed: indexing_threads()
                .install(|| work.wanted.par_iter().filter(is_changed).count()),
            removed: work.removed.iter().filter(is_indexed).count(),
        })
    }

    /// The number of files known to be skipped as generated or vendored.
    fn generated(&self, wanted: Wanted, scan: &Scan) -> Result<usize, Fault> {
        if wanted.include_generated {
            return Ok(0);
        }
        let read = self.store().manifest.skipped_files()?;
        let is_there = |it: &&SkippedFile| {
            let path = it.path.to_str().unwrap_or_default();
            let at = scan.files.binary_search_by(|it| it.path.as_str().cmp(path));
            at.is_ok()
        };
        let passed = scan
            .skipped_files
            .iter()
            .chain(read.iter().filter(is_there));
        Ok(passed.filter(|it| it.reason.is_generated()).count())
    }

    fn is_as_known(&self, wanted: Wanted, seen: &Seen, known: Option<&FileRow>) -> bool {
        let Ok(bytes) = self.root.read(&seen.path, wanted.max_file_bytes) else {
            // A file that cannot be read yields nothing.
            return known.is_none_or(|it| !it.may_be_found());
        };
        let Some(known) = known.filter(|it| !it.is_unread()) else {
            return false;
        };
        match Content::of(&seen.path, bytes, wanted) {
            Content::Text(text, _) => known.text_hash() == Some(*text.unmasked_hash()),
            Content::NoText | Content::Empty | Content::Generated => !known.may_be_found(),
        }
    }

    /// Stores settings for every later use of this index that leaves them unset in [`Options`],
    /// this one included. A field that is `None` is not changed. They take effect with the next
    /// update, and survive when the index is rebuilt.
    ///
    /// # Errors
    /// The folder of the index cannot be written.
    pub fn store_options(&self, options: StoredOptions) -> Result<(), IndexError> {
        self.with_folder(self.remembered.store_options(options))
    }

    /// The settings stored by [`Index::store_options`].
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn stored_options(&self) -> Result<StoredOptions, IndexError> {
        self.with_folder(self.remembered.stored_options())
    }

    pub(crate) fn wanted(&self) -> Result<Wanted, Fault> {
        Ok(Wanted::of(&self.options, self.remembered.stored_options()?))
    }

    /// A hash of the index id, its generation and the number of votes: it changes whenever one of
    /// these does. An index that is started over has a new id, and counts generations from the
    /// beginning.
    pub(crate) fn state(&self) -> Result<u64, Fault> {
        let Answered { id, generation } = self.store().answered();
        let mut hasher = blake3::Hasher::new();
        for number in [
            id.unwrap_or_default().cast_unsigned(),
            generation,
            self.remembered.votes()?,
        ] {
            hasher.update(&number.to_le_bytes());
        }
        Ok(u64::from_le_bytes(short(&hasher)))
    }
}

/// Opens the remembered data of the index in `folder`, and returns what was lost of it. Records the
/// root, and that the index was opened.
fn remembered(root: &Path, folder: &Path) -> Result<(Remembered, Option<String>), Fault> {
    let (remembered, loss) = Remembered::open(folder)?;
    if loss.is_some() {
        // The owner of the index learns the details from [`Index::loss`].
        tracing::warn!("what an index remembered is lost");
    }
    // The index answers whether or not this can be recorded.
    if let Err(error) = remembered.opened(root, seconds(SystemTime::now())) {
        let error = error.describe(folder);
        tracing::debug!(error, "what an index is of is not noted");
    }
    Ok((remembered, loss))
}

pub(crate) fn bytes_below(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else {
        return 0;
    };
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => bytes_below(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.flatten().map(size).sum()
}
