//! The texts that a hit was stored with, while they are looked for in its file.

use std::sync::Arc;

use ctx_model::{Chunk, LineSpan, Warning};
use ctx_source::Text;

use crate::mask::{Brought, masked};

/// Texts of a chunk that are compared with the file unmasked, taken out of the chunk.
#[derive(Debug)]
pub(crate) struct Stored {
    content: String,
    /// The expanded context, if any.
    wider: Option<String>,
    /// The secrets that were found, if secrets are masked.
    secrets: Option<Brought>,
}

impl Stored {
    /// Takes the texts out of `chunk`, and masks its other texts if `masks`.
    pub(crate) fn of(chunk: &mut Chunk, masks: bool) -> Self {
        let wider = chunk.expanded_context.take();
        Stored {
            content: std::mem::take(&mut chunk.content),
            wider: wider.filter(|it| !it.is_empty()),
            secrets: masks.then(|| Brought::of(chunk)),
        }
    }

    /// The content, if it is not empty.
    pub(crate) fn content(&self) -> Option<&str> {
        Some(&*self.content).filter(|it| !it.is_empty())
    }

    /// Masks secrets in the content by rules alone; returns whether there were any.
    pub(crate) fn mask(&mut self, path: &str) -> bool {
        let secrets = self.secrets.as_mut();
        secrets.is_some_and(|it| it.mask(path, &mut self.content))
    }

    /// Gives the texts back to `chunk`, masked by rules. Returns a warning if there were secrets.
    pub(crate) fn give_back(mut self, path: &str, chunk: &mut Chunk) -> Option<Warning> {
        self.mask(path);
        if let (Some(secrets), Some(wider)) = (&mut self.secrets, &mut self.wider) {
            secrets.mask(path, wider);
        }
        (chunk.content, chunk.expanded_context) = (self.content, self.wider);
        let secrets = self.secrets?;
        secrets.hide(chunk);
        masked(chunk, secrets.secrets())
    }

    /// Masks in `chunk` the text that the stored content has in place of masks on lines `span` of
    /// the file, and the same for its expanded context at `around`. Expanded context that is not in
    /// the file is masked by rules.
    pub(crate) fn hide(
        &mut self,
        (path, chunk): (&str, &mut Chunk),
        text: &Text,
        span: LineSpan,
        around: Option<LineSpan>,
    ) {
        let Some(secrets) = &mut self.secrets else {
            return;
        };
        secrets.note(text, span.start(), &self.content);
        if let Some(wider) = &mut self.wider {
            match around {
                Some(place) => secrets.note(text, place.start(), wider),
                None => {
                    secrets.mask(path, wider);
                }
            }
        }
        secrets.hide(chunk);
    }

    /// Whether there is expanded context.
    pub(crate) fn is_wider(&self) -> bool {
        self.wider.is_some()
    }

    /// The lines of the expanded context in `text`, if it is there around `span`.
    pub(crate) fn around(&self, text: &Arc<Text>, span: LineSpan) -> Option<LineSpan> {
        ctx_source::around(text, span, self.wider.as_deref()?)
    }

    /// The warning about secrets in `chunk`, of which `in_file` are in the shown lines of its file.
    pub(crate) fn masked(self, chunk: &Chunk, in_file: usize) -> Option<Warning> {
        let mut secrets = self.secrets?;
        secrets.count(in_file);
        masked(chunk, secrets.secrets())
    }
}
