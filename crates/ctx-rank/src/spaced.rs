//! Names of files that are no words: with spaces, brackets and other signs in them, as people call
//! their notes, dates, and names with a dot before them.

use crate::mentions::{is_written, may_be_file_name, mention_of, with_line};
use crate::query::{Query, is_asking};
use crate::words::{is_of_word, says_nothing};

/// The most words of such a name.
const MOST_WORDS: usize = 8;
/// The most bytes of such a name, with its folders.
const MOST_BYTES: usize = 200;
/// The most names of a question.
const MOST_NAMES: usize = 32;
/// Signs around a name.
const AROUND: [char; 11] = ['"', '\'', '`', '“', '”', '„', '‘', '’', '«', '»', '@'];
/// Signs that end a sentence or a clause.
const ENDS: [char; 6] = ['.', '?', '!', ',', ';', ':'];

impl Query {
    /// The name of a file that all of a [typed](Query::typed) question may be, if it is no single
    /// word that [is one](crate::Mentions::file_names) already: `Meeting Notes`, `Plan (draft).md`,
    /// `2024-01-05`. The caller keeps it if there is such a file, with or without the extension of
    /// a document. O(bytes).
    pub fn whole_name(&self) -> Option<String> {
        let typed = self.typed.as_deref()?;
        let name = with_line(bare(typed)).0;
        let words: Vec<&str> = name.split_whitespace().collect();
        let is_known = |it: &str| mention_of(it).is_some() || may_be_file_name(it);
        let says = |it: &&str| it.contains(char::is_alphanumeric) && !says_nothing(it);
        // A name has few of the words that questions are made of.
        let telling = words.iter().filter(|it| says(it)).count();
        let is_name = (1..=MOST_WORDS).contains(&words.len())
            && 2 * telling >= words.len()
            && name.len() <= MOST_BYTES
            && !name.contains("://")
            && !(words.len() == 1 && is_known(name));
        is_name.then(|| words.join(" "))
    }

    /// Those of its [names of several words](crate::Mentions::spaced_names) that are all it asks
    /// for: no other word says anything, as in `what is in "Meeting Notes"?`. O(bytes × names).
    pub fn spaced_names_alone(&self) -> Vec<String> {
        let is_around = |it: char| !is_of_word(it);
        let is_alone = |name: &str| {
            let own: Vec<&str> = name
                .split_whitespace()
                .map(|it| it.trim_matches(is_around))
                .collect();
            let mut others = self.words().filter(|it| !own.contains(it));
            others.all(|it| says_nothing(it) || is_asking(it))
        };
        let names = self.mentions.spaced_names.iter();
        names.filter(|it| is_alone(it)).cloned().collect()
    }

    /// Whether it marks words as a name, between quotation marks or the brackets of links.
    pub(crate) fn quotes_a_name(&self) -> bool {
        let is_marked = !self.mentions.phrases.is_empty() || self.text.contains("[[");
        is_marked && self.mentions.spaced_names.iter().any(|it| it.len() > 1)
    }

    /// Finds its [names of several words](crate::Mentions::spaced_names). O(bytes).
    pub(crate) fn find_spaced_names(&self) -> Vec<String> {
        let Some(typed) = self.typed.as_deref() else {
            return Vec::new();
        };
        // Terminals escape the spaces of a file that is dragged into them.
        let typed = typed.replace("\\ ", " ");
        let mut names: Vec<String> = self.whole_name().into_iter().collect();
        let linked = typed.split("[[").skip(1);
        let linked = linked.filter_map(|it| Some(it.split_once("]]")?.0));
        let linked = linked.map(|it| it.split(['|', '#']).next().unwrap_or(it));
        let phrases = self.mentions.phrases.iter().map(String::as_str);
        names.extend(linked.chain(phrases).map(|it| bare(it).to_owned()));
        let words: Vec<&str> = typed.split_whitespace().collect();
        for (at, word) in words.iter().enumerate() {
            let last = with_line(bare(word)).0;
            let dotted = last.trim_matches(['(', ')', '<', '>', '{', '}']);
            if is_dotted(dotted) {
                names.push(dotted.to_owned());
            }
            if is_date(last) {
                names.push(last.to_owned());
            }
            if !ends_name(last) {
                continue;
            }
            if mention_of(last).is_none() && !last.ends_with('/') {
                names.push(last.to_owned());
            }
            let starts = (at.saturating_sub(MOST_WORDS - 1)..at).rev();
            names.extend(starts.map(|start| {
                let before = words[start..at].join(" ");
                format!("{} {last}", before.trim_start_matches(AROUND))
            }));
        }
        let mut kept: Vec<String> = Vec::new();
        for name in names {
            let is_one = name.contains(char::is_alphanumeric) && name.len() <= MOST_BYTES;
            if is_one && !kept.contains(&name) && kept.len() < MOST_NAMES {
                kept.push(name);
            }
        }
        kept
    }
}

/// `text` without signs around it, and without those that end a sentence behind it.
fn bare(text: &str) -> &str {
    let is_apart = !text.contains('(');
    let is_behind = |c: char| AROUND.contains(&c) || ENDS.contains(&c) || is_apart && c == ')';
    let bare = text.trim().trim_end_matches(is_behind);
    let bare = bare.trim_start_matches(AROUND).trim();
    // A link between notes; a file may be called `[id].tsx`.
    let linked = bare.strip_prefix("[[").and_then(|it| it.strip_suffix("]]"));
    linked.unwrap_or(bare).trim()
}

/// Whether the name of a file or a folder ends with `word`.
fn ends_name(word: &str) -> bool {
    let parts = word.rsplit_once('.').filter(|it| !it.0.is_empty());
    let is_file = parts.is_some_and(|it| is_written(&it.1.to_lowercase()));
    is_file || word.ends_with('/') && !word.contains("://")
}

/// Whether `word` is a name with a dot before it, and no extension.
fn is_dotted(word: &str) -> bool {
    let name = word.strip_prefix('.');
    name.is_some_and(|it| !it.starts_with('.') && !is_written(it) && may_be_file_name(it))
}

/// Whether `word` is a date as calendars of computers write it.
fn is_date(word: &str) -> bool {
    let lengths = word.split('-').map(str::len);
    lengths.eq([4, 2, 2]) && word.bytes().all(|it| it == b'-' || it.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn whole(text: &str, expected: Option<&str>) {
        assert_eq!(Query::analyse(text).whole_name().as_deref(), expected);
    }

    #[test]
    fn a_whole_question_may_be_the_name_of_a_file() {
        whole("Meeting Notes", Some("Meeting Notes"));
        whole("[[Meeting  Notes]]", Some("Meeting Notes"));
        whole("\"Plan (draft).md\"", Some("Plan (draft).md"));
        whole("What's next?.md", Some("What's next?.md"));
        whole("2024-01-05", Some("2024-01-05"));
        whole("📝notes.md", Some("📝notes.md"));
        whole("app/[id].tsx", Some("app/[id].tsx"));
        for none in [
            "README",
            "src/lib.rs",
            "what is this",
            "why does it wait so long",
            "https://example.org/a b",
            "one two three four five six seven eight nine",
            "two\nlines",
            "?!",
        ] {
            whole(none, None);
        }
    }

    #[test]
    fn names_of_several_words_are_those_before_an_extension() {
        let names = |text: &str| Query::analyse(text).mentions.spaced_names;
        assert_eq!(
            names("in Meeting Notes.md:3?"),
            ["in Meeting Notes.md", "Meeting Notes.md"]
        );
        let alone = |text: &str| Query::analyse(text).spaced_names_alone();
        assert_eq!(alone("what is in \"Meeting Notes\"?"), ["Meeting Notes"]);
        let all = alone("who pays by \"Meeting Notes\"?");
        assert!(!all.contains(&"Meeting Notes".to_owned()), "{all:?}");
        assert!(names("what of it (see My Day.md)?").contains(&"My Day.md".to_owned()));
        let all = names("what does \"Plan (draft)\" say of @Big\\ Thing/ since 2024-01-05?");
        for name in ["Plan (draft)", "Big Thing/", "2024-01-05"] {
            assert!(all.contains(&name.to_owned()), "{all:?}");
        }
        let dotted =
            names("why do (.gitignore) and `.env`, but no .md or ..a, count as ... so many files?");
        assert_eq!(dotted, [".gitignore", ".env"]);
        assert!(names("see [[My Day|today]]").contains(&"My Day".to_owned()));
        assert_eq!(names("[[to do]]"), ["to do"]);
        assert!(!Query::analyse("[[to do]]").is_empty());
        assert!(Query::analyse("to do").is_empty());
        assert!(names("title\nof \"Meeting Notes.md\"").is_empty());
        let many: Vec<String> = (0..24).map(|it| format!("a{it}.md")).collect();
        assert_eq!(names(&many.join(" ")).len(), MOST_NAMES);
    }
}
