//! Checks whether a file still has the lines that were stored for it, and finds where they are now.

use std::sync::Arc;

use ctx_model::{LineSpan, decoded, lines as lines_of};

use crate::{SourceError, Sources, Text};

/// Lines of which only the hash is known are searched if all candidate spans together have at most
/// this many bytes. Each byte is hashed up to three times.
const MOST_HASHED: usize = 64 << 20;

/// In a text with masks, a search compares at most this many times the bytes of the text: a mask
/// matches anything, so that matching prefixes cannot be skipped as in a single pass.
const MOST_COMPARED: usize = 16;

/// Lines with fewer words than this may occur anywhere: found elsewhere they are evidence only if
/// they occur once.
const FEW_WORDS: usize = 3;

/// Lines of a file as they were indexed, found or cited.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The file.
    pub path: &'a str,
    /// Its lines.
    pub span: LineSpan,
    /// The text of the lines when they were indexed, found or cited.
    pub content: Option<&'a str>,
    /// The BLAKE3 of `content`, with or without the last line end, or that of the whole file as it
    /// is shown ([`Text::shown_hash`]): 64 hexadecimal digits in any case. A value of any other
    /// form is ignored. In a file with masked secrets it has to be the hash of masked text or
    /// lines; any other leaves the lines [`Located::Unverified`] there, since comparing it would
    /// reveal whether a guess of a secret is right.
    pub content_hash: Option<&'a str>,
}

/// The outcome of looking up [`Wanted`] lines in their file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Located {
    /// The lines are there, with the expected text.
    Fresh {
        /// The file.
        text: Arc<Text>,
        /// Its lines.
        span: LineSpan,
    },
    /// The lines are there. No text was expected, or only a hash that is not compared with a file
    /// with masks.
    Unverified {
        /// The file.
        text: Arc<Text>,
        /// Its lines.
        span: LineSpan,
        /// Why a hash that was expected was not compared.
        why: Option<String>,
    },
    /// The same text is on other lines now.
    Moved {
        /// The file.
        text: Arc<Text>,
        /// The lines where it was.
        from: LineSpan,
        /// The lines where it is now.
        to: LineSpan,
    },
    /// The file has other text now; the stored text is known.
    Stale {
        /// The stored text.
        content: String,
        /// Why it does not match the file.
        why: String,
    },
    /// The file no longer exists; the stored text is known.
    MovedOrDeleted {
        /// The stored text.
        content: String,
    },
    /// No text can be shown.
    Unavailable {
        /// The reason.
        why: String,
    },
}

impl Sources {
    /// Looks up the `wanted` lines in their file as it is now: first on the same lines, then the
    /// same text on other lines (the nearest; of two equally near, the upper one), else returns
    /// what is known of them. Texts are equal if their lines are, whatever the terminators, and
    /// with or without a leading byte order mark. A masked part of the file matches any text of the
    /// same length, so that a right guess of a secret cannot be told from a wrong one. O(bytes of
    /// the file).
    pub fn locate(&self, wanted: Wanted<'_>) -> Located {
        locate(self.text(wanted.path).as_ref(), wanted)
    }
}

/// Looks up the `wanted` lines in a file that has been read already, or could not be; see
/// [`Sources::locate`].
pub fn locate(text: Result<&Arc<Text>, &SourceError>, wanted: Wanted<'_>) -> Located {
    let text = match text {
        Ok(text) => Arc::clone(text),
        Err(error) => return without_file(wanted, error),
    };
    match (wanted.content, wanted.content_hash) {
        (Some(content), _) => by_content(text, wanted.span, content),
        (None, Some(hash)) if is_hash(hash) => by_hash(text, wanted.span, hash),
        (None, _) if text.slice(wanted.span).is_some() => Located::Unverified {
            text,
            span: wanted.span,
            why: None,
        },
        (None, _) => Located::Unavailable {
            why: too_short(&text, wanted.span),
        },
    }
}

fn without_file(wanted: Wanted<'_>, error: &SourceError) -> Located {
    match (wanted.content, error) {
        (Some(content), SourceError::NotFound { .. } | SourceError::DeadLink { .. }) => {
            Located::MovedOrDeleted {
                content: content.to_owned(),
            }
        }
        // The stored text of a secret file must be shown no more than its present one.
        (_, SourceError::Secret { .. }) | (None, _) => Located::Unavailable {
            why: error.to_string(),
        },
        (Some(content), error) => Located::Stale {
            content: content.to_owned(),
            why: error.to_string(),
        },
    }
}

fn too_short(text: &Text, span: LineSpan) -> String {
    let count = text.lines().count();
    format!("lines {span} are wanted, and the file has {count}")
}

fn by_content(text: Arc<Text>, span: LineSpan, content: &str) -> Located {
    let place = place_of(&text, span, content);
    let place = place.or_else(|| place_of(&text, span, &decoded(content)?));
    match place {
        Some(to) if to == span => Located::Fresh { text, span },
        Some(to) => Located::Moved {
            text,
            from: span,
            to,
        },
        None => Located::Stale {
            content: content.to_owned(),
            why: match text.slice(span) {
                Some(_) => format!("lines {span} have changed"),
                None => too_short(&text, span),
            },
        },
    }
}

/// The first lines of `text` that equal `wider` and contain `span`. O(bytes).
pub fn around(text: &Text, span: LineSpan, wider: &str) -> Option<LineSpan> {
    let place = |wider: &str| {
        let lines: Vec<&str> = lines_of(wider).collect();
        let mut places = places_of(text, &lines).into_iter();
        places.find(|it| it.contains(span))
    };
    place(wider).or_else(|| place(&decoded(wider)?))
}

/// Where `content` occurs in `text`: at `span`, or nearest to it.
fn place_of(text: &Text, span: LineSpan, content: &str) -> Option<LineSpan> {
    let lines: Vec<&str> = lines_of(content).collect();
    if stands(text, span, &lines) {
        return Some(span);
    }
    let places = places_of(text, &lines);
    let is_evidence = words(content) >= FEW_WORDS || places.len() == 1;
    let has_masks = |place: LineSpan| text.masked_in(place) > 0;
    // The masked lines are better to show than the stored ones. Of lines that are masked from end
    // to end only the length was compared: such a match counts only if the stored text may be a
    // secret.
    let is_seen = |place: LineSpan| (place.start()..=place.end()).any(|it| text.shows(it));
    let may_be_secret = || {
        let is_one_word = |it: &&str| words(it) <= 1 || it.starts_with("-----");
        lines.iter().all(is_one_word) && content.bytes().any(|it| it.is_ascii_alphanumeric())
    };
    let places = places.into_iter().filter(|it| {
        if has_masks(*it) {
            is_seen(*it) || may_be_secret()
        } else {
            is_evidence
        }
    });
    let distance = |place: LineSpan| place.start().abs_diff(span.start());
    places.min_by_key(|it| (has_masks(*it), distance(*it), it.start()))
}

/// The places of these lines in `text`, ignoring masked parts; none if the search would take too
/// long. O(bytes).
fn places_of(text: &Text, lines: &[&str]) -> Vec<LineSpan> {
    let starts = if text.masked().is_empty() {
        starts_of(text, lines)
    } else {
        starts_among_masks(text, lines).unwrap_or_default()
    };
    let places = starts.into_iter();
    places.filter_map(|it| span_at(it, lines.len())).collect()
}

/// Whether `lines` equal those at `span`. One line fewer matches, too, if the last line of `span`
/// is empty: the stored text then lost its last line end.
fn stands(text: &Text, span: LineSpan, lines: &[&str]) -> bool {
    if text.masked_in(span) > 0 {
        let count = span.line_count() as usize;
        let is_short = || lines.len() + 1 == count && text.line(span.end()) == Some("");
        return text.slice(span).is_some()
            && (lines.len() == count || is_short())
            && stand_at(text, span.start(), lines);
    }
    let as_it_is = text.lines().range(span).map(|range| &text.as_str()[range]);
    let is_it = |now: &str| lines_of(now).eq(lines.iter().copied());
    text.slice(span).into_iter().chain(as_it_is).any(is_it)
}

fn stand_at(text: &Text, start: u32, lines: &[&str]) -> bool {
    let mut numbered = lines.iter().zip(start..);
    numbered.all(|(line, number)| text.may_say(number, line))
}

/// The line numbers, from 1, at which these lines begin in a text with masks; `None` if the search
/// would take too long. O(bytes).
fn starts_among_masks(text: &Text, lines: &[&str]) -> Option<Vec<u32>> {
    let count = text.lines().count();
    let last = (count + 1).checked_sub(u32::try_from(lines.len()).ok()?)?;
    let mut left = (text.as_str().len() + count as usize).saturating_mul(MOST_COMPARED);
    let mut starts = Vec::new();
    for start in 1..=last {
        let mut fits = true;
        for (line, number) in lines.iter().zip(start..) {
            let now = text.line(number).map_or(0, str::len);
            left = left.checked_sub(1 + line.len().min(now))?;
            fits = text.may_say(number, line);
            if !fits {
                break;
            }
        }
        starts.extend(fits.then_some(start));
    }
    Some(starts)
}

/// The line numbers, from 1, at which these lines begin, by the Knuth-Morris-Pratt algorithm, since
/// lines may repeat. O(bytes).
fn starts_of(text: &Text, lines: &[&str]) -> Vec<u32> {
    let borders = borders(lines);
    let mut starts = Vec::new();
    let mut matched = 0;
    for (line, number) in lines_of(text.as_str()).zip(1_usize..) {
        matched = grown(lines, &borders, matched, line);
        if matched == lines.len() {
            starts.extend(u32::try_from(number + 1 - matched));
            matched = borders[matched];
        }
    }
    starts
}

/// The border table of Knuth-Morris-Pratt: for each prefix of `lines`, from the empty one, the
/// length of its longest proper prefix that is also its suffix.
fn borders(lines: &[&str]) -> Vec<usize> {
    let mut borders = vec![0; 2];
    for line in lines.iter().skip(1) {
        let last = borders[borders.len() - 1];
        borders.push(grown(lines, &borders, last, line));
    }
    borders
}

/// The length of the longest prefix of `lines` that ends with `line`, if `matched` lines of it
/// matched before; `matched` is less than the number of lines.
fn grown(lines: &[&str], borders: &[usize], mut matched: usize, line: &str) -> usize {
    while lines.get(matched) != Some(&line) {
        if matched == 0 {
            return 0;
        }
        matched = borders[matched];
    }
    matched + 1
}

/// Whether `hash` has the form of a BLAKE3 hash that [`Wanted::content_hash`] requires: 64
/// hexadecimal digits.
pub fn is_hash(hash: &str) -> bool {
    hash.len() == 2 * blake3::OUT_LEN && hash.bytes().all(|it| it.is_ascii_hexdigit())
}

fn by_hash(text: Arc<Text>, span: LineSpan, hash: &str) -> Located {
    let hash = hash.to_ascii_lowercase();
    let is_it = |span: LineSpan| {
        text.slice(span).is_some_and(|lines| {
            let as_it_is = text.lines().range(span).map(|range| &text.as_str()[range]);
            let terminated = format!("{lines}\n");
            [lines, &terminated, as_it_is.unwrap_or(lines)]
                .iter()
                .any(|text| *blake3::hash(text.as_bytes()).to_hex() == *hash)
        })
    };
    let shown = blake3::Hash::from_bytes(*text.shown_hash());
    let is_same_file = *shown.to_hex() == *hash && text.slice(span).is_some();
    if is_same_file || is_it(span) {
        return Located::Fresh { text, span };
    }
    let length = span.line_count();
    let starts = 1..=(text.lines().count() + 1).saturating_sub(length);
    let places = || {
        starts
            .clone()
            .filter_map(|start| span_at(start, length as usize))
    };
    let bytes = |place| text.lines().range(place).map_or(0, |it| it.len());
    let is_little = places().map(bytes).try_fold(0, |sum: usize, bytes| {
        sum.checked_add(bytes).filter(|sum| *sum <= MOST_HASHED)
    });
    let places = places().filter(|&place| is_little.is_some() && is_it(place));
    let places: Vec<LineSpan> = places.collect();
    let words = |place| text.slice(place).map_or(0, words);
    let is_evidence = places.len() == 1 || places.first().copied().map_or(0, words) >= FEW_WORDS;
    match places
        .into_iter()
        .filter(|_| is_evidence)
        .min_by_key(|it| (it.start().abs_diff(span.start()), it.start()))
    {
        Some(to) => Located::Moved {
            text: Arc::clone(&text),
            from: span,
            to,
        },
        // It may be the hash of the unmasked text, which must not be revealed.
        None if !text.masked().is_empty() && text.slice(span).is_some() => {
            let why = "it has masked secrets, and the hash is not of its masked text";
            Located::Unverified {
                text: Arc::clone(&text),
                span,
                why: Some(why.to_owned()),
            }
        }
        None => Located::Unavailable {
            why: match text.slice(span) {
                // Hashes of other algorithms have the same form.
                Some(_) => {
                    format!("lines {span} have changed, or the hash is not BLAKE3")
                }
                None => too_short(&text, span),
            },
        },
    }
}

fn words(text: &str) -> usize {
    text.split_whitespace().count()
}

fn span_at(start: u32, lines: usize) -> Option<LineSpan> {
    let last = u32::try_from(lines).ok()?.checked_sub(1)?;
    LineSpan::new(start, start.checked_add(last)?).ok()
}
