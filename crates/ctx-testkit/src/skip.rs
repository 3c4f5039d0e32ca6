//! Tests that cannot run here, and report that.

use std::env;
use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::Path;

/// The variable with the path of the file that lists skipped tests: see [`skipped`].
pub const FILE: &str = "CTX_SKIPPED";

/// Reports why a test does not run: on standard error, which test runners hide for tests that pass,
/// and as a line in the file that the variable [`FILE`] names, if it is set. `cargo xtask test`
/// lists these lines.
///
/// # Panics
/// If the file cannot be written.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
pub fn skipped(why: impl Display) {
    eprintln!("skipped: {why}");
    if let Some(file) = env::var_os(FILE) {
        note(Path::new(&file), &why).expect("what is skipped is written down");
    }
}

/// Appends a line in one write, since other processes append to the same file.
fn note(file: &Path, why: &dyn Display) -> io::Result<()> {
    let line = why.to_string().replace(['\r', '\n'], " ") + "\n";
    let mut file = OpenOptions::new().append(true).create(true).open(file)?;
    file.write_all(line.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn each_skipped_test_is_one_line() {
        let file = env::temp_dir().join(format!("ctx-skipped-{}", std::process::id()));
        note(&file, &"there is no disk").unwrap();
        note(&file, &"there is\nno tool").unwrap();
        let said = fs::read_to_string(&file).unwrap();
        fs::remove_file(&file).unwrap();
        assert_eq!(said, "there is no disk\nthere is no tool\n");
    }
}
