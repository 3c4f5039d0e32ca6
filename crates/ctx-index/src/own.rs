//! Which files in a folder belong to an index. The folder may be anybody's, so only files that an
//! index made are removed.

use std::fs::{self, DirEntry, File};
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use ctx_source::open_no_link;

use crate::IndexError;
use crate::lock::{REMEMBERED, WRITER};

/// The `application_id` of a manifest, `ctxi`, which identifies it among `SQLite` databases.
pub(crate) const APPLICATION_ID: i32 = 0x6374_7869;

/// The bytes of the file header in which `SQLite` keeps the `application_id`.
const ID_AT: std::ops::Range<usize> = 68..72;
/// The first bytes of every `SQLite` database.
const MAGIC: &[u8] = b"SQLite format 3\0";
/// How much of a database is read to find its table definitions, in bytes: they are in the first
/// page, and few pages are larger.
const PAGE_BYTES: u64 = 4096;
/// Tables that every manifest has, including old ones without an `application_id`.
const TABLES: [&str; 2] = [
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE files (",
];
/// The first table of the remembered data.
const SUMS: &str = "CREATE TABLE sums (layout INTEGER NOT NULL";
/// The list of segments, whose name other programs use too.
const META: &str = "meta.json";

/// The database of the remembered data.
pub(crate) const REMEMBERED_DB: &str = "remembered.db";
/// The database of the remembered data while it is being created.
pub(crate) const REMEMBERED_NEW: &str = "remembered.new.db";
/// A file written to find out whether the disk is full.
pub(crate) const PROBE: &str = "room.tmp";
/// Suffixes of the files that `SQLite` creates beside a database, and of the database itself.
const BESIDE: [&str; 4] = ["-journal", "-wal", "-shm", ""];

/// The kinds of file that `manifest.db` may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manifest {
    /// There is none, or it is empty.
    Nothing,
    /// A manifest of an index.
    Own,
    /// A database of another program.
    Foreign,
    /// Not a database, or one whose first bytes are damaged.
    Unclear,
}

/// The names in `text/`, by whether an index makes files of that name.
#[derive(Debug, Default)]
struct Text {
    own: Vec<String>,
    foreign: Vec<String>,
}

/// Creates `folder` for an index inside a folder of the user, or takes the one that exists, as
/// [`begin_private`](ctx_source::begin_private) does. A folder that has an index is left as it is.
///
/// # Errors
/// The folder is a link, or cannot be created.
pub fn begin_in(folder: &Path) -> io::Result<()> {
    if has_index(folder) {
        return Ok(());
    }
    ctx_source::begin_private(folder)
}

/// Whether there is an index in `folder`, in whatever state.
pub fn has_index(folder: &Path) -> bool {
    folder.join("manifest.db").exists()
}

/// Checks that an index of `root` may be opened in `folder`, whatever it contains.
///
/// # Errors
/// The folder lies in `root` through a link.
pub(crate) fn check_place(root: &Path, folder: &Path) -> Result<(), IndexError> {
    ctx_source::check_no_link(root, folder).map_err(|it| IndexError::folder(folder, it))
}

/// Checks that an index may be opened in `folder`: the names of its files are unused or taken by
/// files of an index, and none is a link. Changes nothing.
///
/// # Errors
/// [`IndexError::Foreign`], and if the folder cannot be read.
pub(crate) fn check(folder: &Path) -> Result<(), IndexError> {
    check_no_links(folder)?;
    let (manifest, text) = look(folder)?;
    match manifest {
        // A foreign file among the text of an index is no reason not to query it.
        Manifest::Own => Ok(()),
        _ => judge(folder, manifest, &text),
    }
}

/// Checks that no file of the index in `folder` is a link. An index makes none, and whoever made
/// the folder may point one at a file that must not be written.
fn check_no_links(folder: &Path) -> Result<(), IndexError> {
    let io = |source| IndexError::folder(folder, source);
    let is_of_folder = |name: &str| name == "text" || is_of_folder(name);
    let mut found = links(folder, &is_of_folder).map_err(io)?;
    if found.is_empty() {
        let of_text = links(&folder.join("text"), &is_own).map_err(io)?;
        found.extend(of_text.iter().map(|name| Path::new("text").join(name)));
    }
    refuse(folder, found)
}

/// The links in `folder` whose names satisfy `is_meant`, sorted.
fn links(folder: &Path, is_meant: &dyn Fn(&str) -> bool) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        // If it is not a folder, the code that reads it reports that.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        entries => entries?,
    };
    let mut links = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        if is_meant(&name.to_string_lossy()) && entry.file_type()?.is_symlink() {
            links.push(PathBuf::from(name));
        }
    }
    links.sort();
    Ok(links)
}

/// Returns [`IndexError::Foreign`] unless `found` is empty.
fn refuse(folder: &Path, found: Vec<PathBuf>) -> Result<(), IndexError> {
    if found.is_empty() {
        return Ok(());
    }
    Err(IndexError::Foreign {
        folder: folder.to_owned(),
        found,
    })
}

/// Whether `folder` holds an index or remains of one: something that no other program makes.
/// Changes nothing.
///
/// # Errors
/// Those of [`check`].
pub(crate) fn is_index(folder: &Path) -> Result<bool, IndexError> {
    check(folder)?;
    let (manifest, text) = look(folder)?;
    let has_proof = text.own.iter().any(|name| name != META);
    Ok(manifest == Manifest::Own || has_proof || is_remembered(&folder.join(REMEMBERED_DB)))
}

/// Whether the file at `path` begins like a database of remembered data.
fn is_remembered(path: &Path) -> bool {
    !is_no_file(path)
        && first_page(path).is_ok_and(|page| page.starts_with(MAGIC) && has(&page, SUMS))
}

/// Checks that everything in `folder` belongs to an index or has a name that satisfies `beside`.
///
/// # Errors
/// [`IndexError::Foreign`] with everything else, and if the folder cannot be read.
pub(crate) fn check_all(folder: &Path, beside: &dyn Fn(&str) -> bool) -> Result<(), IndexError> {
    let io = |source| IndexError::folder(folder, source);
    let (manifest, text) = look(folder)?;
    judge(folder, manifest, &text)?;
    let mut found: Vec<PathBuf> = text.foreign.iter().map(PathBuf::from).collect();
    for entry in fs::read_dir(folder).map_err(io)? {
        let entry = entry.map_err(io)?;
        if !is_of_index(&entry, beside).map_err(io)? {
            found.push(PathBuf::from(entry.file_name()));
        }
    }
    found.sort();
    refuse(folder, found)
}

/// Whether the entry of the folder belongs to the index. A link does not: it leads to files of
/// others.
fn is_of_index(entry: &DirEntry, beside: &dyn Fn(&str) -> bool) -> io::Result<bool> {
    let (name, kind) = (entry.file_name(), entry.file_type()?);
    let name = name.to_string_lossy();
    Ok(if name == "text" {
        kind.is_dir()
    } else {
        kind.is_file() && (is_of_folder(&name) || beside(&name))
    })
}

/// Whether an index makes files of this name in its folder.
fn is_of_folder(name: &str) -> bool {
    if [WRITER, REMEMBERED, PROBE].contains(&name) {
        return true;
    }
    let ends = BESIDE.iter().filter_map(|it| name.strip_suffix(it));
    ends.filter_map(|it| it.strip_suffix(".db"))
        .any(|stem| match stem.split_once(".damaged-") {
            Some((stem, number)) => {
                matches!(stem, "manifest" | "remembered") && number.parse::<u32>().is_ok()
            }
            None => matches!(stem, "manifest" | "remembered" | "remembered.new"),
        })
}

/// Removes an index with its remembered data, and the files whose names satisfy `beside`. The files
/// by which an index is recognised go last, so that the remains of an interrupted removal can be
/// removed too.
///
/// # Errors
/// Those of [`check_all`], before anything is removed; and errors of the operating system.
pub(crate) fn remove_all(folder: &Path, beside: &dyn Fn(&str) -> bool) -> Result<(), IndexError> {
    let io = |source| IndexError::folder(folder, source);
    check_all(folder, beside)?;
    remove(folder)?;
    let is_gone = |result: io::Result<()>| match result {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(io(error)),
        _ => Ok(()),
    };
    is_gone(fs::remove_dir(folder.join("text")))?;
    let entries = fs::read_dir(folder).map_err(io)?;
    let names = entries.map(|it| Ok(it?.file_name().to_string_lossy().into_owned()));
    let mut names = names.collect::<io::Result<Vec<String>>>().map_err(io)?;
    names.sort_by_key(|name| match name.as_str() {
        REMEMBERED_DB => 1,
        WRITER | REMEMBERED => 2,
        _ => 0,
    });
    for name in names {
        if is_of_folder(&name) || beside(&name) {
            is_gone(fs::remove_file(folder.join(name)))?;
        }
    }
    is_gone(fs::remove_dir(folder))
}

/// Removes the manifest and the text index, and keeps the remembered data.
///
/// # Errors
/// [`IndexError::Foreign`] if something else is there, before anything is removed; and errors of
/// the operating system.
pub(crate) fn remove(folder: &Path) -> Result<(), IndexError> {
    let (manifest, mut text) = look(folder)?;
    judge(folder, manifest, &text)?;
    // `meta.json` goes first: by any other of these files the rest is still recognised as an
    // index's.
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

/// Checks that the manifest and the text belong to an index. Each may be recognised by the other if
/// it is unclear by itself.
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
    refuse(folder, found)
}

fn look(folder: &Path) -> Result<(Manifest, Text), IndexError> {
    let io = |source| IndexError::folder(folder, source);
    let manifest = look_at_manifest(&folder.join("manifest.db")).map_err(io)?;
    let text = look_at_text(&folder.join("text")).map_err(io)?;
    Ok((manifest, text))
}

/// Reads the file without `SQLite`, which may write beside the database it opens.
fn look_at_manifest(path: &Path) -> io::Result<Manifest> {
    if is_no_file(path) {
        return Ok(Manifest::Foreign);
    }
    let page = match first_page(path) {
        Ok(page) => page,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Manifest::Nothing),
        Err(error) => return Err(error),
    };
    let has_id = page.get(ID_AT) == Some(APPLICATION_ID.to_be_bytes().as_slice());
    Ok(match &*page {
        [] => Manifest::Nothing,
        page if !page.starts_with(MAGIC) => Manifest::Unclear,
        page if has_id || TABLES.iter().all(|it| has(page, it)) => Manifest::Own,
        _ => Manifest::Foreign,
    })
}

/// Whether something other than a regular file is there, such as a link, or a pipe, which would
/// block whoever opens it.
pub(crate) fn is_no_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|it| !it.is_file())
}

fn first_page(path: &Path) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    let file = open_no_link(path, File::options().read(true))?;
    file.take(PAGE_BYTES).read_to_end(&mut page)?;
    Ok(page)
}

fn has(page: &[u8], what: &str) -> bool {
    page.windows(what.len()).any(|it| it == what.as_bytes())
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

/// Whether the text index makes files of this name: lists, locks, temporary files, and files of
/// segments.
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
