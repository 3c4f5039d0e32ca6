//! A text as the numbered words of messages and placeholders for values.

use std::collections::BTreeMap;

use super::run::Message;
use super::words::{OF_WORDS, is_of_word, word_end};
use crate::pace::Pace;
use crate::verbatim::push_lower;

/// The longest placeholder, in bytes.
const LONGEST_PLACEHOLDER: usize = 60;

/// A token of a text that is compared with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A word of a message, by number.
    Word(usize),
    /// A placeholder for a value: `%s`, `{name}`, `\(name)`, `" + name + "`.
    Placeholder,
    /// Anything else.
    Other,
}

/// The words of messages, numbered.
pub(super) struct Numbers<'m> {
    of_words: BTreeMap<&'m str, usize>,
    /// For each first byte, a bit set of the lengths of words that begin with it: it rules out most
    /// words of a text.
    lengths: [u64; 256],
}

impl<'m> Numbers<'m> {
    pub(super) fn of(words: impl Iterator<Item = &'m str>) -> Self {
        let mut numbers = Numbers {
            of_words: BTreeMap::new(),
            lengths: [0; 256],
        };
        for word in words {
            let Some(&first) = word.as_bytes().first() else {
                continue;
            };
            let next = numbers.of_words.len();
            numbers.of_words.entry(word).or_insert(next);
            numbers.lengths[usize::from(first)] |= length_bit(word);
        }
        numbers
    }

    /// The number of each word of `message`.
    pub(super) fn all(&self, message: &Message) -> Vec<Option<usize>> {
        message.words.iter().map(|it| self.get(&it.word)).collect()
    }

    /// The number of `word`, which is in lower case.
    fn get(&self, word: &str) -> Option<usize> {
        self.of_words.get(word).copied()
    }

    /// The number of a word in any case; `lower` is overwritten.
    pub(super) fn get_in_any_case(&self, word: &str, lower: &mut String) -> Option<usize> {
        let first = word.as_bytes().first()?.to_ascii_lowercase();
        // The lower case of a non-ASCII word may be longer, and begin with another byte.
        if word.is_ascii() && self.lengths[usize::from(first)] & length_bit(word) == 0 {
            return None;
        }
        lower.clear();
        push_lower(lower, word);
        self.get(lower)
    }
}

/// The bit for the length of `word` in bytes; all long words share one.
fn length_bit(word: &str) -> u64 {
    1 << word.len().min(63)
}

/// What may begin with a byte.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Begins {
    /// A blank.
    Blank,
    /// A mark without a meaning of its own.
    Mark,
    /// A mark that may join strings, with a value between them.
    Joiner,
    /// A statement, or its end, or a placeholder.
    Statement,
    /// A word.
    Word,
    /// A placeholder, an escaped character, or anything that is not ASCII.
    Any,
}

const BEGINS: [Begins; 256] = {
    let mut begins = [Begins::Any; 256];
    let mut byte = 0_u8;
    while byte.is_ascii() {
        begins[byte as usize] = match byte {
            b' ' | b'\t'..=b'\r' => Begins::Blank,
            b'{' | b'}' | b';' | b'=' => Begins::Statement,
            b'$' | b'#' | b'%' | b'\\' => Begins::Any,
            b'+' | b'.' | b'<' | b',' | b'&' => Begins::Joiner,
            _ if OF_WORDS[byte as usize] => Begins::Word,
            _ => Begins::Mark,
        };
        byte += 1;
    }
    begins
};

/// The numbered words of `text` and its placeholders, up to where `pace` stops. O(bytes).
pub(super) fn tokens(text: &str, numbers: &Numbers<'_>, mut pace: Pace<'_>) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut push = |token| {
        // Consecutive `Other` tokens count as one.
        if token != Token::Other || tokens.last() != Some(&Token::Other) {
            tokens.push(token);
        }
    };
    let mut lower = String::new();
    // The previous character that is not blank.
    let mut last = ' ';
    let mut at = 0;
    while let Some(&byte) = text.as_bytes().get(at) {
        if !pace.goes_on(at) {
            break;
        }
        let begins = BEGINS[usize::from(byte)];
        let is_mark = begins == Begins::Mark || begins == Begins::Joiner && !is_quote(last);
        if is_mark || begins == Begins::Blank {
            if is_mark {
                last = char::from(byte);
            }
            at += 1;
            continue;
        }
        let rest = &text[at..];
        let c = rest.chars().next().unwrap_or(' ');
        at += if begins == Begins::Word || begins == Begins::Any && is_of_word(c) {
            let end = word_end(rest);
            if !is_prefix_of_string(&rest[..end], &rest[end..]) {
                let number = numbers.get_in_any_case(&rest[..end], &mut lower);
                push(number.map_or(Token::Other, Token::Word));
            }
            end
        } else if let Some(end) = placeholder_at(rest, last) {
            push(Token::Placeholder);
            end
        } else {
            if begins == Begins::Statement {
                push(Token::Other);
            }
            // A backslash and the character after it count as one.
            let escaped = (c == '\\').then(|| rest[1..].chars().next()).flatten();
            c.len_utf8() + escaped.map_or(0, char::len_utf8)
        };
        if !c.is_whitespace() {
            last = c;
        }
    }
    tokens
}

/// Whether `word`, with `behind` right behind it, says how a string is written: `f"…"`, `rb'…'`,
/// `L"…"`.
pub(super) fn is_prefix_of_string(word: &str, behind: &str) -> bool {
    behind.starts_with(['"', '\''])
        && match word.as_bytes() {
            [b'L'] | [b'u', b'8'] => true,
            [letter] => b"fFrRbBuU".contains(letter),
            [a, b] => [a, b].iter().all(|it| b"fFrRbB".contains(it)) && !a.eq_ignore_ascii_case(b),
            _ => false,
        }
}

/// The end of the placeholder at the beginning of `text`, where `last` is the previous character
/// that is not blank.
pub(super) fn placeholder_at(text: &str, last: char) -> Option<usize> {
    // A placeholder does not extend beyond this.
    let near = || &text[..text.floor_char_boundary(LONGEST_PLACEHOLDER + 1)];
    let ends = |open: usize, close: char| {
        let near = near();
        let end = near.get(open..)?.find([close, '\n', ';'])? + open;
        near[end..].starts_with(close).then_some(end + 1)
    };
    let rest = text.get(1..)?;
    match text.as_bytes().first()? {
        b'{' => ends(1, '}'),
        b'$' | b'#' if rest.starts_with('{') => ends(2, '}'),
        b'$' => {
            let name = word_end(rest);
            (name > 0).then_some(1 + name)
        }
        b'%' if rest.starts_with('(') => ends(2, ')').map(|end| end + letters(&text[end..], 1)),
        b'%' if rest.starts_with('<') => ends(2, '>').map(|end| end + letters(&text[end..], 1)),
        b'%' if rest.starts_with('{') => ends(2, '}'),
        b'%' => {
            let is_flag = |it: char| it.is_ascii_digit() || "-+ .#*[]".contains(it);
            let start = 1 + rest.find(|it| !is_flag(it)).unwrap_or(rest.len());
            let length = letters(&text[start..], 3);
            let is_bare = !text[start + length..].starts_with(is_of_word);
            let is_short = start <= 8 && !rest.starts_with(' ');
            (length > 0 && is_bare && is_short).then_some(start + length)
        }
        b'\\' if rest.starts_with('(') => closed(&near()[1..]).map(|end| 1 + end),
        _ if is_quote(last) => JOINERS.iter().find_map(|it| joined(near(), it)),
        _ => None,
    }
}

/// What joins strings and values, in the languages that write `"no " + name + " there"`.
const JOINERS: [&str; 7] = ["+", "..", ".", "<>", "<<", ",", "&"];

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '`')
}

/// Where the next string begins, if `text` is a `joiner`, a value, and the same joiner before that
/// string. Strings within brackets are part of the value.
fn joined(text: &str, joiner: &str) -> Option<usize> {
    let behind = text.strip_prefix(joiner)?;
    let mut depth = 0_usize;
    for (at, c) in behind.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.checked_sub(1)?,
            ';' => return None,
            _ if depth == 0 && is_quote(c) => {
                let word = behind[..at].trim_end_matches(is_of_word);
                let is_prefix = is_prefix_of_string(&behind[word.len()..at], &behind[at..]);
                let end = if is_prefix { word.len() } else { at };
                let value = behind[..end].trim_end().strip_suffix(joiner)?;
                return (!value.trim().is_empty()).then_some(joiner.len() + end);
            }
            _ => {}
        }
    }
    None
}

/// The end of the brackets that `text` begins with, on its line.
fn closed(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 1 => return Some(at + 1),
            ')' => depth -= 1,
            '\n' => return None,
            _ => {}
        }
    }
    None
}

/// The number of letters that `text` begins with, at most `most`.
fn letters(text: &str, most: usize) -> usize {
    let letters = text.bytes().take(most);
    letters.take_while(u8::is_ascii_alphabetic).count()
}
