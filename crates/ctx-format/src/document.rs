//! A document as a stream of pieces, in their order.

use std::io;

use ctx_model::{Category, GroupBy};

use crate::{Block, FormatError, Formatter, Group, Notice};

/// Writes one document, piece by piece, in the order that [`Formatter`] requires: it opens and
/// closes groups and lists, and writes a separator between two blocks.
///
/// A piece that comes too late is not written, and [`finish`](DocumentWriter::finish) reports it.
///
/// The text is appended to a `String`. To write a long document without holding all of it, move the
/// text to a file or socket from time to time ([`drain_to`](DocumentWriter::drain_to)).
#[derive(Debug)]
#[must_use = "a document is not whole before `finish`"]
pub struct DocumentWriter<'f, 'o> {
    formatter: &'f dyn Formatter,
    out: &'o mut String,
    stage: Stage,
    first_block: bool,
    open_group: Option<OwnedGroup>,
    // Within that group: the file of the block written last, if the group does not show it.
    open_file: Option<OwnedGroup>,
    // Opened with its first block, so that no group is empty.
    next_group: NextGroup,
    group_by: Option<GroupBy>,
    // The bytes moved to a sink.
    drained: usize,
    late: Option<&'static str>,
}

/// The group of its file that a document opens for `block` alone, within `group`: the one that the
/// formatter assigns, unless it is `group`. Such a block does not show its path by itself.
pub fn file_within<'b>(
    formatter: &dyn Formatter,
    block: &Block<'b>,
    group: Option<Group<'_>>,
) -> Option<Group<'b>> {
    let own = formatter.group_of(block);
    own.filter(|it| matches!(it, Group::File(_)) && group != own)
}

/// The part of the document that was written last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Start,
    Chunks,
    Sources,
    Notice,
}

/// The group of the next block.
#[derive(Debug)]
enum NextGroup {
    /// The group that the formatter assigns.
    Natural,
    /// The one that the caller chose.
    Chosen(Option<OwnedGroup>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum OwnedGroup {
    File(String),
    Category(Category),
}

impl OwnedGroup {
    fn new(group: Group<'_>) -> Self {
        match group {
            Group::File(path) => OwnedGroup::File(path.to_owned()),
            Group::Category(category) => OwnedGroup::Category(category),
        }
    }

    fn view(&self) -> Group<'_> {
        match self {
            OwnedGroup::File(path) => Group::File(path),
            OwnedGroup::Category(category) => Group::Category(*category),
        }
    }
}

impl<'f, 'o> DocumentWriter<'f, 'o> {
    /// Starts a document that is appended to `out`.
    pub fn new(formatter: &'f dyn Formatter, out: &'o mut String) -> Self {
        DocumentWriter {
            formatter,
            out,
            stage: Stage::Start,
            first_block: true,
            open_group: None,
            open_file: None,
            next_group: NextGroup::Natural,
            group_by: None,
            drained: 0,
            late: None,
        }
    }

    /// The length of the text so far, including what `out` held before: the next piece begins here.
    pub fn position(&self) -> usize {
        self.drained + self.out.len()
    }

    /// Moves the text so far to `sink` and empties the buffer. Call it after any block, and write
    /// what is left in the buffer after [`finish`](DocumentWriter::finish). A piece does not depend
    /// on those before it, so the document is the same.
    ///
    /// # Errors
    /// Those of `sink`. The buffer is then unchanged, although some of it may have been written.
    pub fn drain_to(&mut self, sink: &mut dyn io::Write) -> io::Result<()> {
        sink.write_all(self.out.as_bytes())?;
        self.drained += self.out.len();
        self.out.clear();
        Ok(())
    }

    /// Opens the document with the caller's own text. Without this call it opens without such text.
    pub fn header(&mut self, header: Option<&str>) {
        if self.stage == Stage::Start {
            self.formatter.open(header, self.out);
            self.stage = Stage::Chunks;
        } else {
            self.is_late("header");
        }
    }

    /// Assigns each block to its group of `group_by` ([`Group::of`]), instead of asking
    /// [`Formatter::group_of`]. Every block still shows its file, as it does after
    /// [`group`](DocumentWriter::group).
    pub fn group_by(&mut self, group_by: GroupBy) {
        self.group_by = Some(group_by);
    }

    /// Sets the group of the blocks that follow. A group without blocks is not written. Without
    /// this call each block is in the group that [`Formatter::group_of`] assigns.
    ///
    /// Every block still shows its file. The group of a file only takes blocks of that file, as
    /// without this call. In any other group, a block that the formatter assigns to a file gets a
    /// group of its own, which shows the path.
    pub fn group(&mut self, group: Option<Group<'_>>) {
        if self.stage > Stage::Chunks {
            return self.is_late("group");
        }
        self.next_group = NextGroup::Chosen(group.map(OwnedGroup::new));
    }

    /// Writes one block, preceded by everything that must come between it and the previous one.
    pub fn block(&mut self, block: &Block<'_>) {
        if self.stage > Stage::Chunks {
            return self.is_late("block");
        }
        self.open_document();
        if !self.first_block {
            self.formatter.separator(self.out);
        }
        self.first_block = false;
        self.close_file();
        let own = match self.group_by {
            Some(group_by) => Group::of(block, group_by),
            None => self.formatter.group_of(block),
        };
        let group = match &self.next_group {
            NextGroup::Natural | NextGroup::Chosen(Some(OwnedGroup::File(_))) => own,
            NextGroup::Chosen(group) => group.as_ref().map(OwnedGroup::view),
        };
        let file = file_within(self.formatter, block, group);
        if self.open_group.as_ref().map(OwnedGroup::view) != group {
            let next = group.map(OwnedGroup::new);
            self.close_group();
            if let Some(group) = &next {
                self.formatter.open_group(&group.view(), self.out);
            }
            self.open_group = next;
        }
        if let Some(file) = file {
            self.formatter.open_group(&file, self.out);
            self.open_file = Some(OwnedGroup::new(file));
        }
        self.formatter.block(block, self.out);
    }

    /// Lists the sources of the blocks. No list is written if there are none.
    pub fn sources(&mut self, sources: &mut dyn Iterator<Item = Block<'_>>) {
        if self.stage >= Stage::Sources {
            return self.is_late("sources");
        }
        self.close_chunks();
        self.stage = Stage::Sources;
        let mut first = true;
        for source in sources {
            if first {
                self.formatter.open_sources(self.out);
            } else {
                self.formatter.source_separator(self.out);
            }
            first = false;
            self.formatter.source(&source, self.out);
        }
        if !first {
            self.formatter.close_sources(self.out);
        }
    }

    /// States what was left out.
    pub fn notice(&mut self, notice: &Notice) {
        if self.stage >= Stage::Notice {
            return self.is_late("notice");
        }
        self.close_chunks();
        self.stage = Stage::Notice;
        self.formatter.notice(notice, self.out);
    }

    /// Closes the document with the caller's own text.
    ///
    /// # Errors
    /// [`FormatError::TooLate`] with the first piece that came too late and therefore was not
    /// written.
    pub fn finish(mut self, footer: Option<&str>) -> Result<(), FormatError> {
        self.close_chunks();
        self.formatter.close(footer, self.out);
        match self.late {
            Some(piece) => Err(FormatError::TooLate { piece }),
            None => Ok(()),
        }
    }

    fn open_document(&mut self) {
        if self.stage == Stage::Start {
            self.header(None);
        }
    }

    fn close_file(&mut self) {
        if let Some(file) = self.open_file.take() {
            self.formatter.close_group(&file.view(), self.out);
        }
    }

    fn close_group(&mut self) {
        self.close_file();
        if let Some(group) = self.open_group.take() {
            self.formatter.close_group(&group.view(), self.out);
        }
    }

    fn close_chunks(&mut self) {
        self.open_document();
        if self.stage == Stage::Chunks {
            self.close_group();
            self.formatter.close_chunks(self.out);
            self.stage = Stage::Sources;
        }
    }

    fn is_late(&mut self, piece: &'static str) {
        self.late.get_or_insert(piece);
    }
}
