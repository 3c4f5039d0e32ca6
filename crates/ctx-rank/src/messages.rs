//! Messages of programs as questions.

use crate::failures::fails;
use crate::{Name, Query};

/// The most words of a label, which stands before a colon: `ValueError: …`,
/// `panic: runtime error: …`.
const MOST_OF_LABEL: usize = 2;
/// The fewest words of a message behind its labels.
const FEW_WORDS: usize = 3;
/// Words that begin a question, as opposed to a message.
const ASKS: [&str; 19] = [
    "are", "can", "could", "did", "do", "does", "explain", "find", "how", "is", "list", "should",
    "show", "what", "when", "where", "which", "who", "why",
];

/// Words for what programs do with messages, and for who reads them.
const SAYS: [&str; 19] = [
    "errors", "fail", "failing", "fails", "get", "getting", "got", "logged", "message", "print",
    "printed", "prints", "raised", "raises", "said", "says", "thrown", "throws", "warns",
];

impl Query {
    /// What may be the message of a program in a [typed](Query::typed) question: all of it, or, if
    /// it begins like a question, what follows the first colon. O(bytes).
    pub fn message(&self) -> Option<&str> {
        let typed = self.typed.as_deref()?;
        if asks(typed) {
            return typed.split_once(": ").map(|(_, it)| it);
        }
        Some(typed)
    }

    /// Whether a [typed](Query::typed) question is the message of a program and nothing else: it
    /// begins with the label of a failure (`ValueError: …`, `tool: error: …`), or has a quoted
    /// value, and neither it nor what follows its labels begins or ends like a question. Other
    /// messages look like any text. O(bytes).
    pub fn is_message(&self) -> bool {
        let Some(typed) = self.typed.as_deref() else {
            return false;
        };
        let (labels, said) = typed.split_at(labels_end(typed));
        let says_failure = || labels.split([':', ' ']).any(fails);
        let is_said = !asks(typed) && !asks(said) && !typed.ends_with('?');
        is_said
            && said.split_whitespace().nth(FEW_WORDS - 1).is_some()
            && (says_failure() || without_values(said) != said)
    }

    /// Whether a [typed](Query::typed) question quotes the message of a program: it has a phrase of
    /// at least three words between quotation marks or backticks, and a word for failures or for
    /// what programs do with messages. O(bytes).
    pub fn quotes_message(&self) -> bool {
        let is_long = |it: &String| it.split_whitespace().nth(FEW_WORDS - 1).is_some();
        let is_of_it =
            |it: &str| fails(it) || SAYS.iter().any(|word| word.eq_ignore_ascii_case(it));
        self.mentions.phrases.iter().any(is_long) && self.words().any(is_of_it)
    }

    /// The [names](crate::Mentions::names) that the question is about: of a
    /// [message](Query::is_message) not those in its labels and quoted values, which say where it
    /// comes from and what a user has called something. O(names × bytes).
    pub fn meant_names(&self) -> impl Iterator<Item = &Name> {
        let text = self.typed.as_deref().filter(|_| self.is_message());
        let said = text.map(|it| without_values(&it[labels_end(it)..]));
        let names = self.mentions.names.iter();
        names.filter(move |name| said.as_ref().is_none_or(|it| it.contains(&name.text)))
    }
}

/// Where the labels end that `text` begins with: one or two words before a colon, each. O(bytes).
pub fn labels_end(text: &str) -> usize {
    let mut end = 0;
    while let Some((label, behind)) = text[end..].split_once(": ")
        && (1..=MOST_OF_LABEL).contains(&label.split_whitespace().count())
        && !behind.trim().is_empty()
    {
        end = text.len() - behind.len();
    }
    end
}

/// Whether `text` begins like a question.
pub(crate) fn asks(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    ASKS.iter().any(|it| it.eq_ignore_ascii_case(first))
}

/// `text` without what stands between quotation marks, backticks or brackets.
fn without_values(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let (mut rest, mut last) = (text, ' ');
    while let Some(c) = rest.chars().next() {
        let length = value_at(rest).filter(|_| !last.is_alphanumeric());
        if length.is_none() {
            kept.push(c);
        }
        let length = length.unwrap_or(c.len_utf8());
        last = c;
        rest = &rest[length..];
    }
    kept
}

/// The length of the value that `text` begins with, with its marks.
fn value_at(text: &str) -> Option<usize> {
    if let Some(value) = quoted_value(text) {
        return Some(value.len() + 2);
    }
    let behind = text.strip_prefix('[')?;
    let mut ends = behind.match_indices(']').map(|(at, _)| at + 1);
    let end = ends.find(|&end| !behind[end..].starts_with(char::is_alphanumeric))?;
    Some(1 + end)
}

/// The value between quotation marks or backticks, if `text` begins with one: its end is no
/// apostrophe. O(bytes).
///
/// ```
/// assert_eq!(ctx_rank::quoted_value("'it isn't' there"), Some("it isn't"));
/// assert_eq!(ctx_rank::quoted_value("it"), None);
/// ```
pub fn quoted_value(text: &str) -> Option<&str> {
    let mark = text.chars().next().filter(|it| "\"'`".contains(*it))?;
    let inner = &text[1..];
    let is_of_word = |it: char| it.is_alphanumeric() || it == '_';
    let mut ends = inner.match_indices(mark).map(|(at, _)| at);
    let end = ends.find(|at| !inner[at + 1..].starts_with(is_of_word))?;
    Some(&inner[..end])
}
