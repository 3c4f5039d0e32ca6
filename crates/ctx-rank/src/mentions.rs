//! Files that a question mentions.

use std::ops::Range;

use crate::names::Name;
use crate::query::Region;
use crate::role::is_prose;
use crate::words::{is_of_word, is_unspaced};

/// A mention of a file, with a line or a definition in it if one is given.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileMention {
    /// The path as written, with `/` as separator, and without a leading `./`.
    pub path: String,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The last line, if `line` is the first of several: not below `line`.
    pub end: Option<u32>,
    /// The name after the path in a [typed](crate::Query::typed) question: `test_a` of
    /// `tests/a.py::test_a`, `get` of `api.py#get`. In any question, that of a test that a runner
    /// reports as failed: `FAILED tests/a.py::test_a`, `FAIL a.test.ts > suite > does x`.
    pub name: Option<Name>,
}

impl FileMention {
    /// The definition called `name` in the file at `path`.
    pub(crate) fn defined(path: String, name: Name) -> Self {
        FileMention {
            path,
            line: None,
            end: None,
            name: Some(name),
        }
    }

    /// Whether it refers to a part of the file.
    pub fn is_part(&self) -> bool {
        self.line.is_some() || self.name.is_some()
    }
}

/// The most bytes of a pattern of file names.
const MOST_PATTERN_BYTES: usize = 200;

/// Extensions of files that people write by hand. Sorted.
const EXTENSIONS: &[&str] = &[
    "adoc", "bash", "c", "cc", "cfg", "conf", "cpp", "cs", "css", "cxx", "dart", "ex", "exs", "go",
    "gradle", "h", "hcl", "hh", "hpp", "hs", "html", "ini", "ipynb", "java", "js", "json", "jsx",
    "kt", "lua", "m", "md", "mdx", "mjs", "ml", "php", "pl", "proto", "ps1", "py", "pyi", "r",
    "rb", "rs", "rst", "scala", "scss", "sh", "sql", "svelte", "swift", "tf", "tfvars", "toml",
    "ts", "tsx", "txt", "vue", "xml", "yaml", "yml", "zig",
];

/// Extensions of other files that questions name: of modules, of tables. Sorted.
const NAMED: &[&str] = &[
    "cjs", "csv", "cts", "jsonl", "kts", "mts", "ndjson", "sass", "tsv",
];

/// Extensions of files that questions name by a line of them; without one, such a word is mostly
/// something else. None of them is also a top-level domain: `example.org:443` is no line. Sorted.
const LINED: &[&str] = &[
    "asciidoc", "bats", "clj", "cljs", "cmake", "csx", "erl", "fs", "gemspec", "graphql", "groovy",
    "htm", "hxx", "inl", "ipp", "jl", "jsonc", "less", "log", "markdown", "nix", "phtml", "rake",
    "sbt", "sol", "zon", "zsh",
];

/// Names without an extension, in lower case, of files that tools report lines of.
const BARE: &[&str] = &[
    "brewfile",
    "containerfile",
    "dockerfile",
    "gemfile",
    "jenkinsfile",
    "justfile",
    "makefile",
    "podfile",
    "procfile",
    "rakefile",
    "vagrantfile",
];

/// Whether questions name files with this `extension`, in lower case; `has_line` if a line follows.
pub(crate) fn is_named(extension: &str, has_line: bool) -> bool {
    is_written(extension)
        || NAMED.binary_search(&extension).is_ok()
        || has_line && LINED.binary_search(&extension).is_ok()
}

/// Whether files with this `extension`, in lower case, are written by hand.
pub(crate) fn is_written(extension: &str) -> bool {
    EXTENSIONS.binary_search(&extension).is_ok()
}

/// The file that `word` names, by a known extension or, with a line, a known name. A link to a file
/// on a code host names that file. A leading `@`, by which agents and editors mark files, is
/// dropped.
pub(crate) fn mention_of(word: &str) -> Option<FileMention> {
    mention_with(word, "", "")
}

/// Like [`mention_of`], for one of the [words of a line](words_in): names below a folder may have
/// brackets and `$` in them, as routes of web frameworks do. After an `@` the first name may, too.
fn mention_in_line(word: &str) -> Option<FileMention> {
    let signs = "[]()=$";
    let of_first = if word.starts_with('@') { signs } else { "" };
    mention_with(word, of_first, signs)
}

/// The file that `word` names; its first name may have the signs `of_first` in it, and names below
/// a folder may have `signs`.
fn mention_with(word: &str, of_first: &str, signs: &str) -> Option<FileMention> {
    let word = before_text(word)
        .trim_end_matches(['.', ':', '!', '?', '*'])
        .trim_start_matches('*');
    let (word, is_link) = match word.split_once("://") {
        Some((scheme, address)) => (opened(scheme, address).or_else(|| linked(address))?, true),
        None => (without_drive(word), false),
    };
    let (path, lines) = with_lines(word);
    let path = path
        .split(['?', '#'])
        .next()
        .unwrap_or(path)
        .replace('\\', "/");
    let path = path.strip_prefix('@').unwrap_or(&path);
    let path = path.trim_start_matches("./").trim_start_matches("../");
    let name = path.rsplit('/').next().unwrap_or(path);
    let (stem, is_known) = match name.rsplit_once('.') {
        // Reports name logs that are elsewhere, but seldom a line of one.
        Some((stem, it)) => (stem, is_named(&it.to_lowercase(), lines.is_some())),
        None => (name, lines.is_some() && is_bare(name)),
    };
    let is_name =
        |c: char, signs: &str| is_of_word(c) || "_-./+@~ ".contains(c) || signs.contains(c);
    let (first, below) = path.split_once('/').unwrap_or((path, ""));
    // `console.c` cannot be told from a file, and is taken for one; with a single letter before the
    // dot, as in `e.c`, it is not.
    let is_path = is_known && (stem.len() > 1 || path.contains('/')) && path.len() <= 400;
    (is_path
        && !stem.is_empty()
        && first.chars().all(|c| is_name(c, of_first))
        && below.chars().all(|c| is_name(c, signs))
        && (is_link || !path.starts_with("//")))
    .then(|| FileMention {
        path: path.trim_start_matches('/').to_owned(),
        line: lines.map(|it| it.0),
        end: lines.and_then(|it| it.1),
        name: None,
    })
}

/// Whether `name` is one of [`BARE`], in any case.
fn is_bare(name: &str) -> bool {
    BARE.iter().any(|it| it.eq_ignore_ascii_case(name))
}

/// The file and the definition in it that `word` names: `tests/a.py::TestA::test_b`, as pytest
/// prints it, or `src/api.py#get`. In a document, `#` leads to a heading, not to a definition.
pub(crate) fn definition_of(word: &str) -> Option<FileMention> {
    let word = word.trim_end_matches(['.', ':', '!', '?', '*']);
    let (path, text) = word.split_once("::").or_else(|| word.split_once('#'))?;
    let mut mention = mention_of(path).filter(|it| it.line.is_none())?;
    let extension = mention.path.rsplit_once('.').map_or("", |(_, it)| it);
    let is_name = |it: &str| {
        let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
        it.chars().all(is_of_name) && it.starts_with(|c: char| !c.is_ascii_digit())
    };
    let mut names = text.rsplit("::").flat_map(|it| it.rsplit('.'));
    let number = text.strip_prefix('L').filter(|it| !it.is_empty());
    let is_line = word.contains("#L") && number.is_some_and(|it| behind_digits(it).is_empty());
    let is_heading = is_prose(&extension.to_lowercase()) || extension == "html";
    if is_line || is_heading || path.contains("://") || !names.clone().all(is_name) {
        return None;
    }
    let last = names.next()?.to_owned();
    mention.name = Some(Name {
        text: text.to_owned(),
        last,
        sign: None,
        within: names.next().map(str::to_owned),
        region: Region::Title,
        may_be_file: false,
    });
    Some(mention)
}

/// The files that `word` names if text in a script without spaces may adjoin their names: the
/// pieces between such text, and the whole word, that may be files.
pub(crate) fn mentions_among(word: &str) -> Vec<FileMention> {
    let is_of_other = |c: char| {
        let is_sign = matches!(c, '\u{3000}'..='\u{303f}' | '\u{ff00}'..='\u{ff5e}');
        is_unspaced(c) || is_sign
    };
    if word.is_ascii() || !word.contains(is_of_other) {
        return mention_in_line(word).into_iter().collect();
    }
    let pieces = word.split(is_of_other).filter_map(mention_in_line);
    pieces.chain(mention_in_line(word)).collect()
}

impl FileMention {
    /// Whether it is `other` with text in a script without spaces before it.
    pub(crate) fn is_joined_to(&self, other: &FileMention) -> bool {
        let before = self.path.strip_suffix(&other.path);
        before.is_some_and(|it| it.ends_with(is_unspaced))
    }
}

/// The longest name of a file that is looked for in a longer text, in bytes: no path of a
/// [`FileMention`] is longer, and lines may follow it.
const LONGEST_FILE: usize = 400 + "#L4294967295-L4294967295".len();

/// The name of a file, with its lines, that `word` begins with, where text in a script without
/// spaces follows it at once: `docs/a.md:3` of `docs/a.md:3的内容`. `None` if there is no such
/// text, or the whole word is the name of a file. O(bytes).
///
/// ```
/// assert_eq!(ctx_rank::file_before_text("docs/a.md:3的内容"), Some("docs/a.md:3"));
/// assert_eq!(ctx_rank::file_before_text("docs/说明.md"), None);
/// ```
pub fn file_before_text(word: &str) -> Option<&str> {
    let near = &word[..word.floor_char_boundary(LONGEST_FILE)];
    let mut before = None;
    let ends = near.char_indices().filter_map(|(at, c)| {
        let is_joint = is_unspaced(c) && before.is_some_and(|it| !is_unspaced(it));
        before = Some(c);
        is_joint.then_some(&near[..at])
    });
    let mut files = ends.filter_map(|it| Some((it, mention_in_line(it)?)));
    let (file, mention) = files.next()?;
    // What follows lines is no part of a name.
    (mention.line.is_some() || mention_in_line(word).is_none()).then_some(file)
}

/// The byte range in `piece` of the line numbers, with the sign before them, of the first file that
/// has any.
pub(crate) fn lines_in(piece: &str) -> Option<Range<usize>> {
    words_in(piece).find_map(|(start, word)| {
        mention_in_line(word)?.line?;
        let trimmed = before_text(word).trim_end_matches(['.', ':', '!', '?', '*']);
        let (path, _) = with_lines(trimmed);
        let lines = &trimmed[path.len()..];
        let end = lines.find(is_unspaced).unwrap_or(lines.len());
        Some(start + path.len()..start + path.len() + end)
    })
}

/// Where in `piece`, a word with what stands around it, the first file stands that it names with a
/// line: `a.rs:3`, `a.ts(3,5)`.
pub(crate) fn line_mention_in(piece: &str) -> Option<Range<usize>> {
    words_in(piece).find_map(|(start, word)| {
        let mention = mention_in_line(word)?;
        let end = start + before_text(word).len();
        if mention.line.is_some() {
            return Some(start..end);
        }
        let behind = piece[end..].strip_prefix('(')?;
        lines_beside("", &piece[end..])?;
        let closed = behind.find(')').map_or(piece.len(), |it| end + it + 2);
        Some(start..closed)
    })
}

/// The local path in a link of an editor or a browser: `file:///a/b.rs`,
/// `vscode://file/a/b.rs:12:3`.
fn opened<'a>(scheme: &str, address: &'a str) -> Option<&'a str> {
    let path = match scheme {
        "file" => address.get(address.find('/')?..)?,
        "vscode" | "vscode-insiders" | "cursor" => address.strip_prefix("file")?,
        _ => return None,
    };
    Some(without_drive(path.strip_prefix('/')?))
}

/// The path within a repository in the `address` of a code host: the part after the branch.
fn linked(address: &str) -> Option<&str> {
    let behind = ["/blob/", "/tree/", "/src/"];
    let path = behind
        .iter()
        .find_map(|it| Some(address.split_once(it)?.1))?;
    Some(path.split_once('/')?.1)
}

/// The path of the file or folder that a link into a repository in `piece`, a word with adjoining
/// signs, leads to.
pub(crate) fn path_of_link(piece: &str) -> Option<String> {
    let mut words = piece.split(is_between).filter(|it| it.contains("://"));
    words.find_map(|it| mention_of(it).map(|it| it.path).or_else(|| folder_of(it)))
}

/// Whether `c` separates words of a line, and never belongs to the name of a file.
pub(crate) fn is_between(c: char) -> bool {
    c.is_whitespace() || "()[]{}<>\"'`,;=|".contains(c)
}

/// The words of `line`, each with its start. The path of a file in which names of folders or files
/// are in brackets, as in the routes of web frameworks (`app/[slug]/page.tsx`), is one word.
/// O(bytes).
pub(crate) fn words_in(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at;
        let rest = line.get(start..).filter(|it| !it.is_empty())?;
        let (word, with_brackets) = word_with_brackets(rest, is_between);
        let with_brackets = with_brackets.filter(|it| is_file(it));
        let word = with_brackets.unwrap_or(word);
        at += word.len();
        at += line[at..].chars().next().map_or(0, char::len_utf8);
        Some((start, word))
    })
}

/// The word that `text` begins with: up to the first character after an `@` at its beginning for
/// which `ends` holds. And, if there are names in brackets below a folder or after the `@`, the
/// word with these, as long as it is no longer than paths are: whether that is the path of a route
/// or a call with a link, [`is_file`] tells. O(bytes of the word).
///
/// ```
/// let ends = |c: char| c.is_whitespace() || "()[]".contains(c);
/// let word = |text| ctx_rank::word_with_brackets(text, ends);
/// let route = "app/(shop)/[[...path]]/page.tsx:12";
/// assert_eq!(word("app/(shop)/[[...path]]/page.tsx:12 fails"), ("app/", Some(route)));
/// assert_eq!(word("@[id].tsx, @a"), ("@", Some("@[id].tsx,")));
/// assert_eq!(word("f(x)"), ("f", None));
/// ```
pub fn word_with_brackets(text: &str, ends: impl Fn(char) -> bool) -> (&str, Option<&str>) {
    let near = &text[..text.floor_char_boundary(LONGEST_FILE)];
    let end_in =
        |text: &str, from: usize| text[from..].find(&ends).map_or(text.len(), |it| from + it);
    let first = end_in(text, usize::from(text.starts_with('@')));
    let mut end = first;
    while let Some(word) = near.get(..end)
        && (word == "@" || word.ends_with(['/', '\\', ']', ')']))
        && let Some(length) = name_in_brackets(&near[end..])
    {
        end = end_in(near, end + length);
    }
    (&text[..first], (end > first).then(|| &text[..end]))
}

/// Whether `word` names a file by a known extension or, with a line, a known name: a word of a
/// line, as [`word_with_brackets`] tells it, without punctuation around it. After an `@` its first
/// name may be in brackets, too. O(bytes).
pub fn is_file(word: &str) -> bool {
    mention_in_line(word).is_some()
}

/// The length of the name in brackets that `text` begins with: `[slug]`, `[[...path]]`, `(shop)`.
fn name_in_brackets(text: &str) -> Option<usize> {
    let (open, close) = [("[[", "]]"), ("[", "]"), ("(", ")")]
        .into_iter()
        .find(|it| text.starts_with(it.0))?;
    let is_of_name = |c: char| is_of_word(c) || "_-.=$".contains(c);
    let name = text[open.len()..].split(|c| !is_of_name(c)).next()?;
    let length = open.len() + name.len();
    (!name.is_empty() && text[length..].starts_with(close)).then_some(length + close.len())
}

/// `\a\b.rs` of `C:\a\b.rs`.
pub(crate) fn without_drive(path: &str) -> &str {
    match path.as_bytes() {
        [drive, b':', b'\\' | b'/', ..] if drive.is_ascii_alphabetic() => &path[2..],
        _ => path,
    }
}

/// The line that is given `before` or `after` the name of a file, and the last of several:
/// `a.ts(12,5)`, `a.ts (12,5)`, `a.py, line 12`, `lines 12 to 40 of a.py`. O(bytes).
pub fn lines_beside(before: &str, after: &str) -> Option<(u32, Option<u32>)> {
    if let Some(location) = after.strip_prefix('(') {
        let rest = behind_digits(location);
        if rest.starts_with([',', ':', ')']) {
            return Some((leading_number(location)?, None));
        }
    }
    let behind = after.strip_prefix(['`', '"']).unwrap_or(after);
    if let Some(location) = behind.strip_prefix(" (").filter(|it| is_printed(it)) {
        return Some((leading_number(location)?, None));
    }
    let is_between = |it: char| it.is_whitespace() || "`'\",:*()[]".contains(it);
    let after = after.trim_start_matches(is_between);
    let after = ["on ", "at ", "from "]
        .iter()
        .find_map(|it| after.strip_prefix(it))
        .unwrap_or(after);
    if let Some((lines, rest)) = lines_said(after) {
        // `lines 1 to 5 of a.rs, lines 3 to 9 of b.rs`
        let is_of_another = [" of ", " in "].iter().any(|it| rest.starts_with(it));
        if is_of_another && let Some(own) = lines_before(before, is_between) {
            return Some(own);
        }
        return Some(lines);
    }
    let marked = after.strip_prefix('L').and_then(leading_lines);
    if let Some(lines) = marked.filter(|it| it.1.is_some()) {
        return Some(lines);
    }
    lines_before(before, is_between)
}

/// The lines that `before` ends with, which stands in front of the name of a file.
fn lines_before(before: &str, is_between: impl Fn(char) -> bool) -> Option<(u32, Option<u32>)> {
    let before = before.trim_end_matches(is_between);
    let before = [" of", " in"]
        .iter()
        .find_map(|it| without_file(before).strip_suffix(it))?;
    let near = &before[before.ceil_char_boundary(before.len().saturating_sub(MOST_SAID))..];
    let begins_word = |at: &usize| !near[..*at].ends_with(char::is_alphanumeric);
    let starts = near.match_indices(['l', 'L']).map(|(at, _)| at);
    let said = starts
        .filter(begins_word)
        .filter_map(|at| lines_said(&near[at..]));
    let mut said = said.filter(|(_, rest)| !rest.contains(char::is_whitespace));
    said.next().map(|(lines, _)| lines)
}

/// The most bytes before ` of` that say lines: `line 4294967295 through line 4294967295`.
const MOST_SAID: usize = 48;

/// Removes ` the file` and ` the` from the end of `text`.
fn without_file(text: &str) -> &str {
    let text = text.strip_suffix(" file").unwrap_or(text);
    text.strip_suffix(" the").unwrap_or(text)
}

/// The lines that `text` begins with, as people say them, and the rest of it: `line 12`,
/// `lines 12-40`, `Lines 12 to 40`, `line 12 to line 40`.
fn lines_said(text: &str) -> Option<((u32, Option<u32>), &str)> {
    let (text, is_many) = behind_line(text)?;
    let (first, last) = leading_lines(text)?;
    let is_of_lines = |it: char| it.is_ascii_alphanumeric() || "-.\u{2013}".contains(it);
    let rest = text.trim_start_matches(is_of_lines);
    // After a single line, a dash would begin a remark.
    let dashes = [" - ", " \u{2013} "].iter().filter(|_| is_many);
    let mut joints = dashes.chain(&[" to ", " through ", " until "]);
    let joined = joints.find_map(|it| rest.strip_prefix(it));
    let joined = joined.map(|it| behind_line(it).map_or(it, |(rest, _)| rest));
    let end = joined.and_then(leading_number).filter(|&it| it >= first);
    Some(match (last, joined, end) {
        (None, Some(joined), Some(end)) => ((first, Some(end)), behind_digits(joined)),
        _ => ((first, last), rest),
    })
}

/// The rest of `text` after `line ` or `lines `, and whether it is the latter.
fn behind_line(text: &str) -> Option<(&str, bool)> {
    let length = text.bytes().take_while(u8::is_ascii_alphabetic).take(6);
    let (word, rest) = text.split_at(length.count());
    let rest = rest.strip_prefix(' ')?;
    let is_many = word.eq_ignore_ascii_case("lines");
    (is_many || word.eq_ignore_ascii_case("line")).then_some((rest, is_many))
}

/// Whether `location`, which follows the name of a file and ` (`, is a line as compilers print it:
/// a line and a column with nothing else in the brackets (`12,5)`, `12:5)`), or a line followed by
/// a verdict (`12) : error C2065`). People write `(12 lines)`, `(2019)` and `(2, 3)` there, and do
/// not mean lines.
fn is_printed(location: &str) -> bool {
    let rest = behind_digits(location);
    if let Some(column) = rest.strip_prefix([',', ':']) {
        let rest = behind_digits(column);
        return rest.len() < column.len() && rest.starts_with(')');
    }
    let verdict = rest.strip_prefix(')').map(str::trim_start);
    let verdict = verdict.and_then(|it| it.strip_prefix(':'));
    let verdict = verdict.map_or("", str::trim_start);
    let known = ["error", "fatal error", "warning", "note", "message"];
    known.iter().any(|it| verdict.starts_with(it))
}

fn behind_digits(text: &str) -> &str {
    text.trim_start_matches(|it: char| it.is_ascii_digit())
}

/// The folder that `word` may name: at least two names with slashes between them, or one with a
/// slash after it; for a pattern, the folder that contains all matches, as `src` for `src/**/*.rs`;
/// for a link to a code host, the folder it leads to. The caller has to tell `and/or` from a folder
/// by the folders that exist.
pub(crate) fn folder_of(word: &str) -> Option<String> {
    let word = match word.split_once("://") {
        Some((_, address)) => linked(address)?.split(['?', '#']).next()?,
        None => word,
    };
    let word = &word.replace('\\', "/");
    let path = word
        .trim_end_matches(['.', ':', '!', '?', '*'])
        .trim_start_matches(['*', '.', '/']);
    let path = match path.split_once('*') {
        Some((before, _)) => &path[..=before.rfind('/')?],
        None => path,
    };
    let bare = path.strip_suffix('/').unwrap_or(path);
    let is_name = |name: &str| {
        let is_of_name = |c: char| is_of_word(c) || "_-.+@".contains(c);
        !name.is_empty() && name != ".." && name.chars().all(is_of_name)
    };
    let is_folder = bare.len() < path.len() || bare.contains('/');
    (is_folder && bare.len() <= 400 && bare.split('/').all(is_name) && mention_of(word).is_none())
        .then(|| bare.to_owned())
}

/// The pattern of file names that `word` is: it has a `*` and an extension, as `*.toml`,
/// `test_*.py` and `crates/*/Cargo.toml`. `*this.rs*` and `**this.rs` are emphasis in Markdown, not
/// patterns.
pub(crate) fn pattern_of(word: &str) -> Option<String> {
    // A backslash before a pattern is an escape for a shell.
    let pattern = word.trim_start_matches('\\').replace('\\', "/");
    let pattern = pattern.trim_end_matches(['.', ':', '!', '?']);
    let is_stressed = pattern.starts_with('*') && pattern.ends_with('*');
    let is_of_name = |c: char| is_of_word(c) || "_-.+@*".contains(c);
    let is_name = |it: &str| it == "**" || !it.contains("**") && it.chars().all(is_of_name);
    let name = pattern.rsplit('/').next().unwrap_or(pattern);
    let (_, extension) = name.rsplit_once('.')?;
    let is_extension =
        extension.chars().all(char::is_alphanumeric) && extension.contains(char::is_alphabetic);
    (is_extension
        && !is_stressed
        && pattern.contains('*')
        && pattern.len() <= MOST_PATTERN_BYTES
        && pattern.split('/').all(is_name))
    .then(|| pattern.to_owned())
}

/// Whether `word` may be the name of a file without a known extension.
pub(crate) fn may_be_file_name(word: &str) -> bool {
    let is_of_name = |c: char| is_of_word(c) || "_-.".contains(c);
    let has_letter = word.chars().any(char::is_alphabetic);
    has_letter && word.len() <= 100 && word.chars().all(is_of_name) && mention_of(word).is_none()
}

/// Splits `path:12`, `path:12:3`, `path#L12` into the path and the line.
pub(crate) fn with_line(word: &str) -> (&str, Option<u32>) {
    let (path, lines) = with_lines(word);
    (path, lines.map(|it| it.0))
}

/// Like [`with_line`], with the last of several lines: `path:12-40`, `path#L12-L40`.
fn with_lines(word: &str) -> (&str, Option<(u32, Option<u32>)>) {
    if let Some((path, lines)) = word.split_once("#L") {
        return (path, leading_lines(lines));
    }
    let mut rest = word;
    let mut lines = None;
    while let Some((path, number)) = rest.rsplit_once(':') {
        match leading_lines(number) {
            // A number before a slash is a port.
            Some(_) if number.contains('/') && word.contains("://") => break,
            Some(found) if !path.is_empty() => {
                (rest, lines) = (path, Some(found));
            }
            _ => break,
        }
    }
    (rest, lines)
}

/// The place that `word` begins with, if text follows its colon at once, as `grep -n` and traces
/// print it: `a.rs:202` of `a.rs:202:pub`, `a.cs` of `a.cs:line`, which .NET prints before the
/// number. Otherwise `word`. O(bytes).
pub(crate) fn before_text(word: &str) -> &str {
    let dots = word.match_indices('.').map(|(at, _)| at);
    let mut ends = dots.filter_map(|dot| {
        let name = &word[dot + 1..];
        let is_other = |c: char| !c.is_ascii_alphanumeric();
        let (extension, mut rest) = name.split_at(name.find(is_other)?);
        let is_file = || is_named(&extension.to_lowercase(), true);
        if rest == ":line" {
            return is_file().then_some(word.len() - rest.len());
        }
        let mut is_line = false;
        while let Some(number) = rest.strip_prefix(':')
            && number.starts_with(|c: char| c.is_ascii_digit())
        {
            rest = behind_digits(number);
            is_line = true;
        }
        let is_text = is_line && rest.len() > 1 && rest.starts_with(':');
        (is_text && is_file()).then_some(word.len() - rest.len())
    });
    ends.next().map_or(word, |end| &word[..end])
}

/// The line at the start of `text`, and the last line of a range that is not reversed: `12-40`,
/// `12-L40`, `12C5-L40C9`.
fn leading_lines(text: &str) -> Option<(u32, Option<u32>)> {
    let first = leading_number(text)?;
    let rest = behind_digits(text);
    let rest = rest.strip_prefix('C').map_or(rest, behind_digits);
    let signs = ["-", "\u{2013}", ".."];
    let last = signs.iter().find_map(|it| rest.strip_prefix(it));
    let last = last.map(|it| it.strip_prefix('L').unwrap_or(it));
    let last = last.and_then(leading_number);
    Some((first, last.filter(|&it| it >= first)))
}

pub(crate) fn whole_number(text: &str) -> Option<u32> {
    leading_number(text).filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

pub(crate) fn leading_number(text: &str) -> Option<u32> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text[..digits].parse().ok().filter(|&line| line > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_are_sorted() {
        assert!([EXTENSIONS, NAMED, LINED].iter().all(|it| it.is_sorted()));
    }
}
