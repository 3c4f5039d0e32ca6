//! Finds the chunks that were in the previous context, so that new chunks do not change its blocks.

use std::borrow::Cow;
use std::iter;
use std::rc::Rc;

use ctx_format::{ParsedBlock, SHOWN_NOTHING, Slot, neutralise, parse_known};
use ctx_model::merging::Fit;
use ctx_model::{
    BuildOptions, Chunk, Format, GroupBy, LineSpan, Rendition, widened, without_line_end,
};
use rapidhash::{RapidHashMap, RapidHashSet};

use crate::{AssembleError, Control, Extras, survey};

/// The previous context: the chunks under which its blocks were shown, and the lines of these
/// blocks.
#[derive(Debug, Default)]
pub(crate) struct PreviousBlocks<'a> {
    states: States<'a>,
    named: RapidHashSet<&'a str>,
    /// Chunks whose blocks are known.
    known: RapidHashSet<&'a str>,
    files: RapidHashMap<File<'a>, Blocks<'a>>,
}

/// A file in one of its versions: its path, and its hash if known.
pub(crate) type File<'a> = (&'a str, Option<&'a str>);

/// The blocks of one file.
#[derive(Debug, Default)]
struct Blocks<'a> {
    /// Blocks that several chunks were merged into.
    merged: Vec<Block<'a>>,
    /// Blocks of one chunk, whatever others lie within it.
    single: Vec<Block<'a>>,
}

#[derive(Clone, Debug)]
struct Block<'a> {
    lines: LineSpan,
    body: Rc<Body>,
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
        sent.named = ids.iter().flatten().map(|chunk| &*chunk.id).collect();
        if !ids.iter().flatten().any(|chunk| path_of(chunk).is_some()) {
            return Ok(sent);
        }
        // The blocks of a caller's own format cannot be read back.
        let text = previous.context.as_deref();
        let Some(text) = text.filter(|_| extras.formatter.is_none()) else {
            return Ok(sent);
        };
        for (chunk, block) in ids.iter().zip(blocks(text, options, &ids, control)?) {
            control.check()?;
            let shown = chunk.and_then(|chunk| {
                let expected = Expected::new(chunk, options);
                let lines = expected.lines_in(&block)?;
                Some((chunk, expected, lines))
            });
            if let Some((chunk, expected, lines)) = shown
                && let Some(file) = sent.states.file_of(chunk)
                && sent.known.insert(&chunk.id)
            {
                let blocks = sent.files.entry(file).or_default();
                let is_single = chunk.span == Some(lines) || expected.texts[0] == block.body;
                let list = if is_single {
                    &mut blocks.single
                } else {
                    &mut blocks.merged
                };
                list.push(Block {
                    lines,
                    body: Rc::new(Body::new(block.body)),
                    id: &chunk.id,
                });
            }
        }
        for blocks in sent.files.values_mut() {
            widest_so_far(&mut blocks.merged);
            widest_so_far(&mut blocks.single);
        }
        Ok(sent)
    }

    /// The file of a chunk; `None` if the chunk may not be merged.
    pub(crate) fn file_of<'c>(&self, chunk: &'c Chunk) -> Option<File<'c>> {
        self.states.file_of(chunk)
    }

    /// Whether a block was shown under `chunk`.
    pub(crate) fn shows(&self, chunk: &Chunk) -> bool {
        self.named.contains(&*chunk.id)
    }

    /// Whether `chunk` was shown, or lies within a block that was shown. O(bytes of the chunk).
    pub(crate) fn has(&self, chunk: &Chunk) -> bool {
        self.shows(chunk) || self.speaker(chunk).is_some()
    }

    /// The id of the chunk under which the block was shown that `chunk` belongs to or lies within:
    /// its own, or another. Chunks of different blocks must not be merged, nor with chunks in no
    /// block. O(bytes of the chunk), and O(log n) for n blocks.
    pub(crate) fn speaker(&self, chunk: &Chunk) -> Option<&'a str> {
        if let Some(id) = self.known.get(&*chunk.id) {
            return Some(id);
        }
        if self.shows(chunk) {
            return None;
        }
        let blocks = self.files.get(&self.file_of(chunk)?)?;
        let within = |blocks: &[Block<'a>]| {
            let span = chunk.span?;
            let after = blocks.partition_point(|block| block.lines.start() <= span.start());
            let widest = blocks.get(after.checked_sub(1)?)?;
            let is_there = widest.lines.contains(span) && widest.body.says(chunk, widest.lines);
            is_there.then_some(widest.id)
        };
        // Blocks of several chunks come first: without a chunk that was merged into it, such a
        // block would change.
        within(&blocks.merged).or_else(|| within(&blocks.single))
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

/// Sorts `blocks` by their first line, and replaces each by the one, among it and those before,
/// that ends last.
fn widest_so_far(blocks: &mut [Block<'_>]) {
    blocks.sort_unstable_by_key(|block| (block.lines, block.id));
    for at in 1..blocks.len() {
        if blocks[at - 1].lines.end() >= blocks[at].lines.end() {
            blocks[at] = blocks[at - 1].clone();
        }
    }
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
    use super::*;

    #[test]
    fn a_part_within_several_blocks_is_found_in_the_widest() {
        let span = |start, end| LineSpan::new(start, end).unwrap();
        let text = |start: u32, end: u32| -> String {
            let lines: Vec<String> = (start..=end).map(|it| it.to_string()).collect();
            lines.join("\n")
        };
        let block = |start, end, id| Block {
            lines: span(start, end),
            body: Rc::new(Body::new(text(start, end))),
            id,
        };
        let chunk = |id: &str, start, end| {
            Chunk::new(id, text(start, end), ctx_model::Relevance::ONE)
                .with_path("a")
                .with_span(span(start, end))
        };
        let mut blocks = Blocks {
            merged: vec![block(30, 40, "d")],
            single: vec![block(1, 20, "a"), block(5, 8, "b"), block(15, 35, "c")],
        };
        widest_so_far(&mut blocks.single);
        let sent = PreviousBlocks {
            states: States::default(),
            named: ["a", "b", "c", "d", "e"].into_iter().collect(),
            known: ["a", "b", "c", "d"].into_iter().collect(),
            files: [(("a", None), blocks)].into_iter().collect(),
        };
        for (id, start, end, expected) in [
            ("a", 1, 20, Some("a")),
            ("b", 5, 8, Some("b")),
            ("e", 5, 8, None),
            ("x", 6, 7, Some("a")),
            ("x", 18, 21, Some("c")),
            ("x", 31, 33, Some("d")),
            ("x", 1, 21, None),
            ("x", 41, 41, None),
        ] {
            let found = sent.speaker(&chunk(id, start, end));
            assert_eq!(found, expected, "{id} {start}-{end}");
        }
        let mut other = chunk("x", 6, 7);
        other.content = "6\nseven".to_owned();
        assert_eq!(sent.speaker(&other), None);
        other.content = "6\r\n7\r\n".to_owned();
        assert_eq!(sent.speaker(&other), Some("a"));
        other.content_hash = Some("1".to_owned());
        assert_eq!(sent.speaker(&other), None);
    }
}
