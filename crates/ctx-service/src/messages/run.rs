//! The longest run of a message's words in a text.

use super::message_words::MessageWord;
use super::tokens::Token;
use crate::pace::Pace;
use crate::verbatim::{FEW_WORDS, SHORT};

/// The most words of a message that a placeholder stands for.
const OF_PLACEHOLDER: usize = 3;
/// The worth of a placeholder that stands for a value, in words: messages are made by texts with
/// placeholders.
const PLACEHOLDER: f64 = 0.5;
/// The fewest telling words of a run: one alone between stop words is met by chance.
pub(super) const FEW_TELLING: usize = 2;

/// A message, prepared for comparison.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) words: Vec<MessageWord>,
    /// Whether only texts with the whole message count, because nothing in it looks like a message.
    is_whole: bool,
    /// Telling words behind its labels, values aside.
    telling: usize,
}

/// Consecutive words of a message that match consecutive tokens of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Run {
    /// Words and values that occur literally.
    words: usize,
    /// The bytes of these, with one blank each.
    bytes: usize,
    /// Words and values that are no stop words, also those that placeholders stand for.
    telling: usize,
    /// The values among the telling ones.
    values: usize,
    /// Placeholders that stand for a value.
    placeholders: usize,
    /// All words and values of the message that the run covers.
    covered: usize,
}

/// The longest run of a message in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Longest {
    /// What it is worth, in words; 0 where there is none.
    pub(super) words: f64,
    /// What share of the message's telling words it has, values aside.
    pub(super) share: f64,
}

impl Message {
    /// The message of `words`, of which the first `labels` are its labels.
    pub(super) fn new(words: Vec<MessageWord>, is_whole: bool, labels: usize) -> Self {
        let telling = words[labels.min(words.len())..].iter();
        let telling = telling.filter(|it| it.is_telling && !it.is_value).count();
        Message {
            words,
            is_whole,
            telling,
        }
    }

    /// The longest run in a text of `tokens`; of equals the one that tells more. `numbered` has the
    /// number of each word of the message. O(tokens × words).
    pub(super) fn longest(
        &self,
        tokens: &[Token],
        numbered: &[Option<usize>],
        mut pace: Pace<'_>,
    ) -> Longest {
        let mut best = Longest::default();
        // Runs that end at the previous token, indexed by the number of words of the message before
        // their end. Few are in use at a time, at `ends`.
        let mut runs = vec![Run::default(); self.words.len() + 1];
        let (mut ends, mut next) = (Vec::new(), Vec::new());
        for (number, &token) in tokens.iter().enumerate() {
            if !pace.goes_on(number) {
                break;
            }
            let all = self.words.iter().zip(numbered).enumerate();
            match token {
                Token::Word(word) => next.extend(
                    all.filter(|(_, (_, number))| **number == Some(word))
                        .map(|(at, (word, _))| (at + 1, runs[at].with(word))),
                ),
                Token::Placeholder => {
                    next.extend(all.map(|(at, _)| (at + 1, self.with_placeholder(&runs, at))));
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
    pub(super) fn with_placeholder(&self, runs: &[Run], at: usize) -> Run {
        let with = |count: usize| {
            let run = runs[at + 1 - count];
            let is_value = count == 1 && self.words[at].is_value;
            let held = &self.words[at + 1 - count..=at];
            let telling = held.iter().filter(|it| it.is_telling);
            Run {
                telling: run.telling + telling.clone().count(),
                values: run.values + telling.filter(|it| it.is_value).count(),
                placeholders: run.placeholders + usize::from(is_value),
                covered: run.covered + count,
                ..run
            }
        };
        let all = (1..=OF_PLACEHOLDER.min(at + 1)).map(with);
        all.reduce(|a, b| if b.words > a.words { b } else { a })
            .unwrap_or_default()
    }

    pub(super) fn worth(&self, run: Run) -> Longest {
        let is_all = !self.is_whole || run.covered == self.words.len();
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
            words: number(run.words) + PLACEHOLDER * number(run.placeholders),
            share,
        }
    }
}

impl Longest {
    /// The longer of both; of equals the one that has more of the message.
    pub(super) fn longer(self, other: Self) -> Self {
        let by_words = self.words.total_cmp(&other.words);
        if by_words.then(self.share.total_cmp(&other.share)).is_lt() {
            other
        } else {
            self
        }
    }
}

impl Run {
    pub(super) fn with(self, word: &MessageWord) -> Run {
        Run {
            words: self.words + 1,
            bytes: self.bytes + word.word.len() + 1,
            telling: self.telling + usize::from(word.is_telling),
            values: self.values + usize::from(word.is_telling && word.is_value),
            covered: self.covered + 1,
            ..self
        }
    }
}
