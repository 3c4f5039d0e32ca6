//! Files that a text names, and calls of its stack traces.

/// A file, and a line of it where one is named.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// As it is written, with `/` between its parts, and without `./` before it.
    pub path: String,
    /// From 1.
    pub line: Option<u32>,
}

/// One call of a stack trace.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Frame {
    /// The file, where it is named.
    pub path: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The function, as the trace names it.
    pub function: Option<String>,
}

/// No line that tells of a call is longer.
const MOST_FRAME_BYTES: usize = 2000;

/// No pattern of names is longer.
const MOST_PATTERN_BYTES: usize = 200;

/// Extensions of what people write by hand. Sorted.
const EXTENSIONS: &[&str] = &[
    "adoc", "bash", "c", "cc", "cfg", "conf", "cpp", "cs", "css", "cxx", "dart", "ex", "exs", "go",
    "gradle", "h", "hcl", "hh", "hpp", "hs", "html", "ini", "ipynb", "java", "js", "json", "jsx",
    "kt", "lua", "m", "md", "mdx", "mjs", "ml", "php", "pl", "proto", "ps1", "py", "pyi", "r",
    "rb", "rs", "rst", "scala", "scss", "sh", "sql", "svelte", "swift", "tf", "tfvars", "toml",
    "ts", "tsx", "txt", "vue", "xml", "yaml", "yml", "zig",
];

/// Whether files with this `extension`, in lower case, are written by hand.
pub(crate) fn is_written(extension: &str) -> bool {
    EXTENSIONS.binary_search(&extension).is_ok()
}

/// The file that `word` names: with a known extension, or with a slash and an extension. A link to a file
/// on a code host names the file.
pub(crate) fn place_of(word: &str) -> Option<Place> {
    let word = word
        .trim_end_matches(['.', ':', '!', '?', '*'])
        .trim_start_matches('*');
    let (word, is_link) = match word.split_once("://") {
        Some((_, address)) => (linked(address)?, true),
        None => (without_drive(word), false),
    };
    let (path, line) = with_line(word);
    let path = path
        .split(['?', '#'])
        .next()
        .unwrap_or(path)
        .replace('\\', "/");
    let path = path.trim_start_matches("./").trim_start_matches("../");
    let name = path.rsplit('/').next().unwrap_or(path);
    let (stem, extension) = name.rsplit_once('.')?;
    let is_known = is_written(&extension.to_lowercase());
    let is_name = |c: char| c.is_alphanumeric() || "_-./+@~ ".contains(c);
    // `e.g` and `console.c` are not told from files; a letter and a dot are none.
    let is_path = is_known && (stem.len() > 1 || path.contains('/')) && path.len() <= 400;
    (is_path
        && !stem.is_empty()
        && path.chars().all(is_name)
        && (is_link || !path.starts_with("//")))
    .then(|| Place {
        path: path.trim_start_matches('/').to_owned(),
        line,
    })
}

/// The path in its repository that the `address` of a code host leads to: what follows the branch.
fn linked(address: &str) -> Option<&str> {
    let behind = ["/blob/", "/tree/", "/src/"];
    let path = behind
        .iter()
        .find_map(|it| Some(address.split_once(it)?.1))?;
    Some(path.split_once('/')?.1)
}

/// What of `piece`, a word with what stands around it, names something in the repository that it is a link into: the path of a
/// file or a folder.
pub(crate) fn path_of_link(piece: &str) -> Option<String> {
    let mut words = piece.split(is_between).filter(|it| it.contains("://"));
    words.find_map(|it| place_of(it).map(|it| it.path).or_else(|| folder_of(it)))
}

/// Whether `c` stands between words of a line, and in none that names a file.
pub(crate) fn is_between(c: char) -> bool {
    c.is_whitespace() || "()[]{}<>\"'`,;=|".contains(c)
}

/// `\a\b.rs` of `C:\a\b.rs`.
fn without_drive(path: &str) -> &str {
    match path.as_bytes() {
        [drive, b':', b'\\' | b'/', ..] if drive.is_ascii_alphabetic() => &path[2..],
        _ => path,
    }
}

/// The line of a file that is told `before` its name or `after` it: `a.ts(12,5)`, `a.ts (12,5)`, `a.py, line 12`, `line 12 of
/// a.py`.
pub(crate) fn line_beside(before: &str, after: &str) -> Option<u32> {
    if let Some(place) = after.strip_prefix('(') {
        let rest = behind_digits(place);
        if rest.starts_with([',', ':', ')']) {
            return leading_number(place);
        }
    }
    let behind = after.strip_prefix(['`', '"']).unwrap_or(after);
    if let Some(place) = behind.strip_prefix(" (").filter(|it| is_printed(it)) {
        return leading_number(place);
    }
    let is_between = |it: char| it.is_whitespace() || "`'\",:*()[]".contains(it);
    let after = after.trim_start_matches(is_between);
    let after = ["on ", "at "]
        .iter()
        .find_map(|it| after.strip_prefix(it))
        .unwrap_or(after);
    let number = ["line ", "lines ", "Line ", "Lines "]
        .iter()
        .find_map(|it| after.strip_prefix(it));
    if let Some(line) = number.and_then(leading_number) {
        return Some(line);
    }
    let before = before.trim_end_matches(is_between);
    let before = [" of", " in"]
        .iter()
        .find_map(|it| before.strip_suffix(it))?;
    let (rest, number) = before.rsplit_once(' ')?;
    let word = rest.rsplit(' ').next()?;
    let is_line = ["line", "lines"]
        .iter()
        .any(|it| word.eq_ignore_ascii_case(it));
    is_line.then(|| leading_number(number)).flatten()
}

/// Whether `place`, in brackets a blank behind the name of a file, is one as compilers print it: a line and a column with nothing else
/// between them (`12,5)`, `12:5)`), or a line that a verdict follows (`12) : error C2065`). People write `(12 lines)`, `(2019)` and
/// `(2, 3)` there, and mean no line.
fn is_printed(place: &str) -> bool {
    let rest = behind_digits(place);
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

/// The folder that `word` may name: at least two names with slashes between them, or one with a slash behind it; of a pattern
/// the one that all it fits is in, as `src` of `src/**/*.rs`; and the one that a link to a code host leads to. `and/or` is told
/// from one by whoever knows what folders there are.
pub(crate) fn folder_of(word: &str) -> Option<String> {
    let word = match word.split_once("://") {
        Some((_, address)) => linked(address)?.split(['?', '#']).next()?,
        None => word,
    };
    let path = word
        .trim_end_matches(['.', ':', '!', '?', '*'])
        .trim_start_matches(['*', '.', '/']);
    let path = match path.split_once('*') {
        Some((before, _)) => &path[..=before.rfind('/')?],
        None => path,
    };
    let bare = path.strip_suffix('/').unwrap_or(path);
    let is_name = |name: &str| {
        let is_of_name = |c: char| c.is_alphanumeric() || "_-.+@".contains(c);
        !name.is_empty() && name != ".." && name.chars().all(is_of_name)
    };
    let is_folder = bare.len() < path.len() || bare.contains('/');
    (is_folder && bare.len() <= 400 && bare.split('/').all(is_name) && place_of(word).is_none())
        .then(|| bare.to_owned())
}

/// The pattern of names of files that `word` is: with a `*` in it and an extension, as `*.toml`, `test_*.py` and `crates/*/Cargo.toml`
/// are. `*this.rs*` and `**this.rs` are as Markdown stresses what they say.
pub(crate) fn pattern_of(word: &str) -> Option<String> {
    let pattern = word.trim_end_matches(['.', ':', '!', '?']);
    let is_stressed = pattern.starts_with('*') && pattern.ends_with('*');
    let is_of_name = |c: char| c.is_alphanumeric() || "_-.+@*".contains(c);
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
    let is_of_name = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    let has_letter = word.chars().any(char::is_alphabetic);
    has_letter && word.len() <= 100 && word.chars().all(is_of_name) && place_of(word).is_none()
}

/// `path:12`, `path:12:3`, `path#L12`, `path(12`: the path, and the line.
fn with_line(word: &str) -> (&str, Option<u32>) {
    if let Some((path, line)) = word.split_once("#L") {
        return (path, leading_number(line));
    }
    let mut rest = word;
    let mut line = None;
    while let Some((path, number)) = rest.rsplit_once(':') {
        match leading_number(number) {
            Some(found) if !path.is_empty() => (rest, line) = (path, Some(found)),
            _ => break,
        }
    }
    (rest, line)
}

fn whole_number(text: &str) -> Option<u32> {
    leading_number(text).filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

fn leading_number(text: &str) -> Option<u32> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text[..digits].parse().ok().filter(|&line| line > 0)
}

/// What a line of a stack trace tells.
#[derive(Debug)]
pub(crate) enum Traced {
    /// A call.
    Call(Frame),
    /// The place of a call, as recovery of Gin prints it: the next line may have its function.
    Place(Frame),
    /// A function: the next line may tell its place.
    Function(String),
}

/// What `line` of a stack trace tells, if it is one, in the forms of Python, pytest, Rust, JavaScript, Java and Go, also by recovery of
/// Gin; `before` is the function that the line before told.
pub(crate) fn traced(line: &str, before: Option<&str>) -> Option<Traced> {
    let text = line.trim();
    // A longer line is data, and its slashes would be looked up one by one.
    if text.len() > MOST_FRAME_BYTES {
        return None;
    }
    if let Some(frame) = python(text)
        .or_else(|| pytest(text))
        .or_else(|| at(text, before))
    {
        return Some(Traced::Call(frame));
    }
    if let (Some(function), Some(frame)) = (before, go(line)) {
        let function = Some(function.to_owned());
        return Some(Traced::Call(Frame { function, ..frame }));
    }
    if let Some(frame) = recovered(line) {
        return Some(Traced::Place(frame));
    }
    function_line(text).map(Traced::Function)
}

/// Whether `line` tells of a call, or of its place.
pub(crate) fn is_call(line: &str, before: Option<&str>) -> bool {
    matches!(
        traced(line, before),
        Some(Traced::Call(_) | Traced::Place(_))
    )
}

/// `File "a/b.py", line 3, in f`.
fn python(text: &str) -> Option<Frame> {
    let (path, rest) = text.strip_prefix("File \"")?.split_once('"')?;
    let rest = rest.strip_prefix(", line ")?;
    let function = rest.split_once(", in ").map(|(_, it)| it.trim().to_owned());
    Some(Frame {
        path: Some(path.replace('\\', "/")),
        line: leading_number(rest),
        function,
    })
}

/// `a/b.py:3: in f`, `a/b.py:3: ValueError`.
fn pytest(text: &str) -> Option<Frame> {
    let (path, rest) = text.split_once(".py:")?;
    let (number, rest) = rest.split_once(": ")?;
    let line = whole_number(number)?;
    if path.contains(char::is_whitespace) {
        return None;
    }
    Some(Frame {
        path: Some(format!("{path}.py")),
        line: Some(line),
        function: rest.strip_prefix("in ").map(str::to_owned),
    })
}

/// `at f (a/b.js:3:4)`, `at a/b.js:3:4`, `at p.C.m(C.java:3)`, `at a/b.rs:3:4`.
fn at(text: &str, before: Option<&str>) -> Option<Frame> {
    let rest = text.strip_prefix("at ")?;
    let (function, place) = match rest.split_once('(') {
        Some((function, place)) => (Some(function.trim()), place.trim_end_matches(')')),
        None => (before, rest),
    };
    let (path, line) = with_line(place);
    line?;
    // `at 10:30` is a time of day.
    if whole_number(path).is_some() {
        return None;
    }
    let path = path.rsplit_once("://").map_or(path, |(_, it)| it);
    let function = function.map(|it| it.strip_prefix("async ").unwrap_or(it));
    let function = function.map(|it| it.strip_prefix("new ").unwrap_or(it));
    Some(Frame {
        path: Some(path.replace('\\', "/")),
        line,
        function: function.filter(|it| !it.is_empty()).map(str::to_owned),
    })
}

/// `    /a/b.go:3 +0x1d`, after the line that names the function.
fn go(line: &str) -> Option<Frame> {
    let text = line.trim();
    let (path, rest) = text.split_once(".go:")?;
    let is_indented = line.starts_with(['\t', ' ']);
    (is_indented && !path.contains(char::is_whitespace)).then(|| Frame {
        path: Some(format!("{path}.go")),
        line: leading_number(rest),
        function: None,
    })
}

/// `/a/b.go:3 (0x1d2e)`, as recovery of Go's Gin prints it: the next line has the function.
fn recovered(line: &str) -> Option<Frame> {
    let (path, rest) = line.trim().split_once(".go:")?;
    let (number, counter) = rest.strip_suffix(')')?.split_once(" (0x")?;
    let is_counter = !counter.is_empty() && counter.bytes().all(|it| it.is_ascii_hexdigit());
    let line = whole_number(number)?;
    (is_counter && !path.contains(char::is_whitespace)).then(|| Frame {
        path: Some(format!("{path}.go")),
        line: Some(line),
        function: None,
    })
}

/// `\t(*T).f: code`, the line below: the function.
pub(crate) fn recovered_function(line: &str) -> Option<&str> {
    let (name, _) = line.strip_prefix(['\t', ' '])?.trim().split_once(": ")?;
    let is_name = |c: char| c.is_alphanumeric() || "_./()*-".contains(c);
    (!name.is_empty() && name.chars().all(is_name)).then_some(name)
}

/// `3: a::b::f` of Rust, `a/b.(*T).f(0x1, …)` of Go.
fn function_line(text: &str) -> Option<String> {
    if let Some((number, name)) = text.split_once(": ")
        && number.bytes().all(|byte| byte.is_ascii_digit())
        && !number.is_empty()
        && name.contains("::")
        && !name.contains(char::is_whitespace)
    {
        return Some(name.to_owned());
    }
    let (name, _) = text.strip_suffix(')')?.rsplit_once('(')?;
    let is_name = |c: char| c.is_alphanumeric() || "_./()*-".contains(c);
    (name.contains('.') && name.chars().all(is_name)).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_are_sorted() {
        assert!(EXTENSIONS.is_sorted());
    }
}
