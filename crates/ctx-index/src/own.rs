//! What in a folder is an index's. A folder may be anybody's, and nothing is removed from it that no index made.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use crate::IndexError;

/// What tells a manifest from other databases: `ctxi`, in the header of the file.
pub(crate) const APPLICATION_ID: i32 = 0x6374_7869;

/// Where `SQLite` keeps that.
const ID_AT: std::ops::Range<usize> = 68..72;
/// What each of its files begins with.
const MAGIC: &[u8] = b"SQLite format 3\0";
/// Definitions of tables are in the first page, and few pages are larger.
const PAGE_BYTES: u64 = 4096;
/// Tables that each manifest has had. Earlier ones have no id.
const TABLES: [&str; 2] = [
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE files (",
];
/// A list that programs of other kinds have too.
const META: &str = "meta.json";

/// What a `manifest.db` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manifest {
    /// There is none, or it is empty.
    Nothing,
    /// An index's.
    Own,
    /// A database of something else.
    Foreign,
    /// No database, or one whose first bytes are damaged.
    Unclear,
}

/// The names in `text/`.
#[derive(Debug, Default)]
struct Text {
    own: Vec<String>,
    foreign: Vec<String>,
}

/// Whether an index may be opened in `folder`: what is there where it has its files is one's, or nothing. Changes
/// nothing.
///
/// # Errors
/// [`IndexError::Foreign`], and the folder cannot be read.
pub(crate) fn check(folder: &Path) -> Result<(), IndexError> {
    let (manifest, text) = look(folder)?;
    match manifest {
        // A file that somebody put into the text of an index is no reason not to ask it.
        Manifest::Own => Ok(()),
        _ => judge(folder, manifest, &text),
    }
}

/// Removes all that is indexed, and nothing that is remembered.
///
/// # Errors
/// [`IndexError::Foreign`] if something else is there: then nothing is removed. And what the system says.
pub(crate) fn remove(folder: &Path) -> Result<(), IndexError> {
    let (manifest, mut text) = look(folder)?;
    judge(folder, manifest, &text)?;
    // While any other is left, these are still known for an index's.
    text.own.sort_by_key(|name| name != META);
    let names = [
        "manifest.db-journal",
        "manifest.db-wal",
        "manifest.db-shm",
        "manifest.db",
    ];
    let names = names.map(PathBuf::from).into_iter();
    let of_text = text.own.iter().map(|name| Path::new("text").join(name));
    for name in names.chain(of_text) {
        match fs::remove_file(folder.join(name)) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(IndexError::folder(folder, error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether all of it is an index's. What is unclear by itself is, beside what is not.
fn judge(folder: &Path, manifest: Manifest, text: &Text) -> Result<(), IndexError> {
    let has_proof = text.own.iter().any(|name| name != META);
    let is_text_own =
        text.foreign.is_empty() && (has_proof || text.own.is_empty() || manifest == Manifest::Own);
    let is_manifest_own = match manifest {
        Manifest::Nothing | Manifest::Own => true,
        Manifest::Foreign => false,
        Manifest::Unclear => is_text_own && has_proof,
    };
    let of_text = || {
        let own = text.own.iter().filter(|_| text.foreign.is_empty());
        let names = text.foreign.iter().chain(own);
        names.map(|name| Path::new("text").join(name))
    };
    let mut found = Vec::new();
    if !is_manifest_own {
        found.push(PathBuf::from("manifest.db"));
    }
    if !is_text_own {
        found.extend(of_text());
    }
    if found.is_empty() {
        return Ok(());
    }
    Err(IndexError::Foreign {
        folder: folder.to_owned(),
        found,
    })
}

fn look(folder: &Path) -> Result<(Manifest, Text), IndexError> {
    let io = |source| IndexError::folder(folder, source);
    let manifest = look_at_manifest(&folder.join("manifest.db")).map_err(io)?;
    let text = look_at_text(&folder.join("text")).map_err(io)?;
    Ok((manifest, text))
}

/// `SQLite` is not asked, as it may write beside what it opens.
fn look_at_manifest(path: &Path) -> io::Result<Manifest> {
    let mut page = Vec::new();
    match File::open(path) {
        Ok(file) => file.take(PAGE_BYTES).read_to_end(&mut page)?,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Manifest::Nothing),
        Err(error) => return Err(error),
    };
    let has = |what: &str| page.windows(what.len()).any(|it| it == what.as_bytes());
    let has_id = page.get(ID_AT) == Some(APPLICATION_ID.to_be_bytes().as_slice());
    Ok(match page.as_slice() {
        [] => Manifest::Nothing,
        page if !page.starts_with(MAGIC) => Manifest::Unclear,
        _ if has_id || TABLES.iter().all(|it| has(it)) => Manifest::Own,
        _ => Manifest::Foreign,
    })
}

fn look_at_text(folder: &Path) -> io::Result<Text> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Text::default()),
        Err(error) => return Err(error),
    };
    let mut text = Text::default();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if is_own(&name) && !entry.file_type()?.is_dir() {
            text.own.push(name);
        } else {
            text.foreign.push(name);
        }
    }
    text.foreign.sort();
    text.own.sort();
    Ok(text)
}

/// Whether the text index makes files of this name: lists, locks, what is half written, and parts of segments.
fn is_own(name: &str) -> bool {
    match name.split_once('.') {
        Some(("", rest)) => {
            matches!(
                rest,
                "managed.json" | "tantivy-meta.lock" | "tantivy-writer.lock"
            ) || rest.starts_with("tmp")
        }
        Some((segment, _)) => name == META || is_segment(segment),
        None => false,
    }
}

/// Whether this is the name of a segment: 32 hexadecimal digits.
pub(crate) fn is_segment(name: &str) -> bool {
    name.len() == 32 && name.bytes().all(|it| it.is_ascii_hexdigit())
}
