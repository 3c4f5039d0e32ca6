//! Opening the index of a folder and bringing it up to date, for the verbs that need one.

use std::error::Error as _;
use std::fmt::Write as _;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use ctx::assemble::Cancel;
use ctx::index::{Index, IndexError, Options, Updated};

use crate::failure::Failure;
use crate::place;
use crate::progress::Progress;
use crate::report::{self, Report};
use crate::walk::shown;

/// So many files that could not be read are named, unless all are wanted.
const NAMED: usize = 5;

/// The folder at `path` by the one path that it has.
///
/// # Errors
/// There is no such folder.
pub(crate) fn root(path: &Path) -> Result<PathBuf, Failure> {
    let name = shown(path);
    let root = fs::canonicalize(path).map_err(|error| {
        Failure::input(format!("failed to open the folder {name}: {error}"))
            .with_hint("give a folder that exists")
    })?;
    if root.is_dir() {
        Ok(root)
    } else {
        Err(Failure::input(format!("{name} is a file, not a folder"))
            .with_hint("give the folder that it is in"))
    }
}

/// Opens the index of `root`, and makes an empty one where there is none. Says so if one that was there had to
/// be begun anew.
///
/// # Errors
/// See [`place::index_folder`] and [`Index::open`].
pub(crate) fn open(root: &Path, options: Options) -> Result<Index, Failure> {
    let folder = place::index_folder(root)?;
    make_private(&folder)?;
    let (index, rebuilt) = Index::open(root, &folder, options).map_err(|it| failure(&it))?;
    if let Some(why) = rebuilt {
        report::warning(&format!(
            "the index of {} is begun anew: failed to {why}",
            shown(root)
        ));
    }
    Ok(index)
}

/// Makes `folder`, with what is above it, for nobody else to look into: it says what the files say.
fn make_private(folder: &Path) -> Result<(), Failure> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(|source| {
        failure(&IndexError::Folder {
            folder: folder.to_owned(),
            source,
        })
    })
}

/// Indexes what changed, and shows on a terminal how far it is.
///
/// # Errors
/// Those of [`Index::update`].
pub(crate) fn update(index: &Index, cancel: &Cancel) -> Result<Updated, IndexError> {
    let progress = Progress::start("indexing", 0);
    index.update(&mut |it| {
        progress.set(it.done, it.of);
        if cancel.is_cancelled() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })
}

/// Says which files could not be read.
pub(crate) fn report_faults(updated: &Updated, report: Report) {
    let all = updated.faults.len();
    let named = if report.is_verbose() { all } else { NAMED };
    for fault in updated.faults.iter().take(named) {
        report::warning(&format!("not indexed: {fault}"));
    }
    if all > named {
        let more = all - named;
        report::warning(&format!(
            "{more} more are not indexed (--verbose names them)"
        ));
    }
}

/// What there is to say of an index that fails.
pub(crate) fn failure(error: &IndexError) -> Failure {
    match error {
        IndexError::Cancelled => Failure::cancelled(),
        IndexError::Root(error) => Failure::input(error).with_hint("give a folder that exists"),
        IndexError::Busy { .. } => Failure::program(why(error))
            .with_hint("try again when it is done, or ask with `ctx query --no-index-update`"),
        IndexError::Folder { .. } => Failure::program(why(error))
            .with_hint("set CTX_CACHE_DIR to a folder that can be written, or give the disk room"),
        other => Failure::program(why(other))
            .with_hint("can the folder of the index be written, and is there room on the disk? `ctx index --rebuild` makes it anew"),
    }
}

/// An error with its causes, on one line.
pub(crate) fn why(error: &IndexError) -> String {
    let mut text = format!("failed to {error}");
    let mut source = error.source();
    while let Some(cause) = source {
        let _ = write!(text, ": {cause}");
        source = cause.source();
    }
    text
}
