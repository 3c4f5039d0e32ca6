//! The ways to show a span, from an excerpt down to a mention.

use ctx_model::{LineSpan, Rendition, RenditionKind};
use ctx_syntax::Source;

/// Every way to show `span` that is shorter than the one before it, the longest first; the full text,
/// which the chunk has already, left out. `keywords` tell which lines an excerpt is about; without
/// any there is none. O(lines + symbols).
pub fn renditions(source: &Source<'_>, span: LineSpan, keywords: &[String]) -> Vec<Rendition> {
    let full = source.render(span, RenditionKind::Full, &[]);
    let wanted: Vec<String> = keywords.iter().map(|word| word.to_lowercase()).collect();
    let matches: Vec<u32> = full
        .as_slice()
        .iter()
        .filter(|line| {
            let text = line.text.to_lowercase();
            wanted.iter().any(|word| text.contains(word))
        })
        .filter_map(|line| line.number)
        .collect();
    let mut shortest = full.text().len();
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
        let length = lines.text().len();
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
