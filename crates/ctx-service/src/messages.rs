//! Finds texts that contain a message of the question, possibly with other values in it.

use std::collections::BTreeMap;

use ctx_model::Relevance;
use ctx_rank::{Query, is_stop_word};

use crate::pace::Pace;
use crate::verbatim::{FEW_WORDS, LONG, MOST_TEXTS, SHORT, push_lower};

/// The most messages of a question that are searched for: the first ones.
const MESSAGES: usize = 8;
/// The most words of a message that a placeholder stands for.
const OF_PLACE: usize = 3;
/// The worth of a placeholder that stands for a value, in words: messages are made by texts with
/// placeholders.
const PLACE: f64 = 0.5;
/// A run worth fewer words than this counts in proportion.
const MANY_WORDS: f64 = 4.0;
/// A run has so many telling words at least: one that stands between stop words is met by chance.
const FEW_TELLING: usize = 2;
/// What stands before a colon and has so many words at most labels a message: `ValueError: …`, `panic: runtime error: …`.
const MOST_OF_LABEL: usize = 2;
/// The longest placeholder, in bytes.
const LONGEST_PLACE: usize = 60;
/// Words that begin a question, as opposed to a message.
const ASKS: [&str; 19] = [
    "are", "can", "could", "did", "do", "does", "explain", "find", "how", "is", "list", "should",
    "show", "what", "when", "where", "which", "who", "why",
];

/// A word of a message, or a value: a quoted text, a number, a path or a flag.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Said {
    /// In lower case; empty for a value of several words.
    word: String,
    is_value: bool,
    /// Whether it is not a stop word.
    is_telling: bool,
}

impl Said {
    fn new(word: String, is_value: bool) -> Self {
        let is_telling = !is_stop_word(&word);
        Said {
            word,
            is_value,
            is_telling,
        }
    }
}

/// A message, prepared for comparison.
#[derive(Debug)]
struct Message {
    said: Vec<Said>,
    /// Whether only texts with the whole message count, because nothing in it looks like a message.
    is_whole: bool,
    /// Telling words behind its labels, values aside.
    telling: usize,
}

/// A token of a text that is compared with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    /// A word of a message, by number.
    Word(usize),
    /// A placeholder for a value: `%s`, `{name}`, `" + name + "`.
    Place,
    /// Anything else.
    Other,
}

/// Consecutive words of a message that match consecutive tokens of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Run {
    /// Words and values that occur literally.
    words: usize,
    /// The bytes of these, with one blank each.
    bytes: usize,
    /// Those that are no stop words, also in places for values,
    telling: usize,
    /// and of these the values.
    values: usize,
    /// Placeholders that stand for a value.
    places: usize,
    /// All words and values of the message that the run covers.
    covered: usize,
}

/// The longest run of a message in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Longest {
    /// What it is worth, in words; 0 where there is none.
    words: f64,
    /// What share of the message's telling words it has, values aside.
    share: f64,
}

/// What each of `texts` is worth for messages in `query`, at most `best`: quotations, a typed question that looks like a
/// message, and what a report says that failed. Compared is the longest run of at least three of its words, places for values aside, two of them telling; what has a longer run is worth
/// more, and each its share of the message's telling words. A run that more than eight texts have, or have longer, is nobody's in particular. Once nobody waits, which is asked every 256 KiB, it is of
/// what was read by then. O(bytes of the texts × words of the messages).
pub(crate) fn worth<'t>(
    query: &Query,
    best: Relevance,
    texts: impl Iterator<Item = &'t str>,
    is_awaited: &dyn Fn() -> bool,
) -> Vec<f64> {
    let messages = messages(query);
    let said = messages.iter().flat_map(|it| &it.said);
    let numbers = Numbers::of(said.map(|it| it.word.as_str()));
    let numbered: Vec<Vec<Option<usize>>> = messages.iter().map(|it| numbers.all(it)).collect();
    let mut runs = vec![Vec::new(); messages.len()];
    for text in texts {
        if messages.is_empty() {
            break;
        }
        let tokens = tokens(text, &numbers, Pace::of(is_awaited));
        for ((message, numbered), runs) in messages.iter().zip(&numbered).zip(&mut runs) {
            runs.push(message.longest(&tokens, numbered, Pace::of(is_awaited)));
        }
    }
    let shares: Vec<Vec<f64>> = runs.iter().map(|it| shares(it, best.get())).collect();
    let best = |at: usize| shares.iter().map(|it| it[at]).fold(0.0, f64::max);
    let count = runs.first().map_or(0, Vec::len);
    (0..count).map(best).collect()
}

/// What such runs are worth, the longest `best` if it has all that tells something.
fn shares(runs: &[Longest], best: f64) -> Vec<f64> {
    let lengths = runs.iter().map(|it| it.words);
    let longest = lengths.clone().fold(0.0, f64::max);
    let mut sorted: Vec<f64> = lengths.filter(|it| *it > 0.0).collect();
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    let share = |run: &Longest| {
        let length = run.words;
        let count = sorted.partition_point(|it| *it >= length);
        if length <= 0.0 || count > MOST_TEXTS {
            return 0.0;
        }
        #[expect(clippy::cast_precision_loss, reason = "there are at most 8")]
        let shared = best / (count as f64).sqrt();
        shared * (length / longest).powi(2) * (length / MANY_WORDS).min(1.0) * run.share
    };
    runs.iter().map(share).collect()
}

/// The possible messages in `query`.
fn messages(query: &Query) -> Vec<Message> {
    let quoted = query.phrases.iter().map(|it| (it.as_str(), false));
    let typed = query.typed.as_deref().and_then(message_in);
    // A typed question was already considered as a whole.
    let failures = query.failures.iter().filter(|_| query.typed.is_none());
    let failures = failures.map(|it| (it.as_str(), false));
    let all = typed.into_iter().chain(quoted).chain(failures);
    let all = all.filter(|(text, _)| text.trim().len() <= LONG);
    let all = all.map(|(text, may_be_whole)| {
        let said = said(text);
        let is_whole = may_be_whole && !has_mark(text) && !said.iter().any(|it| it.is_value);
        let labels = self::said(&text[..labels_end(text)]).len();
        Message::new(said, is_whole, labels)
    });
    let is_long = |it: &Message| it.said.len() >= FEW_WORDS;
    all.filter(is_long).take(MESSAGES).collect()
}

/// The possible message in a typed question, and whether it is the whole question. A question that
/// begins like one has it after a colon.
fn message_in(typed: &str) -> Option<(&str, bool)> {
    let first = typed.split_whitespace().next()?.to_lowercase();
    if ASKS.contains(&first.as_str()) {
        return typed.split_once(": ").map(|(_, it)| (it, false));
    }
    Some((typed, true))
}

/// Where the labels end that `text` begins with.
fn labels_end(text: &str) -> usize {
    let mut end = 0;
    while let Some((label, behind)) = text[end..].split_once(": ")
        && (1..=MOST_OF_LABEL).contains(&label.split_whitespace().count())
        && !behind.trim().is_empty()
    {
        end = text.len() - behind.len();
    }
    end
}

/// Whether `text` has a mark that messages have, apart from values.
fn has_mark(text: &str) -> bool {
    text.contains(['(', '[', '{', '!']) || text.contains(": ")
}

/// The words and values of a message. O(bytes²), so long texts must be excluded before.
fn said(text: &str) -> Vec<Said> {
    let mut all = Vec::new();
    let (mut rest, mut last) = (text, ' ');
    while let Some(c) = rest.chars().next() {
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let word = word_end(rest);
        let is_begin = !is_of_word(last);
        let length = if let Some(value) = quoted(rest).filter(|_| is_begin) {
            let is_one = !value.contains(char::is_whitespace);
            all.push(value_of(if is_one { value } else { "" }));
            value.len() + 2
        } else if last.is_whitespace() && is_flag_or_path(&rest[..end]) {
            all.push(value_of(&rest[..end]));
            end
        } else if word > 0 {
            let is_value = rest[..word].bytes().all(|it| it.is_ascii_digit());
            let word = rest[..word].to_lowercase();
            all.push(Said::new(word, is_value));
            word_end(rest)
        } else {
            c.len_utf8()
        };
        last = rest[..length].chars().next_back().unwrap_or(' ');
        rest = &rest[length..];
    }
    all
}

fn value_of(text: &str) -> Said {
    let word = text.trim_matches(|it| !is_of_word(it)).to_lowercase();
    let is_word = word.chars().all(is_of_word);
    Said::new(if is_word { word } else { String::new() }, true)
}

/// The text between quotation marks or backticks, if `text` begins with one.
fn quoted(text: &str) -> Option<&str> {
    let mark = text.chars().next().filter(|it| "\"'`".contains(*it))?;
    let inner = &text[1..];
    let is_end = |at: &usize| !inner[at + 1..].starts_with(is_of_word);
    let mut ends = inner.match_indices(mark).map(|(at, _)| at);
    ends.find(is_end)
        .filter(|it| *it > 0)
        .map(|it| &inner[..it])
}

fn is_flag_or_path(word: &str) -> bool {
    let name = word.trim_start_matches('-');
    let is_flag = name.len() < word.len() && name.starts_with(|it: char| it.is_ascii_alphabetic());
    is_flag || word.contains(['/', '\\'])
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The ASCII bytes that are characters of words.
const OF_WORDS: [bool; 256] = {
    let mut of_words = [false; 256];
    let mut byte = 0_u8;
    while byte.is_ascii() {
        of_words[byte as usize] = byte.is_ascii_alphanumeric() || byte == b'_';
        byte += 1;
    }
    of_words
};

/// The end of the word at the beginning of `text`, 0 if there is none. Works on bytes while these
/// are ASCII.
fn word_end(text: &str) -> usize {
    let mut bytes = text.bytes();
    let end = bytes.position(|it| !OF_WORDS[usize::from(it)]);
    let end = end.unwrap_or(text.len());
    if text.as_bytes().get(end).is_none_or(u8::is_ascii) {
        return end;
    }
    let rest = &text[end..];
    end + rest.find(|it| !is_of_word(it)).unwrap_or(rest.len())
}

/// The words of messages, numbered.
struct Numbers<'m> {
    of_words: BTreeMap<&'m str, usize>,
    /// For each first byte, a bit set of the lengths of words that begin with it: it rules out most
    /// words of a text.
    lengths: [u64; 256],
}

impl<'m> Numbers<'m> {
    fn of(words: impl Iterator<Item = &'m str>) -> Self {
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
    fn all(&self, message: &Message) -> Vec<Option<usize>> {
        message.said.iter().map(|it| self.get(&it.word)).collect()
    }

    /// The number of `word`, which is in lower case.
    fn get(&self, word: &str) -> Option<usize> {
        self.of_words.get(word).copied()
    }

    /// The number of a word in any case; `lower` is overwritten.
    fn get_in_any_case(&self, word: &str, lower: &mut String) -> Option<usize> {
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
            b'$' | b'#' | b'%' | b'+' | b'\\' => Begins::Any,
            _ if OF_WORDS[byte as usize] => Begins::Word,
            _ => Begins::Mark,
        };
        byte += 1;
    }
    begins
};

/// The numbered words of `text` and its placeholders, up to where `pace` stops. O(bytes).
fn tokens(text: &str, numbers: &Numbers<'_>, mut pace: Pace<'_>) -> Vec<Token> {
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
        if matches!(begins, Begins::Blank | Begins::Mark) {
            if begins == Begins::Mark {
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
        } else if let Some(end) = place_at(rest, last) {
            push(Token::Place);
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

/// Whether `word`, with `behind` right behind it, says how a string is written: `f"…"`, `rb'…'`, `L"…"`.
fn is_prefix_of_string(word: &str, behind: &str) -> bool {
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
fn place_at(text: &str, last: char) -> Option<usize> {
    // A placeholder does not extend beyond this.
    let near = || &text[..text.floor_char_boundary(LONGEST_PLACE + 1)];
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
        b'%' => {
            let is_flag = |it: char| it.is_ascii_digit() || "-+ .#*".contains(it);
            let start = 1 + rest.find(|it| !is_flag(it)).unwrap_or(rest.len());
            let length = letters(&text[start..], 3);
            let is_bare = !text[start + length..].starts_with(is_of_word);
            let is_short = start <= 8 && !rest.starts_with(' ');
            (length > 0 && is_bare && is_short).then_some(start + length)
        }
        b'+' if "\"'`".contains(last) => {
            let end = 1 + near().get(1..)?.find(['+', '"', '\'', '`', '\n', ';'])?;
            let after = text[end..].strip_prefix('+')?.trim_start();
            after.starts_with(['"', '\'', '`']).then_some(end + 1)
        }
        _ => None,
    }
}

/// The number of letters that `text` begins with, at most `most`.
fn letters(text: &str, most: usize) -> usize {
    let letters = text.bytes().take(most);
    letters.take_while(u8::is_ascii_alphabetic).count()
}

impl Message {
    /// What has `said`, the first `labels` of it before what it says.
    fn new(said: Vec<Said>, is_whole: bool, labels: usize) -> Self {
        let telling = said[labels.min(said.len())..].iter();
        let telling = telling.filter(|it| it.is_telling && !it.is_value).count();
        Message {
            said,
            is_whole,
            telling,
        }
    }

    /// The longest run in a text of `tokens`, whose numbers are `numbered`; of equals the one that tells more.
    fn longest(&self, tokens: &[Token], numbered: &[Option<usize>], mut pace: Pace<'_>) -> Longest {
        let mut best = Longest::default();
        // Runs that end at the previous token, indexed by the number of words of the message before
        // their end. Few are in use at a time, at `ends`.
        let mut runs = vec![Run::default(); self.said.len() + 1];
        let (mut ends, mut next) = (Vec::new(), Vec::new());
        for (number, &token) in tokens.iter().enumerate() {
            if !pace.goes_on(number) {
                break;
            }
            let all = self.said.iter().zip(numbered).enumerate();
            match token {
                Token::Word(word) => next.extend(
                    all.filter(|(_, (_, number))| **number == Some(word))
                        .map(|(at, (said, _))| (at + 1, runs[at].with(said))),
                ),
                Token::Place => {
                    next.extend(all.map(|(at, _)| (at + 1, self.placed(&runs, at))));
                }
                Token::Other => {}
            }
            for end in ends.drain(..) {
                runs[end] = Run::default();
            }
            for (end, run) in next.drain(..) {
                best = best.longer(self.worth(run));
                runs[end] = run;
                ends.push(end);
            }
        }
        best
    }

    /// The best of `runs` extended by a placeholder that stands for the word at `at` and up to two
    /// before it.
    fn placed(&self, runs: &[Run], at: usize) -> Run {
        let with = |count: usize| {
            let run = runs[at + 1 - count];
            let is_value = count == 1 && self.said[at].is_value;
            let held = &self.said[at + 1 - count..=at];
            let telling = held.iter().filter(|it| it.is_telling);
            Run {
                telling: run.telling + telling.clone().count(),
                values: run.values + telling.filter(|it| it.is_value).count(),
                places: run.places + usize::from(is_value),
                covered: run.covered + count,
                ..run
            }
        };
        let all = (1..=OF_PLACE.min(at + 1)).map(with);
        all.reduce(|a, b| if b.words > a.words { b } else { a })
            .unwrap_or_default()
    }

    fn worth(&self, run: Run) -> Longest {
        let is_all = !self.is_whole || run.covered == self.said.len();
        let is_telling = run.telling >= FEW_TELLING;
        if run.words < FEW_WORDS || run.bytes <= SHORT || !is_telling || !is_all {
            return Longest::default();
        }
        #[expect(clippy::cast_precision_loss, reason = "there are at most 400")]
        let number = |it: usize| it as f64;
        let told = number(run.telling - run.values);
        let share = match self.telling {
            0 => 1.0,
            all => (told / number(all)).min(1.0),
        };
        Longest {
            words: number(run.words) + PLACE * number(run.places),
            share,
        }
    }
}

impl Longest {
    /// The longer of both; of equals the one that has more of the message.
    fn longer(self, other: Self) -> Self {
        let by_words = self.words.total_cmp(&other.words);
        if by_words.then(self.share.total_cmp(&other.share)).is_lt() {
            other
        } else {
            self
        }
    }
}

impl Run {
    fn with(self, said: &Said) -> Run {
        Run {
            words: self.words + 1,
            bytes: self.bytes + said.word.len() + 1,
            telling: self.telling + usize::from(said.is_telling),
            values: self.values + usize::from(said.is_telling && said.is_value),
            covered: self.covered + 1,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use ctx_testkit::few;
    use proptest::prelude::*;

    use super::*;

    /// Checks the worth of each text for `question`, in hundredths.
    #[track_caller]
    fn check(question: &str, texts: &[&str], expected: &[u32]) {
        let best = Relevance::new(0.4).expect("it is a share");
        let texts = texts.iter().copied();
        let worth = worth(&Query::analyse(question), best, texts, &|| true);
        let hundredths: Vec<String> = worth
            .iter()
            .map(|it| format!("{:.0}", it * 100.0))
            .collect();
        let expected: Vec<String> = expected.iter().map(ToString::to_string).collect();
        assert_eq!(hundredths, expected, "{question:?}");
    }

    #[test]
    fn a_message_is_found_whatever_values_it_has() {
        check(
            "Error: No such option: --foo Did you mean --force?",
            &[
                "message = _(\"No such option {name!r}.\")",
                "option such no",
                "no option",
            ],
            &[18, 0, 0],
        );
        check(
            "jq: error: Cannot index array with string \"foo\"",
            &["\"Cannot index %s with %s (%s)\"", "an array with an index"],
            &[35, 0],
        );
        let decorator = "The decorator 'user' has already been added!";
        for text in [
            "\"The decorator '%s' has already been added!\"",
            "f\"the decorator {name} has already been added\"",
            "`the decorator ${decorator.name} has already been added`",
            "'the decorator ' + name + ' has already been added'",
            "'the decorator ' . $name . ' has already been added'",
            "\"the decorator %(name)s has already been added\"",
            "the decorator #{name} has\n  already been added",
        ] {
            check(
                decorator,
                &[text, "what was added to the decorator"],
                &[40, 0],
            );
        }
    }

    #[test]
    fn letters_before_a_quotation_mark_are_no_words() {
        let message = "View function mapping is overwriting an existing endpoint function";
        for text in [
            "\"View function mapping is overwriting an existing\"\n    f\" endpoint function: {name}\"",
            "rb'View function mapping is overwriting an existing' Rb' endpoint function'",
            "L\"View function mapping is overwriting \" L\"an existing endpoint function\"",
        ] {
            check(message, &[text], &[40]);
        }
        for text in [
            "\"View function mapping is overwriting an existing\" g(\" endpoint function\")",
            "\"View function mapping is overwriting an existing\" f(\" endpoint function\")",
        ] {
            check(message, &[text], &[0]);
        }
        for (word, behind) in [
            ("f", "\""),
            ("bR", "'"),
            ("u8", "\""),
            ("U", "'"),
            ("L", "\""),
        ] {
            assert!(is_prefix_of_string(word, behind), "{word}{behind}");
        }
        for (word, behind) in [
            ("ff", "\""),
            ("l", "'"),
            ("f", "("),
            ("", "\""),
            ("for", "\""),
        ] {
            assert!(!is_prefix_of_string(word, behind), "{word}{behind}");
        }
    }

    #[test]
    fn what_has_the_longer_run_is_worth_more() {
        let texts = [
            "'The decorator %s has already been added'",
            "'The hook %s has already been added'",
            "'has already been added'",
        ];
        check(
            "The decorator 'user' has already been added!",
            &texts,
            &[40, 9, 6],
        );
    }

    #[test]
    fn a_run_is_worth_its_share_of_what_tells_something() {
        let message = "error: connection pool timeout exceeded while waiting for a free worker";
        let texts = ["\"waiting for a free\""];
        check(&format!("It fails\n```\n{message}\n```\n"), &texts, &[11]);
        // What labels it is no part of it.
        let whole = ["\"connection pool timeout exceeded while waiting for a free worker\""];
        check(&format!("It fails\n```\n{message}\n```\n"), &whole, &[40]);
        assert_eq!(
            labels_end("panic: runtime error: index out of range: 5"),
            22
        );
        assert_eq!(labels_end("no such option: --foo"), 0);
        assert_eq!(labels_end("error: "), 0);
    }

    #[test]
    fn a_text_with_a_place_is_worth_more_than_one_with_a_value() {
        let texts = ["No such option: --foo", "No such option: {}"];
        check("Error: No such option: --bar", &texts, &[0, 35]);
    }

    #[test]
    fn runs_of_stop_words_and_of_few_words_tell_nothing() {
        check("it is: what you are not 3", &["what you are not"], &[0]);
        check("no option: 5", &["no option %d"], &[0]);
        check("so: it is up 5", &["it is up %d"], &[0]);
        // Nor do those with one word that tells something.
        check(
            "index out of bounds: the len is 3 but the index is 3",
            &["where the index is; it is made there"],
            &[0],
        );
        // A statement is no text.
        check(
            "error: parse value first",
            &["parse(value); first = 3"],
            &[0],
        );
    }

    #[test]
    fn a_question_is_no_message() {
        let texts = ["the limit of a request is 5"];
        check("where is the limit of a request 5", &texts, &[]);
        check("why do I see: the limit of a request is 3", &texts, &[40]);
        // Without the marks of a message only the whole text counts.
        check("limit of a request in bytes", &texts, &[0]);
        check(
            "cannot index array with string",
            &["cannot index %s with %s"],
            &[30],
        );
    }

    #[test]
    fn what_a_report_says_that_failed_is_looked_for_in_blocks_and_traces() {
        for (failure, made, other, worth) in [
            (
                "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\n    int(x)\nValueError: cannot convert float NaN to integer",
                "raise ValueError(f\"cannot convert float {x} to integer\")",
                "an integer is made of a float where it can be",
                40,
            ),
            (
                "error[E0599]: no method named `get` found for struct `Pool`",
                "\"no method named `{}` found for {} `{}`\"",
                "the method of a struct is found by its name",
                40,
            ),
            (
                "panic: runtime error: index out of range [5] with length 3\n\ngoroutine 1 [running]:",
                "\"index out of range [%x] with length %y\"",
                "the length of a range",
                40,
            ),
            (
                "TypeError: Cannot read properties of undefined (reading 'x')\n    at f (/app/a.js:3:4)",
                "T(NonObjectPropertyLoad, \"Cannot read properties of % (reading '%')\")",
                "properties are read where they are defined",
                // A bare `%` is no place, so the half of it is there.
                20,
            ),
        ] {
            for report in [
                format!("It fails\n\n```\n{failure}\n```\n"),
                format!("It fails\n\n{failure}\n\nWhy?\n"),
            ] {
                // Without a fence a line counts that begins with its error.
                check(&report, &[made, other], &[worth, 0]);
            }
        }
        check(
            "It fails\n```\nlet total = price.of(the, whole);\n```\n",
            &["let total = price.of(the, whole);"],
            &[],
        );
    }

    #[test]
    fn what_failed_takes_nothing_from_what_is_quoted() {
        let quotes = "It says \"no such option %s\" and \"the pool is closed\"";
        let report = format!("{quotes}\n```\nerror: the pool of options is closed now\n```\n");
        let texts = [
            "no such option {}",
            "the pool is closed",
            "the pool of options is closed",
            "a pool",
        ];
        let best = Relevance::new(0.4).expect("it is a share");
        let worth =
            |report: &str| worth(&Query::analyse(report), best, texts.into_iter(), &|| true);
        let (without, with) = (worth(quotes), worth(&report));
        let is_kept = |(with, without): (&f64, &f64)| with >= without;
        assert!(
            with.iter().zip(&without).all(is_kept),
            "{without:?} {with:?}"
        );
        assert!(with[2] > without[2], "{without:?} {with:?}");
        // At most eight are searched for, quotations first.
        let many: Vec<String> = (0..8)
            .map(|n| format!("\"quoted text number {n}\"\n"))
            .collect();
        let many = many.concat();
        let report = format!("It says\n{many}{report}");
        assert_eq!(messages(&Query::analyse(&report)).len(), MESSAGES);
    }

    #[test]
    fn what_many_say_tells_nothing() {
        let texts = ["all rights are reserved since %d"; 9];
        check("all rights are reserved since 1999", &texts, &[0; 9]);
        check("all rights are reserved since 1999", &texts[..4], &[20; 4]);
    }

    #[test]
    fn values_are_told_from_words() {
        let told = |text: &str| -> Vec<String> {
            let told = |it: &Said| format!("{}{}", it.word, if it.is_value { "?" } else { "" });
            said(text).iter().map(told).collect()
        };
        let expected = "it isn t foo? in ? or ? at 404? end";
        let text = "It isn't 'foo' in \"a b\" or src/a.rs at [404] end:";
        assert_eq!(told(text).join(" "), expected);
        assert_eq!(told("No --é -x 'un").join(" "), "no é x? un");
        assert!(told("").is_empty());
    }

    #[test]
    fn texts_full_of_what_begins_a_place_are_read_in_no_time() {
        // When the text was read to its end from each of these, a MiB took minutes.
        for mark in ["{", "'+", "%(", "${"] {
            let text = mark.repeat((1 << 20) / mark.len());
            check("say \"no such option at all\"", &[&text], &[0]);
        }
    }

    #[test]
    fn a_question_too_long_for_a_message_is_not_read_as_one() {
        // Splitting these into words and values took minutes.
        for unit in ["`", "a::", " `a"] {
            check(&unit.repeat(100_000), &["no such option at all"], &[]);
        }
    }

    #[test]
    fn words_have_the_numbers_they_have_in_lower_case() {
        let long = "x".repeat(64);
        let words = ["kelvin", "straße", "été", "i\u{307}", "ab", &long];
        let numbers = Numbers::of(words.into_iter());
        let mut lower = String::from("left over");
        let longer = "X".repeat(65);
        for (word, expected) in [
            ("kelvin", Some(0)),
            ("KELVIN", Some(0)),
            // A sign that is an ASCII letter in lower case.
            ("\u{212a}elvin", Some(0)),
            ("STRAßE", Some(1)),
            ("ÉTÉ", Some(2)),
            ("\u{130}", Some(3)),
            ("aB", Some(4)),
            ("abc", None),
            ("ac", None),
            ("X", None),
            (longer.as_str(), None),
            (&longer[1..], Some(5)),
        ] {
            let found = numbers.get_in_any_case(word, &mut lower);
            assert_eq!(found, expected, "{word:?}");
        }
    }

    #[test]
    fn places_for_values_are_known() {
        let is_place = |text: &str, last: char| place_at(text, last);
        for text in [
            "%s", "%-5.2f", "%lld", "%(name)s", "{}", "{0:>3}", "${a.b}", "#{a}", "$a",
        ] {
            assert_eq!(is_place(text, ' '), Some(text.len()), "{text}");
        }
        assert_eq!(is_place("+ a.b() + \"", '"'), Some(9));
        for text in [
            "% of", "%", "100", "{\n}", "$ ", "#a", "+ a", "%section", "\u{e9}", "",
        ] {
            assert_eq!(is_place(text, '"'), None, "{text}");
        }
    }

    #[test]
    fn a_word_ends_where_its_last_character_does() {
        let texts = "[a-zA-Z0-9_ é日\u{a0}\u{b}\u{301}(ßİ]{0,12}";
        few::run(few::cases(512), &texts, |text| {
            let end = text.find(|it| !is_of_word(it)).unwrap_or(text.len());
            prop_assert_eq!(word_end(&text), end);
            Ok(())
        });
    }

    /// A reference implementation of [`tokens`] that works by single characters.
    fn tokens_by_characters(text: &str, numbers: &Numbers<'_>) -> Vec<Token> {
        let (mut tokens, mut lower) = (Vec::new(), String::new());
        let (mut rest, mut last) = (text, ' ');
        while let Some(c) = rest.chars().next() {
            let place = place_at(rest, last).filter(|_| !is_of_word(c));
            let (token, length) = if is_of_word(c) {
                let end = rest.find(|it| !is_of_word(it)).unwrap_or(rest.len());
                let number = numbers.get_in_any_case(&rest[..end], &mut lower);
                let is_prefix = is_prefix_of_string(&rest[..end], &rest[end..]);
                let token = number.map_or(Token::Other, Token::Word);
                ((!is_prefix).then_some(token), end)
            } else if let Some(end) = place {
                (Some(Token::Place), end)
            } else {
                let is_statement = matches!(c, '{' | '}' | ';' | '=');
                let count = if c == '\\' { 2 } else { 1 };
                let length = rest.chars().take(count).map(char::len_utf8).sum();
                (is_statement.then_some(Token::Other), length)
            };
            tokens.extend(token);
            if !c.is_whitespace() {
                last = c;
            }
            rest = &rest[length..];
        }
        tokens.dedup_by(|a, b| *a == Token::Other && a == b);
        tokens
    }

    #[test]
    fn a_text_is_read_by_bytes_as_by_characters() {
        let numbers = Numbers::of(["the", "été", "a_b", "kelvin"].into_iter());
        let piece = prop_oneof![
            Just("the"),
            Just("ÉTÉ"),
            Just("a_b"),
            Just("\u{212a}elvin"),
            Just("x"),
            Just("f"),
            Just("Rb"),
            Just(" "),
            Just("\n"),
            Just("\u{b}"),
            Just("\u{a0}"),
            Just("\u{1c}"),
            Just("\\"),
            Just("\""),
            Just("'"),
            Just("+"),
            Just("{"),
            Just("}"),
            Just("%s"),
            Just("$"),
            Just("#{"),
            Just(";"),
            Just("="),
            Just("("),
            Just("日"),
            Just("%("),
            Just(")"),
        ];
        let texts = prop::collection::vec(piece, 0..24).prop_map(|it| it.concat());
        few::run(few::cases(1024), &texts, |text| {
            let found = tokens(&text, &numbers, Pace::of(&|| true));
            prop_assert_eq!(found, tokens_by_characters(&text, &numbers), "{:?}", text);
            Ok(())
        });
    }

    /// The same as [`Message::longest`], by all runs that there may be.
    fn longest_of_all(message: &Message, tokens: &[Token], numbered: &[Option<usize>]) -> Longest {
        let mut best = Longest::default();
        let mut runs = vec![Run::default(); message.said.len() + 1];
        for &token in tokens {
            let run = |at: usize| match token {
                Token::Word(word) if numbered[at] == Some(word) => runs[at].with(&message.said[at]),
                Token::Place => message.placed(&runs, at),
                _ => Run::default(),
            };
            let next = (0..message.said.len()).map(run);
            let next: Vec<Run> = std::iter::once(Run::default()).chain(next).collect();
            best = next
                .iter()
                .map(|it| message.worth(*it))
                .fold(best, Longest::longer);
            runs = next;
        }
        best
    }

    #[test]
    fn the_longest_run_is_that_of_all_runs() {
        // Few words, so that they recur; the first is a stop word.
        let words = ["the", "connection", "timeouts", "failed"];
        let word = || 0..words.len();
        let said = prop::collection::vec((word(), any::<bool>()), 1..8);
        let token = prop_oneof![
            4 => word().prop_map(Token::Word),
            1 => Just(Token::Place),
            1 => Just(Token::Other),
        ];
        let strategy = (said, any::<bool>(), prop::collection::vec(token, 0..24));
        few::run(few::cases(512), &strategy, |(said, is_whole, tokens)| {
            let numbered: Vec<Option<usize>> = said.iter().map(|it| Some(it.0)).collect();
            let said = said.into_iter();
            let said = said.map(|(word, is_value)| Said::new(words[word].to_owned(), is_value));
            let message = Message::new(said.collect(), is_whole, 0);
            let longest = message.longest(&tokens, &numbered, Pace::of(&|| true));
            let expected = longest_of_all(&message, &tokens, &numbered);
            prop_assert_eq!(longest, expected, "{:?} {:?}", message, tokens);
            prop_assert!((0.0..=1.0).contains(&longest.share), "{longest:?}");
            let telling = message.said.iter().filter(|it| it.is_telling).count();
            prop_assert!(
                telling >= FEW_TELLING || longest.words == 0.0,
                "{message:?}"
            );
            Ok(())
        });
    }
}
