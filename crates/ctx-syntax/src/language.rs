//! Languages, and how the language of a file is recognised.

use std::fmt;

use crate::header;
use crate::table::{ROWS, Row};

/// A language known by name, whether or not its grammar is linked in.
#[derive(Clone, Copy)]
pub struct Language(&'static Row);

impl Language {
    /// All languages, in a fixed order.
    pub fn all() -> impl Iterator<Item = Language> {
        ROWS.iter().map(Language)
    }

    /// Finds a language by name or alias, as in the info string of a code fence; ignores case.
    pub fn by_name(name: &str) -> Option<Language> {
        let name = name.to_lowercase();
        let name = name.as_str();
        let mut rows = ROWS.iter();
        rows.find(|row| row.name == name || row.aliases.contains(&name))
            .map(Language)
    }

    /// Recognises a language by the name of the file, else by its extension, else by the
    /// interpreter that its first line names. A header with constructs that C lacks is C++. O(64
    /// KiB).
    pub fn of(path: &str, text: &str) -> Option<Language> {
        let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
        let by_file = ROWS.iter().find(|row| row.files.contains(&file));
        let extension = file.rsplit_once('.').map(|(_, it)| it.to_lowercase());
        let by_extension = || {
            let extension = extension.as_deref()?;
            let mut rows = ROWS.iter();
            match extension {
                "h" if header::is_cpp(text) => rows.find(|row| row.name == "cpp"),
                _ => rows.find(|row| row.extensions.contains(&extension)),
            }
        };
        let by_interpreter = || {
            let interpreter = interpreter(text)?;
            let is_it = |row: &&Row| row.interpreters.contains(&interpreter);
            ROWS.iter().find(is_it)
        };
        by_file
            .or_else(by_extension)
            .or_else(by_interpreter)
            .map(Language)
    }

    /// The name, as in the info string of a code fence.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// Whether the grammar is linked in.
    pub fn has_grammar(self) -> bool {
        self.0.grammar.is_some()
    }

    pub(crate) fn row(self) -> &'static Row {
        self.0
    }

    /// Its index in the table.
    pub(crate) fn index(self) -> usize {
        ROWS.iter()
            .position(|row| std::ptr::eq(row, self.0))
            .unwrap_or_default()
    }

    /// The beginning and end of a one-line comment.
    pub(crate) fn comment(self) -> (&'static str, &'static str) {
        self.0.comment
    }
}

impl PartialEq for Language {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Language {}

impl fmt::Debug for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Language").field(&self.name()).finish()
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The interpreter that `#!/usr/bin/env -S python3.11 -u` names: `python3`, without path, minor
/// version and flags.
fn interpreter(text: &str) -> Option<&str> {
    let line = text.strip_prefix("#!")?.lines().next()?;
    let mut words = line
        .split_ascii_whitespace()
        .map(|word| word.rsplit('/').next().unwrap_or(word));
    let first = words.next()?;
    let program = if first == "env" {
        words.find(|word| !word.starts_with('-') && !word.contains('='))?
    } else {
        first
    };
    Some(program.split('.').next().unwrap_or(program))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[track_caller]
    fn is(path: &str, text: &str, expected: Option<&str>) {
        assert_eq!(
            Language::of(path, text).map(Language::name),
            expected,
            "{path}"
        );
    }

    #[test]
    fn names_extensions_and_first_lines_tell() {
        is("src/main.rs", "", Some("rust"));
        is("a/B.PY", "", Some("python"));
        is("Rakefile", "", Some("ruby"));
        is("tool", "#!/usr/bin/env python3.11\n", Some("python"));
        is("tool", "#!/usr/bin/env -S FOO=1 bash -e\n", Some("bash"));
        is("tool", "#!/bin/sh", Some("bash"));
        is("tool", "#!", None);
        is("tool", "nothing", None);
        is("x.unknown", "#!/usr/bin/node\n", Some("javascript"));
        is("c\\d\\e.go", "", Some("go"));
        is("a.h", "", Some("c"));
        is("a.h", "struct A;\n", Some("c"));
        is("a.h", "class A;\n", Some("cpp"));
        is("a.c", "class A;\n", Some("c"));
    }

    #[test]
    fn each_name_is_of_one_language() {
        let mut seen = BTreeSet::new();
        for language in Language::all() {
            assert!(seen.insert(language.name()), "{language}");
            assert_eq!(Language::by_name(language.name()), Some(language));
            for alias in language.row().aliases {
                assert_eq!(Language::by_name(alias), Some(language), "{alias}");
            }
        }
        assert!(seen.len() >= 25);
        assert_eq!(Language::by_name("C++").map(Language::name), Some("cpp"));
        assert_eq!(Language::by_name("brainfuck"), None);
    }
}
