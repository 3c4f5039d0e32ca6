//! Secrets in what chunks bring along.

use ctx_model::{Chunk, LineSpan, Rendition, Warning, WarningCode};
use ctx_source::Text;

/// Masks the secrets in the texts that `chunk` brings along, and tells how many there are. The texts stay as
/// long as they were. For chunks that no [`Resolver`](crate::Resolver) sees, which does so by itself; O as
/// [`ctx_secrets::find`].
pub fn mask(chunk: &mut Chunk) -> Option<Warning> {
    let path = chunk.path.as_deref().unwrap_or_default();
    let mut found = ctx_secrets::mask(path, &mut chunk.content).len();
    for text in [&mut chunk.expanded_context, &mut chunk.summary] {
        let masked = text.as_mut().map(|it| ctx_secrets::mask(path, it).len());
        found = found.max(masked.unwrap_or_default());
    }
    for rendition in &mut chunk.renditions {
        found = found.max(mask_rendition(path, rendition));
    }
    masked(chunk, found)
}

fn mask_rendition(path: &str, rendition: &mut Rendition) -> usize {
    let found = ctx_secrets::find(path, rendition.text()).len();
    // A copy is made of what has to change alone.
    if found > 0 {
        let mut text = rendition.text().to_owned();
        ctx_secrets::mask(path, &mut text);
        let lines = rendition.lines();
        let masked = Rendition::new(rendition.kind(), text, rendition.information());
        let masked = masked.and_then(|it| match lines {
            [] => Ok(it),
            lines => it.with_lines(lines.to_vec()),
        });
        *rendition = masked.expect("it has the share and the lines of what it was");
    }
    found
}

/// What is told of the secrets on the lines of `span`, which are masked in `text` already.
pub(crate) fn of_lines(chunk: &Chunk, text: &Text, span: LineSpan) -> Option<Warning> {
    masked(chunk, text.masked_in(span))
}

/// What is told of a chunk in which so many secrets are masked, if any are.
pub fn masked(chunk: &Chunk, secrets: usize) -> Option<Warning> {
    let detail = match secrets {
        0 => return None,
        1 => "1 secret is masked".to_owned(),
        n => format!("{n} secrets are masked"),
    };
    Some(Warning::new(WarningCode::Masked, detail).of(&*chunk.id))
}
