//! Markdown: a heading, one-line fields, a fenced code block.

use ctx_model::{Format, GroupBy};

use crate::fields::Inline;
use crate::neutral::{self, Slot};
use crate::separator::Separator;
use crate::{Block, FormatOptions, Formatter, Group, Notice, fields, inline};

pub(crate) const TITLE: &str = "### ";
pub(crate) const SECTION: &str = "## ";
pub(crate) const SOURCES: &str = "**Sources:**";
pub(crate) const END_OF_SOURCES: &str = "---";

/// The language of a block that has none, so that no renderer guesses one.
const NO_LANGUAGE: &str = "text";

#[derive(Debug)]
pub(crate) struct Markdown {
    options: FormatOptions,
    separator: Separator,
}

impl Markdown {
    pub(crate) fn new(options: FormatOptions) -> Self {
        let separator = Separator::new(options.separator.as_deref().unwrap_or("\n"));
        Markdown { options, separator }
    }

    /// Whether the groups of files show the headings, and not the blocks.
    fn hoists(&self) -> bool {
        self.options.group_by == GroupBy::File
    }
}

impl Formatter for Markdown {
    fn format(&self) -> Format {
        Format::Markdown
    }

    fn group_of<'b>(&self, block: &Block<'b>) -> Option<Group<'b>> {
        Group::of(block, self.options.group_by)
    }

    fn fragment(&self, block: &Block<'_>, out: &mut String) {
        if self.options.file_headers {
            push_title(out, block.title());
            push_place(out, block, &self.options);
            out.push('\n');
        }
        push_fenced(out, block);
    }

    fn open_group(&self, group: &Group<'_>, out: &mut String) {
        match group {
            Group::Category(category) => {
                out.push_str(SECTION);
                out.push_str(category.title());
                out.push_str("\n\n");
            }
            Group::File(path) if self.options.file_headers && self.hoists() => {
                push_title(out, path);
                out.push('\n');
            }
            Group::File(_) => {}
        }
    }

    fn block(&self, block: &Block<'_>, out: &mut String) {
        let start = out.len();
        if self.options.file_headers {
            if block.path.is_none() || !self.hoists() {
                push_title(out, block.title());
            }
            push_place(out, block, &self.options);
        }
        fields::push_extra(out, block, &self.options, Inline::Markdown);
        if block.body.is_empty() {
            out.push_str(fields::SHOWN_NOTHING);
            out.push('\n');
            // The text that follows may underline it, which would make it a heading.
            if self.separator.tail.is_empty() {
                out.push('\n');
            }
        } else {
            if out.len() > start {
                out.push('\n');
            }
            push_fenced(out, block);
        }
        out.push_str(&self.separator.tail);
    }

    fn separator(&self, out: &mut String) {
        out.push_str(&self.separator.piece);
    }

    fn open_sources(&self, out: &mut String) {
        out.push_str(SOURCES);
        out.push_str("\n\n");
    }

    fn source(&self, block: &Block<'_>, out: &mut String) {
        let label = block.source(self.options.states_id());
        fields::push_source(out, &label, Inline::Markdown);
    }

    /// Writes a rule, because text right after a list would be read as part of its last item.
    fn close_sources(&self, out: &mut String) {
        out.push_str(END_OF_SOURCES);
        out.push_str("\n\n");
    }

    fn notice(&self, notice: &Notice, out: &mut String) {
        out.push_str("> ");
        out.push_str(&fields::notice_line(notice));
        out.push_str("\n\n");
    }
}

fn push_title(out: &mut String, title: &str) {
    out.push_str(TITLE);
    inline::push_escaped_heading(out, &neutral::neutralise(title, Slot::Line));
    out.push('\n');
}

fn push_place(out: &mut String, block: &Block<'_>, options: &FormatOptions) {
    if let Some(span) = block.span.filter(|_| options.line_numbers) {
        fields::push_lines(out, span);
    }
    if options.scores {
        fields::push_relevance(out, block);
    }
}

/// Writes the body in a fence that it cannot close (CommonMark 0.31, section 4.5).
fn push_fenced(out: &mut String, block: &Block<'_>) {
    let fence = (longest_run(block.body, b'`') + 1).max(3);
    out.reserve(block.body.len() + 2 * fence + 40);
    push_repeated(out, '`', fence);
    out.push_str(fields::language(block).unwrap_or(NO_LANGUAGE));
    out.push('\n');
    neutral::push(out, block.body, Slot::Text);
    out.push('\n');
    push_repeated(out, '`', fence);
    out.push('\n');
}

pub(crate) fn push_repeated(out: &mut String, c: char, count: usize) {
    out.extend(std::iter::repeat_n(c, count));
}

/// The length of the longest run of `mark` in `text`.
fn longest_run(text: &str, mark: u8) -> usize {
    let (mut run, mut longest) = (0, 0);
    // A stretch without a mark is skipped at the speed of a search for one byte.
    for stretch in text.as_bytes().chunks(64) {
        if run == 0 && !stretch.contains(&mark) {
            continue;
        }
        for &byte in stretch {
            run = if byte == mark { run + 1 } else { 0 };
            longest = longest.max(run);
        }
    }
    longest
}
