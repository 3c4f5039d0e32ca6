//! Folders for what is made of files: it says what they say, so that it is for nobody else, and for no repository.

use std::fs::{self, File as StdFile, OpenOptions as StdOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf, absolute};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirBuilder, File, Metadata, OpenOptions};

/// What git reads, and every walk that heeds such files.
const IGNORE: &str = ".gitignore";

/// Makes `folder`, with what is above it, for nobody else to look into. One that is there stays as it is.
///
/// # Errors
/// It cannot be made.
pub fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Begins to use `folder`, which lies in a folder of somebody's own: makes it, or takes what is there, for nobody else to look into, and
/// keeps it from a repository, by a `.gitignore` in it.
///
/// The folder that it lies in is opened once, and by any path. All else is done beneath that handle, and on what was opened.
///
/// # Errors
/// It is a link, or no folder, or cannot be changed.
pub fn begin_private(folder: &Path) -> io::Result<()> {
    let folder = absolute(folder)?;
    let (Some(parent), Some(name)) = (folder.parent(), folder.file_name()) else {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it has no name"));
    };
    make_private(parent)?;
    let parent = Dir::open_ambient_dir(parent, ambient_authority())?;
    #[cfg_attr(not(unix), expect(unused_mut, reason = "there are no modes"))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    cap_std::fs::DirBuilderExt::mode(&mut builder, 0o700);
    if let Err(error) = parent.create_dir_with(name, &builder)
        && error.kind() != ErrorKind::AlreadyExists
    {
        return Err(error);
    }
    let dir = open_dir_no_link(&parent, Path::new(name))?;
    // A disk that knows no modes has none to set.
    #[cfg(unix)]
    let _ = dir.set_permissions(".", cap_std::fs::PermissionsExt::from_mode(0o700));
    ignore_in_git(&dir)
}

/// Opens the folder `name` of `dir`.
fn open_dir_no_link(dir: &Dir, name: &Path) -> io::Result<Dir> {
    let opened = dir.open_dir(name);
    // Looked at afterwards: what has the name is then what was opened, or it is not taken.
    let named = dir.symlink_metadata(name)?;
    if named.is_symlink() {
        return Err(by_a_link());
    }
    let opened = opened?;
    if is_one(&named, &opened.dir_metadata()?) {
        Ok(opened)
    } else {
        Err(by_a_link())
    }
}

/// Whether both are of one folder. Where folders have no number, this is not known.
fn is_one(one: &Metadata, other: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use cap_std::fs::MetadataExt as _;
        (one.dev(), one.ino()) == (other.dev(), other.ino())
    }
    #[cfg(not(unix))]
    {
        one.is_dir() && other.is_dir()
    }
}

/// Has git ignore all of `dir`, by a `.gitignore` in it. One that is there stays as it is: somebody says otherwise.
///
/// # Errors
/// It cannot be written.
#[doc(hidden)]
pub fn ignore_in_git(dir: &Dir) -> io::Result<()> {
    let look = || dir.symlink_metadata(IGNORE).map(drop);
    match look() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            // Others may have made it meanwhile.
            write_private(dir, IGNORE, b"*\n").or_else(|error| look().map_err(|_| error))
        }
        there => there,
    }
}

/// Writes the file `name` of `dir`, for nobody else to read, whole or not at all. Of several who do so at once, the last one's stays.
///
/// # Errors
/// It cannot be written; then what was there is.
#[doc(hidden)]
pub fn write_private(dir: &Dir, name: &str, bytes: &[u8]) -> io::Result<()> {
    let (mut file, unfinished) = create_unfinished(dir, name)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    drop(file);
    let written = written.and_then(|()| dir.rename(&unfinished, dir, name));
    if written.is_err() {
        let _ = dir.remove_file(&unfinished);
    }
    written
}

/// Makes a file for what is to be `name`. Its own name is one that nothing has: what has one is another writer's, or was left by one that
/// ended, or leads elsewhere, or is waited for.
fn create_unfinished(dir: &Dir, name: &str) -> io::Result<(File, String)> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    cap_std::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut number = 0_u64;
    loop {
        let unfinished = format!("{name}.new{number}");
        match dir.open_with(&unfinished, &options) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
            file => return Ok((file?, unfinished)),
        }
    }
}

/// Sees to it that no part of `folder` below `root` is a link, however the two are named: whoever made the files of `root` may have made
/// that, too, and it may lead anywhere. Of a folder elsewhere, whoever names it knows where it leads. An empty `root` is the current folder.
///
/// # Errors
/// One is, or it cannot be told.
pub fn check_no_link(root: &Path, folder: &Path) -> io::Result<()> {
    let root = if root.as_os_str().is_empty() {
        Path::new(".")
    } else {
        root
    };
    // Of a name that ends with a slash, the system tells what the link leads to.
    let folder: PathBuf = absolute(folder)?.components().collect();
    for at in folder.ancestors() {
        let is_link = fs::symlink_metadata(at).is_ok_and(|it| it.is_symlink());
        if let Some(parent) = at.parent()
            && is_link
            && parent.canonicalize()?.starts_with(root.canonicalize()?)
        {
            return Err(by_a_link());
        }
    }
    Ok(())
}

/// Opens the file at `path` as `options` say, and nothing that is there instead of a file: no link, whatever it leads to, and no pipe, which
/// would be waited for. What is above it is the caller's to name.
///
/// # Errors
/// It is something else than a file, or cannot be opened.
#[doc(hidden)]
pub fn open_no_link(path: &Path, options: &StdOptions) -> io::Result<StdFile> {
    let mut options = options.clone();
    #[cfg(unix)]
    {
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags);
    }
    // A link is opened itself.
    #[cfg(windows)]
    std::os::windows::fs::OpenOptionsExt::custom_flags(&mut options, 0x0020_0000);
    let opened = options.open(path);
    let is_link = fs::symlink_metadata(path).is_ok_and(|it| it.is_symlink());
    let file = match opened {
        Err(_) if is_link => return Err(by_a_link()),
        opened => opened?,
    };
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(ErrorKind::InvalidInput, "it is no file"))
    }
}

fn by_a_link() -> io::Error {
    let why = "it is reached by a link, and those are not followed";
    io::Error::new(ErrorKind::NotADirectory, why)
}
