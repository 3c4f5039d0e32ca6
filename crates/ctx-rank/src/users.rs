//! Questions about the users of something: what calls or uses it.

use crate::Query;
use crate::names::{Name, may_be_name};
use crate::words::says_nothing;

/// The most names; a question with more asks what they have in common.
const MOST_NAMES: usize = 2;
/// Verbs for using and for calling something. Many things are used that are not names of code, so
/// only calls imply a name.
const USE: [&str; 5] = ["use", "uses", "reference", "references", "refers"];
const CALL: [&str; 4] = ["call", "calls", "invoke", "invokes"];
/// Participles for being used.
const USED: [&str; 3] = ["used", "referenced", "instantiated"];
const CALLED: [&str; 2] = ["called", "invoked"];
/// Subjects of questions about users.
const WHO: [&str; 3] = ["who", "what", "which"];
/// Words that may stand between the verb and the name.
const BETWEEN: [&str; 7] = ["a", "an", "class", "function", "method", "of", "the"];
/// Stems of words that ask for users, which are no topic of the question.
const STEMS: [&str; 9] = [
    "call", "caller", "instanti", "invok", "refer", "referenc", "usag", "use", "user",
];

/// A phrase of a question about using something.
struct Cue {
    /// The index of the word where the name, or a word before it, is expected.
    at: usize,
    /// Whether it is about calls: then any word is taken for a name.
    is_call: bool,
}

impl Query {
    /// Whether it asks for the [users](crate::Intent::Users) of its names.
    pub(crate) fn asks_for_users(&self) -> bool {
        // Who reads a file is written in no outline.
        let names = self.mentions.names.iter().filter(|it| !it.may_be_file);
        let mut names: Vec<&str> = names.map(|it| it.last.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        (1..=MOST_NAMES).contains(&names.len()) && cue(&self.lower()).is_some()
    }

    /// Adds the called name even if it does not look like one, and removes the terms that only ask
    /// for users.
    pub(crate) fn note_users(&mut self) {
        let Some(cue) = cue(&self.lower()) else {
            return;
        };
        let name = self.used(&cue);
        if cue.is_call && self.mentions.names.is_empty() {
            self.mentions.names.extend(name);
        }
        if self.asks_for_users() {
            for terms in [&mut self.terms, &mut self.title] {
                let says_more = |it: &crate::Term| !STEMS.contains(&it.text.as_str());
                if terms.iter().any(says_more) {
                    terms.retain(says_more);
                }
            }
        }
    }

    /// The name after `cue`.
    fn used(&self, cue: &Cue) -> Option<Name> {
        let is_between = |it: &&str| BETWEEN.iter().any(|word| word.eq_ignore_ascii_case(it));
        let mut words = self.words().skip(cue.at).skip_while(is_between);
        let name = words.next()?;
        let ends = words
            .next()
            .is_none_or(|it| it == "in" || CALLED.contains(&it));
        let is_of_name = |it: char| it.is_alphanumeric() || it == '_';
        let is_word = name.len() < 3 || says_nothing(name);
        let is_name =
            name.chars().all(is_of_name) && (!is_word || ends && may_be_name(name, false));
        let written = self.typed.iter().flat_map(|it| it.split_whitespace());
        let mut behind = written.map(|it| it.trim_start_matches(|c| !is_of_name(c)));
        let behind = behind.find_map(|it| it.strip_prefix(name));
        is_name.then(|| Name::alone(name).before(behind.unwrap_or_default()))
    }

    fn lower(&self) -> Vec<String> {
        self.words().map(str::to_lowercase).collect()
    }
}

/// The phrase about using something in `words`, which are in lower case.
fn cue(words: &[String]) -> Option<Cue> {
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    let is_one = |at: usize, of: &[&str]| of.contains(&word(at));
    let found = |at: usize, is_call: bool| Some(Cue { at, is_call });
    for at in 0..words.len() {
        match word(at) {
            "callers" | "callsites" => return found(at + 1, true),
            "usages" => return found(at + 1, false),
            "calls" if is_one(at + 1, &["of", "to"]) => return found(at + 2, true),
            "usage" | "uses" | "users" if word(at + 1) == "of" => return found(at + 2, false),
            "references" if word(at + 1) == "to" => return found(at + 2, false),
            _ => {}
        }
    }
    let verb = |of: &[&str], from: usize, to: usize| (from..to).find(|&at| is_one(at, of));
    if is_one(0, &WHO) {
        // "what uses", "which functions call"; not "what does it call".
        let call = verb(&CALL, 1, 4).map(|at| (at, true));
        let of = call.or_else(|| verb(&USE, 1, 4).map(|at| (at, false)));
        let is_asked =
            |it: &(usize, bool)| (1..it.0).all(|at| !is_one(at, &["do", "does", "is", "to"]));
        return of
            .filter(is_asked)
            .and_then(|(at, is_call)| found(at + 1, is_call));
    }
    if word(0) == "where" && is_one(1, &["is", "are"]) {
        let called = verb(&CALLED, 3, words.len()).map(|_| true);
        let of = called.or_else(|| verb(&USED, 3, words.len()).map(|_| false));
        return of.and_then(|is_call| found(2, is_call));
    }
    None
}
