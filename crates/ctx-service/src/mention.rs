//! What a user names in so many words: a file, lines of one, a symbol, an id.

use ctx_model::LineSpan;

use crate::label;

/// So many of a message's references are looked up, the first.
pub(crate) const MOST: usize = 32;

/// Longer ones are no names of anything.
const LONGEST: usize = 400;

/// Something a user named.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mention {
    /// As it was written, without the `@`.
    pub(crate) text: String,
    pub(crate) what: What,
}

/// What it may be; which it is, the store tells.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum What {
    /// A file, or lines of it.
    Place {
        path: String,
        lines: Option<LineSpan>,
    },
    /// A symbol, the end of a path, or the id of a message.
    Name,
    /// The label of a citation.
    Label,
}

impl Mention {
    /// What `text` names, if it may be the name of anything.
    pub(crate) fn of(text: &str) -> Option<Mention> {
        let text = text.trim();
        if text.is_empty() || text.len() > LONGEST || text.contains(char::is_control) {
            return None;
        }
        Some(Mention {
            text: text.to_owned(),
            what: what(text),
        })
    }
}

fn what(text: &str) -> What {
    if label::is_label(text) {
        return What::Label;
    }
    let (path, lines) = with_lines(text);
    let path = path.replace('\\', "/");
    let path = path.trim_start_matches("./");
    let is_scoped = path.contains("::") || path.contains("->") || path.contains('#');
    if !is_scoped && (lines.is_some() || path.contains(['/', '.'])) {
        let path = path.to_owned();
        return What::Place { path, lines };
    }
    What::Name
}

/// `path:10`, `path:10-20`, `path#L10`, `path#L10-L20`: the path, and the lines.
fn with_lines(text: &str) -> (&str, Option<LineSpan>) {
    let cut = text.rsplit_once("#L").or_else(|| text.rsplit_once(':'));
    match cut.and_then(|(path, lines)| Some((path, lines_of(lines)?))) {
        Some((path, lines)) if !path.is_empty() => (path, Some(lines)),
        _ => (text, None),
    }
}

/// `10`, `10-20`, `10-L20`.
pub(crate) fn lines_of(text: &str) -> Option<LineSpan> {
    let number = |text: &str| -> Option<u32> {
        let text = text.strip_prefix('L').unwrap_or(text);
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse().ok())?
    };
    let (start, end) = text.split_once('-').unwrap_or((text, text));
    LineSpan::new(number(start)?, number(end)?).ok()
}

/// What `message` names: words after an `@` that begins a word, and labels in brackets; each once, in their
/// order. What stands in fenced blocks of code is code: decorators and annotations name nothing. O(bytes).
pub(crate) fn mentions(message: &str) -> Vec<Mention> {
    let mut found: Vec<Mention> = Vec::new();
    let mut is_code = false;
    for line in message.lines() {
        let text = line.trim_start();
        if text.starts_with("```") || text.starts_with("~~~") {
            is_code = !is_code;
        } else if !is_code {
            for mention in in_line(line) {
                if found.len() < MOST && !found.contains(&mention) {
                    found.push(mention);
                }
            }
        }
    }
    found
}

fn in_line(line: &str) -> Vec<Mention> {
    let mut found = Vec::new();
    for (at, mark) in line.match_indices(['@', '[']) {
        let before = line[..at].chars().next_back();
        let rest = &line[at + 1..];
        let mention = if mark == "[" {
            let inner = rest.split(']').next().unwrap_or_default();
            Mention::of(inner).filter(|it| it.what == What::Label)
        } else if before.is_none_or(|c| c.is_whitespace() || "([{<\"'`,;".contains(c)) {
            Mention::of(name(rest))
        } else {
            // An address of mail, or of a package.
            None
        };
        found.extend(mention);
    }
    found
}

/// What is named at the beginning of `rest`: all between quotation marks, or a word without the punctuation
/// that follows it.
fn name(rest: &str) -> &str {
    if let Some(quoted) = rest.strip_prefix('"') {
        return quoted.split_once('"').map_or("", |(name, _)| name);
    }
    let is_end = |c: char| c.is_whitespace() || "()[]{}<>\"'`,;@|".contains(c);
    let word = rest.split(is_end).next().unwrap_or_default();
    word.trim_end_matches(['.', ':', '!', '?', '*', '-'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn names(message: &str, expected: &[&str]) {
        let found: Vec<String> = mentions(message).into_iter().map(|it| it.text).collect();
        assert_eq!(found, expected);
    }

    #[track_caller]
    fn is_place(text: &str, path: &str, lines: Option<(u32, u32)>) {
        let lines = lines.map(|(start, end)| LineSpan::new(start, end).expect("lines"));
        let path = path.to_owned();
        assert_eq!(what(text), What::Place { path, lines }, "{text}");
    }

    #[test]
    fn a_name_follows_an_at_sign_that_begins_a_word() {
        names("Why does @src/a.rs fail?", &["src/a.rs"]);
        names("(@a.rs:10-20), @Session.", &["a.rs:10-20", "Session"]);
        names("see @\"my notes.md\" and `@b.rs`", &["my notes.md", "b.rs"]);
        names("@a.rs @a.rs", &["a.rs"]);
    }

    #[test]
    fn what_only_looks_like_one_is_none() {
        names("me@example.com left-pad@1.2 @ @!", &[]);
        names("```\n@dataclass\nclass A\n```\n@b.py", &["b.py"]);
        names("an array [0] and [a link](b)", &[]);
        names(&format!("@{}", "x".repeat(401)), &[]);
    }

    #[test]
    fn a_label_needs_no_at_sign() {
        names("what of [fil-9f2a1c]?", &["fil-9f2a1c"]);
        assert_eq!(what("fil-9f2a1c"), What::Label);
    }

    #[test]
    fn lines_follow_a_path() {
        is_place("src/a.rs", "src/a.rs", None);
        is_place("./a.rs:3", "a.rs", Some((3, 3)));
        is_place("a.rs:3-9", "a.rs", Some((3, 9)));
        is_place("a.rs#L3-L9", "a.rs", Some((3, 9)));
        is_place("Makefile:3", "Makefile", Some((3, 3)));
        // These are no lines, and so a part of a strange path.
        is_place("a.rs:9-3", "a.rs:9-3", None);
        is_place("a.rs:0", "a.rs:0", None);
    }

    #[test]
    fn scopes_are_of_symbols() {
        for text in [
            "Session",
            "http::Session",
            "Session#close",
            "session->close",
        ] {
            assert_eq!(what(text), What::Name, "{text}");
        }
    }

    #[test]
    fn so_many_are_looked_up() {
        let many: Vec<String> = (0..100).map(|n| format!("@f{n}.rs")).collect();
        let many = many.join(" ");
        assert_eq!(mentions(&many).len(), MOST);
    }
}
