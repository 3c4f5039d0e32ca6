//! The index on the disk: the text index and the manifest, opened and verified together.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use ctx_source::open_no_link;
use tantivy::directory::{DirectoryLock, META_LOCK};
use tantivy::index::SegmentReader;
use tantivy::store::{Compressor, ZstdCompressor};
use tantivy::{Directory as _, IndexReader, IndexSettings, ReloadPolicy};

use crate::IndexError;
use crate::database::Access;
use crate::error::Fault;
use crate::lock::{Lock, WRITER, lock};
use crate::manifest::{Manifest, Snapshot};
use crate::own;
use crate::schema::{Fields, tokenizers};
use crate::sealed::Sealed;

/// Attempts to open an index that seems damaged while another process is writing it.
const TRIES: u32 = 100;
/// Attempts of a caller that only reads.
const LOOKS: u32 = 5;
/// The pause between attempts.
const PAUSE: Duration = Duration::from_millis(50);
/// More bytes than the checksum at the end of a file takes.
const FOOTER_BYTES: usize = 256;
/// The number of decompressed blocks of stored fields cached per segment, 16 KiB each.
const STORED_BLOCKS: usize = 256;

/// The text index and the manifest.
pub(crate) struct Store {
    pub(crate) reader: IndexReader,
    /// The state that the reader answers from.
    answered: Mutex<Answered>,
    pub(crate) manifest: Manifest,
    /// The identity of the manifest's file, if the system has one.
    file: Option<FileId>,
}

/// The state of an index that queries are answered from. The manifest may be ahead of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answered {
    /// The id of the manifest, if it has one.
    pub(crate) id: Option<i64>,
    pub(crate) generation: u64,
}

/// Stored fields take a quarter less space with zstd than with LZ4.
fn settings() -> IndexSettings {
    IndexSettings {
        docstore_compression: Compressor::Zstd(ZstdCompressor::default()),
        ..IndexSettings::default()
    }
}

impl Store {
    /// Opens the index in `folder`, or starts it over; the second value says why, if anything was
    /// lost.
    pub(crate) fn open(folder: &Path) -> Result<(Self, Option<IndexError>), Fault> {
        // An index that was never started has nothing to lose.
        let is_new =
            !folder.join("manifest.db").exists() && !folder.join("text/meta.json").exists();
        let mut tries = 0;
        loop {
            let damage = match Store::open_as_it_is(folder, Access::Write) {
                Ok(Some(store)) => return Ok((store, None)),
                Ok(None) => None,
                Err(error) if error.is_damage() => Some(error),
                Err(error) => return Err(error),
            };
            tries += 1;
            // Most of what seems wrong during a write is right a moment later, and the lock should
            // be left to the writer.
            if tries <= 3 && folder.join("text").exists() {
                thread::sleep(PAUSE / 5);
                continue;
            }
            match lock(folder, WRITER) {
                Ok(lock) => {
                    let (store, why) = Store::open_alone(folder, &lock)?;
                    return Ok((store, why.filter(|_| !is_new)));
                }
                Err(IndexError::Busy { .. }) if tries < TRIES => thread::sleep(PAUSE),
                Err(error) => return Err(with_damage(error.into(), damage, folder)),
            }
        }
    }

    /// Opens the index with the writer lock held, when what seemed damaged may turn out to be
    /// whole. If it is still damaged it is removed and started over.
    pub(crate) fn open_alone(
        folder: &Path,
        _lock: &Lock,
    ) -> Result<(Self, Option<IndexError>), Fault> {
        let why = match Store::open_as_it_is(folder, Access::Write) {
            Ok(Some(store)) => return Ok((store, None)),
            Ok(None) => None,
            Err(error) if error.is_damage() => Some(error.within(folder)),
            Err(error) => return Err(error),
        };
        own::remove(folder)?;
        let text = folder.join("text");
        fs::create_dir_all(&text).map_err(|source| IndexError::folder(folder, source))?;
        tantivy::Index::builder()
            .schema(Fields::new().schema)
            .tokenizers(tokenizers())
            .settings(settings())
            .open_or_create(Sealed::open(&text)?)?;
        let store = Store::open_as_it_is(folder, Access::Write)?.ok_or_else(|| Fault::Damaged {
            what: "it was removed meanwhile".to_owned(),
        })?;
        Ok((store, why))
    }

    /// Opens the index in `folder` without changing anything; `None` if there is none.
    pub(crate) fn look(folder: &Path) -> Result<Option<Self>, Fault> {
        let mut tries = 0;
        loop {
            match Store::open_as_it_is(folder, Access::Look) {
                // Most of what seems wrong during a write is right a moment later.
                Err(error) if error.is_damage() && tries < LOOKS => thread::sleep(PAUSE),
                result => return result,
            }
            tries += 1;
        }
    }

    /// Opens the index as it is; `None` if there is none.
    fn open_as_it_is(folder: &Path, access: Access) -> Result<Option<Self>, Fault> {
        let database = folder.join("manifest.db");
        match (database.exists(), folder.join("text").exists()) {
            (false, false) => return Ok(None),
            (false, true) if access == Access::Look => return Err(without_manifest()),
            _ => {}
        }
        let manifest = Manifest::open(&database, access)?;
        // The manifest is written last, so reading it first yields a state that is never ahead of
        // the text.
        let known = manifest.verified()?;
        let fields = Fields::new();
        let text = open_text(folder)?;
        check_text(&text, &folder.join("text"), &fields, &known)?;
        let answered = Answered {
            id: manifest.id()?,
            generation: generation_of(&text)?,
        };
        let reader = text.reader_builder().reload_policy(ReloadPolicy::Manual);
        let reader = reader.doc_store_cache_num_blocks(STORED_BLOCKS);
        let store = Store {
            reader: reader.try_into()?,
            answered: Mutex::new(answered),
            manifest,
            file: file_id(&database),
        };
        store.catch_up()?;
        Ok(Some(store))
    }

    pub(crate) fn answered(&self) -> Answered {
        *self.lock_answered()
    }

    fn lock_answered(&self) -> MutexGuard<'_, Answered> {
        self.answered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers from the current state on the disk from now on, and records which one it is.
    pub(crate) fn reload(&self) -> Result<(), Fault> {
        let mut answered = self.lock_answered();
        loop {
            let generation = generation_of(self.reader.searcher().index())?;
            self.reader.reload()?;
            // A commit between the two may or may not have been read.
            if generation_of(self.reader.searcher().index())? == generation {
                let id = self.manifest.id()?;
                *answered = Answered { id, generation };
                return Ok(());
            }
        }
    }

    /// Answers from the current state on the disk from now on, if that is of another generation.
    pub(crate) fn catch_up(&self) -> Result<(), Fault> {
        if generation_of(self.reader.searcher().index())? == self.answered().generation {
            return Ok(());
        }
        self.reload()
    }

    /// Whether the folder still has this manifest.
    pub(crate) fn is_there(&self, folder: &Path) -> bool {
        file_id(&folder.join("manifest.db")) == self.file
    }
}

/// The identity of a file, which distinguishes it from another that took its name.
pub(crate) type FileId = (u64, u64);

#[cfg(unix)]
pub(crate) fn file_id(path: &Path) -> Option<FileId> {
    use std::os::unix::fs::MetadataExt as _;
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// On this platform an open file cannot be removed.
#[cfg(not(unix))]
pub(crate) fn file_id(_: &Path) -> Option<FileId> {
    None
}

/// Adds the damage to an error that prevents starting over.
fn with_damage(error: Fault, damage: Option<Fault>, folder: &Path) -> Fault {
    let Some(damage) = damage.filter(|_| error.is_refusal()) else {
        return error;
    };
    let damage = match damage {
        Fault::Damaged { what } => what,
        damage => format!("failed to {}", damage.describe(folder)),
    };
    let why = error.describe(folder);
    Fault::Damaged {
        what: format!("{damage}, and it cannot be rebuilt: failed to {why}"),
    }
}

/// Opens the text index in its current state. It reads the list of its files only here, so each
/// writer opens one of its own.
pub(crate) fn open_text(folder: &Path) -> Result<tantivy::Index, Fault> {
    let damaged = |what: &str| Fault::Damaged {
        what: what.to_owned(),
    };
    let at = folder.join("text");
    if !at.exists() {
        return Err(damaged("it has no text"));
    }
    let directory = Sealed::open(&at)?;
    if !tantivy::Index::exists(&directory).map_err(tantivy::TantivyError::from)? {
        return Err(damaged("its text has no list of segments"));
    }
    let mut text = tantivy::Index::open(directory)?;
    text.set_tokenizers(tokenizers());
    Ok(text)
}

/// Removes what an interrupted writer left: segment files that are in no list, and half-written
/// lists. They may fill the disk, and the next writer may need their names. Only for a caller that
/// holds the writer lock and has no writer open.
pub(crate) fn sweep(text: &tantivy::Index, folder: &Path) -> Result<(), Fault> {
    let folder = folder.join("text");
    let io = |source| IndexError::folder(&folder, source);
    // A reader may be about to open a file that was listed a moment ago.
    let _lock = lock_segments(text)?;
    let named = text.load_metas()?.list_segment_files();
    for entry in fs::read_dir(&folder).map_err(io)? {
        let entry = entry.map_err(io)?;
        let name = entry.file_name();
        let is_left = match name.to_string_lossy().split_once('.') {
            Some(("", rest)) => rest.starts_with("tmp"),
            Some((segment, _)) => own::is_segment(segment) && !named.contains(Path::new(&name)),
            None => false,
        };
        if is_left
            && let Err(error) = fs::remove_file(entry.path())
            && error.kind() != ErrorKind::NotFound
        {
            return Err(io(error).into());
        }
    }
    Ok(())
}

/// While this lock is held, no file of the text index is removed.
fn lock_segments(text: &tantivy::Index) -> Result<DirectoryLock, Fault> {
    let lock = text.directory().acquire_lock(&META_LOCK);
    Ok(lock.map_err(tantivy::TantivyError::from)?)
}

/// The generation of a text index: the number of its commits.
pub(crate) fn generation_of(text: &tantivy::Index) -> Result<u64, Fault> {
    let payload = text.load_metas()?.payload;
    Ok(payload.and_then(|it| it.parse().ok()).unwrap_or(0))
}

/// Checks that everything is as it was written and that the manifest is not ahead.
fn check_text(
    text: &tantivy::Index,
    folder: &Path,
    fields: &Fields,
    known: &Snapshot,
) -> Result<(), Fault> {
    let damaged = |what: String| Err(Fault::Damaged { what });
    let _lock = lock_segments(text)?;
    if text.load_metas()?.schema != fields.schema {
        return damaged("its fields are those of another version".to_owned());
    }
    let of_text = generation_of(text)?;
    let of_manifest = known.generation.unwrap_or(0);
    if of_manifest > of_text {
        return damaged("its text is older than its manifest".to_owned());
    }
    if known.generation.is_none() && of_text > 0 {
        return Err(without_manifest());
    }
    if of_text > of_manifest && !known.is_unsure() {
        return damaged("its text is newer than its manifest".to_owned());
    }
    check_files(text, folder)?;
    let wrong = text.validate_checksum()?;
    if let Some(file) = wrong.into_iter().min() {
        return damaged(format!("the checksum of {} is wrong", file.display()));
    }
    for segment in text.searchable_segments()? {
        SegmentReader::open(&segment)?;
    }
    Ok(())
}

fn without_manifest() -> Fault {
    Fault::Damaged {
        what: "it has no manifest".to_owned(),
    }
}

/// Checks that each file of a segment has a verified checksum and was written by this version. An
/// interrupted writer may have left other files, also of the same segments.
fn check_files(text: &tantivy::Index, folder: &Path) -> Result<(), Fault> {
    let listed = text.directory().list_managed_files();
    let named = text.load_metas()?.list_segment_files();
    // Sorted, so that the same file is reported every time.
    for name in BTreeSet::from_iter(named) {
        let what = match has_footer(&folder.join(&name)) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(source) => return Err(IndexError::folder(folder, source).into()),
            Ok(_) if !listed.contains(&name) => "is not in the list of files",
            Ok(false) => "was written by another version",
            Ok(true) => continue,
        };
        let what = format!("{} {what}", name.display());
        return Err(Fault::Damaged { what });
    }
    Ok(())
}

/// Whether the footer after the checked bytes of a file says that this version wrote it.
fn has_footer(path: &Path) -> std::io::Result<bool> {
    let mut file = open_no_link(path, File::options().read(true))?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(FOOTER_BYTES as u64)))?;
    let mut end = Vec::with_capacity(FOOTER_BYTES);
    file.read_to_end(&mut end)?;
    let version = serde_json::to_string(tantivy::version())?;
    let begin = format!("{{\"version\":{version},\"crc\":");
    Ok(end
        .windows(begin.len())
        .any(|window| window == begin.as_bytes()))
}
