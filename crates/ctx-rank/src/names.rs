//! Identifiers in a text.

use crate::mentions::{is_named, is_written};
use crate::query::Region;
use crate::words::{is_unspaced, says_nothing, sub_words};

/// The most bytes of a name; longer ones are encoded data.
const MOST_NAME_BYTES: usize = 256;

/// An identifier, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Name {
    /// The whole text: `Session.resolve_redirects`.
    pub text: String,
    /// The last of its names: `resolve_redirects`.
    pub last: String,
    /// A `?` or `!` after it: in languages such as Ruby and Elixir it may be part of the name, and
    /// elsewhere it is none.
    pub sign: Option<char>,
    /// The name before that: `Session`.
    pub within: Option<String>,
    /// The most significant region where it occurs.
    pub region: Region,
    /// Whether it is written as the name of a file is, too: `config.yaml`, `Response.json`. Then it
    /// means only what is defined within its scope.
    pub may_be_file: bool,
}

/// Stop words that are never names.
const NEVER: [&str; 46] = [
    "am", "an", "are", "been", "being", "doing", "don", "etc", "had", "having", "he", "her",
    "hers", "him", "his", "how", "however", "ie", "isn", "it", "its", "itself", "ll", "me", "my",
    "our", "ours", "please", "she", "that", "the", "their", "theirs", "them", "these", "they",
    "this", "those", "ve", "were", "what", "which", "who", "why", "you", "your",
];
/// Stop words that are names only if the question has no other words.
const SELDOM: [&str; 46] = [
    "about", "above", "also", "although", "and", "as", "at", "be", "because", "but", "by", "can",
    "could", "did", "do", "does", "during", "for", "if", "in", "is", "just", "maybe", "more",
    "most", "much", "of", "on", "or", "should", "so", "some", "such", "than", "there", "to", "too",
    "very", "was", "we", "when", "where", "whether", "while", "will", "would",
];

/// Whether `word`, which is not marked as a name, may be one; `is_alone` if the question has no
/// other words.
pub(crate) fn may_be_name(word: &str, is_alone: bool) -> bool {
    let is_one = |list: &[&str]| list.iter().any(|it| it.eq_ignore_ascii_case(word));
    let is_identifier = word.chars().all(|it| it.is_alphanumeric() || it == '_');
    let is_long_enough = (2..=MOST_NAME_BYTES).contains(&word.len());
    is_long_enough && is_identifier && !is_one(&NEVER) && (is_alone || !is_one(&SELDOM))
}

/// Whether `name` is a stop word or shorter than three bytes: many names are, but most such words
/// are no names.
fn is_common(name: &str) -> bool {
    name.len() < 3 || says_nothing(name)
}

impl Name {
    /// Whether its last part is a stop word or shorter than three bytes: such a name has more
    /// definitions than others, and more words of texts equal it by accident.
    pub fn is_common(&self) -> bool {
        is_common(&self.last)
    }

    /// A name that is all of a question.
    pub(crate) fn alone(text: &str) -> Name {
        Name {
            text: text.to_owned(),
            last: text.to_owned(),
            sign: None,
            within: None,
            region: Region::Title,
            may_be_file: false,
        }
    }

    /// The last of its names with the [sign](Name::sign) after it, if there is one: `valid?`. A
    /// definition may be called so, and if one is, it is meant.
    pub fn signed(&self) -> Option<String> {
        self.sign.map(|it| format!("{}{it}", self.last))
    }

    /// What it may be called: as [`signed`](Name::signed), if there is a sign, and without it.
    pub fn spellings(&self) -> impl Iterator<Item = String> {
        self.signed().into_iter().chain([self.last.clone()])
    }

    /// The name, with the sign that `rest` begins with, which follows it in the text.
    pub(crate) fn before(mut self, rest: &str) -> Name {
        self.sign = sign_before(rest);
        self
    }
}

/// The identifiers of `line`. In code, every name is one; in text, only those that do not look like
/// a word: with an underscore, a change of case, a call, or a dot or colons between names. Stop
/// words and names of two letters count only in a question that `is_typed`, if something marks them
/// as names.
pub(crate) fn names_in(line: &str, region: Region, is_typed: bool) -> Vec<Name> {
    let mut names = Vec::new();
    let bytes = line.as_bytes();
    let length = line.trim().len();
    let mut at = 0;
    while let Some(first) = line[at..].chars().next() {
        if !starts_name(first) {
            // A word that begins with a digit is a number, as are `0x1f` and `10ms`.
            if first.is_ascii_digit() {
                segment(line, &mut at);
            } else {
                at += first.len_utf8();
            }
            continue;
        }
        let start = at;
        if let Some(option) = option_at(line, start) {
            at += option.len();
            continue;
        }
        let mut segments = vec![segment(line, &mut at)];
        while let Some(after) = joined(line, at) {
            at = after;
            segments.push(segment(line, &mut at));
        }
        let sign = sign_before(&line[at..]);
        let behind = at + sign.map_or(0, char::len_utf8);
        let is_called = bytes.get(behind) == Some(&b'(');
        let last = segments[segments.len() - 1];
        // In a block of code, text in scripts without spaces is mostly from comments.
        let is_code = match region {
            Region::InlineCode => true,
            Region::CodeBlock | Region::Trace => !last.starts_with(is_unspaced),
            _ => false,
        };
        let stands_out = is_called
            || segments.len() > 1
            || last.trim_matches('_').contains('_')
            || last.is_ascii() && sub_words(last).nth(1).is_some() && !is_number_like(last)
            || is_typed && is_annotation(line, start);
        let is_data = at - start > MOST_NAME_BYTES;
        let is_path = is_of_path(line, start, at);
        // In `a.ts(12,5)`, the brackets have a line.
        let has_arguments = is_called && !(is_path && has_digit(line, behind + 1));
        let is_marked = || {
            let whole = line[..behind].trim_start();
            let name = whole.strip_prefix(['@', ':', '$', '#']).unwrap_or(whole);
            let is_whole = whole.len() == length && name.len() == behind - start;
            let is_all = region == Region::InlineCode && is_whole;
            let stands_alone =
                last.len() > 1 && (is_all || segments.len() > 1 || is_annotation(line, start));
            has_arguments || stands_alone && !is_path
        };
        let is_word = is_common(last) && !(is_typed && is_marked());
        if (is_code || stands_out) && !is_word && !is_data && !looks_like_a_site(&segments) {
            names.push(Name {
                text: line[start..at].to_owned(),
                last: last.to_owned(),
                sign,
                within: segments.iter().rev().nth(1).map(|&it| it.to_owned()),
                region,
                may_be_file: !has_arguments && has_extension(&line[start..at]),
            });
        }
    }
    names
}

/// The `?` or `!` that `rest`, which follows a name, begins with, unless it is an operator: `a?.b`,
/// `a != b`, `a ? b : c` without spaces.
fn sign_before(rest: &str) -> Option<char> {
    let mut next = rest.chars();
    let sign = next.next().filter(|it| matches!(it, '?' | '!'))?;
    let is_operator = |c: char| c.is_alphanumeric() || "=.:?!".contains(c);
    next.next()
        .is_none_or(|it| !is_operator(it))
        .then_some(sign)
}

/// The option that `word` is, with its dashes and without a value: `--no-color` of
/// `--no-color=always`.
pub(crate) fn option_of(word: &str) -> Option<&str> {
    let name = option_at(word, word.strip_prefix("--").map(|_| 2)?)?;
    Some(&word[..2 + name.len()])
}

/// The name of the option of which the two dashes stand before `at`.
fn option_at(line: &str, at: usize) -> Option<&str> {
    let before = line[..at].strip_suffix("--")?;
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    // `i--` is code, and `---` a rule.
    if before.ends_with(is_of_name) {
        return None;
    }
    let name = &line[at..];
    let name = &name[..name.find(|c| !is_of_name(c)).unwrap_or(name.len())];
    let name = name.trim_end_matches(['-', '_']);
    (name.len() > 1 && name.starts_with(|c: char| c.is_ascii_lowercase())).then_some(name)
}

fn has_digit(line: &str, at: usize) -> bool {
    line.as_bytes().get(at).is_some_and(u8::is_ascii_digit)
}

/// Whether the uncalled names from `start` to `end` are those of a file or a site: `api.py`,
/// `a/b.of`, `crates.io`.
fn is_of_path(line: &str, start: usize, end: usize) -> bool {
    let text = &line[start..end];
    let extension = text.rsplit_once('.').map_or("", |(_, it)| it);
    let before = &line[..start];
    let is_address = |it: &str| it.ends_with(|c: char| c.is_alphanumeric());
    let is_beside_slash = before.ends_with(['/', '\\'])
        || before.strip_suffix('@').is_some_and(is_address)
        || line[end..].starts_with('/');
    is_beside_slash || is_written(extension) || extension == "io"
}

/// Whether the name at `start` is written as an annotation: `@Since`.
fn is_annotation(line: &str, start: usize) -> bool {
    let before = line[..start].strip_suffix('@');
    before.is_some_and(|it| !it.ends_with(|c: char| c.is_alphanumeric() || c == '@'))
        && line[start..].starts_with(char::is_uppercase)
}

/// Whether `name` ends with the extension of a file.
fn has_extension(name: &str) -> bool {
    let extension = name.rsplit_once('.').map(|(_, it)| it.to_lowercase());
    extension.is_some_and(|it| is_named(&it, false))
}

fn starts_name(c: char) -> bool {
    c == '_' || c.is_alphanumeric() && !c.is_ascii_digit()
}

/// One name; it ends where the text changes to or from a script without spaces.
fn segment<'l>(line: &'l str, at: &mut usize) -> &'l str {
    let start = *at;
    let rest = &line[start..];
    // Combining marks belong to the letter before them.
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || matches!(c, '\u{300}'..='\u{36f}');
    let is_first = rest.starts_with(is_unspaced);
    let end = rest.find(|c| !is_part(c) || is_unspaced(c) != is_first);
    let length = end.unwrap_or(rest.len());
    *at += length;
    &rest[..length]
}

/// Where the next name begins, if `.`, `::`, `->` or `#` joins it to the one before `at`.
fn joined(line: &str, at: usize) -> Option<usize> {
    let rest = &line[at..];
    let joint = [".", "::", "->", "#"]
        .into_iter()
        .find(|it| rest.starts_with(it))?;
    let next = at + joint.len();
    let begins = line[next..].starts_with(starts_name);
    // `a.rs#L12` is a line.
    let digits = line[next..].strip_prefix('L').filter(|_| joint == "#");
    let is_line = digits.is_some_and(|it| it.starts_with(|c: char| c.is_ascii_digit()));
    (begins && !is_line).then_some(next)
}

/// `v2`, `3rd` and `x86` change between letters and digits, but are no identifiers.
fn is_number_like(name: &str) -> bool {
    let letters = |part: &&str| part.bytes().all(|byte| byte.is_ascii_alphabetic());
    sub_words(name).filter(letters).count() < 2
}

fn looks_like_a_site(segments: &[&str]) -> bool {
    let (first, last) = (segments[0], segments[segments.len() - 1]);
    segments.len() > 1 && (first == "www" || matches!(last, "com" | "org" | "net"))
        || matches!(first, "http" | "https") && segments.len() == 1
}
