//! Finds texts that contain a message of the question, possibly with other values in it.

mod message_words;
mod run;
mod tokens;
mod words;

#[cfg(test)]
mod tests;

use ctx_model::Relevance;
use ctx_rank::{Query, labels_end};

use self::message_words::message_words;
use self::run::{Longest, Message};
use self::tokens::{Numbers, tokens};
use crate::pace::Pace;
use crate::verbatim::{FEW_WORDS, LONG, MOST_TEXTS};

/// The most messages of a question that are searched for: the first ones.
const MESSAGES: usize = 8;
/// A run worth fewer words than this counts in proportion.
const MANY_WORDS: f64 = 4.0;

/// The possible messages of a question: quotations, a typed question that looks like one, and what
/// a report says that failed.
pub(crate) struct Messages(Vec<Message>);

impl Messages {
    pub(crate) fn of(query: &Query) -> Self {
        let quoted = query.mentions.phrases.iter().map(|it| (it.as_str(), false));
        let typed = query.message();
        let typed = typed.map(|it| (it, query.typed.as_deref() == Some(it)));
        // A typed question was already considered as a whole.
        let failures = query.failures.iter().filter(|_| query.typed.is_none());
        let failures = failures.map(|it| (it.as_str(), false));
        let all = typed.into_iter().chain(quoted).chain(failures);
        let all = all.filter(|(text, _)| text.trim().len() <= LONG);
        let all = all.map(|(text, may_be_whole)| {
            let words = message_words(text);
            let is_whole = may_be_whole && !has_mark(text) && !words.iter().any(|it| it.is_value);
            let labels = message_words(&text[..labels_end(text)]).len();
            Message::new(words, is_whole, labels)
        });
        let is_long = |it: &Message| it.words.len() >= FEW_WORDS;
        Messages(all.filter(is_long).take(MESSAGES).collect())
    }

    /// What each of `texts` is worth, at most `best`.
    ///
    /// Of each text counts the longest run of a message's words: at least three, placeholders for
    /// values aside, and two of them telling. A longer run is worth more, and a run is worth the
    /// share that it has of the message's telling words. One that more than eight texts have, or
    /// have longer, is worth nothing; a [translation](ctx_rank::Role::is_translation) does not
    /// count where another text has as much. `is_awaited` is asked every 256 KiB; once nobody
    /// waits, the texts read by then decide. O(bytes of the texts × words of the messages).
    pub(crate) fn worth<'t>(
        &self,
        best: Relevance,
        texts: impl Iterator<Item = &'t str>,
        is_translation: &[bool],
        is_awaited: &dyn Fn() -> bool,
    ) -> Vec<f64> {
        let mut runs = self.runs(texts, is_awaited);
        for runs in &mut runs {
            without_translations(runs, is_translation);
        }
        let shares: Vec<Vec<f64>> = runs.iter().map(|it| shares(it, best.get())).collect();
        let best = |at: usize| shares.iter().map(|it| it[at]).fold(0.0, f64::max);
        let count = runs.first().map_or(0, Vec::len);
        (0..count).map(best).collect()
    }

    /// Which of `parts`, texts that show parts of `full`, have all that it has of a message.
    /// O(bytes of the texts × words of the messages).
    pub(crate) fn are_told(
        &self,
        full: &str,
        parts: &[&str],
        is_awaited: &dyn Fn() -> bool,
    ) -> Vec<bool> {
        let texts = [full].into_iter().chain(parts.iter().copied());
        let mut told = vec![false; parts.len()];
        for runs in self.runs(texts, is_awaited) {
            let Some((full, parts)) = runs.split_first() else {
                continue;
            };
            for (told, part) in told.iter_mut().zip(parts) {
                *told |= full.words > 0.0 && part.words >= full.words;
            }
        }
        told
    }

    /// For each message, its longest run in each of `texts`.
    fn runs<'t>(
        &self,
        texts: impl Iterator<Item = &'t str>,
        is_awaited: &dyn Fn() -> bool,
    ) -> Vec<Vec<Longest>> {
        let messages = &self.0;
        let words = messages.iter().flat_map(|it| &it.words);
        let numbers = Numbers::of(words.map(|it| it.word.as_str()));
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
        runs
    }
}

/// Clears the runs in translations, if another text has one as long as theirs.
fn without_translations(runs: &mut [Longest], is_translation: &[bool]) {
    let longest = |of_them: bool| {
        let pairs = runs.iter().zip(is_translation);
        let words = pairs.filter(|it| *it.1 == of_them).map(|it| it.0.words);
        words.fold(0.0, f64::max)
    };
    if longest(false) >= longest(true) {
        let pairs = runs.iter_mut().zip(is_translation);
        let translated = pairs.filter(|it| *it.1);
        translated.for_each(|it| *it.0 = Longest::default());
    }
}

/// What `runs` are worth: the longest is worth `best` if it has all telling words of the message.
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

/// Whether `text` has a mark that messages have, apart from values.
fn has_mark(text: &str) -> bool {
    text.contains(['(', '[', '{', '!']) || text.contains(": ")
}
