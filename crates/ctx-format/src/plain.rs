//! Plain text: a title, a rule of dashes, the text, and in a document the rule again.

use crate::fields::Inline;
use crate::markdown::push_repeated;
use crate::neutral::{self, Slot};
use crate::separator::Separator;
use crate::{Block, FormatOptions, Formatter, Group, Notice, fields};

pub(crate) const FILE: &str = "File: ";
pub(crate) const NAME: &str = "Name: ";
pub(crate) const ID: &str = "Id: ";
pub(crate) const SPAN: &str = " (lines ";
pub(crate) const SOURCES: &str = "Sources:";

/// The least length of the rule under a title, in dashes.
pub(crate) const SHORTEST_RULE: usize = 40;

#[derive(Debug)]
pub(crate) struct Plain {
    options: FormatOptions,
    separator: Separator,
}

impl Plain {
    pub(crate) fn new(options: FormatOptions) -> Self {
        let separator = Separator::new(options.separator.as_deref().unwrap_or("\n"));
        Plain { options, separator }
    }

    fn push_title(&self, out: &mut String, block: &Block<'_>) {
        out.push_str(match (block.path, block.name) {
            (Some(_), _) => FILE,
            (None, Some(_)) => NAME,
            (None, None) => ID,
        });
        let title = neutral::neutralise(block.title(), Slot::Line);
        if title.starts_with('"') || (title.contains(SPAN) && title.ends_with(')')) {
            fields::push_quoted(out, &title);
        } else {
            out.push_str(&title);
        }
        if let Some(span) = block.span.filter(|_| self.options.line_numbers) {
            out.push_str(SPAN);
            out.push_str(&span.to_string());
            out.push(')');
        }
        out.push('\n');
    }
}

impl Formatter for Plain {
    fn group_of<'b>(&self, block: &Block<'b>) -> Option<Group<'b>> {
        Group::of(block, self.options.group_by)
    }

    fn fragment(&self, block: &Block<'_>, out: &mut String) {
        if self.options.file_headers {
            self.push_title(out, block);
            push_rule(out, SHORTEST_RULE);
        }
        neutral::push(out, block.body, Slot::Text);
        out.push('\n');
    }

    fn open_group(&self, group: &Group<'_>, out: &mut String) {
        if let Group::Category(category) = group {
            out.push_str("=== ");
            out.push_str(category.title());
            out.push_str(" ===\n\n");
        }
    }

    fn block(&self, block: &Block<'_>, out: &mut String) {
        if self.options.file_headers {
            self.push_title(out, block);
            if self.options.scores {
                fields::push_relevance(out, block);
            }
        }
        fields::push_extra(out, block, &self.options, Inline::Plain);
        if block.body.is_empty() {
            out.push_str(fields::SHOWN_NOTHING);
            out.push('\n');
        } else {
            push_body(out, block.body);
        }
        out.push_str(&self.separator.tail);
    }

    fn separator(&self, out: &mut String) {
        out.push_str(&self.separator.piece);
    }

    fn source(&self, block: &Block<'_>, out: &mut String) {
        let label = block.source(self.options.states_id());
        fields::push_source(out, &label, Inline::Plain);
    }

    fn close_sources(&self, out: &mut String) {
        push_rule(out, SHORTEST_RULE);
        out.push('\n');
    }

    fn notice(&self, notice: &Notice, out: &mut String) {
        out.push_str(&fields::notice_line(notice));
        out.push_str("\n\n");
    }
}

/// Writes the body between two rules, longer than any rule in the body.
fn push_body(out: &mut String, body: &str) {
    let rule = longest_rule(body).map_or(SHORTEST_RULE, |n| SHORTEST_RULE.max(n + 1));
    push_rule(out, rule);
    neutral::push(out, body, Slot::Text);
    out.push('\n');
    push_rule(out, rule);
}

fn push_rule(out: &mut String, dashes: usize) {
    push_repeated(out, '-', dashes);
    out.push('\n');
}

/// The number of dashes in the longest line of `text` that consists of dashes.
fn longest_rule(text: &str) -> Option<usize> {
    text.lines().filter_map(rule_length).max()
}

/// The number of dashes in a line that consists of at least one dash and nothing else.
pub(crate) fn rule_length(line: &str) -> Option<usize> {
    (line.starts_with('-') && line.bytes().all(|b| b == b'-')).then_some(line.len())
}
