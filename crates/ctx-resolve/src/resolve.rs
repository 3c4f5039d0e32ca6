//! Resolves hits to chunks with their text.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Component, Path};
use std::sync::Arc;

use ctx_model::{Chunk, LineSpan, Omitted, OmittedReason, Origin, Warning, WarningCode};
use ctx_source::{Located, Secrets, SourceError, Sources, Text, Wanted, locate};
use ctx_syntax::{
    Fallback, Language, Limits, Outline, Outlines, Source, is_prose, is_table, language_name,
};
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::changed::{Changed, Indexed, is_by_lines, why};
use crate::front::lines_of_pictures;
use crate::long_lines::LONGEST_LINE;
use crate::mask::{is_of_secrets, mask};
use crate::relate::relate;
use crate::renditions::{Known, LONG, NamedLines, renditions_while};
use crate::stored::Stored;

/// The most definitions, imports and references in cached outlines, of the files used last: some
/// 100 MB of memory, or the content of 30 MB of source.
const MOST_KEPT: u64 = 1 << 20;
/// The expected number of cached outlines.
const FILES: usize = 4096;

/// How hits of one file are shown whose lines overlap or touch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overlaps {
    /// Each has its own renditions, and is shown separately.
    #[default]
    Apart,
    /// Hits of fewer than 60 lines that are not pinned get no renditions: an assembler makes one
    /// block of their plain text, with each line once. Renditions that a hit already has are kept.
    Merged,
}

/// The result of resolving hits.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Resolved {
    /// The hits that can be shown, in the order they were given.
    pub chunks: Vec<Chunk>,
    /// The hits that cannot be shown, with the reasons.
    pub omitted: Vec<Omitted>,
    /// Differences from what the hits said, with reasons: `moved`, `stale`, `moved_or_deleted`, and
    /// `unverified` where these are unknown. And differences from the files: `masked`.
    pub warnings: Vec<Warning>,
    /// The hash ([`ctx_source::Text::unmasked_hash`]) of each file that was read, by path: to
    /// detect later whether it has changed.
    pub files: BTreeMap<String, [u8; 32]>,
    /// Files that could not be read for a transient reason ([`SourceError::is_transient`]):
    /// resolving again soon may show more.
    pub away: BTreeSet<String>,
}

/// A hit that was looked up.
struct Found {
    index: usize,
    chunk: Option<Chunk>,
    omitted: Option<Omitted>,
    warnings: Vec<Warning>,
    /// The warning about its secrets.
    masked: Option<Warning>,
    /// Its own lines, without context lines around them, if they are shown from the file.
    own: Option<LineSpan>,
}

/// The results for the hits of one file.
struct OfFile {
    found: Vec<Found>,
    read: Option<Read>,
    /// The path, if the file could not be read for a transient reason.
    away: Option<String>,
}

/// A file that was read.
struct Read {
    path: String,
    hash: [u8; 32],
    outline: Arc<Outline>,
}

/// Resolves hits to text below one folder, and caches outlines of files. Clones share the cache.
#[derive(Clone, Debug)]
pub struct Resolver {
    sources: Arc<Sources>,
    limits: Limits,
    /// The number of lines shown before and after a hit.
    context_lines: u32,
    /// The most blank lines shown after a hit of code.
    blank_lines: u32,
    overlaps: Overlaps,
    /// A store of outlines that is queried before a text is parsed.
    parsed: Option<Arc<dyn Outlines>>,
    /// Whether files are read one after the other.
    one_thread: bool,
    /// The lines that are asked about, by file.
    lines: Arc<BTreeMap<String, BTreeSet<u32>>>,
    /// The least information of an excerpt with lines that are asked about.
    told: f64,
    /// The files whose leading images are not shown.
    fronts: Arc<BTreeSet<String>>,
    awaited: Awaited,
    indexed: Indexed,
    outlines: Arc<Kept>,
}

/// The caller's answer to "is the result still wanted?"; yes if no callback was set.
#[derive(Clone, Default)]
struct Awaited(Option<Arc<dyn Fn() -> bool + Send + Sync>>);

impl Awaited {
    fn is_so(&self) -> bool {
        self.0.as_ref().is_none_or(|it| it())
    }
}

impl fmt::Debug for Awaited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Awaited").field(&self.is_so()).finish()
    }
}

/// The outlines of the files used last.
type Kept = Cache<OutlineKey, Arc<Outline>, Size>;

/// The hash of a text, and its language.
type OutlineKey = ([u8; 32], Option<&'static str>);

/// Weighs an outline by the number of its entries.
#[derive(Clone, Debug)]
struct Size;

impl Weighter<OutlineKey, Arc<Outline>> for Size {
    fn weight(&self, _: &OutlineKey, outline: &Arc<Outline>) -> u64 {
        let Outline {
            symbols,
            imports,
            references,
            ..
        } = &**outline;
        1 + (symbols.len() + imports.len() + references.len()) as u64
    }
}

impl Resolver {
    /// Resolves hits to text of `sources`, and parses within `limits`.
    pub fn new(sources: Sources, limits: Limits) -> Self {
        Resolver {
            sources: Arc::new(sources),
            limits,
            context_lines: 0,
            blank_lines: 0,
            overlaps: Overlaps::default(),
            parsed: None,
            one_thread: false,
            lines: Arc::default(),
            told: 0.0,
            fronts: Arc::default(),
            awaited: Awaited::default(),
            indexed: Indexed::default(),
            outlines: Arc::new(Cache::with_weighter(FILES, MOST_KEPT, Size)),
        }
    }

    /// A resolver for other `sources` that shares the cached outlines: they are keyed by the hash
    /// of the text.
    #[must_use]
    pub fn over(&self, sources: Sources) -> Self {
        Resolver {
            sources: Arc::new(sources),
            ..self.clone()
        }
    }

    /// Sets the `index` whose hits are resolved: it provides outlines
    /// ([`Resolver::with_outlines`]), and the hash of the text that it has of each file
    /// ([`Resolver::with_indexed`]).
    #[must_use]
    pub fn with_index(self, index: Arc<dyn Outlines>) -> Self {
        let indexed = Arc::clone(&index);
        self.with_outlines(index)
            .with_indexed(move |path| indexed.hash_of(path))
    }

    /// Sets a store of outlines that is queried before a text is parsed.
    #[must_use]
    pub fn with_outlines(mut self, parsed: Arc<dyn Outlines>) -> Self {
        self.parsed = Some(parsed);
        self
    }

    /// Sets a function that returns the hash ([`Text::unmasked_hash`]) of the indexed text of a
    /// file, to which hits by lines alone refer. If the file has changed since, the definition that
    /// the hit names is looked for in it, and the hit is omitted as stale if it is not there.
    /// `None` means unknown: then the lines are taken as they are.
    #[must_use]
    pub fn with_indexed(
        mut self,
        hash_of: impl Fn(&str) -> Option<[u8; 32]> + Send + Sync + 'static,
    ) -> Self {
        self.indexed = Indexed::new(hash_of);
        self
    }

    /// Sets `lines`, by file, that are asked about: they are shown first if a hit cannot be shown
    /// whole. An excerpt with such lines has at least `least_information`, 0..=1.
    #[must_use]
    pub fn with_lines(
        mut self,
        lines: BTreeMap<String, BTreeSet<u32>>,
        least_information: f64,
    ) -> Self {
        self.lines = Arc::new(lines);
        self.told = least_information;
        self
    }

    /// Skips images, badges and tags ([`lines_of_pictures`]) at the beginning of the files at
    /// `paths`, for hits that begin with the first line: they say nothing to a reader of text. The
    /// other lines keep their numbers, and a hit of nothing but such lines is shown whole.
    #[must_use]
    pub fn without_pictures(mut self, paths: BTreeSet<String>) -> Self {
        self.fronts = Arc::new(paths);
        self
    }

    /// Reads all files on the calling thread, for machines whose other cores are busy.
    #[must_use]
    pub fn on_one_thread(mut self) -> Self {
        self.one_thread = true;
        self
    }

    /// Stops early once `is_awaited` returns false (callbacks set before still count). It is polled
    /// before each file, hit and rendition, and within long parts and lines. Hits not reached are
    /// returned as given, without text from their files.
    #[must_use]
    pub fn while_awaited(mut self, is_awaited: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        let before = std::mem::take(&mut self.awaited);
        let is_awaited = move || before.is_so() && is_awaited();
        self.awaited = Awaited(Some(Arc::new(is_awaited)));
        self
    }

    /// Whether the result is still wanted, by [`Resolver::while_awaited`].
    pub fn is_awaited(&self) -> bool {
        self.awaited.is_so()
    }

    /// Shows this many `lines` before and after each hit, as far as the file has them.
    #[must_use]
    pub fn with_context_lines(mut self, lines: u32) -> Self {
        self.context_lines = lines;
        self
    }

    /// Shows up to `lines` blank lines after a hit of a search ([`Origin::Chunk`]) in code, unless
    /// it ends with one: code is added there, and they hardly cost tokens.
    #[must_use]
    pub fn with_blank_lines(mut self, lines: u32) -> Self {
        self.blank_lines = lines;
        self
    }

    /// Sets how hits of one file are shown whose lines, including context lines, overlap or touch.
    #[must_use]
    pub fn with_overlaps(mut self, overlaps: Overlaps) -> Self {
        self.overlaps = overlaps;
        self
    }

    /// The files that hits are resolved to.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// Resolves `chunks`: see [`resolve`].
    pub fn resolve(&self, chunks: Vec<Chunk>) -> Resolved {
        resolve_all(chunks, self)
    }

    fn look_up(
        &self,
        index: usize,
        path: &str,
        mut chunk: Chunk,
        text: Result<&Arc<Text>, &SourceError>,
        changed: Option<&Changed>,
    ) -> Found {
        if chunk.path.as_deref() != Some(path) {
            chunk.path = Some(path.to_owned());
        }
        let told = chunk.span;
        let is_by_lines = is_by_lines(&chunk);
        let mut stored = Stored::of(&mut chunk, self.masks());
        if let Some((changed, span)) = changed.zip(told).filter(|_| is_by_lines) {
            let Some(place) = changed.place(&chunk, span) else {
                return left_out(index, &chunk, false, why(path, &chunk));
            };
            chunk.span = Some(place);
        }
        let count = text.map_or(1, |text| text.lines().count());
        let whole = || LineSpan::new(1, count).expect("a text has a line at least");
        let span = chunk.span.unwrap_or_else(whole);
        let find = |content: Option<&str>| {
            let wanted = Wanted {
                path,
                span,
                content,
                content_hash: chunk.content_hash.as_deref(),
            };
            locate(text, wanted)
        };
        let mut located = find(stored.content());
        // If the file itself is kept masked, its masks are plain text, which the stored content
        // equals only once it is masked.
        if matches!(located, Located::Stale { .. }) && stored.mask(path) {
            located = find(stored.content());
        }
        if let Located::Unavailable { why } = located {
            return left_out(index, &chunk, text.is_err(), why);
        }
        let (warning, shown) = found_at(path, told, located);
        let warning = warning.map(|it| it.of(&*chunk.id));
        let mut warnings: Vec<Warning> = warning.into_iter().collect();
        let own = shown.as_ref().map(|(_, span)| *span);
        let masked = if let Some((text, span)) = shown {
            self.show(path, &mut chunk, &text, span, stored, &mut warnings)
        } else {
            stored.give_back(path, &mut chunk)
        };
        Found {
            index,
            chunk: Some(chunk),
            omitted: None,
            warnings,
            masked,
            own,
        }
    }

    /// Sets the text of `chunk` to lines `span` of its file with context. Returns a warning about
    /// secrets in them.
    fn show(
        &self,
        path: &str,
        chunk: &mut Chunk,
        text: &Arc<Text>,
        span: LineSpan,
        mut stored: Stored,
        warnings: &mut Vec<Warning>,
    ) -> Option<Warning> {
        let around = stored.around(text, span);
        stored.hide((path, chunk), text, span, around);
        if stored.is_wider() && around.is_none() {
            let detail = format!("shown without its expanded context, which is not in {path}");
            warnings.push(Warning::new(WarningCode::Stale, detail).of(&*chunk.id));
        }
        chunk.expanded_context = around.and_then(|it| slice(text, it)).map(str::to_owned);
        let own = if around.is_some() {
            span
        } else {
            let span = padded(span, self.context_lines, text.lines().count());
            let span = if chunk.origin == Origin::Chunk {
                self.with_blank_lines_after(path, text, span)
            } else {
                span
            };
            self.without_front(path, text, span)
        };
        chunk.span = Some(own);
        // The chunk now has the present text, so a hash of an older state no longer applies.
        chunk.content_hash = None;
        slice(text, own)
            .unwrap_or_default()
            .clone_into(&mut chunk.content);
        stored.masked(chunk, text.masked_in(around.unwrap_or(own)))
    }

    /// `span` of the file at `path` with the blank lines after it, if these are wanted and it is
    /// code: in prose, they separate.
    fn with_blank_lines_after(&self, path: &str, text: &Text, span: LineSpan) -> LineSpan {
        let is_code = || !is_prose(path, language_name(path, "")) && !is_table(path);
        if self.blank_lines == 0 || !is_code() {
            return span;
        }
        let is_blank = |line: &u32| text.line(*line).is_some_and(|it| it.trim().is_empty());
        if is_blank(&span.end()) {
            return span;
        }
        let after = (span.end()..).skip(1).take(self.blank_lines as usize);
        let end = after.take_while(is_blank).last();
        end.and_then(|end| LineSpan::new(span.start(), end).ok())
            .unwrap_or(span)
    }

    /// `span` of the file at `path` without leading images, if these are not wanted.
    fn without_front(&self, path: &str, text: &Text, span: LineSpan) -> LineSpan {
        if span.start() > 1 || !self.fronts.contains(path) {
            return span;
        }
        let shown = text.slice(span).unwrap_or_default();
        let before = lines_of_pictures(shown);
        if before == shown.lines().count() {
            return span;
        }
        let start = u32::try_from(before).map_or(1, |it| it.saturating_add(1));
        LineSpan::new(start, span.end()).unwrap_or(span)
    }

    fn as_given(&self, chunks: Vec<(usize, Chunk)>) -> Vec<Found> {
        let chunks = chunks.into_iter();
        chunks.map(|it| self.one_as_given(it)).collect()
    }

    fn one_as_given(&self, (index, mut chunk): (usize, Chunk)) -> Found {
        if self.masks() && is_of_secrets(&chunk) {
            let path = chunk.path.clone().unwrap_or_default();
            let why = SourceError::Secret { path }.to_string();
            return left_out(index, &chunk, true, why);
        }
        Found {
            index,
            masked: self.masks().then(|| mask(&mut chunk)).flatten(),
            chunk: Some(chunk),
            omitted: None,
            warnings: Vec::new(),
            own: None,
        }
    }

    fn masks(&self) -> bool {
        self.sources.secrets() == Secrets::Masked
    }

    fn outline(&self, path: &str, text: &Text, language: Option<Language>) -> Arc<Outline> {
        let key = (*text.unmasked_hash(), language.map(Language::name));
        if let Some(outline) = self.outlines.get(&key) {
            return outline;
        }
        let parsed = self.parsed.as_ref();
        let parsed = parsed.and_then(|it| it.outline(path, text.unmasked_hash()));
        let parse = || Outline::of(text.as_str(), language, &self.limits);
        let outline = Arc::new(parsed.unwrap_or_else(parse));
        // A parse that took too long may succeed next time.
        if outline.fallback != Some(Fallback::TooSlow) {
            self.outlines.insert(key, Arc::clone(&outline));
        }
        outline
    }
}

/// Fills each chunk that names a file with the present text of the file, checks it against what the
/// chunk says, and adds renditions, imports and relations. Chunks without a path, and those with
/// expanded context but no content, are returned as they are. With a content, the expanded context
/// is kept if the file has it around the content, and is removed with a warning otherwise. Paths of
/// files that were read are returned without `.` components.
///
/// If secrets are masked, the texts of a chunk are masked as by [`mask`](crate::mask), and a chunk
/// whose path is that of a secret file is omitted. Stored text that equals the lines of the file
/// except for masked parts is shown as they are.
///
/// The content of a chunk, or else its content hash, decides: lines that still match are shown;
/// text that moved is shown where it is now; text that is gone is shown as it was stored, with a
/// warning; if no text was stored, the chunk is omitted with the reason. Files are read in
/// parallel, each once; the result has the order of `chunks`. O(bytes of the files); for each hit
/// with a hash alone whose lines do not match it, up to 64 MiB are hashed three times in addition.
pub fn resolve(chunks: Vec<Chunk>, sources: Sources, limits: Limits) -> Resolved {
    Resolver::new(sources, limits).resolve(chunks)
}

fn resolve_all(chunks: Vec<Chunk>, within: &Resolver) -> Resolved {
    let count = chunks.len();
    let mut by_file: BTreeMap<Option<String>, Vec<(usize, Chunk)>> = BTreeMap::new();
    for (index, chunk) in chunks.into_iter().enumerate() {
        // If there is a content, its place in the file is the place of the expanded context.
        let is_located = chunk.wider_text().is_none() || !chunk.content.is_empty();
        let path = chunk.path.as_deref().filter(|_| is_located).map(plain);
        by_file.entry(path).or_default().push((index, chunk));
    }
    let mut words = by_file.values().flatten().map(|it| &it.1.matched_keywords);
    let words = words.find(|it| !it.is_empty());
    let keywords = words.map_or_else(Known::default, |it| Known::new(Arc::clone(it)));
    let paths: Vec<&str> = by_file.keys().flatten().map(String::as_str).collect();
    within.sources.prepare(&paths);
    let look_up = |(path, chunks)| match path {
        Some(path) if within.awaited.is_so() => of_file(path, chunks, within, &keywords),
        _ => OfFile {
            found: within.as_given(chunks),
            read: None,
            away: None,
        },
    };
    let files: Vec<_> = if within.one_thread {
        by_file.into_iter().map(look_up).collect()
    } else {
        let by_file: Vec<_> = by_file.into_iter().collect();
        by_file.into_par_iter().map(look_up).collect()
    };
    let mut outlines = BTreeMap::new();
    let mut found: Vec<Found> = Vec::with_capacity(count);
    let mut resolved = Resolved::default();
    for of_file in files {
        found.extend(of_file.found);
        resolved.away.extend(of_file.away);
        if let Some(Read {
            path,
            hash,
            outline,
        }) = of_file.read
        {
            outlines.insert(path.clone(), outline);
            resolved.files.insert(path, hash);
        }
    }
    found.sort_unstable_by_key(|it| it.index);
    let mut own = Vec::with_capacity(count);
    for it in found {
        if let Some(chunk) = it.chunk {
            own.push(it.own);
            resolved.chunks.push(chunk);
        }
        resolved.omitted.extend(it.omitted);
        resolved.warnings.extend(it.warnings);
        resolved.warnings.extend(it.masked);
    }
    relate(&mut resolved.chunks, &own, &outlines);
    resolved
}

impl Found {
    /// Its chunk, if it shows lines of the present file.
    fn of_the_file(&mut self) -> Option<&mut Chunk> {
        self.chunk.as_mut().filter(|_| self.own.is_some())
    }
}

/// The lines of the present file that a hit at lines `told` is shown by, if there are any, and a
/// warning if they are elsewhere or are not shown.
fn found_at(
    path: &str,
    told: Option<LineSpan>,
    located: Located,
) -> (Option<Warning>, Option<(Arc<Text>, LineSpan)>) {
    let moved = |from: LineSpan, to: LineSpan| {
        let detail = format!("lines {from} of {path} are lines {to} now");
        Some(Warning::new(WarningCode::Moved, detail))
    };
    match located {
        Located::Fresh { text, span } => {
            let from = told.filter(|it| *it != span);
            (from.and_then(|it| moved(it, span)), Some((text, span)))
        }
        Located::Unverified { text, span, why } => {
            let unverified = why.map(|why| {
                let detail = format!("it is unknown whether {path} has changed: {why}");
                Warning::new(WarningCode::Unverified, detail)
            });
            let from = told.filter(|it| *it != span);
            let moved = from.and_then(|it| moved(it, span));
            (unverified.or(moved), Some((text, span)))
        }
        Located::Moved { text, from, to } => (moved(from, to), Some((text, to))),
        Located::Stale { why, .. } => {
            let detail = format!("shown as it was stored: {why}");
            (Some(Warning::new(WarningCode::Stale, detail)), None)
        }
        Located::MovedOrDeleted { .. } => {
            let detail = format!("shown as it was stored: {path} does not exist any more");
            (
                Some(Warning::new(WarningCode::MovedOrDeleted, detail)),
                None,
            )
        }
        _ => (None, None),
    }
}

fn of_file(
    path: String,
    chunks: Vec<(usize, Chunk)>,
    resolver: &Resolver,
    keywords: &Known,
) -> OfFile {
    let sources = &resolver.sources;
    let text = sources.text(&path);
    let look_up = |changed: Option<&Changed>| {
        let look_up = |(index, chunk)| {
            // The search by a hash alone may take long.
            if resolver.awaited.is_so() {
                resolver.look_up(index, &path, chunk, text.as_ref(), changed)
            } else {
                resolver.one_as_given((index, chunk))
            }
        };
        chunks.into_iter().map(look_up).collect()
    };
    let text = match &text {
        Ok(text) => text,
        Err(error) => {
            let found = look_up(None);
            return OfFile {
                found,
                read: None,
                away: error.is_transient().then_some(path),
            };
        }
    };
    let hash = *text.unmasked_hash();
    let language = Language::of(&path, text.as_str());
    let outline = resolver.outline(&path, text, language);
    let is_of_another = resolver.indexed.is_of_another(&path, text);
    let changed = is_of_another.then(|| Changed::new(text.as_str(), &outline));
    let mut found: Vec<Found> = look_up(changed.as_ref());
    let source = Source::with_outline(&path, text.as_str(), Arc::clone(&outline));
    if resolver.awaited.is_so()
        && let Some(chunk) = best_of(&mut found)
    {
        chunk.imports = imports(&outline);
    }
    add_renditions(&mut found, &path, &source, resolver, keywords);
    OfFile {
        found,
        read: Some(Read {
            path,
            hash,
            outline,
        }),
        away: None,
    }
}

/// Gives each chunk that shows lines of the file its language, and the ways to show it in part.
/// Those that will be merged need none.
fn add_renditions(
    found: &mut [Found],
    path: &str,
    source: &Source<'_>,
    resolver: &Resolver,
    keywords: &Known,
) {
    let mut own = Known::default();
    let merged = match resolver.overlaps {
        Overlaps::Apart => BTreeSet::new(),
        Overlaps::Merged => to_be_merged(found),
    };
    for it in found {
        let is_merged = merged.contains(&it.index);
        if !resolver.awaited.is_so() {
            break;
        }
        let Some(chunk) = it.of_the_file() else {
            continue;
        };
        chunk.language = chunk
            .language
            .take()
            .or(source.language().map(|it| it.name().to_owned()));
        if let (Some(span), true) = (chunk.span, chunk.renditions.is_empty() && !is_merged) {
            let words = &chunk.matched_keywords;
            let keywords = keywords.of(words).unwrap_or_else(|| own.or_made(words));
            let lines: Vec<u32> = (resolver.lines.get(path).into_iter())
                .flat_map(|it| it.range(span.start()..=span.end()))
                .copied()
                .collect();
            let named = NamedLines {
                lines: &lines,
                least_information: resolver.told,
            };
            let is_awaited = || resolver.awaited.is_so();
            chunk.renditions = renditions_while(source, span, keywords, named, &is_awaited);
        }
    }
}

/// The indices of short hits whose lines overlap or touch those of another. O(n log n + bytes).
fn to_be_merged(found: &[Found]) -> BTreeSet<usize> {
    let mut hits: Vec<(LineSpan, usize)> = Vec::new();
    for it in found.iter().filter(|it| it.own.is_some()) {
        if let Some(chunk) = &it.chunk
            && let Some(span) = chunk.span
            && !chunk.pinned
            && chunk.renditions.is_empty()
            && chunk.wider_text().is_none()
            && (span.line_count() as usize) < LONG
            // Lines that are too long are shown in part, or not at all.
            && chunk.content.lines().all(|line| line.len() <= LONGEST_LINE)
        {
            hits.push((span, it.index));
        }
    }
    let mut merged = BTreeSet::new();
    hits.sort_unstable();
    // One past the last line of the hits so far, and the index of the last hit.
    let (mut end, mut last) = (0, None);
    for (span, index) in hits {
        if let Some(before) = last.filter(|_| span.start() <= end) {
            merged.extend([before, index]);
        }
        end = end.max(span.end().saturating_add(1));
        last = Some(index);
    }
    merged
}

/// The hit that gets the imports of its file, among those without imports: the best one, since it
/// is the most likely to be shown, independent of the order of the hits.
fn best_of(found: &mut [Found]) -> Option<&mut Chunk> {
    let chunks = found.iter_mut().filter_map(Found::of_the_file);
    let chunks = chunks.filter(|it| it.imports.is_empty());
    chunks.min_by(|a, b| {
        let best_first = |it: &Chunk| Reverse((it.pinned, it.relevance));
        (best_first(a).cmp(&best_first(b))).then_with(|| (a.span, &a.id).cmp(&(b.span, &b.id)))
    })
}

/// The imported modules, each once, in order.
fn imports(outline: &Outline) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let modules = outline.imports.iter().map(|it| it.module.as_str());
    let modules = modules.filter(|it| seen.insert(*it));
    modules.map(str::to_owned).collect()
}

/// `path` without redundant components: `./a.rs` is the file `a.rs`.
fn plain(path: &str) -> String {
    let mut names = Vec::new();
    for component in Path::new(path).components() {
        match component {
            Component::CurDir => {}
            Component::Normal(name) => names.extend(name.to_str()),
            // Not the path of a file below the root.
            _ => return path.to_owned(),
        }
    }
    if names.is_empty() || path.ends_with('/') {
        return path.to_owned();
    }
    names.join("/")
}

/// Lines `span` without the final line end; with it if the last line is empty, which would
/// otherwise be lost.
fn slice(text: &Text, span: LineSpan) -> Option<&str> {
    if span.line_count() > 1 && text.line(span.end())?.is_empty() {
        return text.as_str().get(text.lines().range(span)?);
    }
    text.slice(span)
}

/// `span` with `more` lines added at each end, in a text of `count` lines.
fn padded(span: LineSpan, more: u32, count: u32) -> LineSpan {
    let first = span.start().saturating_sub(more).max(1);
    let last = span.end().saturating_add(more).min(count).max(span.end());
    LineSpan::new(first, last).unwrap_or(span)
}

fn left_out(index: usize, chunk: &Chunk, is_unreadable: bool, why: String) -> Found {
    let (reason, code) = if is_unreadable {
        (OmittedReason::Unreadable, WarningCode::Unreadable)
    } else {
        (OmittedReason::Stale, WarningCode::Stale)
    };
    Found {
        index,
        chunk: None,
        omitted: Some(Omitted::new(&*chunk.id, reason)),
        warnings: vec![Warning::new(code, why).of(&*chunk.id)],
        masked: None,
        own: None,
    }
}
