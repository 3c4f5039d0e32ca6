//! Folders for what is made of files: it says what they say, so that it is for nobody else, and for no repository.

use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};

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
/// has git [pass over](pass_over) it.
///
/// # Errors
/// It is a link, or no folder, or cannot be changed.
pub fn begin_private(folder: &Path) -> io::Result<()> {
    check_no_link(folder.parent().unwrap_or(folder), folder)?;
    make_private(folder)?;
    // A disk that knows no modes has none to set.
    #[cfg(unix)]
    let _ = fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o700));
    pass_over(&Dir::open_ambient_dir(folder, ambient_authority())?)
}

/// Has git pass over all of `dir`, by a `.gitignore` in it. One that is there stays as it is: somebody says otherwise.
///
/// # Errors
/// It cannot be written.
pub fn pass_over(dir: &Dir) -> io::Result<()> {
    match dir.symlink_metadata(IGNORE) {
        Err(error) if error.kind() == ErrorKind::NotFound => write_private(dir, IGNORE, b"*\n"),
        there => there.map(drop),
    }
}

/// Writes the file `name` of `dir`, for nobody else to read, whole or not at all.
///
/// # Errors
/// It cannot be written; then what was there is.
pub fn write_private(dir: &Dir, name: &str, bytes: &[u8]) -> io::Result<()> {
    let unfinished = format!("{name}.new");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    cap_std::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = dir.open_with(&unfinished, &options)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    dir.rename(&unfinished, dir, name)
}

/// Sees to it that no part of `folder` below `root` is a link: whoever made the files of `root` may have made that, too, and it may lead
/// anywhere. Of a folder elsewhere, whoever names it knows where it leads.
///
/// # Errors
/// One is.
pub fn check_no_link(root: &Path, folder: &Path) -> io::Result<()> {
    let mut at = root.to_owned();
    for part in folder.strip_prefix(root).into_iter().flatten() {
        at.push(part);
        if fs::symlink_metadata(&at).is_ok_and(|it| it.is_symlink()) {
            let why = "it is reached by a link, and those are not followed";
            return Err(io::Error::new(ErrorKind::NotADirectory, why));
        }
    }
    Ok(())
}
