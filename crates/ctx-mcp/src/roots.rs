//! Which folders a client may read: those it declares as its roots, else the server's own.

use std::collections::VecDeque;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ctx_source::Root;

use crate::fault::Fault;
use crate::workspace::{Folder, Workspace};

/// Folders that stay open.
const OPEN: usize = 32;
/// Roots of one client that are looked at.
const MOST: usize = 16;

/// Where the index of a folder is kept. The folder's path is canonical. Asked when there is a first question, so that it may make
/// the place, too.
pub type Place = Arc<dyn Fn(&Path) -> PathBuf + Send + Sync>;

/// How far the roots of a client may lie. A process that a client starts is the client's to point anywhere; a server that waits
/// for clients on a socket is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// In the server's own.
    Own,
    Anywhere,
}

/// The server's own folder, and those that clients declared.
pub(crate) struct Roots {
    own: Arc<Folder>,
    place: Place,
    /// How far those lie that clients may declare, whatever they come by.
    reach: Reach,
    /// The latest used last.
    opened: Mutex<VecDeque<Arc<Folder>>>,
}

impl Roots {
    /// # Errors
    /// `own` is no folder that can be opened.
    pub(crate) fn new(own: &Path, reach: Reach, place: Place) -> Result<Self, Fault> {
        let path = own.canonicalize().map_err(|error| {
            Fault::new(
                format!("open the root {}: {error}", own.display()),
                "a folder that exists",
            )
        })?;
        Ok(Roots {
            own: Arc::new(Folder::new(Root::open(path)?, Arc::clone(&place))?),
            place,
            reach,
            opened: Mutex::default(),
        })
    }

    /// For a client that declares none.
    pub(crate) fn own(&self) -> Workspace {
        Workspace::new(vec![Arc::clone(&self.own)])
    }

    /// For a client that declares `uris`, and nothing beside them. A root that is no folder here, or that is
    /// out of `reach`, is as if it had not been declared.
    ///
    /// # Errors
    /// There is no folder among them.
    pub(crate) fn declared<'u>(
        &self,
        uris: impl Iterator<Item = &'u str>,
        reach: Reach,
    ) -> Result<Workspace, Fault> {
        let mut folders: Vec<Arc<Folder>> = Vec::new();
        for uri in uris.take(MOST) {
            if let Some(folder) = path_of(uri).and_then(|path| self.folder(&path, reach))
                && !folders.iter().any(|it| it.path() == folder.path())
            {
                folders.push(folder);
            }
        }
        if folders.is_empty() {
            return Err(Fault::new(
                "find a folder to read: none of the roots that the client declares is a folder here that may be read",
                "ask the user to open a folder in the client",
            ));
        }
        Ok(Workspace::new(folders))
    }

    fn folder(&self, path: &Path, reach: Reach) -> Option<Arc<Folder>> {
        let path = path.canonicalize().ok()?;
        if path == self.own.path() {
            return Some(Arc::clone(&self.own));
        }
        let own = self.own.path();
        let below = match path.strip_prefix(own) {
            Ok(below) => Some(below),
            Err(_) if [reach, self.reach].contains(&Reach::Own) => return None,
            Err(_) => None,
        };
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = opened.iter().position(|it| it.path() == path) {
            let folder = opened.remove(at)?;
            opened.push_back(Arc::clone(&folder));
            return Some(folder);
        }
        // What was compared is a name; what lies in the server's own folder is opened beneath its handle.
        let root = below.map_or_else(|| Root::open(&path), |it| self.own.root().folder(it));
        let folder = Arc::new(Folder::new(root.ok()?, Arc::clone(&self.place)).ok()?);
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
            .field("reach", &self.reach)
            .finish_non_exhaustive()
    }
}

/// `.ctx` in the folder, which is for nobody else to look into, and for no repository: it says what the files say.
pub(crate) fn default_place(root: &Path) -> PathBuf {
    let folder = root.join(".ctx");
    // Where that cannot be done, the index cannot be written either, which is told.
    let _ = ctx_index::begin_in(&folder);
    folder
}

/// The path that a `file:` address of this machine names.
fn path_of(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    let path = unescape(path.split(['?', '#']).next()?)?;
    // A drive: file:///C:/folder.
    let path = match path.as_bytes() {
        [b'/', drive, b':', ..] if cfg!(windows) && drive.is_ascii_alphabetic() => &path[1..],
        [b'/', ..] => &path,
        _ => return None,
    };
    Some(PathBuf::from(path))
}

/// `text` with each `%XX` replaced by the byte it stands for; `None` where that is no text.
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

/// `text` as a part of an address.
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
        let roots = Roots::new(folder.path(), Reach::Own, Arc::new(default_place)).unwrap();
        let open = |number: usize| {
            let path = folder.path().join(format!("{number:03}"));
            std::fs::create_dir_all(&path).unwrap();
            roots.folder(&path, Reach::Anywhere).unwrap()
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
