//! The ways to show a span, from an excerpt down to a mention.

use std::collections::BTreeSet;

use ctx_model::{LineSpan, Rendition, RenditionKind};
use ctx_syntax::Source;
use memchr::memmem::Finder;

/// Every way to show `span` that is shorter than the one before it, the longest first; the full text,
/// which the chunk has already, left out. `keywords` tell which lines an excerpt is about; without
/// any there is none. O(lines + symbols).
pub fn renditions(source: &Source<'_>, span: LineSpan, keywords: &[String]) -> Vec<Rendition> {
    let matches = matches(source, span, keywords);
    let mut shortest: usize = source.lines(span).map(|(_, line)| line.len() + 1).sum();
    let mut renditions = Vec::new();
    for kind in RenditionKind::ALL {
        let is_wanted = match kind {
            RenditionKind::Full => false,
            RenditionKind::Excerpt => !matches.is_empty(),
            _ => true,
        };
        if !is_wanted {
            continue;
        }
        let lines = source.render(span, kind, &matches);
        let length = lines.size();
        if length == 0 || length >= shortest {
            continue;
        }
        let information = source.information(span, kind, &lines);
        // A share, and a line for each number: it is one.
        renditions.extend(lines.into_rendition(kind, information));
        shortest = length;
    }
    renditions
}

/// The lines of `span` with one of `keywords`, in any case. O(bytes) for each keyword.
fn matches(source: &Source<'_>, span: LineSpan, keywords: &[String]) -> Vec<u32> {
    let mut text = String::new();
    // The number of each line, and where it ends.
    let mut lines: Vec<(u32, usize)> = Vec::new();
    for (number, line) in source.lines(span) {
        let start = text.len();
        if line.is_ascii() {
            text.push_str(line);
            text[start..].make_ascii_lowercase();
        } else {
            text.push_str(&line.to_lowercase());
        }
        text.push('\n');
        lines.push((number, text.len()));
    }
    let mut numbers = BTreeSet::new();
    for word in keywords.iter().filter(|it| !it.contains('\n')) {
        let word = word.to_lowercase();
        let finder = Finder::new(&word);
        let mut start = 0;
        while start < text.len()
            && let Some(found) = finder.find(&text.as_bytes()[start..])
        {
            let at = lines.partition_point(|(_, end)| *end <= start + found);
            let Some((number, end)) = lines.get(at) else {
                break;
            };
            numbers.insert(*number);
            start = *end;
        }
    }
    numbers.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use ctx_syntax::Limits;

    use super::*;

    #[test]
    fn an_excerpt_is_about_the_lines_with_a_keyword_in_any_case() {
        let text = "Straße\nSTRASSE\nΟΔΟΣ ΟΔΟΣ\nplain Name\r\n\nname name\n\u{130}stanbul\n";
        let source = Source::new("a.txt", text, &Limits::default());
        let words = [
            "name",
            "NAME",
            "straße",
            "οδος",
            "i\u{307}s",
            "",
            "a\nb",
            "none",
        ];
        for (first, last) in [(1, 7), (2, 6), (4, 90), (9, 9)] {
            let span = LineSpan::new(first, last).unwrap();
            for count in 0..=words.len() {
                let words: Vec<String> = words[..count].iter().map(|&it| it.to_owned()).collect();
                let holds = |line: &str| {
                    let line = line.to_lowercase();
                    words.iter().any(|it| line.contains(&it.to_lowercase()))
                };
                let plainly = source.lines(span).filter(|(_, line)| holds(line));
                let plainly: Vec<u32> = plainly.map(|(number, _)| number).collect();
                assert_eq!(matches(&source, span, &words), plainly, "{words:?}");
            }
        }
    }
}
