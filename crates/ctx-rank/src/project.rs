//! Questions about a project as a whole.

use crate::Query;
use crate::words::says_nothing;

/// Words for a project of any kind.
const PROJECTS: [&str; 4] = ["codebase", "project", "repo", "repository"];
/// Words for a kind of project; they mean the project at hand only in some contexts, since its
/// files may be about others of the kind.
const KINDS: [&str; 12] = [
    "app",
    "application",
    "crate",
    "framework",
    "gem",
    "lib",
    "library",
    "package",
    "plugin",
    "program",
    "software",
    "tool",
];
/// Names of project folders that name things within projects, too.
const ANYTHING: [&str; 38] = [
    "admin", "api", "auth", "backend", "build", "cache", "cli", "client", "code", "common",
    "config", "core", "data", "database", "docs", "engine", "frontend", "gateway", "index",
    "infra", "main", "parser", "router", "scripts", "search", "server", "service", "services",
    "session", "shared", "source", "src", "test", "tests", "utils", "web", "work", "worker",
];
/// What archives of a branch append to the name of the folder.
const BRANCHES: [&str; 2] = ["-main", "-master"];
/// Words before the name of one project among many.
const SOME: [&str; 10] = [
    "a", "an", "another", "any", "each", "every", "one", "other", "some", "which",
];
/// Words before the name of the project at hand.
const THIS: [&str; 5] = ["entire", "our", "this", "whole", "your"];
/// Words that ask for an overview.
const OVERVIEW: [&str; 8] = [
    "description",
    "goal",
    "goals",
    "intro",
    "introduction",
    "overview",
    "purpose",
    "summary",
];
/// Words that accompany the words of [`OVERVIEW`].
const ASKING: [&str; 21] = [
    "brief",
    "contain",
    "contains",
    "describe",
    "explain",
    "give",
    "high",
    "high-level",
    "introduce",
    "level",
    "problem",
    "quick",
    "short",
    "show",
    "solve",
    "solves",
    "summarise",
    "summarize",
    "tell",
    "work",
    "works",
];
/// Words that ask how to begin.
const START: [&str; 4] = ["begin", "start", "started", "starting"];
/// Subjects of a question about how to begin: how the program itself starts is another question.
const WHO: [&str; 4] = ["i", "one", "to", "we"];
/// Verbs of a question about how to begin with a named project: `getting started` alone may be the
/// title of a page.
const GETTING: [&str; 2] = ["get", "getting"];
/// The names, without extensions, of the files that answer a question about a
/// [project](crate::Intent::Project) or its [news](crate::Intent::News): first the file about the
/// project as a whole, then those about its changes, which begin with the latest.
pub const FRONT_FILES: [&str; 5] = ["README", "CHANGELOG", "CHANGES", "HISTORY", "NEWS"];
/// Words that ask what is new.
const NEWS: [&str; 10] = [
    "added",
    "changed",
    "changelog",
    "changes",
    "happened",
    "improved",
    "new",
    "news",
    "notes",
    "updates",
];
/// Words for the latest release.
const LATEST: [&str; 5] = ["last", "latest", "newest", "recent", "recently"];
const RELEASES: [&str; 5] = ["release", "released", "releases", "version", "versions"];
/// Words that ask how something came about, or is to be done, and not what is new.
const HOW: [&str; 4] = ["how", "to", "where", "who"];
/// Words that ask about a part of the project: where a library is used is not a question about what
/// it is.
const OF_PARTS: [&str; 14] = [
    "get", "gets", "make", "makes", "need", "needs", "use", "used", "uses", "using", "when",
    "where", "who", "whom",
];

impl Query {
    /// Sets the project's `name`, mostly that of its folder: `what is flask?` is then a question
    /// [about it](crate::Intent::Project). A name that parts of a project often have, such as
    /// `server`, is ignored.
    #[must_use]
    pub fn in_project(mut self, name: &str) -> Self {
        let name = plain(name);
        let cut = BRANCHES.iter().find_map(|it| name.strip_suffix(it));
        let name = cut.unwrap_or(&name);
        let lists: [&[&str]; 3] = [&PROJECTS, &KINDS, &ANYTHING];
        let is_word =
            says_nothing(name) || is_cue(name) || lists.iter().any(|it| it.contains(&name));
        self.project = (name.len() > 2 && !is_word).then(|| name.to_owned());
        self.name_fronts();
        self
    }

    /// Whether it is about the [project](crate::Intent::Project).
    pub(crate) fn is_of_project(&self) -> bool {
        self.fronts.first() == FRONT_FILES.first()
    }

    fn asks_of_project(&self) -> bool {
        let names_more = !self.mentions.files.is_empty()
            || !self.mentions.folders.is_empty()
            || !self.mentions.phrases.is_empty();
        if names_more {
            return false;
        }
        let words = self.bare_words();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let has = |list: &[&str]| words.iter().any(|it| list.contains(it));
        let mut projects = 0;
        for (at, word) in words.iter().enumerate() {
            let before = at.checked_sub(1).map_or("", |before| words[before]);
            let is_this = THIS.contains(&before) || self.is_name(before);
            let is_kind = |it: &str| PROJECTS.contains(&it) || KINDS.contains(&it);
            if self.is_name(word) && !SOME.contains(&before) {
                let is_use = has(&OF_PARTS) && !(has(&HOW[..1]) && has(&WHO));
                if is_use && !has(&START) {
                    return false;
                }
                // `The flask project` counts as one mention.
                let goes_on = words.get(at + 1).is_some_and(|it| is_kind(it));
                projects += usize::from(!goes_on);
            } else if is_kind(word) {
                let is_one = is_this
                    || !has(&OF_PARTS)
                        && !SOME.contains(&before)
                        && (PROJECTS.contains(word) || before == "the" || has(&OVERVIEW));
                if !is_one {
                    return false;
                }
                projects += 1;
            } else if !says_nothing(word) && !is_cue(word) {
                return false;
            }
        }
        let is_alone = words.len() == 1;
        let is_overview = words == ["overview"] || has(&OVERVIEW) && !is_alone;
        let is_of_one = projects == 1 && (words.len() > 2 || has(&ASKING));
        match (projects, has(&START)) {
            (0, true) => has(&WHO) && !is_alone,
            (1, true) => has(&WHO) || has(&GETTING),
            (0 | 1, false) => is_of_one || is_overview,
            _ => false,
        }
    }

    /// Whether it is about the [news](crate::Intent::News) of the project.
    pub(crate) fn is_of_news(&self) -> bool {
        self.fronts.first() == FRONT_FILES.get(1)
    }

    fn asks_of_news(&self) -> bool {
        let words = self.bare_words();
        let is_one = |list: &[&str], it: &String| list.contains(&it.as_str());
        let has = |list: &[&str]| words.iter().any(|it| is_one(list, it));
        let is_known = |it: &String| {
            let known: [&[&str]; 4] = [&NEWS, &LATEST, &RELEASES, &PROJECTS];
            says_nothing(it) || self.is_name(it) || known.iter().any(|list| is_one(list, it))
        };
        // Words that only say that it is about the project, which is implied.
        let is_of_it = |it: &&String| {
            let it = it.as_str();
            PROJECTS.contains(&it)
                || THIS.contains(&it)
                || matches!(it, "in" | "the")
                || self.is_name(it)
        };
        let said: Vec<&String> = words.iter().filter(|it| !is_of_it(it)).collect();
        let is_what_is_new = said == ["what", "is", "new"] || said == ["what", "new"];
        let has_cues = u32::from(has(&NEWS)) + u32::from(has(&LATEST)) + u32::from(has(&RELEASES));
        let asks_more = has(&SOME) || has(&HOW);
        words.iter().all(is_known) && !asks_more && (is_what_is_new || has_cues > 1)
    }

    /// Replaces the names of files by those that answer a question about the project or its news,
    /// if it is one.
    pub(crate) fn name_fronts(&mut self) {
        self.fronts = if self.asks_of_project() {
            &FRONT_FILES[..1]
        } else if self.asks_of_news() {
            &FRONT_FILES[1..]
        } else {
            &[]
        };
        if !self.fronts.is_empty() {
            self.mentions.file_names = self.fronts.iter().map(|&it| it.to_owned()).collect();
        }
    }

    /// Whether the project has the name `word`, given in lower case.
    fn is_name(&self, word: &str) -> bool {
        let project = self.project.as_deref();
        project.is_some_and(|it| it == word || it == plain(word))
    }

    /// The words of a typed question in lower case, without an apostrophe and what follows it:
    /// `what's the project's purpose`.
    fn bare_words(&self) -> Vec<String> {
        let bare = |it: &str| -> String {
            let end = it.find(['\'', '\u{2019}']).unwrap_or(it.len());
            it[..end].to_lowercase()
        };
        self.words().map(bare).collect()
    }
}

/// A name in the form in which names are compared: people write `my-app` for `my_app`.
fn plain(name: &str) -> String {
    name.to_lowercase().replace('_', "-")
}

/// Whether `word`, in lower case, is one of those that ask about a project.
fn is_cue(word: &str) -> bool {
    let lists: [&[&str]; 3] = [&OVERVIEW, &ASKING, &START];
    lists.iter().any(|it| it.contains(&word))
}
