//! Finds the chunks that were in the previous context, so that new chunks do not change its blocks.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::iter;

use ctx_format::{ParsedBlock, SHOWN_NOTHING, Slot, neutralise, parse_known};
use ctx_model::merging::Fit;
use ctx_model::{
    BuildOptions, Chunk, Format, GroupBy, LineSpan, Rendition, widened, without_line_end,
};
use rapidhash::{RapidHashMap, RapidHashSet};

use crate::unit::Beside;
use crate::{AssembleError, Control, Extras, survey};

/// The previous context: the chunks under which its blocks were shown, and the lines of these
/// blocks.
#[derive(Debug, Default)]
pub(crate) struct PreviousBlocks<'a> {
    states: States<'a>,
    /// The index of the first block that was shown under each chunk.
    shown_at: RapidHashMap<&'a str, usize>,
    /// Whether the text of the context is known.
    has_text: bool,
    /// Chunks whose blocks are known, and what these state beside their lines.
    known: RapidHashMap<&'a str, Beside>,
    /// For each chunk that lies within the lines of a block that was sent, the chunk under which
    /// that was shown.
    within: RapidHashMap<&'a str, &'a str>,
}

/// A file in one of its versions: its path, and its hash if known.
pub(crate) type File<'a> = (&'a str, Option<&'a str>);

#[derive(Debug)]
struct Block<'a> {
    lines: LineSpan,
    body: Body,
    /// The id of the chunk under which it was shown.
    id: &'a str,
}

impl<'a> PreviousBlocks<'a> {
    /// Reads the previous context from `options`, as far as its chunks are among `chunks`. The
    /// lines of a block are known if its text states them, or if the text of the chunk under which
    /// it was shown occurs in it exactly once. O(bytes of that text and of the chunks it shows),
    /// and O(n log n) for n chunks.
    pub(crate) fn new(
        chunks: &'a [Chunk],
        options: &BuildOptions,
        extras: &Extras<'_>,
        control: &Control,
    ) -> Result<Self, AssembleError> {
        let mut sent = PreviousBlocks {
            states: States::of(chunks),
            ..PreviousBlocks::default()
        };
        let Some(previous) = &options.previous else {
            return Ok(sent);
        };
        let by_id: RapidHashMap<&str, &Chunk> =
            chunks.iter().map(|chunk| (&*chunk.id, chunk)).collect();
        let ids = previous.ids.iter().map(|id| by_id.get(&**id).copied());
        let ids: Vec<Option<&'a Chunk>> = ids.collect();
        for (index, chunk) in ids.iter().enumerate() {
            if let Some(chunk) = chunk {
                sent.shown_at.entry(&chunk.id).or_insert(index);
            }
        }
        if !ids.iter().flatten().any(|chunk| path_of(chunk).is_some()) {
            return Ok(sent);
        }
        // The blocks of a caller's own format cannot be read back.
        let text = previous.context.as_deref();
        let Some(text) = text.filter(|_| extras.formatter.is_none()) else {
            return Ok(sent);
        };
        sent.has_text = true;
        let mut files: RapidHashMap<File<'a>, Vec<Block<'a>>> = RapidHashMap::default();
        for (chunk, block) in ids.iter().zip(blocks(text, options, &ids, control)?) {
            control.check()?;
            let lines = chunk.and_then(|it| Expected::new(it, options).lines_in(&block));
            if let Some((chunk, lines)) = chunk.zip(lines)
                && let Some(file) = sent.states.file_of(chunk)
                && let Entry::Vacant(unknown) = sent.known.entry(&chunk.id)
            {
                unknown.insert(Beside {
                    imports: block.imports,
                    relations: block.relations,
                });
                files.entry(file).or_default().push(Block {
                    lines,
                    body: Body::new(block.body),
                    id: &chunk.id,
                });
            }
        }
        sent.find_chunks_within(&files, chunks, control)?;
        Ok(sent)
    }

    /// The file of a chunk; `None` if the chunk may not be merged.
    pub(crate) fn file_of<'c>(&self, chunk: &'c Chunk) -> Option<File<'c>> {
        self.states.file_of(chunk)
    }

    /// Whether a block was shown under `chunk`.
    pub(crate) fn shows(&self, chunk: &Chunk) -> bool {
        self.shown_at.contains_key(&*chunk.id)
    }

    /// Whether `chunk` was shown, or lies within a block that was shown. O(bytes of the chunk).
    pub(crate) fn has(&self, chunk: &Chunk) -> bool {
        self.shows(chunk) || self.speaker(chunk).is_some()
    }

    /// Under which of `parts` a block was shown first, if under any. `None` if the text of the
    /// context is not known.
    pub(crate) fn first_of(&self, parts: &[&'a Chunk]) -> Option<&'a str> {
        if !self.has_text {
            return None;
        }
        let shown = parts
            .iter()
            .filter_map(|it| Some((self.shown_at.get(&*it.id)?, &*it.id)));
        shown.min().map(|(_, id)| id)
    }

    /// What the block that was shown under the chunk with this id states beside its lines; `None`
    /// if its lines are not known.
    pub(crate) fn beside(&self, id: &str) -> Option<&Beside> {
        self.known.get(id)
    }

    /// The id of the chunk under which the block was shown that `chunk` belongs to or lies within:
    /// its own, or another. Chunks of different blocks must not be merged, nor with chunks in no
    /// block.
    pub(crate) fn speaker(&self, chunk: &Chunk) -> Option<&'a str> {
        if let Some((id, _)) = self.known.get_key_value(&*chunk.id) {
            return Some(id);
        }
        self.within.get(&*chunk.id).copied()
    }

    /// Finds the chunks that lie within blocks of `files`. A chunk within several belongs to the
    /// first: later ones were made without it, as it belonged to that one then, too.
    fn find_chunks_within(
        &mut self,
        files: &RapidHashMap<File<'a>, Vec<Block<'a>>>,
        chunks: &'a [Chunk],
        control: &Control,
    ) -> Result<(), AssembleError> {
        let mut by_file: RapidHashMap<File<'a>, Vec<&'a Chunk>> = RapidHashMap::default();
        for chunk in chunks.iter().filter(|it| !self.shows(it)) {
            if let Some(file) = self.file_of(chunk).filter(|it| files.contains_key(it)) {
                by_file.entry(file).or_default().push(chunk);
            }
        }
        for (file, chunks) in by_file {
            let blocks = &files[&file];
            let lines: Vec<LineSpan> = blocks.iter().map(|it| it.lines).collect();
            let spans: Vec<LineSpan> = chunks.iter().filter_map(|it| it.span).collect();
            for (chunk, first) in chunks.into_iter().zip(first_around(&lines, &spans)) {
                control.check()?;
                let block = first.map(|it| &blocks[it]);
                if let Some(block) = block.filter(|it| it.body.says(chunk, it.lines)) {
                    self.within.insert(&chunk.id, block.id);
                }
            }
        }
        Ok(())
    }
}

/// The path of a chunk; `None` if the chunk may not be merged.
fn path_of(chunk: &Chunk) -> Option<&str> {
    let is_plain = chunk.wider_text().is_none() && chunk.renditions.is_empty();
    chunk.span?;
    chunk.path.as_deref().filter(|_| is_plain)
}

/// The versions of files that chunks belong to.
#[derive(Debug, Default)]
struct States<'a>(
    /// The ids of chunks whose hash does not identify a version of the file, because it is the hash
    /// of their own lines and no other chunk has it as that of the file.
    RapidHashSet<&'a str>,
);

impl<'a> States<'a> {
    /// Compares the hashes of chunks of one path. O(n) for n chunks, and O(bytes) of those whose
    /// paths have several hashes.
    fn of(chunks: &'a [Chunk]) -> Self {
        let mut by_path: RapidHashMap<&str, Vec<(&Chunk, &str)>> = RapidHashMap::default();
        for chunk in chunks {
            if let (Some(path), Some(hash)) = (path_of(chunk), &chunk.content_hash) {
                by_path.entry(path).or_default().push((chunk, hash));
            }
        }
        let mut states = States::default();
        for hashed in by_path.into_values() {
            if hashed.iter().all(|it| it.1 == hashed[0].1) {
                continue;
            }
            let (own, others): (Vec<_>, Vec<_>) = hashed
                .into_iter()
                .partition(|it| is_of_own_lines(it.0, it.1));
            // A hash that other chunks have is that of the whole file, and then it is the version
            // of this chunk, too.
            let others: RapidHashSet<&str> = others.iter().map(|it| it.1).collect();
            let own = own.iter().filter(|it| !others.contains(it.1));
            states.0.extend(own.map(|it| &*it.0.id));
        }
        states
    }

    /// The file of a chunk; `None` if the chunk may not be merged.
    fn file_of<'c>(&self, chunk: &'c Chunk) -> Option<File<'c>> {
        let path = path_of(chunk)?;
        let hash = chunk.content_hash.as_deref();
        Some((path, hash.filter(|_| !self.0.contains(&*chunk.id))))
    }
}

/// Whether `hash` is the hash of the lines of `chunk`, with or without the last line ending.
fn is_of_own_lines(chunk: &Chunk, hash: &str) -> bool {
    let Ok(hash) = blake3::Hash::from_hex(hash) else {
        return false;
    };
    let text = without_line_end(&chunk.content).as_bytes();
    let mut hasher = blake3::Hasher::new();
    hasher.update(text);
    let ended = |end: &str| hasher.clone().update(end.as_bytes()).finalize();
    ["", "\n", "\r\n"].into_iter().any(|end| ended(end) == hash)
}

/// For each of `spans`, the index of the first of `blocks` that contains it. O((m + n) log m) for m
/// blocks and n spans.
fn first_around(blocks: &[LineSpan], spans: &[LineSpan]) -> Vec<Option<usize>> {
    let mut ends: Vec<u32> = blocks.iter().map(|it| it.end()).collect();
    ends.sort_unstable_by_key(|&end| Reverse(end));
    ends.dedup();
    // How many ends of blocks are not before `end`.
    let reaching = |end: u32| ends.partition_point(|&it| it >= end);
    let by_start = |of: &[LineSpan]| {
        let mut indices: Vec<usize> = (0..of.len()).collect();
        indices.sort_unstable_by_key(|&it| of[it].start());
        indices
    };
    // A Fenwick tree over the ends, the last first: the first of the blocks that begin so far.
    let mut firsts = vec![usize::MAX; ends.len() + 1];
    let mut begun = by_start(blocks).into_iter().peekable();
    let mut found = vec![None; spans.len()];
    for index in by_start(spans) {
        let span = spans[index];
        while let Some(block) = begun.next_if(|&it| blocks[it].start() <= span.start()) {
            let mut place = reaching(blocks[block].end());
            while let Some(first) = firsts.get_mut(place) {
                *first = block.min(*first);
                place += place & place.wrapping_neg();
            }
        }
        let mut place = reaching(span.end());
        let mut first = usize::MAX;
        while place > 0 {
            first = first.min(firsts[place]);
            place &= place - 1;
        }
        found[index] = Some(first).filter(|&it| it < blocks.len());
    }
    found
}

/// The text of a block, and the offset of each of its lines.
#[derive(Debug)]
struct Body {
    text: String,
    starts: Vec<usize>,
}

impl Body {
    fn new(text: String) -> Self {
        let ends = memchr::memchr_iter(b'\n', text.as_bytes());
        let starts = iter::once(0).chain(ends.map(|end| end + 1)).collect();
        Body { text, starts }
    }

    /// The line at `index`; empty if there is none, as for a last line that lost its ending.
    fn line(&self, index: usize) -> &str {
        let Some(&start) = self.starts.get(index) else {
            return "";
        };
        let end = self.starts.get(index + 1).copied();
        without_line_end(&self.text[start..end.unwrap_or(self.text.len())])
    }

    /// Whether this body, which is `lines` of a file, has the same text as `chunk` on the lines of
    /// the chunk.
    fn says(&self, chunk: &Chunk, lines: LineSpan) -> bool {
        let Some(span) = chunk.span.filter(|span| lines.contains(*span)) else {
            return false;
        };
        let content = neutralise(&chunk.content, Slot::Text);
        if Fit::of(span, &content, survey::lines(&content).count()) == Fit::None {
            return false;
        }
        let content = content.split_inclusive('\n').chain(iter::repeat(""));
        let first = (span.start() - lines.start()) as usize;
        let mut theirs = (first..).zip(content).take(span.line_count() as usize);
        theirs.all(|(index, line)| self.line(index) == without_line_end(line))
    }
}

/// The blocks of the previous context, one for each of its ids; empty if they are not found.
fn blocks(
    text: &str,
    options: &BuildOptions,
    ids: &[Option<&Chunk>],
    control: &Control,
) -> Result<Vec<ParsedBlock>, AssembleError> {
    let found = |is_it: &dyn Fn(usize, &Expected<'_>, &ParsedBlock) -> bool| {
        let (mut next, mut known) = (0, None);
        let mut is_next = |block: &ParsedBlock| {
            // After the last id, or once it is cancelled, every block is refused.
            let Some(chunk) = ids.get(next).filter(|_| control.check().is_ok()) else {
                return false;
            };
            let expected = known.get_or_insert_with(|| chunk.map(|it| Expected::new(it, options)));
            let is_next = expected.as_ref().is_none_or(|it| is_it(next, it, block));
            if is_next {
                (next, known) = (next + 1, None);
            }
            is_next
        };
        // In another format no byte of it can be kept, whatever is merged.
        let parsed = parse_known(options.format, text, ids.len(), &mut is_next).ok()?;
        Some(parsed.blocks).filter(|blocks| blocks.len() == ids.len())
    };
    // First by heading and text, since the caller's own text may look like blocks; then by heading
    // alone, since the text of a chunk may have changed.
    let blocks = found(&|_, it, block| it.may_be(block) && it.says(block));
    let blocks = blocks.or_else(|| found(&|_, it, block| it.may_be(block)));
    let blocks = blocks.or_else(|| {
        let heads = Heads::new(options, ids);
        if options.include_file_headers && heads.separator.is_none() {
            return None;
        }
        let blocks = found(&|number, it, block| {
            let own = heads.own(number, block);
            it.may_be(&own) && it.says(&own)
        })?;
        let numbered = blocks.iter().enumerate();
        let own = numbered.map(|(number, block)| heads.own(number, block).into_owned());
        Some(own.collect())
    });
    control.check()?;
    Ok(blocks.unwrap_or_default())
}

/// Tells the headings of blocks from a separator that looks like one.
struct Heads<'a> {
    options: &'a BuildOptions,
    ids: &'a [Option<&'a Chunk>],
    /// The title of the heading that the separator looks like.
    separator: Option<String>,
}

impl<'a> Heads<'a> {
    fn new(options: &'a BuildOptions, ids: &'a [Option<&'a Chunk>]) -> Self {
        let separator = options.chunk_separator.as_deref();
        let above = separator.map(|it| format!("{it}\n{SHOWN_NOTHING}\n"));
        let parsed = above.and_then(|it| ctx_format::parse(options.format, &it).ok());
        let block = parsed.and_then(|it| it.blocks.into_iter().next_back());
        Heads {
            options,
            ids,
            separator: block.and_then(|it| it.title),
        }
    }

    /// The block at `number` without the lines of a separator that look like its heading or id.
    /// Without file headers, no heading is its own. In Markdown by file, those of blocks below
    /// another of the same file are not. O(bytes of the block).
    fn own<'b>(&self, number: usize, block: &'b ParsedBlock) -> Cow<'b, ParsedBlock> {
        let options = self.options;
        let states_id = options.include_ids || options.include_metadata;
        let mut own = Cow::Borrowed(block);
        if block.has_own_id && !states_id {
            own.to_mut().forget_own_id();
        }
        if !options.include_file_headers {
            return Cow::Owned(own.without_head());
        }
        let is_by_file = options.format == Format::Markdown && options.group_by == GroupBy::File;
        let is_of_separator = block.title.is_some() && block.title == self.separator;
        if !is_by_file || !is_of_separator || !self.is_below(number) {
            return own;
        }
        own.to_mut().title = None;
        own
    }

    /// Whether the block at `number` may be below another of its file.
    fn is_below(&self, number: usize) -> bool {
        let Some(above) = number.checked_sub(1) else {
            return false;
        };
        let (above, below) = (self.ids[above], self.ids[number]);
        let paths = above
            .zip(below)
            .map(|(above, below)| (&above.path, &below.path));
        paths.is_none_or(|(above, below)| above == below)
    }
}

/// The contents that a block shown under a chunk may have.
struct Expected<'a> {
    chunk: &'a Chunk,
    /// Whether blocks state their lines. If not, lines that are stated are part of a separator.
    states_lines: bool,
    title: String,
    id: String,
    /// The texts it may be shown as.
    texts: Vec<String>,
    content: String,
    /// The least number of bytes that the lines of the content take, with line endings of any kind
    /// and perhaps none at the end.
    least: usize,
}

impl<'a> Expected<'a> {
    /// Prepares the texts to compare with. O(bytes of the chunk).
    fn new(chunk: &'a Chunk, options: &BuildOptions) -> Self {
        let renditions = chunk.renditions.iter().map(Rendition::text);
        let texts = iter::once(chunk.full_text()).chain(renditions);
        let content = neutralise(&chunk.content, Slot::Text).into_owned();
        Expected {
            chunk,
            states_lines: options.include_line_numbers
                && (options.include_file_headers
                    || matches!(options.format, Format::Xml | Format::Json)),
            title: neutralise(chunk.title(), Slot::Line).into_owned(),
            id: neutralise(&chunk.id, Slot::Line).into_owned(),
            texts: texts
                .map(|it| neutralise(it, Slot::Text).into_owned())
                .collect(),
            least: least(&content),
            content,
        }
    }

    /// Whether `block` states no title or id that differs from that of the chunk.
    fn may_be(&self, block: &ParsedBlock) -> bool {
        let is_said = |told: &Option<String>, is: &String| told.as_ref().is_none_or(|it| it == is);
        is_said(&block.title, &self.title) && is_said(&block.id, &self.id)
    }

    /// Whether the text of `block` is one of the chunk's texts, or includes its lines. O(bytes of
    /// the block).
    fn says(&self, block: &ParsedBlock) -> bool {
        self.texts.contains(&block.body)
            || path_of(self.chunk).is_some() && self.lines_in(block).is_some()
    }

    /// The lines of the file that `block` shows, if it was shown under this chunk. O(bytes of the
    /// block).
    fn lines_in(&self, block: &ParsedBlock) -> Option<LineSpan> {
        let span = self.chunk.span.filter(|_| self.may_be(block))?;
        // A shorter block cannot contain the lines; this avoids a search in each of many blocks.
        if block.body.len() < self.least {
            return None;
        }
        let told = block.span.filter(|_| self.states_lines).or_else(|| {
            // As in `Fit`, a line ending at the end is followed by an empty line.
            let mut body = Cow::Borrowed(block.body.as_str());
            if body.ends_with('\n') {
                body.to_mut().push('\n');
            }
            widened(span, &self.content, &body)
        });
        told.filter(|lines| Body::new(block.body.clone()).says(self.chunk, *lines))
    }
}

fn least(content: &str) -> usize {
    let lines = content.split_inclusive('\n');
    let bytes = lines.map(|it| without_line_end(it).len() + 1);
    bytes.sum::<usize>().saturating_sub(2)
}

#[cfg(test)]
mod tests {
    use ctx_model::Previous;
    use proptest::prelude::*;

    use super::*;

    fn span() -> impl Strategy<Value = LineSpan> {
        (1_u32..9, 0_u32..9).prop_map(|(start, more)| LineSpan::new(start, start + more).unwrap())
    }

    proptest! {
        #[test]
        fn a_span_is_found_in_the_first_block_around_it(
            blocks in prop::collection::vec(span(), 0..9),
            spans in prop::collection::vec(span(), 0..9),
        ) {
            let first = |span: &LineSpan| blocks.iter().position(|it| it.contains(*span));
            let firsts: Vec<Option<usize>> = spans.iter().map(first).collect();
            prop_assert_eq!(first_around(&blocks, &spans), firsts);
        }
    }

    #[test]
    fn lines_are_found_in_a_block_if_it_has_their_text() {
        let chunk = |id: &str, start, end, content: &str| {
            Chunk::new(id, content, ctx_model::Relevance::ONE)
                .with_path("a")
                .with_span(LineSpan::new(start, end).unwrap())
        };
        let mut other = chunk("version", 6, 7, "6\n7");
        other.content_hash = Some("1".to_owned());
        let chunks = [
            chunk("a", 5, 8, "5\n6\n7\n8"),
            chunk("within", 6, 7, "6\r\n7\r\n"),
            chunk("text", 6, 7, "6\nseven"),
            chunk("beyond", 8, 9, "8\n9"),
            other,
        ];
        let options = BuildOptions::default();
        let (extras, control) = (Extras::default(), Control::default());
        let context = "### a\n\nLines 5-8\n\n```text\n5\n6\n7\n8\n```\n\n";
        let options = options.with_previous(Some(Previous {
            digest: String::new(),
            ids: vec!["a".to_owned()],
            context: Some(context.to_owned()),
        }));
        let sent = PreviousBlocks::new(&chunks, &options, &extras, &control).unwrap();
        let found = chunks.each_ref().map(|it| sent.speaker(it));
        assert_eq!(found, [Some("a"), Some("a"), None, None, None]);
    }
}
