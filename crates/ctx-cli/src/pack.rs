//! `ctx pack`: files in, one context out.

use ctx::assemble::Cancel;
use ctx::model::{
    BuildOptions, BuiltContext, Chunk, LineSpan, Omitted, OmittedReason, Origin, Relevance,
    Rendition, Selection, Warning, WarningCode,
};
use ctx::resolve::{Keywords, NamedLines, file_kind, masked, renditions};
use ctx::syntax::{self, Limits, Source};
use rayon::iter::{IntoParallelRefMutIterator as _, ParallelIterator as _};

use crate::args::PackArgs;
use crate::assemble;
use crate::emit;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::read::{Content, read_each};
use crate::relevance::{self, Rank};
use crate::report::{self, Report};
use crate::skipped;
use crate::walk::{self, Found, Skipped};

/// Runs the verb.
///
/// # Errors
/// Any of those in the list of exit codes. A file that cannot be read is no error: it is reported,
/// also in the receipt.
pub(crate) fn run(args: &PackArgs, report: Report, cancel: &Cancel) -> Result<(), Failure> {
    let mut options = BuildOptions::default();
    args.options.apply(&mut options)?;
    options.explain |= args.output.explain;
    let walked = walk::walk(&args.files.paths, cancel)?;
    let read = read_each(
        &walked,
        args.files.max_file_size,
        args.files.secrets.secrets(),
        cancel,
        &Progress::start("reading", walked.files.len(), report),
        |index, content| chunk(&walked.files[index], content),
    )?;
    let mut packed = Packed::new(walked.skipped);
    for file in read {
        packed.add(file);
    }
    skipped::report_faults(&walked.faults);
    skipped::report(&packed.skipped, report);
    skipped::report_converted(&packed.converted, report);
    if packed.chunks.is_empty() {
        report::warning("there are no files with text here");
    }
    if !surely_fits(&packed.chunks, &options) {
        if !args.whole_files {
            add_renditions(&mut packed.chunks, report, cancel);
        }
        weigh(&mut packed.chunks);
        // Files are worth more or less for their tokens, and so are their renditions.
        options.selection = args.options.selection().unwrap_or(Selection::Optimal);
    }
    let deadline = args.options.deadline();
    let mut built = assemble::build(&packed.chunks, &options, deadline, report, cancel)?;
    built.warnings.append(&mut packed.masked);
    emit::warnings(&built, &[], report);
    packed.tell(&mut built);
    emit::result(&built, args.output, report)
}

/// A text has at most as many tokens as bytes, whatever the counter; the markup around it is small
/// in comparison.
fn surely_fits(chunks: &[Chunk], options: &BuildOptions) -> bool {
    let length = |it: &Option<String>| it.as_ref().map_or(0, String::len);
    let around = 64 + length(&options.chunk_separator);
    let bytes = chunks
        .iter()
        .map(|it| it.content.len() + it.id.len() + around);
    let bytes = bytes.sum::<usize>() + length(&options.header) + length(&options.footer);
    bytes < options.max_tokens.saturating_sub(options.reserve).get() as usize
}

/// Adds renditions to each file. O(bytes), on several threads.
fn add_renditions(chunks: &mut [Chunk], report: Report, cancel: &Cancel) {
    let limits = Limits::default();
    let _progress = Progress::start("outlining", 0, report);
    chunks.par_iter_mut().for_each(|chunk| {
        if let (Some(span), false) = (chunk.span, cancel.is_cancelled()) {
            let path = chunk.path.as_deref().unwrap_or_default();
            let source = Source::new(path, &chunk.content, &limits);
            let ways = renditions(&source, span, &Keywords::default(), NamedLines::default());
            chunk.renditions = ways.into_iter().map(overview).collect();
        }
    });
}

/// The same rendition, valued for readers who want an overview: half of the information is worth
/// more than half of all.
fn overview(way: Rendition) -> Rendition {
    let information = relevance::of_part(way.information());
    let same = Rendition::new(way.kind(), way.text(), information);
    let same = same.and_then(|it| it.with_lines(way.lines().to_vec()));
    same.unwrap_or(way)
}

/// Sets the relevance of each file by its rank and length.
fn weigh(chunks: &mut [Chunk]) {
    for chunk in chunks {
        let rank = Rank::of(&chunk.id, chunk.origin == Origin::Reference);
        let worth = Relevance::new(rank.weighed(chunk.content.len()));
        chunk.relevance = worth.unwrap_or(chunk.relevance);
    }
}

/// The result of reading a file.
enum Read {
    Chunk {
        chunk: Box<Chunk>,
        converted: Option<String>,
        /// The warning about secrets masked in it.
        masked: Option<Warning>,
    },
    Skipped(Skipped),
}

fn chunk(file: &Found, content: Content) -> Read {
    let (text, converted, secrets) = match content {
        Content::Text {
            text,
            converted,
            masked,
        } => (text, converted, masked),
        Content::Skipped(skipped) => return Read::Skipped(skipped),
    };
    let language = syntax::language_name(&file.shown, &text);
    let kind = file_kind(&file.shown, language);
    // A final newline ends the last line and does not begin another.
    let body = text.strip_suffix('\n').unwrap_or(&text).as_bytes();
    let newlines = memchr::memchr_iter(b'\n', body).count();
    let lines = u32::try_from(newlines.saturating_add(1)).unwrap_or(u32::MAX);
    let span = LineSpan::new(1, lines).expect("lines is at least 1");
    let rank = Rank::of(&file.shown, file.named);
    let relevance = Relevance::new(rank.relevance()).unwrap_or(Relevance::ONE);
    let mut chunk = Chunk::new(file.shown.clone(), text, relevance)
        .with_kind(kind)
        .with_span(span);
    if !file.is_standard_input() {
        chunk = chunk.with_path(file.shown.clone());
    }
    chunk.language = language.map(str::to_owned);
    chunk.origin = if file.named {
        Origin::Reference
    } else {
        Origin::File
    };
    Read::Chunk {
        masked: masked(&chunk, secrets),
        chunk: Box::new(chunk),
        converted,
    }
}

/// The chunks to assemble, and what to report about other files.
struct Packed {
    chunks: Vec<Chunk>,
    skipped: Vec<Skipped>,
    /// The path of each decoded file, and how it was decoded.
    converted: Vec<(String, String)>,
    /// The warnings about files with masked secrets.
    masked: Vec<Warning>,
}

impl Packed {
    fn new(skipped: Vec<Skipped>) -> Self {
        Packed {
            chunks: Vec::new(),
            skipped,
            converted: Vec::new(),
            masked: Vec::new(),
        }
    }

    fn add(&mut self, file: Read) {
        match file {
            Read::Skipped(skipped) => self.skipped.push(skipped),
            Read::Chunk {
                chunk,
                converted,
                masked,
            } => {
                self.masked.extend(masked);
                if let Some(what) = converted {
                    self.converted.push((chunk.id.clone(), what));
                }
                self.chunks.push(*chunk);
            }
        }
    }

    /// Adds to the receipt what never became a chunk.
    fn tell(mut self, built: &mut BuiltContext) {
        self.skipped
            .sort_by(|a, b| walk::by_name(&a.shown, &b.shown));
        for skipped in self.skipped {
            if skipped.reason.is_loss() {
                let omitted = Omitted::new(&*skipped.shown, OmittedReason::Unreadable);
                built.omitted.push(omitted);
            }
            let warning = Warning::new(skipped.reason.code(), skipped.detail);
            built.warnings.push(warning.of(skipped.shown));
        }
        for (id, detail) in self.converted {
            built
                .warnings
                .push(Warning::new(WarningCode::Decoded, detail).of(id));
        }
    }
}
