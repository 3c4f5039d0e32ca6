//! Masks secrets in the texts of chunks.

use std::collections::BTreeSet;
use std::iter::once;

use aho_corasick::{AhoCorasick, MatchKind};
use ctx_model::{Chunk, Rendition, Warning, WarningCode, lines};
use ctx_source::Text;

/// The least bytes of a part of a secret that is searched for in other texts.
const SHORTEST: usize = 8;
/// The most bytes of secrets that are searched for in the other texts of one chunk.
const MOST: usize = 1 << 20;
/// The character that replaces each byte of a secret.
const MASK: char = '*';

/// Masks the secrets in all texts of `chunk` except its id and path, and returns a warning with
/// their number: in its texts and renditions, names, imports and relations. A secret that is found
/// in one of them is masked in all. If its path is that of a secret file
/// ([`ctx_secrets::is_secret_file`]), everything is masked, as the chunk cannot be omitted here.
/// Texts keep their length. For chunks that do not pass through a [`Resolver`](crate::Resolver),
/// which does this itself. O as [`ctx_secrets::find`].
pub fn mask(chunk: &mut Chunk) -> Option<Warning> {
    if is_of_secrets(chunk) {
        return whole(chunk);
    }
    let found = Brought::of(chunk);
    found.hide(chunk);
    masked(chunk, found.secrets())
}

/// Whether the chunk's path is that of a secret file.
pub(crate) fn is_of_secrets(chunk: &Chunk) -> bool {
    let path = chunk.path.as_deref();
    path.is_some_and(ctx_secrets::is_secret_file)
}

fn whole(chunk: &mut Chunk) -> Option<Warning> {
    let mut is_there = false;
    each(chunk, &mut |_, text| {
        is_there |= !text.is_empty();
        let mask = |it| match it {
            b'\n' | b'\r' => char::from(it),
            _ => MASK,
        };
        Some(text.bytes().map(mask).collect())
    });
    let path = chunk.path.as_deref().unwrap_or_default();
    let detail =
        format!("{path:?} is a file of keys or settings, as its name says: all of it is masked");
    is_there.then(|| Warning::new(WarningCode::Masked, detail).of(&*chunk.id))
}

/// The secrets that were found in the texts of one chunk.
#[derive(Debug, Default)]
pub(crate) struct Brought {
    /// The number in the text that has the most.
    most: usize,
    /// The lines of secrets that were found in texts.
    of_texts: BTreeSet<String>,
    /// The lines of secrets that were found in names, imports and relations.
    of_names: BTreeSet<String>,
}

/// The kinds of text in a chunk.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Text,
    Name,
}

impl Brought {
    /// Masks what rules find in `chunk`, in each text separately.
    pub(crate) fn of(chunk: &mut Chunk) -> Self {
        let path = chunk.path.clone().unwrap_or_default();
        let mut found = Brought::default();
        each(chunk, &mut |shown, text| found.masked(&path, shown, text));
        found
    }

    /// Masks what rules find in `text`, of the file at `path`; returns whether there was anything.
    pub(crate) fn mask(&mut self, path: &str, text: &mut String) -> bool {
        let masked = self.masked(path, Shown::Text, text);
        let is_masked = masked.is_some();
        *text = masked.unwrap_or_else(|| std::mem::take(text));
        is_masked
    }

    fn masked(&mut self, path: &str, shown: Shown, text: &str) -> Option<String> {
        let found = ctx_secrets::find(path, text);
        if found.is_empty() {
            return None;
        }
        let secrets = found.iter().map(|it| &text[it.span.clone()]);
        let parts = secrets.flat_map(lines).filter_map(part);
        match shown {
            Shown::Text => {
                self.of_texts.extend(parts);
                self.most = self.most.max(found.len());
            }
            Shown::Name => self.of_names.extend(parts),
        }
        // Copies only texts that change.
        let mut masked = text.to_owned();
        ctx_secrets::mask(path, &mut masked);
        Some(masked)
    }

    /// Adds the parts of `stored` at the places that are masked in lines of the file from `first`
    /// on, whether or not they equal the secrets there.
    pub(crate) fn note(&mut self, text: &Text, first: u32, stored: &str) {
        if text.masked().is_empty() {
            return;
        }
        let stored = stored.strip_prefix('\u{feff}').unwrap_or(stored);
        for (line, number) in lines(stored).zip(first..) {
            let masked = text.masked_on(number);
            let parts = masked.filter_map(|it| line.get(it.start..it.end.min(line.len())));
            self.of_texts.extend(parts.filter_map(part));
        }
    }

    /// Counts the secrets in the shown lines of the file.
    pub(crate) fn count(&mut self, in_file: usize) {
        self.most = self.most.max(in_file);
    }

    /// Masks in all texts of `chunk` what was found in any of them.
    pub(crate) fn hide(&self, chunk: &mut Chunk) {
        let mut room = MOST;
        let fits = |it| {
            room = room.checked_sub(String::len(it))?;
            Some(it)
        };
        let parts: Vec<&String> = (self.of_texts.union(&self.of_names))
            .map_while(fits)
            .collect();
        if parts.is_empty() {
            return;
        }
        let search = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(parts)
            .expect("they are few");
        each(chunk, &mut |_, text| {
            let mut masked = String::new();
            let mut at = 0;
            for found in search.find_iter(text) {
                masked.push_str(&text[at..found.start()]);
                masked.extend(found.range().map(|_| MASK));
                at = found.end();
            }
            (at > 0).then(|| masked + &text[at..])
        });
    }

    /// The number of secrets.
    pub(crate) fn secrets(&self) -> usize {
        self.most + self.of_names.difference(&self.of_texts).count()
    }
}

/// A line of a secret, if it may reveal the secret by itself: marks of keys do not.
fn part(line: &str) -> Option<String> {
    let line = line.trim();
    let is_secret = line.len() >= SHORTEST && !line.starts_with("-----");
    is_secret.then(|| line.to_owned())
}

/// Replaces each text of `chunk` by the result of `change`, which must keep the number of bytes and
/// the lines.
fn each(chunk: &mut Chunk, change: &mut dyn FnMut(Shown, &str) -> Option<String>) {
    let mut put = |shown: Shown, text: &mut String| {
        if let Some(changed) = change(shown, text) {
            *text = changed;
        }
    };
    let texts = once(&mut chunk.content).chain(&mut chunk.expanded_context);
    for text in texts.chain(&mut chunk.summary) {
        put(Shown::Text, text);
    }
    let names = chunk.name.iter_mut().chain(&mut chunk.qualified_name);
    for name in names.chain(&mut chunk.imports) {
        put(Shown::Name, name);
    }
    for relation in &mut chunk.relations {
        put(Shown::Name, &mut relation.kind);
        put(Shown::Name, &mut relation.target);
    }
    for rendition in &mut chunk.renditions {
        if let Some(changed) = change(Shown::Text, rendition.text()) {
            *rendition = with_text(rendition, changed);
        }
    }
}

fn with_text(rendition: &Rendition, text: String) -> Rendition {
    let changed = Rendition::new(rendition.kind(), text, rendition.information());
    let changed = changed.and_then(|it| match rendition.lines() {
        [] => Ok(it),
        lines => it.with_lines(lines.to_vec()),
    });
    changed.expect("it has the share and the lines of what it was")
}

/// The warning for a chunk with this many masked `secrets`, if any.
pub fn masked(chunk: &Chunk, secrets: usize) -> Option<Warning> {
    let detail = match secrets {
        0 => return None,
        1 => "1 secret is masked".to_owned(),
        n => format!("{n} secrets are masked"),
    };
    Some(Warning::new(WarningCode::Masked, detail).of(&*chunk.id))
}
