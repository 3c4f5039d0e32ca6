//! Secrets found, and masked.

use std::ops::Range;

use crate::keys::cut;
use crate::rules::rules;

/// What finds a part of a private key.
const CUT: &str = "cut-private-key";

/// What a byte of a secret is shown as.
const MASK: u8 = b'*';

/// No secret is shorter, in bytes.
const SHORTEST: usize = 8;

/// A secret in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Secret {
    /// Its bytes.
    pub span: Range<usize>,
    /// The rule that found it: `github-pat`, `kingfisher.aws.2`, …, or `cut-private-key` for what there is of a private key that has
    /// one of its two marks.
    pub rule: &'static str,
}

/// The secrets in `text`, which is that of the file at `path` (or of none, where it is empty): in order, none in
/// another's bytes. Of those that overlap, the rule of the one that begins first is told, and of those that begin together the first
/// rule. O(bytes × rules of which a word is there, and a run as long as they need).
pub fn find(path: &str, text: &str) -> Vec<Secret> {
    let mut found: Vec<Secret> = Vec::new();
    if text.len() < SHORTEST {
        return found;
    }
    for rule in rules().concerning(text) {
        let spans = rule.find(path, text).into_iter();
        found.extend(spans.map(|span| Secret {
            // Expressions are over bytes.
            span: text.floor_char_boundary(span.start)..text.ceil_char_boundary(span.end),
            rule: &rule.id,
        }));
    }
    found.extend(cut(text).into_iter().map(|span| Secret { span, rule: CUT }));
    found.sort_by_key(|it| it.span.start);
    found.dedup_by(|next, last| {
        let is_one = next.span.start < last.span.end;
        if is_one {
            last.span.end = last.span.end.max(next.span.end);
        }
        is_one
    });
    found
}

/// Shows each byte of the secrets in `text` as `*`, but for the ends of lines, and tells what they were. The
/// length stays as it was. O as [`find`].
pub fn mask(path: &str, text: &mut String) -> Vec<Secret> {
    let found = find(path, text);
    if !found.is_empty() {
        let mut bytes = std::mem::take(text).into_bytes();
        for secret in &found {
            let of_line = |byte: &&mut u8| !matches!(byte, b'\n' | b'\r');
            bytes[secret.span.clone()]
                .iter_mut()
                .filter(of_line)
                .for_each(|byte| *byte = MASK);
        }
        *text = String::from_utf8(bytes).expect("whole characters became ASCII");
    }
    found
}
