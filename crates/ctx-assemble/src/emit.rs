//! The document, from what was chosen.

use ctx_format::{DocumentWriter, Group, Notice};
use ctx_model::BuildOptions;

use crate::candidates::Candidate;
use crate::price::{Pricer, Showing};

/// What is shown under one heading, in order.
#[derive(Debug)]
pub(crate) struct Shown<'a, 'c> {
    pub(crate) group: Option<Group<'a>>,
    /// A candidate and which of its showings.
    pub(crate) showings: Vec<(&'c Candidate<'a>, usize)>,
}

impl<'a, 'c> Shown<'a, 'c> {
    /// The showings themselves.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'c Candidate<'a>, &'c Showing<'a>)> {
        self.showings
            .iter()
            .map(|&(candidate, choice)| (candidate, &candidate.showings[choice]))
    }
}

/// Writes the document into a buffer of `bytes` bytes. O(bytes).
pub(crate) fn emit(
    pricer: &Pricer<'_>,
    options: &BuildOptions,
    shown: &[Shown<'_, '_>],
    omitted: usize,
    bytes: usize,
) -> String {
    let mut text = String::with_capacity(bytes);
    let mut writer = DocumentWriter::new(pricer.formatter, &mut text);
    writer.header(options.header.as_deref());
    for section in shown {
        writer.group(section.group);
        for (_, showing) in section.iter() {
            writer.block(&showing.block);
        }
    }
    if options.include_sources {
        writer.sources(&mut shown.iter().flat_map(Shown::iter).map(|(_, it)| it.block));
    }
    if options.include_notice && omitted > 0 {
        let total = omitted
            + shown
                .iter()
                .map(|section| section.showings.len())
                .sum::<usize>();
        writer.notice(&Notice { omitted, total });
    }
    writer
        .finish(options.footer.as_deref())
        .expect("the pieces were written in their order");
    text
}
