//! Private folders for data derived from files: such data repeats what the files say, so other
//! users cannot read it, and git ignores it.

use std::fs::{self, File as StdFile, OpenOptions as StdOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf, absolute};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirBuilder, File, Metadata, OpenOptions};

/// The ignore file that git reads, and every walk that follows its rules.
const IGNORE: &str = ".gitignore";

/// Creates `folder` and its missing parents, accessible to their owner only. Existing folders keep
/// their permissions.
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

/// Prepares `folder` for derived data: creates it if necessary, makes it accessible to its owner
/// only, and has git ignore it by a `.gitignore` in it.
///
/// The parent folder is created like that, too, if missing, and is opened once, by any path.
/// Everything else is done beneath that handle and checked on what was opened.
///
/// # Errors
/// The folder is a link or no folder, or cannot be created or changed.
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
    // A file system without modes has none to set.
    #[cfg(unix)]
    let _ = dir.set_permissions(".", cap_std::fs::PermissionsExt::from_mode(0o700));
    ignore_in_git(&dir)
}

/// Opens the folder `name` of `dir`, unless `name` is a link.
fn open_dir_no_link(dir: &Dir, name: &Path) -> io::Result<Dir> {
    let opened = dir.open_dir(name);
    // The name is checked after the open: then it still names the opened folder, or the folder is
    // refused.
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

/// Whether both describe the same folder. Without inode numbers, whether both are folders.
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

/// Has git ignore all of `dir`, by a `.gitignore` in it. An existing one is left as it is, since a
/// user may have written it.
///
/// # Errors
/// The file cannot be written.
#[doc(hidden)]
pub fn ignore_in_git(dir: &Dir) -> io::Result<()> {
    let look = || dir.symlink_metadata(IGNORE).map(drop);
    match look() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            // Another process may have created it meanwhile.
            write_private(dir, IGNORE, b"*\n").or_else(|error| look().map_err(|_| error))
        }
        there => there,
    }
}

/// Writes the file `name` of `dir` atomically, readable by its owner only. Of concurrent writers,
/// the last one wins.
///
/// # Errors
/// The file cannot be written; the old content is kept.
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

/// Creates a temporary file that is to be renamed to `name`. Takes a name that does not exist yet:
/// an existing one may belong to another writer, be left over from one that died, or be a link or a
/// pipe.
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

/// Checks that no component of `folder` below `root` is a link, however the two are written:
/// whoever created the files in `root` may have created that link, too, and it may lead anywhere.
/// Links outside `root` are the choice of the caller. An empty `root` is the current folder.
///
/// # Errors
/// A component is a link, or a path cannot be resolved.
pub fn check_no_link(root: &Path, folder: &Path) -> io::Result<()> {
    let root = if root.as_os_str().is_empty() {
        Path::new(".")
    } else {
        root
    };
    // For a name with a trailing slash, the system would report the target of the link.
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

/// Opens the file at `path` with `options` if it is a regular file: a link is refused whatever its
/// target, and a pipe is refused without blocking on it. The folders above may be links; they are
/// the caller's choice.
///
/// # Errors
/// The path names something other than a file, or cannot be opened.
#[doc(hidden)]
pub fn open_no_link(path: &Path, options: &StdOptions) -> io::Result<StdFile> {
    let mut options = options.clone();
    #[cfg(unix)]
    {
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags);
    }
    // Opens a link itself instead of its target (FILE_FLAG_OPEN_REPARSE_POINT).
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
