//! Texts that say what the question quotes.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::cmp::Reverse;

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input};
use ctx_model::{Chunk, Origin, Relevance, Rendition, RenditionKind};
use ctx_rank::{Query, Role};

use crate::messages::Messages;
use crate::pace::{Pace, STEP};
use crate::service::ASKED_FOR;

/// A shorter phrase, in bytes or in words, stands in many texts by chance.
pub(crate) const SHORT: usize = 12;
pub(crate) const FEW_WORDS: usize = 3;
/// A longer one, in bytes, is nothing that anybody says twice.
pub(crate) const LONG: usize = 200;
/// A phrase that more texts have is not specific to any of them.
pub(crate) const MOST_TEXTS: usize = 8;
/// Letters beside those of ASCII whose lower case is, or begins with, one of those: the sign of
/// Kelvin, and an I with a dot.
const OF_ASCII_IN_LOWER_CASE: [char; 2] = ['\u{212a}', '\u{130}'];
/// The number of words of a phrase that are searched for before all of it is.
const WORDS: usize = 3;
/// The most command options that are searched for.
const OPTIONS: usize = 4;
/// The name of a shorter option, in bytes, is quoted for many other reasons.
const SHORT_OPTION: usize = 4;
/// Those of Latin, Chinese and Arabic scripts.
const QUESTION_MARKS: [char; 3] = ['?', '\u{ff1f}', '\u{61f}'];
/// First words that make a question of what is typed, also without a question mark.
const INTERROGATIVES: [&str; 6] = ["how", "what", "where", "which", "who", "why"];

/// What raises a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RaisedBy {
    /// A quotation of the question, or all of it.
    Quotation,
    /// A message of the question, possibly with other values.
    Message,
}

ctx_model::words! {
    RaisedBy, "reason": Quotation = "quotation", Message = "message";
}

/// A part that is worth more because of what its text says.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Raised {
    /// The id of its chunk.
    pub id: String,
    /// What raises it.
    pub by: RaisedBy,
    /// Its relevance without that.
    pub from: Relevance,
    /// Its relevance with it.
    pub to: Relevance,
}

/// Raises the relevance of those of `chunks` whose text has a phrase of the question, letter by
/// letter but for case and blanks: what stands between quotation marks or backticks, and what was
/// typed as a whole, such as the message of an error, where it is no question or a line of its own,
/// as in a list of frequent questions; of those that have an option of its first line
/// (`--no-color`), also as it is defined in many languages (`"no-color"`), or the name of a setting
/// that it consists of (`max-retries`), of which a search knows only the words; and of those that
/// have a message of it with other values ([`Messages`]). One that alone has a phrase is worth
/// `best`, which the best of them by any ranking is. To a search, words that stand together are the
/// same terms as words that do not. What was said in a thread is no such text: there a thing is
/// said again and again; and neither is a [translation](Role::is_translation), if another text has
/// it. Once nobody waits, which is asked every 256 KiB, the rest is left as it is. Returns what was
/// raised, in the order of `chunks`. O(bytes of the chunks × phrases).
pub(crate) fn raise(
    query: &Query,
    best: Relevance,
    chunks: &mut [Chunk],
    is_awaited: &dyn Fn() -> bool,
) -> Vec<Raised> {
    let typed = query.typed.iter().map(|it| (it, form_of(it)));
    let phrases = query.mentions.phrases.iter().map(|it| (it, Form::Text));
    let phrases = phrases.chain(typed).filter(|it| it.0.len() <= 2 * LONG);
    let mut phrases: Vec<(String, Form)> = phrases
        .map(|(it, form)| (plain(it), form))
        .filter(|it| is_telling(&it.0))
        .collect();
    phrases.sort_unstable();
    phrases.dedup_by(|a, b| a.0 == b.0);
    let options = query.mentions.options.iter().take(OPTIONS);
    let options = options.map(|it| plain(it)).flat_map(|it| {
        let name = it.trim_start_matches('-');
        let name = (name.len() >= SHORT_OPTION).then(|| name.to_owned());
        let name = name.and_then(|it| Phrase::new(it, Form::Quoted));
        [Phrase::new(it, Form::Option), name]
    });
    let options = options.flatten();
    // What defines the name, maybe in a type, is found as that.
    let ends_with = |name: &str, last: &str| name.rsplit(['.', ':', '#']).next() == Some(last);
    let mut names = chunks.iter().filter_map(|it| it.name.as_deref());
    let mut is_defined = |setting: &str| names.any(|name| ends_with(name, setting));
    let setting = query.setting();
    let setting = setting.filter(|it| it.len() <= 2 * LONG && !is_defined(it));
    let setting = setting.and_then(|it| Phrase::new(plain(it), Form::Setting));
    let phrases = phrases
        .into_iter()
        .filter_map(|(it, form)| Phrase::new(it, form))
        .chain(options)
        .chain(setting);
    let texts: Vec<Text<'_>> = chunks.iter().map(Text::of).collect();
    let full = texts.iter().map(|it| it.full);
    let has_such_path = |it: &Chunk| it.path.as_deref().is_some_and(Role::is_translation);
    let is_translation: Vec<bool> = chunks.iter().map(has_such_path).collect();
    let messages = Messages::of(query);
    let mut worth = messages.worth(best, full, &is_translation, is_awaited);
    worth.resize(chunks.len(), 0.0);
    let mut by = vec![RaisedBy::Message; chunks.len()];
    let mut quoting: Vec<(usize, String)> = Vec::new();
    for phrase in phrases {
        let mut has_it: Vec<bool> = texts
            .iter()
            .map(|text| phrase.is_in(text, is_awaited))
            .collect();
        let others = has_it.iter().zip(&is_translation);
        if others.into_iter().any(|it| *it.0 && !it.1) {
            let translated = has_it.iter_mut().zip(&is_translation).filter(|it| *it.1);
            translated.for_each(|it| *it.0 = false);
        }
        let count = has_it.iter().filter(|&&it| it).count();
        if count > MOST_TEXTS {
            continue;
        }
        #[expect(clippy::cast_precision_loss, reason = "there are at most 8")]
        let share = best.get() / (count.max(1) as f64).sqrt();
        for (at, _) in has_it.iter().enumerate().filter(|(_, it)| **it) {
            if share >= worth[at] {
                (worth[at], by[at]) = (share, RaisedBy::Quotation);
            }
        }
        let having = has_it.iter().enumerate().filter(|(_, it)| **it);
        quoting.extend(having.map(|(at, _)| (at, phrase.plain.clone())));
    }
    for (at, phrase) in quoting {
        let excerpts = excerpts(&mut chunks[at]);
        let telling = excerpts.filter(|it| plain(it.text()).contains(&phrase));
        telling.for_each(tell);
    }
    // In a report, a message only tells where something was seen.
    let is_told = |at: &usize| worth[*at] > 0.0 && by[*at] == RaisedBy::Message;
    let of_messages = (0..chunks.len()).filter(is_told);
    let of_messages = of_messages.filter(|_| query.typed.is_some());
    for at in of_messages {
        let chunk = &mut chunks[at];
        let texts = chunk.renditions.iter().filter(|it| is_excerpt(it));
        let texts: Vec<&str> = texts.map(Rendition::text).collect();
        let told = messages.are_told(chunk.full_text(), &texts, is_awaited);
        let telling = excerpts(chunk).zip(told).filter(|it| it.1);
        telling.for_each(|it| tell(it.0));
    }
    let mut raised = Vec::new();
    for ((chunk, worth), by) in chunks.iter_mut().zip(worth).zip(by) {
        let to = Relevance::new(worth).unwrap_or(Relevance::ZERO);
        if to > chunk.relevance {
            let from = std::mem::replace(&mut chunk.relevance, to);
            let id = chunk.id.clone();
            raised.push(Raised { id, by, from, to });
        }
    }
    raised
}

/// The excerpts of `chunk`.
fn excerpts(chunk: &mut Chunk) -> impl Iterator<Item = &mut Rendition> {
    chunk.renditions.iter_mut().filter(|it| is_excerpt(it))
}

fn is_excerpt(rendition: &Rendition) -> bool {
    rendition.kind() == RenditionKind::Excerpt
}

/// Raises the information of `rendition`, which shows what its part was found for: most of what
/// there is to tell.
fn tell(rendition: &mut Rendition) {
    let information = ASKED_FOR + (1.0 - ASKED_FOR) * rendition.information();
    let told = Rendition::new(rendition.kind(), rendition.text(), information);
    let told = told.and_then(|it| match rendition.lines() {
        [] => Ok(it),
        lines => it.with_lines(lines.to_vec()),
    });
    *rendition = told.expect("it has the lines of what it was, and a share of a share is one");
}

/// A text, and what is compared of it once that is wanted.
struct Text<'c> {
    full: &'c str,
    plain: OnceCell<String>,
}

impl<'c> Text<'c> {
    fn of(chunk: &'c Chunk) -> Self {
        let is_said = chunk.origin == Origin::Message;
        Text {
            full: if is_said { "" } else { chunk.full_text() },
            plain: OnceCell::new(),
        }
    }
}

/// A phrase, and its longest words, which tell most texts apart without a copy.
struct Phrase {
    plain: String,
    words: Vec<AhoCorasick>,
    form: Form,
}

/// What a phrase is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Form {
    Text,
    /// An option, which is not the beginning of a longer one.
    Option,
    /// The name of an option between quotation marks, as where it is defined.
    Quoted,
    /// The name of a setting, which is not a part of a longer one.
    Setting,
    /// A question. A text answers it below a line that has nothing else, and elsewhere gives an
    /// example of a question.
    Question,
}

/// A question as it was typed, in texts that have it as an example of a question.
pub(crate) struct Asked(Option<Phrase>);

impl Asked {
    pub(crate) fn of(query: &Query) -> Self {
        let typed = query.typed.iter().map(|it| plain(it));
        let mut telling = typed.filter(|it| form_of(it) == Form::Question && is_telling(it));
        Asked(telling.find_map(|it| Phrase::new(it, Form::Question)))
    }

    /// `text` without the lines that have the question, unless it is all that a line has: repeated
    /// words do not answer. O(bytes).
    pub(crate) fn without_examples<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let phrase = self.0.as_ref();
        let Some(phrase) = phrase.filter(|it| it.may_be_in(text, &|| true)) else {
            return Cow::Borrowed(text);
        };
        let is_example =
            |line: &str| plain(line).contains(&phrase.plain) && !phrase.is_all_of(line);
        let others = text.split_inclusive('\n').filter(|it| !is_example(it));
        Cow::Owned(others.collect())
    }
}

/// What `typed`, as a whole, is.
fn form_of(typed: &str) -> Form {
    let first = typed.split_whitespace().next().unwrap_or_default();
    let is_asked = |it: &str| it.eq_ignore_ascii_case(first);
    if typed.trim_end().ends_with(QUESTION_MARKS) || INTERROGATIVES.into_iter().any(is_asked) {
        Form::Question
    } else {
        Form::Text
    }
}

impl Phrase {
    /// `None` if no word of it has an ASCII letter or digit.
    fn new(plain: String, form: Form) -> Option<Self> {
        let words = plain.split(|it: char| !it.is_ascii_alphanumeric());
        let mut words: Vec<&str> = words.filter(|it| !it.is_empty()).collect();
        words.sort_unstable_by_key(|it| (Reverse(it.len()), *it));
        words.dedup();
        let words = words.into_iter().take(WORDS).map(|word| {
            let mut builder = AhoCorasick::builder();
            // The quickest to make: few bytes of a text come to it.
            builder.kind(Some(AhoCorasickKind::NoncontiguousNFA));
            builder.ascii_case_insensitive(true).build([word]).ok()
        });
        let words = words.collect::<Option<Vec<AhoCorasick>>>()?;
        (!words.is_empty()).then_some(Phrase { plain, words, form })
    }

    /// Whether `text` has it, as far as it was looked through while somebody waited.
    fn is_in(&self, text: &Text<'_>, is_awaited: &dyn Fn() -> bool) -> bool {
        self.may_be_in(text.full, is_awaited) && {
            let plain = text
                .plain
                .get_or_init(|| plain_while(text.full, is_awaited));
            let ends = plain.match_indices(&self.plain);
            let mut ends = ends.map(|(at, it)| (&plain[..at], &plain[at + it.len()..]));
            let is_of_option = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
            match self.form {
                Form::Text => ends.next().is_some(),
                Form::Option => ends.any(|(_, behind)| !behind.starts_with(is_of_option)),
                Form::Quoted => ends.any(|(before, behind)| {
                    let mut marks = ['"', '\''].into_iter();
                    marks.any(|it| before.ends_with(it) && behind.starts_with(it))
                }),
                Form::Setting => ends.any(|(before, behind)| {
                    !before.ends_with(is_of_option) && !behind.starts_with(is_of_option)
                }),
                Form::Question => {
                    ends.next().is_some() && text.full.lines().any(|it| self.is_all_of(it))
                }
            }
        }
    }

    /// Whether `text` has its words, as far as it was looked through while somebody waited.
    fn may_be_in(&self, text: &str, is_awaited: &dyn Fn() -> bool) -> bool {
        let has_words = || self.words.iter().all(|it| has(text, it, is_awaited));
        // Most texts are ASCII, which is told in less time than what characters they have.
        let may_hide_one = || !text.is_ascii() && text.contains(OF_ASCII_IN_LOWER_CASE);
        has_words() || may_hide_one()
    }

    /// Whether `line` has it and nothing else but marks around it and a `Q:`.
    fn is_all_of(&self, line: &str) -> bool {
        line.len() <= 2 * LONG && {
            let line = bare(line);
            let line = line.strip_prefix("Q:").unwrap_or(line);
            plain(line) == bare(&self.plain)
        }
    }
}

/// Whether `text` has what `word` finds, of [`LONG`] bytes at most.
fn has(text: &str, word: &AhoCorasick, is_awaited: &dyn Fn() -> bool) -> bool {
    let mut starts = (0..text.len()).step_by(STEP).take_while(|_| is_awaited());
    starts.any(|start| {
        let end = text.len().min(start + STEP + LONG);
        word.is_match(Input::new(text).range(start..end))
    })
}

fn is_telling(phrase: &str) -> bool {
    (SHORT..=LONG).contains(&phrase.len()) && phrase.split(' ').count() >= FEW_WORDS
}

/// `text` without marks around it.
fn bare(text: &str) -> &str {
    text.trim_matches(|it: char| !it.is_alphanumeric())
}

/// In lower case, with one blank for any run of blanks.
fn plain(text: &str) -> String {
    plain_while(text, &|| true)
}

/// The same of as much of `text` as somebody waits for.
fn plain_while(text: &str, is_awaited: &dyn Fn() -> bool) -> String {
    let mut pace = Pace::of(is_awaited);
    let mut plain = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !pace.goes_on(plain.len()) {
            break;
        }
        if !plain.is_empty() {
            plain.push(' ');
        }
        push_lower(&mut plain, word);
    }
    plain
}

/// Adds `word` to `text` in lower case, character by character: a sigma at its end is as any other.
/// O(bytes).
pub(crate) fn push_lower(text: &mut String, word: &str) {
    if word.is_ascii() {
        let start = text.len();
        text.push_str(word);
        text[start..].make_ascii_lowercase();
    } else {
        text.extend(word.chars().flat_map(char::to_lowercase));
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// The relevance of each text once `question` was asked, all being worth 0.1 before, in
    /// hundredths.
    #[track_caller]
    fn come_to(question: &str, texts: &[&str], expected: &[u32]) {
        let before = Relevance::new(0.1).expect("it is a share");
        let chunk = |(at, text): (usize, &&str)| Chunk::new(at.to_string(), *text, before);
        let mut chunks: Vec<Chunk> = texts.iter().enumerate().map(chunk).collect();
        let best = Relevance::new(0.4).expect("it is a share");
        raise(&Query::analyse(question), best, &mut chunks, &|| true);
        let hundredths = |it: &Chunk| format!("{:.0}", it.relevance.get() * 100.0);
        let found: Vec<String> = chunks.iter().map(hundredths).collect();
        let expected: Vec<String> = expected.iter().map(ToString::to_string).collect();
        assert_eq!(found, expected, "{question:?}");
    }

    #[test]
    fn a_text_that_has_the_question_word_by_word_is_worth_more() {
        let texts = [
            "bail!(\"{path} is a file, not a folder\")",
            "a folder is not a file",
            "It IS a  File,\n not a Folder.",
        ];
        come_to("is a file, not a folder", &texts, &[28, 10, 28]);
        come_to(
            "what does \"is a file, not a folder\" mean?",
            &texts[..2],
            &[40, 10],
        );
    }

    #[test]
    fn a_text_that_has_the_name_of_a_setting_letter_by_letter_is_worth_more() {
        let texts = [
            "int(\"max-retries\", 1, 64)",
            "the most retries: at max, more retries",
            "int(\"max-retries-here\"); int(\"no-max-retries\")",
        ];
        come_to("max-retries", &texts, &[40, 10, 10]);
        come_to("how many max-retries", &texts, &[10, 10, 10]);
        come_to("max", &texts, &[10, 10, 10]);
        come_to(
            "MAX_RETRIES",
            &["env(\"MAX_RETRIES\")", "max retries"],
            &[40, 10],
        );
        // What is defined by that name comes first for that.
        for name in ["max_retries", "Client.max_retries", "client::max_retries"] {
            let chunk = Chunk::new("1", "fn max_retries() {}", Relevance::ZERO).with_name(name);
            let query = Query::analyse("max_retries");
            let raised = raise(&query, Relevance::ONE, &mut [chunk], &|| true);
            assert_eq!(raised, [], "{name}");
        }
    }

    #[test]
    fn a_text_that_has_an_option_as_it_is_defined_is_worth_more() {
        let texts = [
            "flags.bool(\"envfile\", false)",
            "run it with --envfile or",
            "the envfile \"is\" here",
            "--envfiles, 'envfile-x'",
        ];
        come_to("what does --envfile do", &texts, &[40, 40, 10, 10]);
        come_to("what does --env do", &["\"env\""], &[10]);
    }

    #[test]
    fn a_text_is_worth_more_than_its_translations() {
        let before = Relevance::new(0.1).expect("it is a share");
        let text = "msgid \"Cannot save the file\"";
        let chunk = |path: &str| Chunk::new(path, text, before).with_path(path);
        let languages = ["cs", "da", "de", "es", "fi", "fr", "it", "nl", "pl"];
        let mut chunks: Vec<Chunk> = languages.map(|it| chunk(&format!("po/{it}.po"))).into();
        chunks.push(chunk("src/save.c"));
        let query = Query::analyse("why is \"Cannot save the file\" shown");
        let raised = raise(&query, Relevance::ONE, &mut chunks, &|| true);
        let raised: Vec<&str> = raised.iter().map(|it| it.id.as_str()).collect();
        assert_eq!(raised, ["src/save.c"]);
    }

    #[test]
    fn a_question_is_answered_below_a_line_of_its_own() {
        let texts = [
            "## How do I reset it?\n\nYou wait.\n",
            "ask \"how do I reset it?\" # an example\n",
            "* **Q: how do I reset it?**\n",
        ];
        come_to("how do I reset it?", &texts, &[28, 10, 28]);
        come_to("how do I reset it", &texts[..2], &[40, 10]);
        come_to(
            "is there a way to reset it?",
            &["is there a way to reset it? no", ""],
            &[10, 10],
        );
        come_to("it says \"how do I reset it?\"", &texts[1..2], &[40]);
    }

    #[test]
    fn a_text_is_told_without_examples_of_the_question() {
        let asked = Asked::of(&Query::analyse("How do I reset it?"));
        let text = "## How do I reset it?\n\nAsk \"how do I  reset it?\" aloud.\nWait.\n";
        let told = asked.without_examples(text);
        assert_eq!(told, "## How do I reset it?\n\nWait.\n");
        let listed = "* **Q: how do I reset it?**\n";
        assert_eq!(asked.without_examples(listed), listed);
        let other = Asked::of(&Query::analyse("is there a file to reset"));
        assert_eq!(
            other.without_examples("is there a file to reset?"),
            "is there a file to reset?"
        );
    }

    #[test]
    fn a_text_has_each_word_of_the_question_in_whatever_letters_of_either_case() {
        // The first has no third word of it, and the last has one with the sign of Kelvin.
        let texts = [
            "the connection timeouts were reset",
            "connection timeouts like these",
            "CONNECTION timeouts LI\u{212a}E these",
        ];
        come_to("connection timeouts like these", &texts, &[10, 28, 28]);
        // Of equal words each is looked for once.
        let texts = ["is not a file but a folder", "not a file, not a file"];
        come_to("not a file, not a file", &texts, &[10, 40]);
    }

    #[test]
    fn an_excerpt_that_shows_it_tells_most_of_its_text() {
        let half = |kind, text: &str| Rendition::new(kind, text, 0.5).expect("it is a share");
        let said = "bail!(\"{path} is a file,\n  not a folder\")\n";
        let renditions = vec![
            half(RenditionKind::Excerpt, said),
            half(RenditionKind::Excerpt, "fn open() {\n"),
            half(RenditionKind::Skeleton, said),
        ];
        let chunk = Chunk::new("a", said, Relevance::ZERO).with_renditions(renditions);
        let chunks = [chunk];
        // Letter by letter, and with a value.
        for question in [
            "is a file, not a folder",
            "error: \"a/b\" is a file, not a folder",
        ] {
            let mut chunks = chunks.clone();
            raise(
                &Query::analyse(question),
                Relevance::ONE,
                &mut chunks,
                &|| true,
            );
            let told = chunks[0].renditions.iter().map(Rendition::information);
            let told: Vec<String> = told.map(|it| format!("{it:.2}")).collect();
            assert_eq!(told, ["0.90", "0.50", "0.50"], "{question}");
        }
    }

    #[test]
    fn a_text_that_has_an_option_of_the_first_line_is_worth_more() {
        let texts = [
            "add_option(\"--collect-only\", help=\"only collect\")",
            "add_option(\"--collect-only-if\")",
            "collect only what --collect says",
        ];
        come_to("pytest --collect-only shows all", &texts, &[40, 10, 10]);
        come_to("`--collect` shows all", &texts, &[10, 10, 40]);
        come_to("It fails\n\nwith --collect-only", &texts, &[10; 3]);
    }

    #[test]
    fn messages_of_a_thread_are_not_raised() {
        let worth = Relevance::new(0.4).expect("it is a share");
        let chunk = |id: &str| Chunk::new(id, "is a file, not a folder", Relevance::ZERO);
        let mut chunks = [chunk("a"), chunk("b")];
        chunks[0].origin = Origin::Message;
        raise(
            &Query::analyse("is a file, not a folder"),
            worth,
            &mut chunks,
            &|| true,
        );
        assert_eq!(chunks.map(|it| it.relevance), [Relevance::ZERO, worth]);
    }

    #[test]
    fn a_raised_chunk_is_reported_with_the_text_it_has() {
        let text = "No such option {name!r}. Did you mean it?";
        for (question, by) in [
            ("why \"Did you mean it?\"", RaisedBy::Quotation),
            ("Error: No such option: --foo", RaisedBy::Message),
        ] {
            let chunk = |id: &str, text: &str| Chunk::new(id, text, Relevance::ZERO);
            let mut chunks = [chunk("a", "no option"), chunk("b", text)];
            let query = Query::analyse(question);
            let raised = raise(&query, Relevance::ONE, &mut chunks, &|| true);
            let told: Vec<_> = raised.iter().map(|it| (&*it.id, it.by, it.to)).collect();
            assert_eq!(told, [("b", by, chunks[1].relevance)], "{question:?}");
        }
    }

    #[test]
    fn few_words_tell_nothing() {
        come_to("a folder", &["a folder", "b"], &[10, 10]);
        come_to("it is a", &["it is a", "b"], &[10, 10]);
    }

    #[test]
    fn quotations_that_are_too_long_raise_nothing() {
        let long = format!("it is {}", "x".repeat(LONG));
        come_to(&long, &[&long, "b"], &[10, 10]);
        come_to(&format!("`{long}`"), &[&long, "b"], &[10, 10]);
    }

    #[test]
    fn texts_that_many_chunks_have_raise_nothing() {
        let texts = ["all rights are reserved"; 9];
        come_to("all rights are reserved", &texts, &[10; 9]);
        come_to("all rights are reserved", &texts[..4], &[20; 4]);
    }

    #[test]
    fn a_long_text_is_looked_through_as_long_as_somebody_waits() {
        // It has all words of the phrase, the longest at its end: in each way to look for it all of
        // the text is looked at.
        let text = format!("{} folder", "is not a file ".repeat(4 * STEP / 14));
        let question = Query::analyse("not a file is not a folder");
        let asked_until = |most: usize| {
            let asked = Cell::new(0);
            let is_awaited = || {
                asked.set(asked.get() + 1);
                asked.get() <= most
            };
            let mut chunks = [Chunk::new("a", &*text, Relevance::ZERO)];
            raise(&question, Relevance::ONE, &mut chunks, &is_awaited);
            asked.get()
        };
        let all = asked_until(usize::MAX);
        assert!(all >= 16, "{all}");
        // What is begun after that asks once.
        for most in [0, 2, 6, 9, all - 2] {
            let asked = asked_until(most);
            assert!(asked < most + 8, "{most} {asked}");
        }
    }

    #[test]
    fn a_word_is_found_wherever_it_stands() {
        let said = "connection timeouts like these".to_owned();
        let phrase = Phrase::new(said, Form::Text).unwrap();
        for at in [0, STEP - 4, STEP, STEP + LONG - 4, 2 * STEP - 1] {
            let text = format!("{} Connection {}", "x ".repeat(at / 2), " x".repeat(STEP));
            assert!(has(&text, &phrase.words[0], &|| true), "{at}");
            assert!(!has(&text, &phrase.words[1], &|| true), "{at}");
        }
    }

    #[test]
    fn words_of_other_scripts_are_compared_where_one_is_of_ascii() {
        come_to(
            "der Größe von x2",
            &["DER  GRÖßE VON X2", "der Grosse von x2"],
            &[40, 10],
        );
    }
}
