//! Names of languages without a grammar, and classes of files by their names.

use std::borrow::Cow;

use crate::Language;

/// Extensions, and their languages as info strings name them. Sorted, for binary search.
const EXTENSIONS: &[(&str, &str)] = &[
    ("adb", "ada"),
    ("asm", "asm"),
    ("astro", "astro"),
    ("awk", "awk"),
    ("bat", "bat"),
    ("bazel", "starlark"),
    ("bib", "bibtex"),
    ("bzl", "starlark"),
    ("cfg", "ini"),
    ("clj", "clojure"),
    ("cljs", "clojure"),
    ("cmake", "cmake"),
    ("conf", "ini"),
    ("csproj", "xml"),
    ("csv", "csv"),
    ("cu", "cuda"),
    ("d", "d"),
    ("diff", "diff"),
    ("dockerfile", "dockerfile"),
    ("el", "elisp"),
    ("elm", "elm"),
    ("erl", "erlang"),
    ("f90", "fortran"),
    ("fish", "fish"),
    ("fs", "fsharp"),
    ("gql", "graphql"),
    ("gradle", "groovy"),
    ("graphql", "graphql"),
    ("groovy", "groovy"),
    ("ini", "ini"),
    ("ipynb", "json"),
    ("jl", "julia"),
    ("json5", "json5"),
    ("jsonl", "json"),
    ("less", "less"),
    ("lisp", "lisp"),
    ("m", "objectivec"),
    ("mdx", "mdx"),
    ("mk", "makefile"),
    ("mli", "ocaml"),
    ("mm", "objectivec"),
    ("nim", "nim"),
    ("nix", "nix"),
    ("pas", "pascal"),
    ("patch", "diff"),
    ("pl", "perl"),
    ("pm", "perl"),
    ("proto", "protobuf"),
    ("ps1", "powershell"),
    ("r", "r"),
    ("s", "asm"),
    ("sass", "sass"),
    ("scss", "scss"),
    ("sol", "solidity"),
    ("svelte", "svelte"),
    ("svg", "xml"),
    ("tex", "latex"),
    ("thrift", "thrift"),
    ("tsv", "tsv"),
    ("txt", "text"),
    ("vb", "vb"),
    ("vim", "vim"),
    ("vue", "vue"),
    ("wat", "wat"),
    ("wgsl", "wgsl"),
    ("xml", "xml"),
    ("xsd", "xml"),
    ("xsl", "xml"),
];

/// Whole file names in lower case, and their languages. Sorted.
const NAMES: &[(&str, &str)] = &[
    ("build", "starlark"),
    ("cmakelists.txt", "cmake"),
    ("containerfile", "dockerfile"),
    ("dockerfile", "dockerfile"),
    ("gnumakefile", "makefile"),
    ("go.mod", "go"),
    ("jenkinsfile", "groovy"),
    ("justfile", "just"),
    ("makefile", "makefile"),
];

/// Languages that are written for people to read.
const PROSE: &[&str] = &["asciidoc", "latex", "markdown", "mdx", "org", "rst", "text"];

/// Extensions of tables, notebooks and logs. Sorted.
const TABLES: &[&str] = &["csv", "ipynb", "jsonl", "log", "ndjson", "tsv"];

/// Extensions of tables whose first line names the columns. Sorted.
const HEADED: &[&str] = &["csv", "tsv"];

/// The least bytes of an encoded line; a shorter one may be a long word.
const ENCODED: usize = 512;

/// The language of the file at `path` with this `text`, as an info string names it, whether or not
/// there is a grammar for it: by its name, its extension, and its first line.
pub fn language_name(path: &str, text: &str) -> Option<&'static str> {
    let name = file_name(path).to_ascii_lowercase();
    let by_extension = || find(EXTENSIONS, name.rsplit_once('.')?.1);
    find(NAMES, &name)
        .or_else(|| Language::of(path, text).map(Language::name))
        .or_else(by_extension)
}

/// Whether the file at `path`, in `language`, is written for people to read.
pub fn is_prose(path: &str, language: Option<&str>) -> bool {
    let Some(language) = language else {
        // README, LICENSE, CHANGELOG and their like: capitals and no extension.
        let capital = |b: u8| b.is_ascii_uppercase() || b"-_".contains(&b);
        return file_name(path).bytes().all(capital);
    };
    PROSE.contains(&language)
}

/// Whether the file at `path` is a table, a notebook or a log: a text whose lines are independent
/// of each other.
pub fn is_table(path: &str) -> bool {
    has_extension(path, TABLES)
}

/// Whether the file at `path` is a log, in which lines may belong to the entry before them.
pub fn is_log(path: &str) -> bool {
    has_extension(path, &["log"])
}

/// Whether the first line of the file at `path` names the columns of a table.
pub fn is_headed_table(path: &str) -> bool {
    has_extension(path, HEADED)
}

fn has_extension(path: &str, sorted: &[&str]) -> bool {
    let name = file_name(path).to_ascii_lowercase();
    // A log that was rotated has a number or a date after its extension.
    let name = name.trim_end_matches(|it: char| it.is_ascii_digit() || "-_.".contains(it));
    let extension = name.rsplit_once('.').map_or("", |(_, it)| it);
    sorted.binary_search(&extension).is_ok()
}

/// Whether `line` consists mostly of one long run of encoded bytes (base64 or hexadecimal digits),
/// such as an image in a notebook. O(bytes).
pub fn is_encoded(line: &str) -> bool {
    // Line ends within encoded data may be written as escapes.
    let is_digit = |it: u8| it.is_ascii_alphanumeric() || b"+/=-_\\".contains(&it);
    let runs = || line.as_bytes().split(|&it| !is_digit(it)).map(<[u8]>::len);
    line.len() >= ENCODED && runs().max().is_some_and(|it| 10 * it >= 9 * line.len())
}

fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

fn find(table: &'static [(&str, &str)], key: &str) -> Option<&'static str> {
    let at = table.binary_search_by_key(&key, |(name, _)| name).ok()?;
    Some(table[at].1)
}

/// Returns `text`, whose lines are `lines`, without its [encoded](is_encoded) lines, which no
/// search is for. O(bytes).
pub fn without_encoded<'t>(text: &'t str, lines: &[&str]) -> Cow<'t, str> {
    if !lines.iter().any(|it| is_encoded(it)) {
        return text.into();
    }
    let said: Vec<&str> = lines.iter().filter(|it| !is_encoded(it)).copied().collect();
    said.join("\n").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::ROWS;

    #[test]
    fn tables_are_sorted_and_name_nothing_that_has_a_grammar() {
        for table in [EXTENSIONS, NAMES] {
            assert!(table.is_sorted_by(|a, b| a.0 < b.0));
        }
        assert!(PROSE.is_sorted() && TABLES.is_sorted());
        for (extension, _) in EXTENSIONS {
            assert!(
                !ROWS.iter().any(|row| row.extensions.contains(extension)),
                "{extension}"
            );
        }
    }

    #[test]
    fn tables_and_logs_are_known_by_their_extensions() {
        for path in [
            "a/b.csv",
            "B.TSV",
            "n.ipynb",
            "x.log",
            "x.log.1",
            "x.LOG.2024-05-01",
        ] {
            assert!(is_table(path), "{path}");
            assert_eq!(is_log(path), path.starts_with('x'), "{path}");
        }
        for path in [
            "log", "a.log.gz", "catalog", "log.rs", "csv/a.py", "v1.2", "",
        ] {
            assert!(!is_table(path) && !is_log(path), "{path}");
        }
    }

    #[test]
    fn one_long_run_of_digits_is_encoded_and_words_are_not() {
        let run = "iVBORw0KGgo+/".repeat(100);
        assert!(is_encoded(&run) && is_encoded(&format!("    \"image/png\": \"{run}\\n\",")));
        assert!(!is_encoded(&run[..100]));
        assert!(!is_encoded(&"word and word ".repeat(100)));
        assert!(!is_encoded(&"a1,b2;".repeat(200)));
    }

    #[track_caller]
    fn check(path: &str, language: Option<&str>, prose: bool) {
        assert_eq!(language_name(path, ""), language, "{path}");
        assert_eq!(is_prose(path, language), prose, "{path}");
    }

    #[test]
    fn files_are_known_by_their_names() {
        check("src/main.rs", Some("rust"), false);
        check("Main.RS", Some("rust"), false);
        check("a/Dockerfile", Some("dockerfile"), false);
        check("CMakeLists.txt", Some("cmake"), false);
        check("a/terraform.tfvars", Some("hcl"), false);
        check("notes.txt", Some("text"), true);
        check("docs/guide.md", Some("markdown"), true);
        check("docs/guide.rst", Some("rst"), true);
        check("guide.adoc", Some("asciidoc"), true);
        check("LICENSE-MIT", None, true);
        check("run", None, false);
        check("a.rs/data", None, false);
        check("archive.unknown", None, false);
        check("", None, true);
        assert_eq!(language_name("run", "#!/bin/sh\n"), Some("bash"));
    }
}
