//! The list of sources below an answer.

use ctx_format::{Slot, neutralise};

use crate::cited::Cited;

/// The list of the sources that an answer uses, to be appended to it: a rule, `Sources:`, and a
/// line for each in the order of the context,
/// `[fil-9f2a1c]: src/a.rs - its first fifty characters...`; empty if it uses none.
pub fn format_citations(citations: &[Cited], used: &[String]) -> String {
    let lines: Vec<String> = citations
        .iter()
        .filter(|it| used.contains(&it.id))
        .map(|it| {
            let source = neutralise(&it.citation.source, Slot::Line);
            let excerpt = it.excerpt.as_ref().map(|it| format!(" - {it}..."));
            format!("[{}]: {source}{}", it.id, excerpt.unwrap_or_default())
        })
        .collect();
    if lines.is_empty() {
        return String::new();
    }
    format!("\n\n---\nSources:\n{}", lines.join("\n"))
}
