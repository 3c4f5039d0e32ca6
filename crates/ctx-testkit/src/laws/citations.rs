//! Laws of the citations of an answer.

use std::fmt::Write as _;

use ctx_citations::{Cited, Resolved, StoredSource, Verdict, resolve};

/// Checks how `answer` is read by someone who was shown `cited`, whatever it says:
///
/// * marks are within the answer, in order, and do not overlap;
/// * without the notes behind its citations, the text is the answer;
/// * each source that is cited is used, once, whatever is wrong with the citation;
/// * sources that were stored give the same verdicts.
///
/// # Panics
/// If it does not hold.
#[track_caller]
pub fn answer(answer: &str, cited: &[Cited]) {
    let resolved = resolve(answer, cited);
    is_annotated(answer, &resolved);
    let mut each: Vec<&str> = Vec::new();
    for mark in &resolved.marks {
        let is_known = cited.iter().any(|it| it.id == mark.id);
        if is_known && !each.contains(&&*mark.id) {
            each.push(&mark.id);
        }
    }
    assert_eq!(resolved.used, each, "{answer:?}");
    let again = stored(cited);
    assert_eq!(again, cited);
    assert_eq!(resolve(answer, &again), resolved, "{answer:?}");
}

#[track_caller]
fn is_annotated(answer: &str, resolved: &Resolved) {
    let (mut text, mut from) = (String::new(), 0);
    let mut between = String::new();
    for mark in &resolved.marks {
        assert!(from <= mark.range.start, "{:?}", resolved.marks);
        assert!(!answer[mark.range.clone()].contains(['[', ']', '\n']));
        text.push_str(&answer[from..mark.range.end]);
        from = mark.range.end;
        if !mark.range.is_empty() {
            text.push_str(note(mark.verdict));
            text.push_str(&std::mem::take(&mut between));
        } else if mark.verdict != Verdict::Sound {
            let _ = write!(between, ", {}{}", mark.id, note(mark.verdict));
        }
    }
    assert_eq!(between, "", "what a range leaves out is before its end");
    text.push_str(&answer[from..]);
    assert_eq!(resolved.text, text);
}

/// The same, as they come back from a store.
fn stored(cited: &[Cited]) -> Vec<Cited> {
    let stored: Vec<StoredSource> = cited.iter().map(Into::into).collect();
    let stored = serde_json::to_string(&stored).expect("they are plain data");
    let stored: Vec<StoredSource> = serde_json::from_str(&stored).expect("they are read back");
    stored.iter().map(Into::into).collect()
}

/// The note behind a citation.
fn note(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Sound => "",
        Verdict::Unknown => ": unknown",
        Verdict::Malformed => ": malformed",
        Verdict::OutOfRange => ": no such lines",
        Verdict::Misquoted => ": not a quotation",
        Verdict::OtherLines => ": not in these lines",
        Verdict::Unchecked => ": not checked",
        other => panic!("no note for {other:?}"),
    }
}
