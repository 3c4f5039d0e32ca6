//! Finding and masking secrets.

use std::ops::Range;

use crate::keys::cut;
use crate::kubernetes::values;
use crate::rules::rules;

/// The rule name of a truncated private key.
const CUT: &str = "cut-private-key";

/// The rule name of a value of a Secret of Kubernetes.
const KUBERNETES: &str = "kubernetes-secret";

/// The byte that replaces each byte of a secret.
const MASK: u8 = b'*';

/// The length of the shortest secret, in bytes.
const SHORTEST: usize = 8;

/// A secret in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Secret {
    /// Its byte range in the text.
    pub span: Range<usize>,
    /// The rule that found it: `github-pat`, `kingfisher.aws.2`, …, `cut-private-key` for a private
    /// key of which only one of the two marks is left, or `kubernetes-secret` for a value of a
    /// Secret of Kubernetes.
    pub rule: &'static str,
}

/// Finds the secrets in `text`, the content of the file at `path` (empty for none): in order, and
/// disjoint. Overlapping secrets are united, under the rule of the one that begins first; of
/// several that begin together, under the first rule. O(bytes × rules whose word and run occur).
pub fn find(path: &str, text: &str) -> Vec<Secret> {
    let mut found: Vec<Secret> = Vec::new();
    if text.len() < SHORTEST {
        return found;
    }
    for rule in rules().concerning(text) {
        let spans = rule.find(path, text).into_iter();
        found.extend(spans.map(|span| Secret {
            // Expressions match bytes, and may split a character.
            span: text.floor_char_boundary(span.start)..text.ceil_char_boundary(span.end),
            rule: &rule.id,
        }));
    }
    let own = cut(text).into_iter().map(|span| (span, CUT));
    let own = own.chain(values(text).into_iter().map(|span| (span, KUBERNETES)));
    found.extend(own.map(|(span, rule)| Secret { span, rule }));
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

/// Replaces each byte of the secrets in `text` by `*`, except for line ends, and returns the
/// secrets. The length does not change. O as [`find`].
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
