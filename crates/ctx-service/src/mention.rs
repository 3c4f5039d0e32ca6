//! How a message names what its context must contain: a file, lines of one, a symbol, a message, or
//! the label of a citation.
//!
//! What the message of [`Service::prime`](crate::Service::prime) names must be in the context, as
//! fully as it fits; only messages of the thread may be left out:
//!
//! * `@src/tide.rs` or `@tide.rs`: the indexed file with this path, or the only one whose path
//!   ends so. `@types/node.d.ts` may be the file `@types/node.d.ts`, too.
//! * `@tide.rs:10`, `@tide.rs:10-20` or `@tide.rs#L10-L20`: lines of it, from 1; in
//!   `@tide.rs:10:5` the 5 is a column. `lines 10 to 20 of @tide.rs` and `@tide.rs, line 10` say
//!   the same in words, beside a file with an extension.
//! * `@Moon`, `@Moon.pull`, `@Moon::pull`, `@Moon#pull` or `@Moon->pull`: the file with this
//!   path, such as `@Makefile`; else at most three symbols of this name, within the scope before
//!   it; else the only file whose path ends so. Where only a dot joins the names, as in `@main.c`,
//!   files whose paths end so go before symbols. A scope is a name around the symbol; if no symbol
//!   has it around it, that of its file, without extension, or of a folder.
//! * `@"my notes.md"` or `@"my notes.md:3"`: any of these, up to the next quotation mark;
//!   without one on the line, nothing.
//! * `@m-17`: the message of the thread with this id, and its exchange, if no file or symbol is
//!   called so.
//! * `[fil-9f2a1c]`, `[fil-9f2a1c:3, mes-9f2a1c]` or `@fil-9f2a1c`: the sources with these
//!   labels in earlier contexts of the thread.
//!
//! # How they are read
//! * An `@` begins a name at the beginning of a word: not after a letter, a digit or one of
//!   `` !#$%&)+-./=?@\]^} ``, as in `me@example.com`, `node_modules/@types` and `f(x)@y`.
//!   Emphasis (`*`, `_`, `~`) before it does not count, nor do letters of scripts without
//!   spaces.
//! * A name without quotation marks ends before white space, a bracket, a quotation mark of any
//!   language, a backtick, an em dash, one of `,;@|` or such punctuation of other scripts.
//!   `.:!?-~*–…` at its end are not part of it, nor is the emphasis around it. In the path of a
//!   file, names may be in brackets, as in `@app/[slug]/page.tsx` and `@(shop)/page.tsx`. Where
//!   text in a script without spaces follows, the path of a file ends after its extension and
//!   lines.
//! * `\` in a path counts as `/`, and `./` before it only says that it is one. A symbol in the same
//!   case goes before others.
//! * Lines past the end of a file are left out. Lines after a label are passed over.
//! * Fenced code blocks name nothing: decorators are not names.
//! * Only indexed files are found: `@.env` opens nothing.
//!
//! The thread's pins and [`PrimeOptions::references`] are written in the same way, each a name by
//! itself: with or without `@`, and without quotation marks. Of pins, references and message the
//! first 32 names each are looked up; of all labels of files the first 32 are looked for in earlier
//! contexts, and of all names of no file or symbol the first 32 among the thread's messages.
//! Whatever is not found, fits several files or symbols, or was not looked up is in
//! [`PrimeContext::unresolved`], with the reason.
//!
//! [`PrimeOptions::references`]: crate::PrimeOptions::references
//! [`PrimeContext::unresolved`]: crate::PrimeContext::unresolved
//!
//! # Examples
//! ```
//! # use std::sync::Arc;
//! # use ctx_index::Index;
//! # use ctx_resolve::Resolver;
//! # use ctx_retrieve::Retriever;
//! # use ctx_service::{Control, OwnerId, Ports, PrimeOptions, Service};
//! # use ctx_source::{Limits, Root, Sources};
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let root = folder.path().join("root");
//! # std::fs::create_dir_all(root.join("src"))?;
//! std::fs::write(root.join("src/tide.rs"), "pub fn lag() -> u32 {\n    6\n}\n")?;
//! std::fs::write(root.join("src/moon.rs"), "pub fn pull() {}\n\npub fn turn() {}\n")?;
//! std::fs::write(root.join("my notes.md"), "Ebb follows flood.\n")?;
//! # let index = Index::open(&root, &folder.path().join("index"), ctx_index::Options::default())?;
//! # index.update(&mut |_| std::ops::ControlFlow::Continue(()))?;
//! # let index = Arc::new(index);
//! # let sources = Sources::new(Root::open(&root)?, Limits::default());
//! # let resolver = Resolver::new(sources, ctx_syntax::Limits::default()).with_index(index.clone());
//! # let service = Service::new(Retriever::over(index.clone()), Arc::new(resolver))
//! #     .for_owner(OwnerId::new("ada"), Ports::of(&index));
//!
//! let message = "Does @turn fit lines 2 to 3 of @tide.rs, and what of @\"my notes.md\" and @gone.rs?";
//! let prime = service
//!     .prime(None, message, &PrimeOptions::default(), &Control::default())
//!     .await?;
//! let named = prime.context.items.iter();
//! let named = named.filter(|it| it.origin == ctx_model::Origin::Reference);
//! let mut named: Vec<_> = named
//!     .map(|it| (it.path.as_deref().unwrap(), it.span.map(|it| (it.start(), it.end()))))
//!     .collect();
//! named.sort_unstable();
//! assert_eq!(
//!     named,
//!     [
//!         ("my notes.md", Some((1, 1))),
//!         ("src/moon.rs", Some((3, 3))),
//!         ("src/tide.rs", Some((2, 3))),
//!     ]
//! );
//! assert_eq!(prime.context.unresolved[0].reference, "gone.rs");
//! # Ok(())
//! # }
//! ```

use std::borrow::Cow;
use std::collections::BTreeSet;

use ctx_citations::{cited_labels, is_label, label_list, label_origin, path_and_lines};
use ctx_model::{LineSpan, Origin};
use ctx_rank::{
    Query, file_before_text, is_file, is_unspaced, lines_beside, lines_outside_code,
    word_with_brackets,
};

use crate::gather::{Required, Unresolved};

/// The most names that are looked up of a message, of a thread's pins, and of a request: the first.
pub(crate) const MOST: usize = 32;

/// The longest possible name, in bytes: a path has at most 1,024, and two numbers of lines may
/// follow it.
const LONGEST: usize = 1024 + "#L4294967295-L4294967295".len();

/// Something a user named.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mention {
    /// The name as it was written, without the `@`, and with the lines stated beside it.
    pub(crate) text: String,
    pub(crate) what: What,
}

/// What it may be; the store decides which.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum What {
    /// A file, or lines of it.
    File {
        path: String,
        lines: Option<LineSpan>,
    },
    /// A file with an invalid range of lines after it, and what is wrong with that, unless a file
    /// has this strange name.
    BadLines { path: String, why: String },
    /// A symbol, the end of a path, or the id of a message.
    Name,
    /// The label of a citation.
    Label,
}

impl Mention {
    /// Whether it is the label of a citation of a file.
    pub(crate) fn is_label_of_a_file(&self) -> bool {
        label_origin(&self.text).is_some_and(|it| it != Origin::Message)
    }

    /// Whether it is the label of a message.
    pub(crate) fn is_label_of_messages(&self) -> bool {
        label_origin(&self.text) == Some(Origin::Message)
    }

    /// Whether it may be the id of a message, in which there may be dots: `2024.03.11-7`. Names
    /// with the extension of a file are none.
    pub(crate) fn may_be_message(&self) -> bool {
        match self.what {
            What::Name => true,
            What::File { lines: None, .. } => {
                !self.text.contains(['/', '\\']) && !is_path(&self.text)
            }
            _ => false,
        }
    }

    /// What `text` names, or why it cannot be a name.
    fn of(text: &str) -> Result<Mention, &'static str> {
        let text = text.trim();
        if text.is_empty() {
            return Err("it is blank");
        }
        if text.len() > LONGEST {
            return Err("it is too long to be a name");
        }
        if text.contains(char::is_control) {
            return Err("it has a control character in it");
        }
        Ok(Mention {
            text: text.to_owned(),
            what: what(text),
        })
    }
}

/// All names for one context.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mentioned {
    /// The names to be looked up, each once: the pins first, and then the references of the
    /// options.
    pub(crate) all: Vec<Mention>,
    /// How many of them are pins,
    pins: usize,
    /// and how many are pins or such references.
    required: usize,
    /// The names that are not looked up, with the reason.
    pub(crate) passed_over: Vec<Unresolved>,
}

impl Mentioned {
    /// The pins of a thread, the references of a request, and the names in its message. The first
    /// [`MOST`] of each are looked up; some of the others are reported by name, and the rest by
    /// their number. O(bytes).
    pub(crate) fn of(pinned: &[String], references: &[String], message: &str) -> Self {
        let without_at = |names: &[String]| {
            let names = names.iter().map(|it| it.strip_prefix('@').unwrap_or(it));
            List::of(names.map(str::to_owned))
        };
        let mut mentioned = Mentioned::default();
        let lists = [
            without_at(pinned),
            without_at(references),
            mentions(message),
        ];
        let mut ends = [0; 3];
        for (list, end) in lists.into_iter().zip(&mut ends) {
            for mention in list.named {
                if !mentioned.all.contains(&mention) {
                    mentioned.all.push(mention);
                }
            }
            mentioned.passed_over.extend(list.passed_over);
            if list.more > 0 {
                let why = format!("{} more are not looked up", list.more);
                mentioned.passed_over.push(Unresolved::new("…", why));
            }
            *end = mentioned.all.len();
        }
        [mentioned.pins, mentioned.required, _] = ends;
        mentioned
    }

    /// The pins and the references of the options.
    pub(crate) fn required(&self) -> impl Iterator<Item = (Required, &Mention)> {
        let required = self.all.iter().take(self.required).enumerate();
        required.map(|(at, mention)| {
            let name = mention.text.clone();
            let what = if at < self.pins {
                Required::Pin(name)
            } else {
                Required::Reference(name)
            };
            (what, mention)
        })
    }
}

/// The names of one source, each once.
#[derive(Debug, Default)]
struct List {
    seen: BTreeSet<String>,
    named: Vec<Mention>,
    passed_over: Vec<Unresolved>,
    /// How many more are skipped.
    more: usize,
}

impl List {
    fn of(names: impl Iterator<Item = String>) -> Self {
        let mut list = List::default();
        names.for_each(|it| list.add(it));
        list
    }

    /// Adds what `name` names: a list of labels, as in a citation, names each of them.
    fn add(&mut self, name: String) {
        match label_list(&name) {
            Some(labels) => labels
                .into_iter()
                .for_each(|it| self.add_one(it.to_owned())),
            None => self.add_one(name),
        }
    }

    fn add_one(&mut self, name: String) {
        if self.seen.contains(&name) {
            return;
        }
        match Mention::of(&name) {
            Ok(mention) if self.named.len() < MOST => self.named.push(mention),
            Ok(_) => self.pass_over(&name, &format!("only {MOST} are looked up")),
            Err(why) => self.pass_over(&name, why),
        }
        self.seen.insert(name);
    }

    fn pass_over(&mut self, name: &str, why: &str) {
        if self.passed_over.len() < MOST {
            self.passed_over.push(Unresolved::cut(name, why));
        } else {
            self.more += 1;
        }
    }
}

fn what(text: &str) -> What {
    if is_label(text) {
        return What::Label;
    }
    if let Some((path, why)) = bad_lines(text) {
        let path = plain(path);
        return What::BadLines { path, why };
    }
    let (written, lines) = path_and_lines(text);
    let path = plain(written);
    let is_member = path.contains('#') && lines.is_none();
    let is_scoped = path.contains("::") || path.contains("->") || is_member;
    // `./Makefile` is a path, too.
    let is_path = !path.is_empty() && written.contains(['/', '\\', '.']);
    if !is_scoped && (lines.is_some() || is_path) {
        return What::File { path, lines };
    }
    What::Name
}

/// `path` as it is stored.
fn plain(path: &str) -> String {
    let path = path.replace('\\', "/");
    path.trim_start_matches("./").to_owned()
}

/// For `path:20-10` or `path:0`, the path, and why these are not lines.
fn bad_lines(text: &str) -> Option<(&str, String)> {
    let (mut path, mut why) = why_bad(text)?;
    if why.is_none() {
        // Of two numbers the second is a column.
        (path, why) = why_bad(path)?;
    }
    let why = why?;
    (!path.is_empty() && !path.ends_with(':')).then_some((path, why))
}

/// The text before the numbers at the end of `text`, and why these are not lines, if they are not.
fn why_bad(text: &str) -> Option<(&str, Option<String>)> {
    let digits = |text: &'_ str| {
        let text = text.strip_prefix('L').unwrap_or(text);
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse::<u32>().ok())
    };
    let behind = |mark| {
        let (path, lines) = text.rsplit_once(mark)?;
        let (start, end) = lines.split_once(['-', '–']).unwrap_or((lines, lines));
        Some((path, digits(start)?, digits(end)?))
    };
    let (path, start, end) = behind("#L").or_else(|| behind(":"))?;
    let why = match (start, end) {
        (Some(0), _) | (_, Some(0)) => Some("lines are counted from 1".to_owned()),
        (Some(start), Some(end)) if end < start => {
            Some(format!("lines {start}-{end} are reversed"))
        }
        (Some(_), Some(_)) => None,
        _ => Some("no file has as many lines".to_owned()),
    };
    Some((path, why))
}

/// The names in `message`, each once, in their order, as [`Service::prime`](crate::Service::prime)
/// looks them up: without the `@`, and with the lines stated beside a file. Names that it would not
/// look up are left out. O(bytes).
///
/// ```
/// # use ctx_service::mention::names;
/// assert_eq!(names("Does @turn fit lines 2 to 3 of @tide.rs?"), ["turn", "tide.rs:2-3"]);
/// ```
pub fn names(message: &str) -> Vec<String> {
    let named = mentions(message).named;
    named.into_iter().map(|it| it.text).collect()
}

/// The names in `message`: words after an `@` that begins a word, and the labels that it cites in
/// the way of answers; each once, in their order. Fenced code blocks are skipped, since decorators
/// and annotations name nothing. O(bytes).
fn mentions(message: &str) -> List {
    let mut found = List::default();
    for line in lines_outside_code(message) {
        for name in in_line(line) {
            found.add(name.into_owned());
        }
    }
    found
}

/// `message` with spaces in place of the labels in it, by which it names sources: their letters and
/// digits are not words of what is asked. O(bytes).
pub(crate) fn without_labels(message: &str) -> Cow<'_, str> {
    let named = message.match_indices('@').filter_map(|(at, _)| {
        let (before, mention) = message.split_at(at);
        let name = name(before, mention);
        (is_label(name) && begins_name(before)).then_some((at + 1, name))
    });
    let mut labels: Vec<(usize, &str)> = cited_labels(message).chain(named).collect();
    labels.sort_unstable();
    let mut text = String::new();
    let mut end = 0;
    for (at, label) in labels {
        let Some(between) = message.get(end..at) else {
            continue;
        };
        text.push_str(between);
        text.extend(std::iter::repeat_n(' ', label.len()));
        end = at + label.len();
    }
    if end == 0 {
        return message.into();
    }
    text.push_str(&message[end..]);
    text.into()
}

fn in_line(line: &str) -> impl Iterator<Item = Cow<'_, str>> {
    // Where the name between quotation marks that came last ends: it may have an `@` in it.
    let mut end = 0;
    let after_signs = line.match_indices('@').filter_map(|(at, _)| {
        let (before, mention) = line.split_at(at);
        if at < end || !begins_name(before) {
            return None;
        }
        if mention.starts_with("@\"") {
            end = at + 2 + name(before, mention).len();
        }
        Some((at, with_lines_beside(before, mention)))
    });
    let labels = cited_labels(line).map(|(at, label)| (at, Cow::Borrowed(label)));
    let mut names: Vec<(usize, Cow<'_, str>)> = after_signs.chain(labels).collect();
    names.sort_by_key(|it| it.0);
    let names = names.into_iter().map(|it| it.1);
    names.filter(|it| !it.trim().is_empty())
}

/// Whether an `@` after `before` begins a name. It does not after a character that may precede it
/// in a mail address, in the path of a package (`node_modules/@types`), or in code (`a[0] @ b`);
/// but emphasis may begin a word, and in scripts without spaces words follow each other directly.
fn begins_name(before: &str) -> bool {
    let before = before.trim_end_matches(EMPHASIS);
    before.chars().next_back().is_none_or(|c| {
        let is_of_word = c.is_alphanumeric() && !is_unspaced(c) || is_accent(c);
        !is_of_word && !"!#$%&)+-./=?@\\]^}".contains(c)
    })
}

/// Marks of emphasis around a name.
const EMPHASIS: [char; 3] = ['*', '_', '~'];

/// Whether `c` combines with the letter before it.
fn is_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

/// The name after the `@` that `mention` begins with, with the lines stated beside a file, in
/// `before` or after it: `a.rs:3-9` for `lines 3 to 9 of @a.rs`.
fn with_lines_beside<'l>(before: &str, mention: &'l str) -> Cow<'l, str> {
    let (name, rest) = (name(before, mention), &mention[1..]);
    let quote = usize::from(rest.starts_with('"'));
    let after = rest.get(name.len() + 2 * quote..).unwrap_or_default();
    // `Session.close` may be a symbol.
    let is_file = || matches!(what(name), What::File { lines: None, .. }) && is_path(name);
    let is_around = |c: char| EMPHASIS.contains(&c) || "“”„‘’«»".contains(c);
    let before = before.trim_end_matches(is_around);
    match lines_beside(before, after.trim_start_matches(is_around)) {
        Some((first, last)) if is_file() => {
            let last = last.unwrap_or(first);
            format!("{name}:{first}-{last}").into()
        }
        _ => name.into(),
    }
}

/// Whether `name` is the path of a file, by its extension.
fn is_path(name: &str) -> bool {
    !Query::analyse(name).mentions.files.is_empty()
}

/// The name after the `@` that `mention` begins with, which follows `before`: everything between
/// quotation marks, or a word without the punctuation and the emphasis that follow it. In a script
/// without spaces, a file ends with its extension or its lines. The path of a file may have names
/// in brackets in it.
fn name<'l>(before: &str, mention: &'l str) -> &'l str {
    if let Some(quoted) = mention.strip_prefix("@\"") {
        return quoted.split_once('"').map_or("", |(name, _)| name);
    }
    let (word, with_brackets) = word_with_brackets(mention, ends_word);
    let with_brackets = with_brackets.filter(|it| is_file(without_punctuation(it)));
    let word = &with_brackets.unwrap_or(word)[1..];
    let word = without_punctuation(file_before_text(word).unwrap_or(word));
    without_punctuation(without_underscores(before, word))
}

/// Whether names outside quotation marks never contain `c`.
fn ends_word(c: char) -> bool {
    c.is_whitespace()
        || "()[]{}<>\"'`,;@|".contains(c)
        || "—“”„‘’‚«»‹›、。〈〉《》「」『』【】〔〕！（），：；？［］｛｜｝".contains(c)
}

fn without_punctuation(word: &str) -> &str {
    word.trim_end_matches(['.', ':', '!', '?', '*', '-', '~', '–', '…'])
}

/// `word` without the emphasis marks at its end that match those at the end of `before`, or without
/// all such marks if it is then the path of a file. In code, names may end with them.
fn without_underscores<'w>(before: &str, word: &'w str) -> &'w str {
    let bare = word.trim_end_matches('_');
    let count = word.len() - bare.len();
    let opened = before.len() - before.trim_end_matches('_').len();
    if count <= opened || is_path(bare) {
        bare
    } else {
        &word[..word.len() - opened]
    }
}

#[cfg(test)]
mod tests {
    use ctx_testkit::laws::linear;

    use super::*;

    #[track_caller]
    fn names(message: &str, expected: &[&str]) {
        let found = mentions(message).named;
        let found: Vec<String> = found.into_iter().map(|it| it.text).collect();
        assert_eq!(found, expected);
    }

    #[track_caller]
    fn is_file(text: &str, path: &str, lines: Option<(u32, u32)>) {
        let lines = lines.map(|(start, end)| LineSpan::new(start, end).expect("lines"));
        let path = path.to_owned();
        assert_eq!(what(text), What::File { path, lines }, "{text}");
    }

    #[test]
    fn labels_are_no_words() {
        let asked = "is [fil-9f2a1c:3, mes-0a1b2c] as @ref-00ff11 says, and [see chu-9f2a1c]?";
        let mut words = asked.to_owned();
        for label in ["fil-9f2a1c", "mes-0a1b2c", "ref-00ff11", "chu-9f2a1c"] {
            words = words.replace(label, &" ".repeat(label.len()));
        }
        assert_eq!(without_labels(asked), words);
        for asked in ["", "a@fil-9f2a1c", "fil-9f2a1c", "a[0]", "@fil"] {
            assert_eq!(without_labels(asked), asked);
        }
        linear(
            "labels",
            |n| "[fil-9f2a1c] @fil-9f2a1c ".repeat(n / 25),
            |it| without_labels(it).len(),
        );
    }

    #[test]
    fn a_name_between_quotation_marks_may_have_an_at_sign() {
        names("@\"@scope/a.ts\" @b", &["@scope/a.ts", "b"]);
        names("@\"app/ @modal/a.tsx\", @b", &["app/ @modal/a.tsx", "b"]);
        names("@\"@a", &["a"]);
    }

    #[test]
    fn a_name_follows_an_at_sign_that_begins_a_word() {
        names("Why does @src/a.rs fail?", &["src/a.rs"]);
        names("(@a.rs:10-20), @Session.", &["a.rs:10-20", "Session"]);
        names("see @\"my notes.md\" and `@b.rs`", &["my notes.md", "b.rs"]);
        names("@a.rs @a.rs", &["a.rs"]);
    }

    #[test]
    fn names_in_the_path_of_a_file_may_be_in_brackets() {
        for path in [
            "app/[slug]/page.tsx",
            "app/blog/[slug]/page.tsx:12",
            "(shop)/page.tsx",
            "[id].tsx:3-9",
            "app/(shop)/[[...path]]/page.tsx",
        ] {
            for around in ["see {}, please", "(why does {} fail?)", "**{}**", "[{}]"] {
                names(&around.replace("{}", &format!("@{path}")), &[path]);
            }
        }
        names("(@a.rs) @b.rs[0] [@c.rs](d.rs)", &["a.rs", "b.rs", "c.rs"]);
        names(
            "@src/(see below) @Session[slug] @f(x)",
            &["src/", "Session", "f"],
        );
        names(
            "line 4 of @app/[slug]/page.tsx",
            &["app/[slug]/page.tsx:4-4"],
        );
        linear(
            "brackets",
            |n| "@a/[b]/(c)/".repeat(n / 11),
            |it| mentions(it).named.len(),
        );
    }

    #[test]
    fn marks_and_scripts_without_spaces_may_stand_around_a_name() {
        for around in [
            "**{}**",
            "_{}_",
            "__{}__",
            "***{}***",
            "~~{}~~",
            "**_{}_**",
            "“{}”",
            "„{}“",
            "‘{}’",
            "«{}»",
            "‹{}›",
            "look:{}",
            "—{}—",
            "–{}–",
            "…{}…",
            "({}…)",
            "|{}|",
            "→{}",
            "👉{}",
            "・{}",
            "请总结{}",
            "请总结{}的内容",
            "请总结{}。谢谢",
            "看「{}」和",
            "（{}）",
            "看{}，好",
            "看{}！",
            "要約：{}、次",
            "{}を要約して",
            "파일 {}를 요약",
            "สรุป{}",
        ] {
            for name in ["docs/a.md", "docs/a.md:3-9", "docs/说明.md", "a_b.rs#L3-L9"] {
                names(&around.replace("{}", &format!("@{name}")), &[name]);
            }
        }
        names("_see @docs/a.md_, **or @b.rs.**", &["docs/a.md", "b.rs"]);
        names("_@docs/a.md._ _@Session_", &["docs/a.md", "Session"]);
        names(
            "lines 3 to 9 of _@ab.rs_, “@cd.rs” line 3",
            &["ab.rs:3-9", "cd.rs:3-3"],
        );
        // In code, underscores belong to names.
        names(
            "@__init__ @type_ _@__new___",
            &["__init__", "type_", "__new__"],
        );
        // The extension belongs to the whole name.
        names("@docs/a.md的b.md", &["docs/a.md的b.md"]);
    }

    #[test]
    fn lines_may_be_told_beside_a_file() {
        for message in [
            "lines 3 to 9 of @ab.rs",
            "@ab.rs lines 3-9",
            "what do (@\"ab.rs\", lines 3 to 9) do?",
            "lines 3\u{2013}9 in the file @ab.rs.",
        ] {
            names(message, &["ab.rs:3-9"]);
        }
        names("line 3 of @ab.rs and @b.rs", &["ab.rs:3-3", "b.rs"]);
        names("@ab.rs:7 line 3", &["ab.rs:7"]);
        names(
            "line 3 of @Session, line 3 of @Session.close",
            &["Session", "Session.close"],
        );
        names("@ab.rs has lines 3 to 9 of the poem", &["ab.rs"]);
    }

    #[test]
    fn addresses_and_packages_are_no_mentions() {
        for message in [
            "me@example.com left-pad@1.2 @ @!",
            "a.b@example.com a+b@example.com a_@example.com a*@example.com __a__@example.com",
            "josé@example.com jose\u{301}@example.com",
            "node_modules/@types/node --data=@a.json",
            "f(x)@b a[0]@b {}@b a.@b",
        ] {
            names(message, &[]);
        }
        names("```\n@dataclass\nclass A\n```\n@b.py", &["b.py"]);
        names("an array [0] and [a link](b)", &[]);
    }

    #[test]
    fn only_fenced_blocks_of_code_are_skipped() {
        for (message, expected) in [
            ("```close()``` hangs.\nSee @a.rs", &["a.rs"][..]),
            ("~~~\n@x\n```\n@y\n~~~\n@a.rs", &["a.rs"]),
            ("````md\n```\n@x\n```\n@y\n````\n@a.rs", &["a.rs"]),
            ("```py\n@x\n```py\n@y\n```\n@a.rs", &["a.rs"]),
            ("@a.rs\n```\n@x", &["a.rs"]),
        ] {
            names(message, expected);
        }
    }

    #[test]
    fn references_that_can_name_nothing_are_reported() {
        let pinned = ["  ".to_owned(), "a\u{1b}b".to_owned()];
        let message = format!("@{}", "é".repeat(LONGEST));
        let told = Mentioned::of(&pinned, &["@a.rs".to_owned()], &message);
        assert_eq!(told.all, [Mention::of("a.rs").expect("a name")]);
        let found: Vec<(&str, &str)> = told
            .passed_over
            .iter()
            .map(|it| (it.reference.as_str(), it.why.as_str()))
            .collect();
        let cut = format!("{}…", "é".repeat(100));
        let expected = [
            ("  ", "it is blank"),
            ("a\u{1b}b", "it has a control character in it"),
            (&cut, "it is too long to be a name"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_name_may_be_as_long_as_a_path() {
        let path = format!("{}/x.rs", "d".repeat(1_019));
        is_file(&format!("{path}:1-2"), &path, Some((1, 2)));
        names(&format!("@{path}:1-2"), &[&format!("{path}:1-2")]);
    }

    #[test]
    fn a_label_needs_no_at_sign() {
        names("what of [fil-9f2a1c]?", &["fil-9f2a1c"]);
        assert_eq!(what("fil-9f2a1c"), What::Label);
    }

    #[test]
    fn labels_are_read_as_answers_cite_them() {
        let both = &["fil-9f2a1c", "mes-9f2a1c-2"][..];
        for (message, expected) in [
            ("what of [fil-9f2a1c:3]?", &both[..1]),
            ("what of [fil-9f2a1c:3-9]?", &both[..1]),
            ("what of [fil-9f2a1c#L3-L9]?", &both[..1]),
            ("what of [fil-9f2a1c, lines 3-9]?", &both[..1]),
            ("what of [fil-9f2a1c:0]?", &both[..1]),
            ("what of @fil-9f2a1c:3?", &both[..1]),
            ("what of @[fil-9f2a1c:3]?", &both[..1]),
            ("what of [fil-9f2a1c, mes-9f2a1c-2]?", both),
            ("what of [fil-9f2a1c:3, 7; mes-9f2a1c-2:1]?", both),
            ("[fil-9f2a1c] [fil-9f2a1c:3] @mes-9f2a1c-2", both),
            ("what of [see fil-9f2a1c and mes-9f2a1c-2]?", both),
            ("what of [as `fil-9f2a1c` says], 【mes-9f2a1c-2】?", both),
            (
                "what of [docs/fil-9f2a1c.md, fil-9f2a1c.md, x=fil-9f2a1c]?",
                &[],
            ),
            ("what of [a](fil-9f2a1c), f(fil-9f2a1c) and a[0]?", &[]),
        ] {
            names(message, expected);
        }
        for (reference, expected) in [
            ("fil-9f2a1c:27", &both[..1]),
            ("[fil-9f2a1c]", &both[..1]),
            ("@[fil-9f2a1c:3-9]", &both[..1]),
            ("[fil-9f2a1c; mes-9f2a1c-2:1]", both),
        ] {
            let told = Mentioned::of(&[], &[reference.to_owned()], "");
            let labels: Vec<&str> = told.all.iter().map(|it| it.text.as_str()).collect();
            assert_eq!(labels, expected, "{reference}");
            assert!(told.all.iter().all(|it| it.what == What::Label));
            assert_eq!(told.required().count(), expected.len());
        }
    }

    #[test]
    fn brackets_in_brackets_name_what_is_innermost() {
        names("[a [fil-9f2a1c] b]", &["fil-9f2a1c"]);
        names("[fil-9f2a1c[", &[]);
        names("[[ fil-9f2a1c", &["fil-9f2a1c"]);
        names("[fil-9f2a1c, mes-9f2a1c:3", &["fil-9f2a1c", "mes-9f2a1c"]);
    }

    #[test]
    fn names_are_found_in_linear_time() {
        for pattern in [
            "[",
            "]",
            "@",
            "@ ",
            "[ ",
            "[@",
            "@[",
            "@a ",
            "[a] ",
            "(@\"",
            "@\"a ",
            "[fil-9f2a1c] ",
            "[fil-9f2a1c",
            "@.",
            "@a.",
            "```\n",
            "@a\n",
            "é@é",
            "的@a.rs",
            "@a.的",
            "的a",
            "_",
            "_@",
            "(",
            "(fil-9f2a1c) ",
            "【",
            "[see ",
            "[fil-9f2a1c and ",
            "fil-9f2a1c ",
            "[a, ",
            "*_@a_",
        ] {
            for (before, after) in [("", ""), ("", "]"), ("[", ""), ("@\"", "")] {
                let message =
                    |n: usize| [before, &pattern.repeat(n / pattern.len()), after].concat();
                linear(&format!("{before}{pattern}…{after}"), message, |it| {
                    mentions(it)
                });
            }
        }
        let name = |n: usize| format!("@n{n:06}");
        let distinct = |n: usize| (0..n / 8).map(name).collect::<Vec<String>>().join(" ");
        linear("distinct names", distinct, |it| mentions(it));
    }

    #[test]
    fn lines_follow_a_path() {
        is_file("src/a.rs", "src/a.rs", None);
        is_file("./a.rs:3", "a.rs", Some((3, 3)));
        is_file("a.rs:3-9", "a.rs", Some((3, 9)));
        is_file("a.rs:3–9", "a.rs", Some((3, 9)));
        is_file("a.rs:3:14", "a.rs", Some((3, 3)));
        is_file("a.rs#L3-L9", "a.rs", Some((3, 9)));
        is_file("Makefile:3", "Makefile", Some((3, 3)));
        is_file("C#Labs/a.cs:3-9", "C#Labs/a.cs", Some((3, 9)));
        is_file("C#Labs/a.cs#L3", "C#Labs/a.cs", Some((3, 3)));
        is_file("./Makefile", "Makefile", None);
        is_file(".\\Makefile", "Makefile", None);
    }

    #[test]
    fn lines_that_no_file_has_are_told_for_what_they_are() {
        for (text, why) in [
            ("./a.rs:9-3", "lines 9-3 are reversed"),
            ("a.rs#L9-L3", "lines 9-3 are reversed"),
            ("a.rs:0", "lines are counted from 1"),
            ("a.rs:0:5", "lines are counted from 1"),
            ("a.rs:9-3:5", "lines 9-3 are reversed"),
            ("a.rs:4294967296", "no file has as many lines"),
        ] {
            let (path, why) = ("a.rs".to_owned(), why.to_owned());
            assert_eq!(what(text), What::BadLines { path, why }, "{text}");
        }
        is_file("a.rs:x-3", "a.rs:x-3", None);
    }

    #[test]
    fn scopes_are_of_symbols() {
        for text in [
            "Session",
            "http::Session",
            "Session#close",
            "session->close",
        ] {
            assert_eq!(what(text), What::Name, "{text}");
        }
    }

    #[test]
    fn so_many_are_looked_up_and_the_others_told() {
        let many: Vec<String> = (0..100).map(|n| format!("@f{n}.rs")).collect();
        let pinned: Vec<String> = (0..40).map(|n| format!("@p{n}.rs")).collect();
        let told = Mentioned::of(&pinned, &pinned, &many.join(" "));
        assert_eq!(told.all.len(), 2 * MOST);
        let passed: Vec<&str> = told
            .passed_over
            .iter()
            .map(|it| it.reference.as_str())
            .collect();
        assert_eq!(passed.len(), 8 + 8 + MOST + 1);
        assert_eq!(passed[..8], passed[8..16]);
        assert_eq!((passed[0], passed[16]), ("p32.rs", "f32.rs"));
        let last = told.passed_over.last().expect("there is one");
        assert_eq!(last.why, "36 more are not looked up");
    }
}
