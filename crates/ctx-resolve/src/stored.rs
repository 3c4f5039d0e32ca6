//! What a hit was stored with, while it is looked for in its file.

use std::sync::Arc;

use ctx_model::{Chunk, LineSpan, Warning};
use ctx_source::Text;

use crate::mask::{Brought, masked};

/// The texts that are to be found in a file as they are, taken from their chunk.
#[derive(Debug)]
pub(crate) struct Stored {
    content: String,
    /// The expanded context, where there is one.
    wider: Option<String>,
    /// The secrets that are met, where they are masked.
    secrets: Option<Brought>,
}

impl Stored {
    /// Takes the texts of `chunk`, and masks what else it brings along if `masks`.
    pub(crate) fn of(chunk: &mut Chunk, masks: bool) -> Self {
        let wider = chunk.expanded_context.take();
        Stored {
            content: std::mem::take(&mut chunk.content),
            wider: wider.filter(|it| !it.is_empty()),
            secrets: masks.then(|| Brought::of(chunk)),
        }
    }

    /// The content, where there is one.
    pub(crate) fn content(&self) -> Option<&str> {
        Some(&*self.content).filter(|it| !it.is_empty())
    }

    /// Masks what rules find in the content alone; tells whether there is something.
    pub(crate) fn mask(&mut self, path: &str) -> bool {
        let secrets = self.secrets.as_mut();
        secrets.is_some_and(|it| it.mask(path, &mut self.content))
    }

    /// Lets `chunk` have what it had, masked by rules.
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

    /// Hides in `chunk` what it has in the place of masks on lines `span` of the file, and on those that its expanded context has. What that
    /// says elsewhere is hidden by rules.
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

    /// The lines of the expanded context in `text`, if those around `span` say it.
    pub(crate) fn around(&self, text: &Arc<Text>, span: LineSpan) -> Option<LineSpan> {
        ctx_source::around(text, span, self.wider.as_deref()?)
    }

    /// What is told of the secrets of `chunk`, and of so many in the lines of its file.
    pub(crate) fn masked(self, chunk: &Chunk, in_file: usize) -> Option<Warning> {
        let mut secrets = self.secrets?;
        secrets.count(in_file);
        masked(chunk, secrets.secrets())
    }
}
