//! What a file is, by its name: data, and two look-ups.

use ctx::model::ChunkKind;

/// Extension, language as an info string names it. Sorted, so that a look-up is a binary search.
const LANGUAGES: &[(&str, &str)] = &[
    ("adb", "ada"),
    ("adoc", "asciidoc"),
    ("asm", "asm"),
    ("astro", "astro"),
    ("awk", "awk"),
    ("bash", "bash"),
    ("bat", "bat"),
    ("bazel", "starlark"),
    ("bib", "bibtex"),
    ("bzl", "starlark"),
    ("c", "c"),
    ("cc", "cpp"),
    ("cfg", "ini"),
    ("cjs", "javascript"),
    ("clj", "clojure"),
    ("cljs", "clojure"),
    ("cmake", "cmake"),
    ("conf", "ini"),
    ("cpp", "cpp"),
    ("cs", "csharp"),
    ("csproj", "xml"),
    ("css", "css"),
    ("csv", "csv"),
    ("cts", "typescript"),
    ("cu", "cuda"),
    ("cxx", "cpp"),
    ("d", "d"),
    ("dart", "dart"),
    ("diff", "diff"),
    ("dockerfile", "dockerfile"),
    ("el", "elisp"),
    ("elm", "elm"),
    ("erl", "erlang"),
    ("ex", "elixir"),
    ("exs", "elixir"),
    ("f90", "fortran"),
    ("fish", "fish"),
    ("fs", "fsharp"),
    ("go", "go"),
    ("gql", "graphql"),
    ("gradle", "groovy"),
    ("graphql", "graphql"),
    ("groovy", "groovy"),
    ("h", "c"),
    ("hcl", "hcl"),
    ("hpp", "cpp"),
    ("hs", "haskell"),
    ("htm", "html"),
    ("html", "html"),
    ("ini", "ini"),
    ("ipynb", "json"),
    ("java", "java"),
    ("jl", "julia"),
    ("js", "javascript"),
    ("json", "json"),
    ("json5", "json5"),
    ("jsonl", "json"),
    ("jsx", "jsx"),
    ("kt", "kotlin"),
    ("kts", "kotlin"),
    ("less", "less"),
    ("lisp", "lisp"),
    ("lua", "lua"),
    ("m", "objectivec"),
    ("markdown", "markdown"),
    ("md", "markdown"),
    ("mdx", "mdx"),
    ("mjs", "javascript"),
    ("mk", "makefile"),
    ("ml", "ocaml"),
    ("mli", "ocaml"),
    ("mm", "objectivec"),
    ("mts", "typescript"),
    ("nim", "nim"),
    ("nix", "nix"),
    ("org", "org"),
    ("pas", "pascal"),
    ("patch", "diff"),
    ("php", "php"),
    ("pl", "perl"),
    ("pm", "perl"),
    ("proto", "protobuf"),
    ("ps1", "powershell"),
    ("py", "python"),
    ("pyi", "python"),
    ("r", "r"),
    ("rb", "ruby"),
    ("rs", "rust"),
    ("rst", "rst"),
    ("s", "asm"),
    ("sass", "sass"),
    ("scala", "scala"),
    ("scss", "scss"),
    ("sh", "bash"),
    ("sol", "solidity"),
    ("sql", "sql"),
    ("svelte", "svelte"),
    ("svg", "xml"),
    ("swift", "swift"),
    ("tex", "latex"),
    ("tf", "hcl"),
    ("tfvars", "hcl"),
    ("thrift", "thrift"),
    ("toml", "toml"),
    ("ts", "typescript"),
    ("tsv", "tsv"),
    ("tsx", "tsx"),
    ("txt", "text"),
    ("vb", "vb"),
    ("vim", "vim"),
    ("vue", "vue"),
    ("wat", "wat"),
    ("wgsl", "wgsl"),
    ("xml", "xml"),
    ("xsd", "xml"),
    ("xsl", "xml"),
    ("yaml", "yaml"),
    ("yml", "yaml"),
    ("zig", "zig"),
    ("zsh", "bash"),
];

/// Files known by their whole name, in lower case. Sorted.
const NAMES: &[(&str, &str)] = &[
    ("build", "starlark"),
    ("cargo.lock", "toml"),
    ("cmakelists.txt", "cmake"),
    ("containerfile", "dockerfile"),
    ("dockerfile", "dockerfile"),
    ("gemfile", "ruby"),
    ("gnumakefile", "makefile"),
    ("go.mod", "go"),
    ("jenkinsfile", "groovy"),
    ("justfile", "just"),
    ("makefile", "makefile"),
    ("poetry.lock", "toml"),
    ("rakefile", "ruby"),
    ("vagrantfile", "ruby"),
];

/// Languages that people read rather than machines.
const PROSE: &[&str] = &["asciidoc", "latex", "markdown", "mdx", "org", "rst", "text"];

/// The language of the file that `path` names, if its name tells.
pub(crate) fn of(path: &str) -> Option<&'static str> {
    let name = file_name(path).to_ascii_lowercase();
    find(NAMES, &name).or_else(|| find(LANGUAGES, name.rsplit_once('.')?.1))
}

/// What a file in `language` is: a document when people read it, else a file.
pub(crate) fn kind(path: &str, language: Option<&str>) -> ChunkKind {
    let prose = if let Some(language) = language {
        PROSE.contains(&language)
    } else {
        // README, LICENSE, CHANGELOG and their like: capitals and no extension.
        let capital = |b: u8| b.is_ascii_uppercase() || b"-_".contains(&b);
        file_name(path).bytes().all(capital)
    };
    if prose {
        ChunkKind::Document
    } else {
        ChunkKind::File
    }
}

/// The last part of `path`.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit(['/', std::path::MAIN_SEPARATOR])
        .next()
        .unwrap_or(path)
}

fn find(table: &'static [(&str, &str)], key: &str) -> Option<&'static str> {
    let at = table.binary_search_by_key(&key, |(name, _)| name).ok()?;
    Some(table[at].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted() {
        for table in [LANGUAGES, NAMES] {
            assert!(table.is_sorted_by(|a, b| a.0 < b.0));
        }
        assert!(PROSE.is_sorted());
    }

    #[track_caller]
    fn check(path: &str, language: Option<&str>, expected: &ChunkKind) {
        assert_eq!(of(path), language, "{path}");
        assert_eq!(&kind(path, language), expected, "{path}");
    }

    #[test]
    fn files_are_known_by_their_names() {
        let (file, document) = (ChunkKind::File, ChunkKind::Document);
        check("src/main.rs", Some("rust"), &file);
        check("Main.RS", Some("rust"), &file);
        check("a/Dockerfile", Some("dockerfile"), &file);
        check("CMakeLists.txt", Some("cmake"), &file);
        check("notes.txt", Some("text"), &document);
        check("docs/guide.md", Some("markdown"), &document);
        check("LICENSE-MIT", None, &document);
        check("run", None, &file);
        check("a.rs/data", None, &file);
        check("archive.unknown", None, &file);
        check("", None, &document);
    }
}
