//! What a file is for, by its path and its text.

use crate::generated::{is_minified, says_generated};
use crate::mentions::is_written;
use crate::query::is_asking;
use crate::words::says_nothing;
use crate::{Intent, Query};

/// What a file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Role {
    /// The project's own code.
    Source,
    /// Tests, and their data.
    Test,
    /// Examples, benchmarks and demonstrations.
    Example,
    /// Text for people to read.
    Documentation,
    /// Settings of tools, manifests.
    Configuration,
    /// Files written by machines.
    Generated,
    /// Copies of other people's files.
    Vendored,
}

ctx_model::words! {
    Role, "role": Source = "source", Test = "test", Example = "example", Documentation = "documentation",
        Configuration = "configuration", Generated = "generated", Vendored = "vendored";
}

impl Role {
    /// The role of the file at `path`, whose parts are separated by `/`. Decided by names alone.
    pub fn of(path: &str) -> Role {
        // All names in the lists are ASCII, and few paths have a capital.
        let has_upper = path.bytes().any(|it| it.is_ascii_uppercase());
        let lower = has_upper.then(|| path.to_ascii_lowercase());
        if has_upper && is_below_pods(path) {
            return Role::Vendored;
        }
        let role = Role::of_lower(lower.as_deref().unwrap_or(path));
        let is_known = matches!(role, Role::Generated | Role::Vendored);
        if has_upper && !is_known && is_test_in_capitals(path, role) {
            return Role::Test;
        }
        role
    }

    /// The role of the file at `path` with this `text`: one whose first comments say that a machine
    /// wrote it is [`Generated`](Role::Generated), and so is a script or style sheet that consists
    /// mostly of long lines, unless it is vendored. Examines the first KiB for comments and the
    /// first 16 KiB for lines.
    pub fn of_text(path: &str, text: &str) -> Role {
        let role = Role::of(path);
        let is_known = matches!(role, Role::Generated | Role::Vendored);
        let says_so = || says_generated(text, is_prose_path(path));
        if !is_known && (says_so() || is_script(path) && is_minified(text)) {
            return Role::Generated;
        }
        role
    }

    /// Whether the file at `path` explains the project: prose that is not a licence, a translation,
    /// or source among documents. Plain text counts only at the root and below a folder of
    /// documentation: elsewhere it is mostly test data. Decided by names alone.
    pub fn explains(path: &str) -> bool {
        if Role::of(path) != Role::Documentation {
            return false;
        }
        let lower = path.to_ascii_lowercase();
        let (folders, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
        let extension = name.rsplit_once('.').map_or("", |(_, it)| it);
        let is_among_documents = || purposes(folders).any(|it| it == Role::Documentation);
        match extension {
            _ if is_legal(name) && !is_among_documents() => false,
            "po" | "pot" => false,
            "txt" => folders.is_empty() || is_among_documents(),
            "html" => is_front(name, extension) || is_among_documents(),
            _ => is_prose(extension) || is_front(name, extension),
        }
    }

    /// Whether the file at `path` records the changes of the project by release: a changelog, or
    /// one of many in a folder for them. Such a file mentions everything, and explains nothing.
    /// Decided by names alone.
    pub fn is_of_changes(path: &str) -> bool {
        if Role::of(path) != Role::Documentation {
            return false;
        }
        let lower = path.to_ascii_lowercase();
        let (folders, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
        let stem = name.split(['.', '-', '_']).next().unwrap_or_default();
        let is_notes = ["release-notes", "release_notes", "releasenotes"]
            .iter()
            .any(|it| name.starts_with(it));
        // Further down, such a file may be a chapter on that topic.
        let is_at_root = folders.is_empty() && matches!(stem, "history" | "news");
        is_at_root
            || is_notes
            || matches!(stem, "changelog" | "changes" | "releases" | "whatsnew")
            || folders.split('/').any(is_folder_of_changes)
    }

    /// Whether the file at `path` has the texts of a program in another language than English, as
    /// translators write them: `de.po`, `locales/de.json`, `app_de.arb`, `de.lproj/a.strings`. They
    /// say what others say, and many of them the same. Decided by names alone.
    pub fn is_translation(path: &str) -> bool {
        is_translation(&path.to_ascii_lowercase())
    }

    /// Whether a [typed](Query::typed) question asks for files of this role: by a word for it, by
    /// the name of such a file or folder, or, for documentation, by a version with a word about
    /// changes. Reports have such words in passing.
    pub fn is_asked_for(self, query: &Query) -> bool {
        if query.typed.is_some() && self != Role::Source && self.is_named(query) {
            return true;
        }
        if self == Role::Documentation && is_about_version(query) {
            return true;
        }
        query.words().any(|it| self.is_called(it))
    }

    /// Whether the first meaningful word of a [typed](Query::typed) question is a word for this
    /// role: `which tests cover the parser` wants tests before all else, while
    /// `what is done when a test fails` may be answered anywhere.
    pub fn is_asked_for_first(self, query: &Query) -> bool {
        let says_something = |it: &&str| !says_nothing(it) && !is_asking(it);
        let mut telling = query.words().filter(says_something);
        telling.next().is_some_and(|it| self.is_called(it))
    }

    /// Whether a [typed](Query::typed) question asks for tests, and for nothing that they test:
    /// `which tests cover the parser`, `where is the parser tested`.
    pub fn asks_for_tests_alone(query: &Query) -> bool {
        const BEFORE: [&str; 9] = [
            "all",
            "any",
            "e2e",
            "existing",
            "find",
            "integration",
            "list",
            "regression",
            "unit",
        ];
        const BEHIND: [&str; 16] = [
            "about",
            "check",
            "cover",
            "covering",
            "covers",
            "exercise",
            "exercising",
            "for",
            "have",
            "of",
            "on",
            "that",
            "use",
            "verify",
            "which",
            "with",
        ];
        const PLACE: [&str; 4] = ["are", "how", "is", "where"];
        let words: Vec<String> = query.words().map(str::to_lowercase).collect();
        let is_tests = |it: &String| matches!(it.as_str(), "tests" | "specs" | "fixtures");
        let is_before = |it: &String| says_nothing(it) || is_asking(it) || BEFORE.contains(&&**it);
        let has =
            |list: &[&str], word: Option<&String>| word.is_some_and(|it| list.contains(&&**it));
        let at = words.iter().position(is_tests);
        let lists =
            |at: usize| words[..at].iter().all(is_before) && has(&BEHIND, words.get(at + 1));
        at.is_some_and(lists) || has(&PLACE, words.first()) && has(&["tested"], words.last())
    }

    /// Whether `word` is a word for this role.
    fn is_called(self, word: &str) -> bool {
        let words: &[&str] = match self {
            Role::Test => &[
                "test", "tests", "tested", "fixture", "fixtures", "spec", "specs",
            ],
            Role::Example => &[
                "bench",
                "benchmark",
                "benchmarks",
                "demo",
                "example",
                "examples",
                "sample",
            ],
            Role::Documentation => &[
                "changelog",
                "docs",
                "documentation",
                "documented",
                "guide",
                "install",
                "installation",
                "manual",
                "readme",
                "tutorial",
            ],
            _ => return false,
        };
        words.iter().any(|it| it.eq_ignore_ascii_case(word))
    }

    /// Whether `query` names a file or a folder of this role.
    fn is_named(self, query: &Query) -> bool {
        let files = query.mentions.files.iter().map(|it| it.path.as_str());
        let names = query
            .mentions
            .file_names
            .iter()
            .chain(&query.mentions.patterns);
        let mut files = files.chain(names.map(String::as_str));
        let mut folders = query.mentions.folders.iter();
        files.any(|it| Role::of(it) == self)
            || folders.any(|it| Role::of(&format!("{it}/all")) == self)
    }

    fn of_lower(path: &str) -> Role {
        let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
        // The bit that represents a role.
        let bit = |role: Role| 1_u32 << role as u32;
        let below = purposes(folders).fold(0, |below, role| below | bit(role));
        let is_below = |role| below & bit(role) != 0;
        let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
        if is_below(Role::Vendored) || is_release(stem, extension) {
            Role::Vendored
        } else if is_generated(name, extension) {
            Role::Generated
        } else if is_below(Role::Test) || path.starts_with("testing/") || is_test(name, extension) {
            Role::Test
        } else if is_below(Role::Example) {
            Role::Example
        } else if is_below(Role::Documentation) || is_prose(extension) || is_front(name, extension)
        {
            Role::Documentation
        } else if is_configuration(extension) || name.starts_with('.') || is_translation(path) {
            Role::Configuration
        } else {
            Role::Source
        }
    }
}

impl Query {
    /// Whether it is about [changes](Intent::Changes): it has a version, asks for a changelog or
    /// for what is new, or when or in which release something was changed.
    pub(crate) fn is_of_changes(&self) -> bool {
        const CAME: [&str; 7] = [
            "added",
            "changed",
            "deprecated",
            "fixed",
            "introduced",
            "released",
            "removed",
        ];
        let words: Vec<String> = self.words().map(str::to_lowercase).collect();
        let has = |list: &[&str]| words.iter().any(|it| list.contains(&it.as_str()));
        let is_pair = |pair: &[String]| {
            matches!(
                (pair[0].as_str(), pair[1].as_str()),
                ("release", "notes")
                    | ("breaking", "change" | "changes")
                    | ("since" | "what" | "which", "release" | "version")
            )
        };
        let has_version = self.typed.is_some() && self.has_version();
        has_version
            || self.asks_for(Intent::News)
            || has(&["changelog", "changelogs", "news"])
            || has(&["when"]) && has(&CAME)
            || words.windows(2).any(is_pair)
    }
}

/// Whether a typed question is a version, or asks about changes in one.
fn is_about_version(query: &Query) -> bool {
    const WORDS: [&str; 17] = [
        "added",
        "change",
        "changed",
        "changes",
        "deprecated",
        "fixed",
        "introduced",
        "new",
        "news",
        "release",
        "released",
        "releases",
        "removed",
        "upgrade",
        "upgrading",
        "version",
        "versions",
    ];
    let is_it = |word: &str| WORDS.iter().any(|it| it.eq_ignore_ascii_case(word));
    let is_alone = query.words().count() == 1;
    query.has_version() && (is_alone || query.words().any(is_it))
}

/// The roles of files below `folders`, in lower case. Folders of packages are names and say
/// nothing: those below `src/main/java`, and the owner of a domain, as in `com/example`.
fn purposes(folders: &str) -> impl Iterator<Item = Role> {
    // The two folders before each one.
    let mut before: [&[u8]; 2] = [b"", b""];
    let mut is_in_packages = false;
    folders
        .as_bytes()
        .split(|&it| it == b'/')
        .filter_map(move |name| {
            let is_package = is_in_packages || matches!(before[1], b"com" | b"org");
            is_in_packages |=
                before[0] == b"src" && matches!(name, b"groovy" | b"java" | b"kotlin" | b"scala");
            before = [before[1], name];
            if is_package { None } else { of_folder(name) }
        })
}

/// The role of files in a folder of this name, given in lower case. A folder `testing` has tests
/// only at the root; further down it is mostly source that tests use.
fn of_folder(name: &[u8]) -> Option<Role> {
    Some(match name {
        b"_vendor" | b"bower_components" | b"node_modules" | b"site-packages" | b"third_party"
        | b"vendor" | b"vendored" => Role::Vendored,
        b"__fixtures__" | b"__mocks__" | b"__tests__" | b"fixtures" | b"spec" | b"specs"
        | b"test" | b"test_data" | b"test_utils" | b"testdata" | b"testing_data" | b"tests"
        | b"testutil" | b"testutils" => Role::Test,
        b"bench" | b"benches" | b"benchmark" | b"benchmarks" | b"demo" | b"demos" | b"example"
        | b"examples" | b"sample" | b"samples" => Role::Example,
        b"doc" | b"docs" | b"documentation" => Role::Documentation,
        _ => return None,
    })
}

/// Whether it is in the folder where `CocoaPods` keeps copies. A folder `pods` in lower case may be
/// anything.
fn is_below_pods(path: &str) -> bool {
    path.starts_with("Pods/") || path.contains("/Pods/")
}

fn is_prose_path(path: &str) -> bool {
    let extension = path.rsplit_once('.').map_or("", |(_, it)| it);
    is_prose(&extension.to_ascii_lowercase())
}

/// Whether it is a script or a style sheet for browsers.
fn is_script(path: &str) -> bool {
    let extension = path.rsplit_once('.').map_or("", |(_, it)| it);
    let known = ["js", "mjs", "cjs", "css"];
    known.iter().any(|it| it.eq_ignore_ascii_case(extension))
}

pub(crate) fn is_prose(extension: &str) -> bool {
    matches!(
        extension,
        "adoc" | "markdown" | "md" | "mdx" | "org" | "po" | "pot" | "rst" | "tex" | "txt"
    )
}

fn is_configuration(extension: &str) -> bool {
    matches!(
        extension,
        "cfg"
            | "conf"
            | "csv"
            | "ini"
            | "json"
            | "lock"
            | "mod"
            | "properties"
            | "sum"
            | "toml"
            | "tsv"
            | "xml"
            | "yaml"
            | "yml"
    )
}

/// Whether the file at `path`, in lower case, has texts in another language than English.
fn is_translation(path: &str) -> bool {
    const FOLDERS: [&str; 7] = [
        "_locales",
        "i18n",
        "l10n",
        "lang",
        "locale",
        "locales",
        "translations",
    ];
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let Some((stem, extension)) = name.rsplit_once('.') else {
        return false;
    };
    // `app_de`, `app_de_at`, `app.de`: the language is at the end of a name.
    let mut ends = stem.match_indices(['_', '.', '-']);
    let mut ends_with_language = || ends.any(|(at, _)| is_language(&stem[at + 1..]));
    let mut above = folders.split('/');
    match extension {
        "po" | "pot" | "xlf" | "xliff" => true,
        "arb" | "resx" => ends_with_language(),
        "strings" | "stringsdict" => {
            above.any(|it| it.strip_suffix(".lproj").is_some_and(is_language))
        }
        "js" | "json" | "php" | "properties" | "rb" | "toml" | "ts" | "xml" | "yaml" | "yml" => {
            let is_of_android = |it: &str| it.strip_prefix("values-").is_some_and(is_language);
            above.clone().any(is_of_android)
                || above.any(|it| FOLDERS.contains(&it))
                    && (is_language(above.next().unwrap_or(stem)) || ends_with_language())
        }
        _ => false,
    }
}

/// The codes of languages other than English (ISO 639-1).
const LANGUAGES: &str = "\
    aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr \
    cs cu cv cy da de dv dz ee el eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu \
    gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki kj \
    kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn \
    mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu \
    rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta te tg \
    th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu";

/// Whether `code`, in lower case, is that of a language other than English, with a region or a
/// script if there is one: `de`, `pt-br`, `zh_hans`.
fn is_language(code: &str) -> bool {
    let mut parts = code.split(['-', '_']);
    let language = parts.next().unwrap_or_default();
    let is_region =
        |it: &str| (2..=4).contains(&it.len()) && it.bytes().all(|it| it.is_ascii_alphanumeric());
    LANGUAGES.split(' ').any(|it| it == language) && parts.all(is_region)
}

fn is_generated(name: &str, extension: &str) -> bool {
    // By the extension first, as it rules out most names at once.
    match extension {
        "lock" | "map" | "snap" => true,
        "css" => name.ends_with(".min.css"),
        "js" => name.ends_with(".min.js") || name.ends_with(".bundle.js"),
        "mjs" => name.ends_with(".min.mjs"),
        "go" => name.ends_with(".pb.go") || name.ends_with("_generated.go"),
        "py" => name.ends_with("_pb2.py") || name.ends_with("_pb2_grpc.py"),
        "cc" => name.ends_with(".pb.cc"),
        "h" => name.ends_with(".pb.h"),
        "cs" => name.ends_with(".generated.cs") || name.ends_with(".g.cs"),
        "dart" => name.ends_with(".g.dart"),
        // Lock files that are not known by their extension.
        _ => matches!(
            name,
            "go.sum"
                | "npm-shrinkwrap.json"
                | "package-lock.json"
                | "packages.lock.json"
                | "pnpm-lock.yaml"
        ),
    }
}

/// Whether it is named like `jquery-3.5.1.js`: a script with a version in its name is a copy.
fn is_release(stem: &str, extension: &str) -> bool {
    let is_number = |it: &str| !it.is_empty() && it.bytes().all(|b| b.is_ascii_digit());
    let is_version = |(_, it): (&str, &str)| it.contains('.') && it.split('.').all(is_number);
    matches!(extension, "js" | "css") && stem.rsplit_once('-').is_some_and(is_version)
}

fn is_test(name: &str, extension: &str) -> bool {
    let (stem, rest) = name.split_once('.').unwrap_or((name, ""));
    // The parts between stem and extension, with a dot after each.
    let words = &rest[..rest.len() - extension.len()];
    stem.starts_with("test_")
        || stem.ends_with("_test")
        || stem.ends_with("_tests")
        || stem.ends_with("_spec")
        || matches!(stem, "conftest" | "tests")
        || words
            .split_terminator('.')
            .any(|it| matches!(it, "test" | "spec" | "test-d"))
}

/// Whether a folder in `path`, or a source at its end, is named as tests are where names have
/// capitals: `PoolTests.cs`, `PoolTest.java`, `Acme.Pool.Tests/`. In small letters a name may only
/// end like that: `latest`, `contests`.
fn is_test_in_capitals(path: &str, role: Role) -> bool {
    let is_one = |name: &str| {
        let mut before = ["Test", "Tests"]
            .iter()
            .filter_map(|it| name.strip_suffix(it));
        before.any(|it| {
            it.ends_with(|it: char| {
                it.is_ascii_lowercase() || it.is_ascii_digit() || matches!(it, '.' | '_' | '-')
            })
        })
    };
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.rsplit_once('.').map_or(name, |it| it.0);
    role == Role::Source && is_one(stem) || folders.split('/').any(is_one)
}

fn is_folder_of_changes(name: &str) -> bool {
    matches!(
        name,
        "changelog"
            | "changelog.d"
            | "changelogs"
            | "changes"
            | "newsfragments"
            | "release-notes"
            | "release_notes"
            | "releases"
            | "whatsnew"
    )
}

/// Whether it is about licences and authors: much prose, but nothing about what the project does.
fn is_legal(name: &str) -> bool {
    let stem = name.split(['.', '-', '_']).next().unwrap_or_default();
    matches!(
        stem,
        "authors"
            | "copying"
            | "copyright"
            | "licence"
            | "license"
            | "notice"
            | "patents"
            | "unlicense"
    )
}

/// Whether it is a front page of a project, and not code or data of that name: `history.rs` is
/// source.
fn is_front(name: &str, extension: &str) -> bool {
    let stem = name.split(['.', '-']).next().unwrap_or_default();
    let is_one = matches!(
        stem,
        "readme"
            | "license"
            | "licence"
            | "changelog"
            | "changes"
            | "contributing"
            | "authors"
            | "notice"
            | "copying"
            | "history"
            | "news"
    );
    is_one && (extension == "html" || !is_written(extension))
}
