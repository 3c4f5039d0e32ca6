//! Joins lines of several chunks, with the line endings of their file.

use std::collections::BTreeMap;
use std::iter;

use crate::{LineSpan, without_line_end};

/// A line and its line ending. The last line of a chunk may have lost its ending.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// The line, without its end.
    pub text: &'a str,
    end: &'a str,
}

const LF: &str = "\n";
const CRLF: &str = "\r\n";

/// Whether a text has as many lines as its span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// There are as many.
    Whole,
    /// It has one line less and ends with a line ending: the last line may be empty, with its own
    /// ending cut off.
    LastUnsure,
    /// It has another number of lines.
    None,
}

impl Fit {
    /// Of `content`, in which there are so many `lines`. O(1).
    pub fn of(span: LineSpan, content: &str, lines: usize) -> Self {
        let count = span.line_count() as usize;
        if lines == count {
            Fit::Whole
        } else if lines + 1 == count && content.ends_with('\n') {
            Fit::LastUnsure
        } else {
            Fit::None
        }
    }
}

/// The lines of `content`, which are those of `span`: as many as that has, the last of them empty
/// where the text ends before.
pub fn lines_of(content: &str, span: LineSpan) -> impl Iterator<Item = Line<'_>> {
    let lines = content.split_inclusive('\n').chain(iter::repeat(""));
    lines.take(span.line_count() as usize).map(Line::of)
}

impl<'a> Line<'a> {
    fn of(line: &'a str) -> Self {
        let text = without_line_end(line);
        let end = &line[text.len()..];
        Line { text, end }
    }

    /// Its line ending, unless that was cut off.
    fn whole_end(self) -> Option<&'static str> {
        match self.end {
            LF => Some(LF),
            // Of a line ending that was cut in two, the first half remains.
            CRLF | "\r" => Some(CRLF),
            _ => None,
        }
    }

    /// Learns how the line ends from the `same` one in another chunk.
    pub fn learn(&mut self, same: Line<'a>) {
        if same.end.len() > self.end.len() {
            self.end = same.end;
        }
    }
}

/// All of `lines` with what ends each, but for the last, and where each begins. A line whose end
/// was cut off ends as its nearest neighbour does, the one above first. O(bytes).
pub fn joined(lines: &[Line<'_>]) -> (String, Vec<usize>) {
    let mut starts = Vec::with_capacity(lines.len());
    let mut text = String::with_capacity(lines.iter().map(|it| it.text.len() + CRLF.len()).sum());
    let mut end = lines.iter().find_map(|it| it.whole_end()).unwrap_or(LF);
    for (index, line) in lines.iter().enumerate() {
        starts.push(text.len());
        text.push_str(line.text);
        end = line.whole_end().unwrap_or(end);
        if index + 1 < lines.len() {
            text.push_str(end);
        }
    }
    (text, starts)
}

/// The text of a block into which several chunks of one file were merged. `parts` has the lines and
/// the content of each. A part whose content does not have that many lines is skipped, since it is
/// in no such block. O(bytes log bytes), whatever lines are claimed.
pub fn merged_text<'a>(parts: impl IntoIterator<Item = (LineSpan, &'a str)>) -> String {
    let mut lines: BTreeMap<u32, Line<'a>> = BTreeMap::new();
    for (span, content) in parts {
        if Fit::of(span, content, crate::lines(content).count()) == Fit::None {
            continue;
        }
        for (number, line) in (span.start()..=span.end()).zip(lines_of(content, span)) {
            lines.entry(number).or_insert(line).learn(line);
        }
    }
    let lines: Vec<Line<'_>> = lines.into_values().collect();
    joined(&lines).0
}
