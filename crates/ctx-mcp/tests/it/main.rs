//! The server as a client sees it: each test speaks the protocol, line by line, and checks the
//! replies.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(
    clippy::format_collect,
    clippy::format_push_string,
    reason = "a test may take its time"
)]

mod budget;
mod client;
mod confined;
mod cursors;
#[cfg(feature = "http")]
mod http;
mod install;
mod protocol;
mod sessions;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ctx_mcp::{Options, Server};
use tempfile::TempDir;

const PARSER: &str = r#"//! A parser of sums.

/// What a sum is made of.
pub struct Parser {
    text: String,
}

impl Parser {
    /// Reads a sum such as "1 + 2".
    pub fn parse_sum(&self) -> Result<i64, ParseError> {
        let mut total = 0;
        for part in self.text.split('+') {
            total += part.trim().parse::<i64>().map_err(|_| ParseError)?;
        }
        Ok(total)
    }
}

/// It is no sum.
pub struct ParseError;
"#;

const PRINTER: &str = r#"//! Prints sums.

/// Writes the total of a sum on a line of its own.
pub fn print_total(total: i64) {
    println!("the total is \"{total}\"\t\\ and nothing else");
}
"#;

const README: &str =
    "# Sums\n\nAdds numbers up.\n\n## Parsing\n\nA sum is parsed by `Parser::parse_sum`.\n";

/// A project, and a place for its index beside it.
struct Project {
    folder: TempDir,
    cache: TempDir,
}

impl Project {
    fn new() -> Self {
        Project::of(&[
            ("src/parser.rs", PARSER),
            ("src/printer.rs", PRINTER),
            ("README.md", README),
        ])
    }

    fn of(files: &[(&str, &str)]) -> Self {
        let project = Project {
            folder: tempfile::tempdir().unwrap(),
            cache: tempfile::tempdir().unwrap(),
        };
        for (path, text) in files {
            project.write(path, text);
        }
        project
    }

    fn write(&self, path: &str, text: &str) {
        write(self.folder.path(), path, text);
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    fn options(&self) -> Options {
        let cache = self.cache.path().to_owned();
        let place = move |root: &Path| cache.join(root.file_name().unwrap());
        Options::new(self.folder.path()).with_index_location(Arc::new(place))
    }

    fn server(&self) -> Server {
        Server::new(self.options()).unwrap()
    }
}

/// Writes a file that was changed a minute ago: what is newer is looked at twice.
fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    let minute_ago = SystemTime::now() - Duration::from_mins(1);
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_modified(minute_ago).unwrap();
}
