//! Which folders a client may read: those it declares as its roots, or else the server's own.

use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ctx_source::Root;

use crate::fault::Fault;
use crate::workspace::{Folder, Workspace};

/// The most folders that stay open.
const OPEN: usize = 32;
/// The most roots of one client that are considered.
pub(crate) const MOST: usize = 16;

/// Returns where the index of a folder is kept, given its canonical path. It is called at the first
/// question about the folder, so that it may also create the place.
pub type IndexLocation = Arc<dyn Fn(&Path) -> PathBuf + Send + Sync>;

/// Returns the options of the index of a folder, given its canonical path. It is called before each
/// update, so that changed settings take effect. Agents are told its errors.
pub type IndexSettings =
    Arc<dyn Fn(&Path) -> Result<ctx_index::Options, Box<dyn Error + Send + Sync>> + Send + Sync>;

/// Where the index of a folder is, and which options it has.
#[derive(Clone)]
pub(crate) struct Indexing {
    pub(crate) location: IndexLocation,
    pub(crate) settings: IndexSettings,
}

impl Default for Indexing {
    /// In `.ctx` in the folder, with the options that the index remembers.
    fn default() -> Self {
        Indexing {
            location: Arc::new(default_index_location),
            settings: Arc::new(|_| Ok(ctx_index::Options::default())),
        }
    }
}

/// Where the roots of a client may lie. A client that starts the server itself may choose any
/// folder; one that connects to a socket may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AllowedRoots {
    /// Only within the server's own root.
    WithinOwn,
    Anywhere,
}

/// The server's own folder, and those that clients declared.
pub(crate) struct Roots {
    own: Arc<Folder>,
    indexing: Indexing,
    /// Where the roots of any client may lie, whatever its transport.
    allowed: AllowedRoots,
    /// The opened folders, most recently used last.
    opened: Mutex<VecDeque<Arc<Folder>>>,
}

impl Roots {
    /// Opens the server's own folder.
    ///
    /// # Errors
    /// `own` is not a folder that can be opened.
    pub(crate) fn new(
        own: &Path,
        allowed: AllowedRoots,
        indexing: Indexing,
    ) -> Result<Self, Fault> {
        let path = own.canonicalize().map_err(|source| Fault::Root {
            root: own.to_owned(),
            source,
        })?;
        Ok(Roots {
            own: Arc::new(Folder::new(Root::open(path)?, indexing.clone())?),
            indexing,
            allowed,
            opened: Mutex::default(),
        })
    }

    /// The folders for a client that declares none.
    pub(crate) fn own(&self) -> Workspace {
        Workspace::new(vec![Arc::clone(&self.own)])
    }

    /// The folders for a client that declares `uris`, of which the first [`MOST`] are considered. A
    /// root that is not a folder here, or is out of `allowed`, is ignored.
    ///
    /// # Errors
    /// None of them can be read.
    pub(crate) fn declared<'u>(
        &self,
        mut uris: impl Iterator<Item = &'u str>,
        allowed: AllowedRoots,
    ) -> Result<Workspace, Fault> {
        let mut folders: Vec<Arc<Folder>> = Vec::new();
        for uri in uris.by_ref().take(MOST) {
            if let Some(folder) = path_of(uri).and_then(|path| self.folder(&path, allowed))
                && !folders.iter().any(|it| it.path() == folder.path())
            {
                folders.push(folder);
            }
        }
        if folders.is_empty() {
            return Err(Fault::refused(
                "find a folder to read: no root that the client declares is a readable folder on this machine",
                "ask the user to open a folder in the client",
            ));
        }
        Ok(Workspace::new(folders).with_left_out(uris.count()))
    }

    fn folder(&self, path: &Path, allowed: AllowedRoots) -> Option<Arc<Folder>> {
        let path = path.canonicalize().ok()?;
        if path == self.own.path() {
            return Some(Arc::clone(&self.own));
        }
        let own = self.own.path();
        let below = match path.strip_prefix(own) {
            Ok(below) => Some(below),
            Err(_) if [allowed, self.allowed].contains(&AllowedRoots::WithinOwn) => return None,
            Err(_) => None,
        };
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = opened.iter().position(|it| it.path() == path) {
            let folder = opened.remove(at)?;
            opened.push_back(Arc::clone(&folder));
            return Some(folder);
        }
        // Only names were compared, so a folder within the server's own is opened relative to its
        // handle.
        let root = below.map_or_else(|| Root::open(&path), |it| self.own.root().folder(it));
        let folder = Arc::new(Folder::new(root.ok()?, self.indexing.clone()).ok()?);
        if opened.len() >= OPEN {
            opened.pop_front();
        }
        opened.push_back(Arc::clone(&folder));
        Some(folder)
    }
}

impl fmt::Debug for Roots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Roots")
            .field("own", &self.own)
            .field("allowed", &self.allowed)
            .finish_non_exhaustive()
    }
}

/// `.ctx` in the folder. It is readable by the user only and excluded from repositories, since it
/// contains the texts of the files.
fn default_index_location(root: &Path) -> PathBuf {
    let folder = root.join(".ctx");
    // If that fails, the index cannot be written either, which is reported.
    let _ = ctx_index::begin_in(&folder);
    folder
}

/// The path of a `file:` URL of this machine.
fn path_of(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    let path = unescape(path.split(['?', '#']).next()?)?;
    // With a drive: `file:///C:/folder`.
    let path = match path.as_bytes() {
        [b'/', drive, b':', ..] if cfg!(windows) && drive.is_ascii_alphabetic() => &path[1..],
        [b'/', ..] => &path,
        _ => return None,
    };
    Some(PathBuf::from(path))
}

/// Replaces each `%XX` in `text` by its byte; `None` if the result is not UTF-8.
pub(crate) fn unescape(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        if first == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(first);
            rest = after;
        }
    }
    String::from_utf8(bytes)
        .ok()
        .filter(|it| !it.contains('\0'))
}

/// Escapes `text` as a part of a URL.
pub(crate) fn escape(text: &str) -> String {
    use std::fmt::Write as _;
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_files_are_read() {
        for (uri, path) in [
            ("file:///a/b", Some("/a/b")),
            ("file://localhost/a", Some("/a")),
            ("file:///a%20b/%C3%A9", Some("/a b/é")),
            ("file://elsewhere/a", None),
            ("file:a", None),
            ("file:///a%0", None),
            ("file:///a%00b", None),
            ("file:///%FF", None),
            ("http://a/b", None),
            ("", None),
        ] {
            assert_eq!(path_of(uri), path.map(PathBuf::from), "{uri:?}");
        }
    }

    #[test]
    fn of_many_folders_those_that_are_used_stay_open() {
        let folder = tempfile::tempdir().unwrap();
        let roots =
            Roots::new(folder.path(), AllowedRoots::WithinOwn, Indexing::default()).unwrap();
        let open = |number: usize| {
            let path = folder.path().join(format!("{number:03}"));
            std::fs::create_dir_all(&path).unwrap();
            roots.folder(&path, AllowedRoots::Anywhere).unwrap()
        };
        let first = open(0);
        for number in 1..3 * OPEN {
            open(number);
            assert!(Arc::ptr_eq(&first, &open(0)), "{number}");
        }
        assert_eq!(roots.opened.lock().unwrap().len(), OPEN);
    }

    #[test]
    fn escaping_is_undone() {
        let text = "a b/ü#?%.rs";
        assert_eq!(unescape(&escape(text)).as_deref(), Some(text));
    }
}
