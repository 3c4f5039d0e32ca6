//! The list of sources below an answer.

use ctx_format::{Slot, literal, neutralise};

use crate::cited::Cited;

/// The list of the sources that an answer uses, to be appended to it: a rule, `Sources:`, and a
/// line for each in the order of the context,
/// `[fil-9f2a1c]: src/a.rs - its first fifty characters...`; empty if it uses none. Paths and texts
/// are escaped for Markdown: answers are mostly shown as such, and a picture in a document would be
/// loaded by whoever reads them.
pub fn format_citations(citations: &[Cited], used: &[String]) -> String {
    let lines: Vec<String> = citations
        .iter()
        .filter(|it| used.contains(&it.id))
        .map(|it| {
            let source = neutralise(&it.citation.source, Slot::Line);
            let source = literal(&source);
            let excerpt = it.excerpt.as_ref();
            let excerpt = excerpt.map(|it| format!(" - {}...", literal(it)));
            format!("[{}]: {source}{}", it.id, excerpt.unwrap_or_default())
        })
        .collect();
    if lines.is_empty() {
        return String::new();
    }
    format!("\n\n---\nSources:\n{}", lines.join("\n"))
}
