//! Checks whether a file still says what is shown of it in part.

use std::sync::Arc;

use ctx::format::{Slot, neutralise};
use ctx::model::{LineSpan, RenditionKind};
use ctx::resolve::LONGEST_LINE;
use ctx::source::{SourceError, Text};
use ctx::syntax::{beginning, is_mark, is_prose, language_name};

/// Each line of `shown`, except marks for omitted text, must be one of the lines in `span`, in
/// their order. An excerpt of prose may begin and end between the words of a line, and anywhere in
/// a line that is too long to be shown whole; shorter renditions show the beginning of a line that
/// is too long for them. O(bytes of both).
///
/// # Errors
/// The text that is missing.
pub(super) fn stands(
    shown: &str,
    rendition: RenditionKind,
    path: &str,
    span: LineSpan,
    text: Result<&Arc<Text>, &SourceError>,
) -> Result<(), String> {
    let text = text.map_err(ToString::to_string)?;
    let Some(now) = text.slice(span) else {
        let count = text.lines().count();
        return Err(format!(
            "lines {span} are cited, but the file has {count} lines"
        ));
    };
    let is_excerpt = rendition == RenditionKind::Excerpt;
    let is_prose = is_prose(path, language_name(path, text.as_str()));
    let is_short = !is_excerpt && rendition != RenditionKind::Full;
    let safe = neutralise(now, Slot::Text);
    // No line ending is replaced.
    let mut left = safe.lines().zip(now.lines()).peekable();
    let shown: Vec<&str> = shown.lines().map(str::trim_end).collect();
    let is_mark = |line: Option<&&str>| line.is_none_or(|it| is_mark(it));
    for (at, line) in shown.iter().enumerate() {
        if line.is_empty() || is_mark(Some(line)) {
            continue;
        }
        let is_before_mark = is_mark(shown.get(at + 1));
        let marked = Cut {
            start: is_excerpt && is_mark(at.checked_sub(1).and_then(|it| shown.get(it))),
            end: is_excerpt && is_before_mark,
            words: true,
        };
        let is_beginning = |of: &str| {
            let beginning = beginning(of).filter(|_| is_short && is_before_mark);
            beginning.is_some_and(|it| neutralise(it, Slot::Text).trim_end() == *line)
        };
        loop {
            let cut = match left.peek() {
                Some((it, _)) if it.len() > LONGEST_LINE => Cut {
                    words: false,
                    ..marked
                },
                _ if is_prose => marked,
                _ => Cut::default(),
            };
            let is_there =
                |(safe, now): &(&str, &str)| cut.fits(line, safe.trim_end()) || is_beginning(now);
            match left.peek().map(is_there) {
                None => {
                    return Err(format!(
                        "line {} of the shown text is not in the file, or not in this order: {line:?}",
                        at + 1
                    ));
                }
                Some(false) => _ = left.next(),
                Some(true) => {
                    // The next line may be another part of it.
                    if !cut.end {
                        left.next();
                    }
                    break;
                }
            }
        }
    }
    Ok(())
}

/// Where a shown line may begin and end within one of the file.
#[derive(Clone, Copy, Default)]
struct Cut {
    start: bool,
    end: bool,
    /// The same, and no word of it is cut.
    words: bool,
}

impl Cut {
    /// Whether `part` is `line`, or a part of it that may be shown.
    fn fits(self, part: &str, line: &str) -> bool {
        let is_word = |it: Option<char>| self.words && it.is_some_and(char::is_alphanumeric);
        let fits = |at: usize| {
            let (before, after) = (&line[..at], &line[at + part.len()..]);
            let begins = before.is_empty()
                || self.start
                    && !(is_word(before.chars().next_back()) && is_word(part.chars().next()));
            let ends = after.is_empty()
                || self.end
                    && !(is_word(after.chars().next()) && is_word(part.chars().next_back()));
            begins && ends
        };
        match (self.start, self.end) {
            (false, false) => part == line,
            _ => line.match_indices(part).any(|(at, _)| fits(at)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "fn total() {\n    let all = sum();\n    all + 1\n}\n\nfn other() {}\n";
    const PROSE: &str =
        "One is here. Two begins\nand ends. Three\nis long\nand longer.\n\nFour. Five.\n";

    fn is_there(shown: &str, rendition: RenditionKind, path: &str, text: &str) -> bool {
        let text = Text::decode(path, text.into(), ctx::source::Secrets::Masked);
        let text = Arc::new(text.expect("it is text"));
        let span = LineSpan::new(1, 6).expect("six lines");
        stands(shown, rendition, path, span, Ok(&text)).is_ok()
    }

    #[test]
    fn lines_of_code_stand_there_as_they_are_and_in_order() {
        let is = |shown: &str, text: &str| {
            let kinds = [
                RenditionKind::Excerpt,
                RenditionKind::Skeleton,
                RenditionKind::Signature,
            ];
            let found = kinds.map(|kind| is_there(shown, kind, "a.rs", text));
            assert!(found.iter().all(|it| *it == found[0]), "{shown}");
            found[0]
        };
        let shown = "fn total() {\n    // … 2 lines left out\n}\n\nfn other() {}";
        assert!(is(shown, CODE));
        assert!(is(shown, &CODE.replace("all + 1", "all + 2")));
        assert!(!is(shown, &CODE.replace("total", "totals")));
        assert!(!is(shown, &CODE.replace("other", "another")));
        assert!(is("    all + 1", CODE));
        assert!(!is("    all + 1", &CODE.replace("all + 1", "all + 12")));
        assert!(!is("all + 1", CODE));
        assert!(!is("fn other() {}\nfn total() {", CODE));
        assert!(!is("}\n}", "}"));
    }

    #[test]
    fn prose_may_be_cut_within_a_line_where_something_is_left_out() {
        let is = |shown: &str, text: &str| is_there(shown, RenditionKind::Excerpt, "a.md", text);
        for shown in [
            "Two begins\nand ends.\n…\nand longer.\n…\nFive.",
            "One is here.\n…\nThree\nis long\n…",
            "…\nFour.\n…",
        ] {
            assert!(is(shown, PROSE), "{shown}");
        }
        let shown = "Two begins\nand ends.\n…\nFive.";
        assert!(!is(shown, &PROSE.replace("Five", "Six")));
        assert!(!is(shown, &PROSE.replace("Two begins", "Two does")));
        assert!(!is("wo begins\nand", PROSE));
        assert!(!is("Five.\n…\nFour.", "Four.\nFive.\n\n\n\n\n"));
        assert!(!is_there(
            "Two begins",
            RenditionKind::Skeleton,
            "a.md",
            PROSE
        ));
    }

    #[test]
    fn a_line_that_is_too_long_may_be_cut_before_a_mark() {
        let long = format!("{{\"a\": [{}]}}", "1, ".repeat(900));
        let text = format!("[\n{long},\n2,\n3,\n4,\n5]\n");
        let beginning = beginning(&long).expect("it is long");
        let shown = format!("[\n{beginning}\n… 5 lines left out");
        for kind in RenditionKind::ALL {
            let is_short = kind > RenditionKind::Excerpt;
            assert_eq!(is_there(&shown, kind, "a.json", &text), is_short, "{kind}");
        }
        let is = |shown: &str| is_there(shown, RenditionKind::Skeleton, "a.json", &text);
        assert!(!is(&shown.replace("\n…", "x\n…")));
        assert!(!is(&shown.replace("1, 1", "1, 2")));
        assert!(!is(&format!("{beginning}\n2,")));
        assert!(!is(&format!("{}\n… 5 lines left out", &beginning[..90])));
    }

    #[test]
    fn a_line_that_is_too_long_may_be_cut_anywhere() {
        let line = (0..2_000).map(|it| format!("\"v{it}\":{it},"));
        let line: String = line.collect();
        let text = format!("{{\n{line}\n}}\n1\n2\n3\n");
        let is = |shown: &str| is_there(shown, RenditionKind::Excerpt, "a.json", &text);
        assert!(is("{\n…\nv700\":700,\"v70\n…\n\"v900\":900,\n…\n}"));
        assert!(!is("{\n…\nv700\":700,\"v71\n…\n}"));
        assert!(!is("{\nv700\":700,\"v70\n}"));
        assert!(!is("…\n}\n…\nv700\n…"));
    }

    #[test]
    fn a_file_that_is_shorter_does_not_say_it() {
        assert!(!is_there("}", RenditionKind::Skeleton, "a.rs", "}"));
    }
}
