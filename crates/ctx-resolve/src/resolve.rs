//! From a hit to its code.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Component, Path};
use std::sync::Arc;

use ctx_model::{Chunk, LineSpan, Omitted, OmittedReason, Warning, WarningCode};
use ctx_source::{Located, Secrets, SourceError, Sources, Text, Wanted, locate};
use ctx_syntax::{Fallback, Language, Limits, Outline, Outlines, Source};
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::changed::{Changed, Indexed, is_by_lines, why};
use crate::front::lines_of_pictures;
use crate::long_lines::LONGEST_LINE;
use crate::mask::{is_of_secrets, mask};
use crate::relate::relate;
use crate::renditions::{Known, LONG, renditions_while};
use crate::stored::Stored;

/// So many definitions, imports and uses of names are kept, in the outlines of the files met last: some 100 MB
/// of memory, or what 30 MB of source has.
const MOST_KEPT: u64 = 1 << 20;
/// About as many files have them.
const FILES: usize = 4096;

/// What becomes of hits that were read from one file, and whose lines overlap or touch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overlaps {
    /// Each has its renditions, and is shown apart from the others.
    #[default]
    Apart,
    /// Those of fewer than 60 lines that are not pinned have no renditions: they are plain text, of which an assembler makes one block,
    /// with each line once. Renditions that a hit brings along stay.
    Merged,
}

/// What hits came to.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Resolved {
    /// The hits that can be shown, in the order they were given.
    pub chunks: Vec<Chunk>,
    /// Those that cannot, and why.
    pub omitted: Vec<Omitted>,
    /// What is not as the hits said: `moved`, `stale`, `moved_or_deleted`, and in words why. And what is not as
    /// the files say: `masked`.
    pub warnings: Vec<Warning>,
    /// The hash ([`ctx_source::Text::hash`]) of each file that was read, by its path: whether it says the same still is
    /// told by that.
    pub files: BTreeMap<String, [u8; 32]>,
    /// The files that could not be read for now ([`SourceError::is_transient`]): of the same hits more may be shown soon.
    pub away: BTreeSet<String>,
}

/// One hit, when it was looked up.
struct Found {
    index: usize,
    chunk: Option<Chunk>,
    omitted: Option<Omitted>,
    warnings: Vec<Warning>,
    /// How many secrets it has.
    masked: Option<Warning>,
    /// Its own lines, without those around it that are shown with them, where they are the file's.
    own: Option<LineSpan>,
}

/// What the hits of one file came to.
struct OfFile {
    found: Vec<Found>,
    read: Option<Read>,
    /// The file, where it could not be read for now.
    away: Option<String>,
}

/// A file that was read.
struct Read {
    path: String,
    hash: [u8; 32],
    outline: Arc<Outline>,
}

/// Looks hits up below one folder, and keeps the outlines of the files it has met. Clones have all they keep in common.
#[derive(Clone, Debug)]
pub struct Resolver {
    sources: Arc<Sources>,
    limits: Limits,
    /// How many lines before and after a hit are shown with it.
    context_lines: u32,
    overlaps: Overlaps,
    /// Whom to ask before a text is parsed.
    parsed: Option<Arc<dyn Outlines>>,
    /// Whether files are read one after the other.
    one_thread: bool,
    /// The lines that are asked about, by their files,
    lines: Arc<BTreeMap<String, BTreeSet<u32>>>,
    /// and how much of a part they tell at least, where they are in it.
    told: f64,
    /// The files that are shown without the pictures at their beginning.
    fronts: Arc<BTreeSet<String>>,
    awaited: Awaited,
    indexed: Indexed,
    outlines: Arc<Kept>,
}

/// Tells whether somebody waits for what hits come to; where there is nobody to tell, somebody does.
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

/// The outlines of the files met last.
type Kept = Cache<OutlineKey, Arc<Outline>, Size>;

/// The hash of a text, and its language.
type OutlineKey = ([u8; 32], Option<&'static str>);

/// How much an outline holds.
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
    /// Looks hits up in `sources`, and parses within `limits`.
    pub fn new(sources: Sources, limits: Limits) -> Self {
        Resolver {
            sources: Arc::new(sources),
            limits,
            context_lines: 0,
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

    /// Looks hits up in `sources`, and has the outlines in common with this one: they are kept by the hash of
    /// the text they are of.
    #[must_use]
    pub fn over(&self, sources: Sources) -> Self {
        Resolver {
            sources: Arc::new(sources),
            ..self.clone()
        }
    }

    /// Shows what `index` found: it is asked for an outline before a text is parsed ([`Resolver::with_outlines`]), and which text of a
    /// file it has ([`Resolver::with_indexed`]).
    #[must_use]
    pub fn with_index(self, index: Arc<dyn Outlines>) -> Self {
        let indexed = Arc::clone(&index);
        self.with_outlines(index)
            .with_indexed(move |path| indexed.hash_of(path))
    }

    /// Asks `parsed` for an outline before it parses a text.
    #[must_use]
    pub fn with_outlines(mut self, parsed: Arc<dyn Outlines>) -> Self {
        self.parsed = Some(parsed);
        self
    }

    /// Asks which text of a file was indexed, by the hash ([`Text::hash`]): a hit by lines alone is of that. Where the file
    /// is another now, what the hit names is looked for in it, and left out as stale if it is not there. `None` is for what
    /// is not known: then the lines are taken as they are told.
    #[must_use]
    pub fn with_indexed(
        mut self,
        hash_of: impl Fn(&str) -> Option<[u8; 32]> + Send + Sync + 'static,
    ) -> Self {
        self.indexed = Indexed::new(hash_of);
        self
    }

    /// Shows `lines`, by their files, before all others where a hit cannot be shown whole: they are asked about. An excerpt with
    /// them tells `told` of the hit at least, 0..=1.
    #[must_use]
    pub fn with_lines(mut self, lines: BTreeMap<String, BTreeSet<u32>>, told: f64) -> Self {
        self.lines = Arc::new(lines);
        self.told = told;
        self
    }

    /// Shows a hit that begins with the first line of one of the files at `paths` from the first line on that says something:
    /// pictures, badges and tags before that ([`lines_of_pictures`]) tell a reader of text nothing. The lines keep their numbers, and one
    /// that says nothing at all stays as it is.
    #[must_use]
    pub fn without_pictures(mut self, paths: BTreeSet<String>) -> Self {
        self.fronts = Arc::new(paths);
        self
    }

    /// Has all files read by the thread that asks, because others have use for the rest.
    #[must_use]
    pub fn on_one_thread(mut self) -> Self {
        self.one_thread = true;
        self
    }

    /// Goes on for as long as `is_awaited` says so, and whatever was said so by before, which is asked before each file, each hit and
    /// each rendition of one, and while the lines of a long one are looked through. What is left then is as it was given; so who
    /// waits no longer, and looks at it, looks at hits without their text.
    #[must_use]
    pub fn while_awaited(mut self, is_awaited: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        let before = std::mem::take(&mut self.awaited);
        let is_awaited = move || before.is_so() && is_awaited();
        self.awaited = Awaited(Some(Arc::new(is_awaited)));
        self
    }

    /// Whether anybody waits, as far as [`Resolver::while_awaited`] tells.
    pub fn is_awaited(&self) -> bool {
        self.awaited.is_so()
    }

    /// Shows `lines` more before and after each hit, as far as the file has them.
    #[must_use]
    pub fn with_context_lines(mut self, lines: u32) -> Self {
        self.context_lines = lines;
        self
    }

    /// Says what becomes of hits of one file whose lines overlap or touch, those around them included.
    #[must_use]
    pub fn with_overlaps(mut self, overlaps: Overlaps) -> Self {
        self.overlaps = overlaps;
        self
    }

    /// The files.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// What hits come to: see [`resolve`].
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
        // In what is kept masked no mask fits what was stored.
        if matches!(located, Located::Stale { .. }) && stored.mask(path) {
            located = find(stored.content());
        }
        let warning = |code, detail: String| Some(Warning::new(code, detail).of(&*chunk.id));
        let moved = |from: LineSpan, to: LineSpan| {
            let detail = format!("lines {from} of {path} are lines {to} now");
            warning(WarningCode::Moved, detail)
        };
        let (warning, shown) = match located {
            Located::Fresh { text, span } | Located::Unverified { text, span } => {
                let from = told.filter(|it| *it != span);
                (from.and_then(|it| moved(it, span)), Some((text, span)))
            }
            Located::Moved { text, from, to } => (moved(from, to), Some((text, to))),
            Located::Stale { why, .. } => {
                let detail = format!("shown as it was stored: {why}");
                (warning(WarningCode::Stale, detail), None)
            }
            Located::MovedOrDeleted { .. } => {
                let detail = format!("shown as it was stored: {path} does not exist any more");
                (warning(WarningCode::MovedOrDeleted, detail), None)
            }
            Located::Unavailable { why } => return left_out(index, &chunk, text.is_err(), why),
            _ => (None, None),
        };
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

    /// Gives `chunk` lines `span` of its file, and what is shown around them. Returns what is told of their secrets.
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
            let detail = format!("shown without its expanded context: {path} does not say it");
            warnings.push(Warning::new(WarningCode::Stale, detail).of(&*chunk.id));
        }
        chunk.expanded_context = around.and_then(|it| slice(text, it)).map(str::to_owned);
        let own = if around.is_some() {
            span
        } else {
            let span = widened(span, self.context_lines, text.lines().count());
            self.without_front(path, text, span)
        };
        chunk.span = Some(own);
        // It is of the file as it is now, like all others that are found in it, whatever they were of.
        chunk.content_hash = None;
        slice(text, own)
            .unwrap_or_default()
            .clone_into(&mut chunk.content);
        stored.masked(chunk, text.masked_in(around.unwrap_or(own)))
    }

    /// `span` of the file at `path` without the pictures before what it says, where they are not wanted.
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
        let key = (*text.hash(), language.map(Language::name));
        if let Some(outline) = self.outlines.get(&key) {
            return outline;
        }
        let parsed = self.parsed.as_ref();
        let parsed = parsed.and_then(|it| it.outline(path, text.hash()));
        let parse = || Outline::of(text.as_str(), language, &self.limits);
        let outline = Arc::new(parsed.unwrap_or_else(parse));
        // What took too long today may not tomorrow.
        if outline.fallback != Some(Fallback::TooSlow) {
            self.outlines.insert(key, Arc::clone(&outline));
        }
        outline
    }
}

/// Fills each chunk that names a file with what the file says now, checks what the chunk says of it,
/// and adds renditions, imports and relations. Chunks without a path, and those that bring expanded context
/// alone, stay as they are; with a content, the expanded context stays where the lines around that say it, and is left out with a warning
/// where they do not. A file that was read is told by its path without `.` in it.
///
/// Where secrets are masked, what a chunk brings along is masked as [`mask`](crate::mask) does, and one whose path has the name of a file of
/// secrets is left out. What fits the lines of a file but for what is masked there is shown as they are.
///
/// What a chunk says (its content, else its content hash) decides: lines that say it still are shown;
/// text that moved is shown where it is now; text that is gone is shown as it was stored, with a
/// warning; and where nothing was stored, the chunk is left out with the reason. Files are read side
/// by side, each once; the order of the result is that of `chunks`. O(bytes of the files); for each hit of which only
/// the hash is known and whose lines do not have it, up to 64 MiB are hashed three times besides.
pub fn resolve(chunks: Vec<Chunk>, sources: Sources, limits: Limits) -> Resolved {
    Resolver::new(sources, limits).resolve(chunks)
}

fn resolve_all(chunks: Vec<Chunk>, within: &Resolver) -> Resolved {
    let count = chunks.len();
    let mut by_file: BTreeMap<Option<String>, Vec<(usize, Chunk)>> = BTreeMap::new();
    for (index, chunk) in chunks.into_iter().enumerate() {
        // Where the content stands in a file is where what is around it is to be.
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
    /// Its chunk, if that shows lines of the file as it is now.
    fn of_the_file(&mut self) -> Option<&mut Chunk> {
        self.chunk.as_mut().filter(|_| self.own.is_some())
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
            // To look for what only a hash tells of may take long.
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
    let hash = *text.hash();
    let language = Language::of(&path, text.as_str());
    let outline = resolver.outline(&path, text, language);
    let is_of_another = resolver.indexed.is_of_another(&path, text);
    let changed = is_of_another.then(|| Changed::new(text.as_str(), &outline));
    let mut found: Vec<Found> = look_up(changed.as_ref());
    let source = Source::with_outline(language, text.as_str(), Arc::clone(&outline));
    if resolver.awaited.is_so()
        && let Some(chunk) = best_of(&mut found)
    {
        chunk.imports = imports(&outline);
    }
    let mut own = Known::default();
    let merged = match resolver.overlaps {
        Overlaps::Apart => BTreeSet::new(),
        Overlaps::Merged => to_be_merged(&found),
    };
    for it in &mut found {
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
            .or(language.map(|it| it.name().to_owned()));
        if let (Some(span), true) = (chunk.span, chunk.renditions.is_empty() && !is_merged) {
            let words = &chunk.matched_keywords;
            let keywords = keywords.of(words).unwrap_or_else(|| own.or_made(words));
            let named = resolver.lines.get(&path).into_iter();
            let named = named.flat_map(|it| it.range(span.start()..=span.end()));
            let named: Vec<u32> = named.copied().collect();
            let named = (&*named, resolver.told);
            let is_awaited = || resolver.awaited.is_so();
            chunk.renditions = renditions_while(&source, span, keywords, named, &is_awaited);
        }
    }
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

/// The indexes of those that are short, and have lines that overlap or touch another's. O(n log n), and O(bytes).
fn to_be_merged(found: &[Found]) -> BTreeSet<usize> {
    let mut hits: Vec<(LineSpan, usize)> = Vec::new();
    for it in found.iter().filter(|it| it.own.is_some()) {
        if let Some(chunk) = &it.chunk
            && let Some(span) = chunk.span
            && !chunk.pinned
            && chunk.renditions.is_empty()
            && chunk.wider_text().is_none()
            && (span.line_count() as usize) < LONG
            // A line that is too long is shown in part, or not at all.
            && chunk.content.lines().all(|line| line.len() <= LONGEST_LINE)
        {
            hits.push((span, it.index));
        }
    }
    let mut merged = BTreeSet::new();
    hits.sort_unstable();
    // One past the last line of those so far, and who was the last of them.
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

/// The hit that is told what its file imports, of those that do not bring that along: the best, as it is shown the
/// soonest, and whatever the order in which they were given.
fn best_of(found: &mut [Found]) -> Option<&mut Chunk> {
    let chunks = found.iter_mut().filter_map(Found::of_the_file);
    let chunks = chunks.filter(|it| it.imports.is_empty());
    chunks.min_by(|a, b| {
        let best_first = |it: &Chunk| Reverse((it.pinned, it.relevance));
        (best_first(a).cmp(&best_first(b))).then_with(|| (a.span, &a.id).cmp(&(b.span, &b.id)))
    })
}

/// Each module once, in their order.
fn imports(outline: &Outline) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let modules = outline.imports.iter().map(|it| it.module.as_str());
    let modules = modules.filter(|it| seen.insert(*it));
    modules.map(str::to_owned).collect()
}

/// `path` without the names that change nothing: `./a.rs` is the file `a.rs`.
fn plain(path: &str) -> String {
    let mut names = Vec::new();
    for component in Path::new(path).components() {
        match component {
            Component::CurDir => {}
            Component::Normal(name) => names.extend(name.to_str()),
            // It is none of a file below the root.
            _ => return path.to_owned(),
        }
    }
    if names.is_empty() || path.ends_with('/') {
        return path.to_owned();
    }
    names.join("/")
}

/// Lines `span` without what ends the last one; with it where that is empty, for else it would seem a line less.
fn slice(text: &Text, span: LineSpan) -> Option<&str> {
    if span.line_count() > 1 && text.line(span.end())?.is_empty() {
        return text.as_str().get(text.lines().range(span)?);
    }
    text.slice(span)
}

/// `span` with `more` lines at each end, in a text of `count` lines.
fn widened(span: LineSpan, more: u32, count: u32) -> LineSpan {
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
