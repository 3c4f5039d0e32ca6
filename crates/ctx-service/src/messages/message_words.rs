//! The words and values that a message consists of.

use ctx_rank::{is_stop_word, quoted_value};

use super::words::{is_of_word, word_end};

/// A word of a message, or a value: a quoted text, a number, a path or a flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MessageWord {
    /// In lower case; empty for a value of several words.
    pub(super) word: String,
    pub(super) is_value: bool,
    /// Whether it is not a stop word.
    pub(super) is_telling: bool,
}

impl MessageWord {
    pub(super) fn new(word: String, is_value: bool) -> Self {
        let is_telling = !is_stop_word(&word);
        MessageWord {
            word,
            is_value,
            is_telling,
        }
    }
}

/// The words and values of a message. O(bytes²), so long texts must be excluded before.
pub(super) fn message_words(text: &str) -> Vec<MessageWord> {
    let mut all = Vec::new();
    let (mut rest, mut last) = (text, ' ');
    while let Some(c) = rest.chars().next() {
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let word = word_end(rest);
        let is_begin = !is_of_word(last);
        let length = if let Some(value) = quoted_value(rest).filter(|it| is_begin && !it.is_empty())
        {
            let is_one = !value.contains(char::is_whitespace);
            all.push(value_of(if is_one { value } else { "" }));
            value.len() + 2
        } else if last.is_whitespace() && is_flag_or_path(&rest[..end]) {
            all.push(value_of(&rest[..end]));
            end
        } else if word > 0 {
            let is_value = rest[..word].bytes().all(|it| it.is_ascii_digit());
            all.push(MessageWord::new(rest[..word].to_lowercase(), is_value));
            word
        } else {
            c.len_utf8()
        };
        last = rest[..length].chars().next_back().unwrap_or(' ');
        rest = &rest[length..];
    }
    all
}

fn value_of(text: &str) -> MessageWord {
    let word = text.trim_matches(|it| !is_of_word(it)).to_lowercase();
    let is_word = word.chars().all(is_of_word);
    MessageWord::new(if is_word { word } else { String::new() }, true)
}

fn is_flag_or_path(word: &str) -> bool {
    let name = word.trim_start_matches('-');
    let is_flag = name.len() < word.len() && name.starts_with(|it: char| it.is_ascii_alphabetic());
    is_flag || word.contains(['/', '\\'])
}
