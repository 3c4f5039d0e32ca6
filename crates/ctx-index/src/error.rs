//! What can be wrong with an index.

use std::io;
use std::path::PathBuf;

/// Why an index could not be opened, brought up to date or asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// The folder that is to be indexed cannot be opened.
    #[error(transparent)]
    Root(#[from] ctx_source::SourceError),
    /// The folder of the index cannot be made, read or written.
    #[error("use the index folder {}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// Another process is writing it.
    #[error("write the index {}: process {holder} is writing it", folder.display())]
    Busy {
        /// The folder of the index.
        folder: PathBuf,
        /// Who holds it, as far as is known: a process id.
        holder: String,
    },
    /// The text index failed.
    #[error("use the text index")]
    Text(#[from] tantivy::TantivyError),
    /// The manifest failed.
    #[error("use the manifest of the index")]
    Manifest(#[from] rusqlite::Error),
    /// A part of the index is not as it was written.
    #[error("read the index: {what}")]
    Damaged {
        /// What is wrong.
        what: String,
    },
    /// The caller asked to stop.
    #[error("finish: it was cancelled")]
    Cancelled,
}
