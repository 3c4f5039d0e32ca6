//! Files, lines and functions that a question mentions explicitly.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::{Arc, OnceLock};

use ctx_model::{Warning, WarningCode, join_first};
use ctx_rank::{FileMention, Frame, Name, Query};

use super::named::{below, called, fitting};
use super::{MENTIONS, MOST_DEFINITIONS, MOST_FILES, Sum, WIDE, by_question, of_each, unique};
use crate::paths::files_ending_with;
use crate::ports::{FileSearch, Hit, Part, PartQuery, PortResult};

/// What the mentions of a question are found to be.
#[derive(Clone, Debug, Default)]
pub(crate) struct Named {
    /// For each frame, the parts that it may refer to.
    pub(crate) traced: Vec<Vec<Arc<Part>>>,
    /// The mentioned lines, or the nearest that a part has, by file.
    pub(crate) lines: BTreeMap<String, BTreeSet<u32>>,
    /// Warnings for lines of a typed question that no file it may mean has.
    pub(crate) missed: Vec<Warning>,
}

/// By-products of this strategy, available even if it is late.
#[derive(Debug, Default)]
pub(crate) struct Noted {
    pub(crate) named: OnceLock<Named>,
    pub(crate) warnings: OnceLock<Vec<Warning>>,
    /// The warning about names with more users than are taken.
    pub(crate) users: OnceLock<Warning>,
}

/// The score of a file that is mentioned as a whole.
const OF_FILE: f64 = 0.3;
/// The score of a call in a trace.
const OF_FRAME: f64 = 0.7;
/// Files that a warning names, the first.
const MOST_NAMED: usize = 3;
/// Extensions of languages whose files call each other by one name, or are compiled to another of
/// the row. Each row is a language, or several of one kind.
const FAMILIES: [&[&str]; 11] = [
    &[
        "c", "cc", "cpp", "cxx", "h", "hh", "hpp", "hxx", "m", "mm", "cu", "inl",
    ],
    &["cs", "fs", "vb", "cshtml", "razor"],
    &["dart"],
    &["ex", "exs", "erl"],
    &["go"],
    &["java", "kt", "kts", "scala", "groovy", "clj"],
    &[
        "js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "vue", "svelte", "coffee", "astro",
    ],
    &["php", "phtml"],
    &["py", "pyi", "pyx"],
    &["rb", "erb", "rake"],
    &["rs"],
];
/// If more parts than this have lines of a report, only the first of them counts.
const MOST_MET: usize = 8;

/// Finds files, lines and frames that the question mentions, and files that it may mean.
/// By-products go to `noted`.
pub(crate) async fn places(
    search: &dyn FileSearch,
    query: &Query,
    noted: &Noted,
) -> PortResult<Vec<Hit>> {
    let (mut hits, called, below, fitting) = tokio::try_join!(
        written(search, query, &noted.named),
        called(search, query),
        below(search, query),
        fitting(search, query, &noted.warnings)
    )?;
    hits.extend(called);
    hits.extend(below);
    hits.extend(fitting);
    Ok(hits)
}

/// Finds files, lines and frames that the question mentions.
async fn written(
    search: &dyn FileSearch,
    query: &Query,
    named: &OnceLock<Named>,
) -> PortResult<Vec<Hit>> {
    let mentions = &query.mentions.files[..query.mentions.files.len().min(MENTIONS)];
    let frames = &query.mentions.frames;
    let of_mentions = mentions.iter().map(|it| &it.path);
    let of_frames = || frames.iter().filter_map(|it| it.path.as_ref());
    let paths = unique(of_mentions.chain(of_frames()));
    // Reports mention files of other projects, but seldom lines of them; the name alone of a file
    // is looked up by `called`.
    let is_typed = query.typed.is_some();
    let is_meant = |it: &&FileMention| it.is_part() || is_typed && it.path.contains('/');
    let of_mentions = mentions.iter().filter(is_meant).map(|it| &it.path);
    let meant = of_mentions.chain(of_frames()).collect();
    let files = files_at(search, &paths, &meant).await?;
    let at = |path: &String| files.get(path).map_or(&[][..], Vec::as_slice);
    let of_frame = |it: &Frame| Readings::of(it, it.path.as_ref().map_or(&[][..], at));
    let readings: Vec<Readings> = frames.iter().map(of_frame).collect();
    let of_mentions: Vec<PartQuery> = (mentions.iter())
        .flat_map(|it| {
            at(&it.path)
                .iter()
                .flat_map(move |path| requests_for(path, it))
        })
        .collect();
    let of_frames = readings.iter().flat_map(Readings::all);
    let wanted = unique(of_mentions.iter().chain(of_frames));
    let functions = unique(readings.iter().filter_map(Readings::astray));
    let (answers, mut of_functions) =
        tokio::try_join!(search.parts_of(&wanted, WIDE), by_name(search, &functions))?;
    for (name, hits) in functions.iter().zip(&mut of_functions) {
        let calls = || readings.iter().filter(|it| it.astray() == Some(name));
        hits.retain(|hit| calls().any(|it| it.may_be(&hit.part)));
    }
    let parts = by_question("places", &wanted, answers)?;
    let mut found_in_files: Vec<Vec<Arc<Part>>> =
        readings.iter().map(|it| it.likeliest(&parts)).collect();
    let mut told = FoundMentions {
        files: &files,
        parts: &parts,
        whole: BTreeMap::new(),
        is_typed,
    };
    let unheld = readings.iter().zip(&mut found_in_files);
    let unheld: Vec<_> = unheld.filter(|it| it.1.is_empty()).collect();
    let nowhere = mentions.iter().flat_map(|it| told.nowhere(it));
    let nowhere = nowhere.chain(unheld.iter().flat_map(|it| it.0.lines().map(|at| at.0)));
    told.whole = whole(search, &unique(nowhere)).await?;
    let of_nearest = told.add_nearest(unheld);
    let by_name: BTreeMap<&String, &Vec<Hit>> = functions.iter().zip(&of_functions).collect();
    let traced: Vec<Vec<Arc<Part>>> = (readings.iter().zip(&found_in_files))
        .map(|(readings, in_files)| {
            let by_name = readings.by_name(&by_name);
            in_files.iter().chain(by_name).cloned().collect()
        })
        .collect();
    let mut lines = lines_of(frames, &traced);
    for (path, line) in of_nearest {
        lines.entry(path).or_default().insert(line);
    }
    for mention in mentions {
        told.add_lines(mention, &mut lines);
    }
    let longest = WIDE.min(search.longest_list());
    let beyond = mentions.iter().filter_map(|it| told.beyond(it, longest));
    let mut missed: Vec<Warning> = beyond.collect();
    if lines.is_empty() && traced.iter().all(Vec::is_empty) {
        missed.extend(no_call(query));
    }
    // Set once per question.
    let _ = named.set(Named {
        traced,
        lines,
        missed,
    });
    Ok(told.hits(mentions, &found_in_files, &of_functions))
}

/// The store's answers about the files that a question mentions.
struct FoundMentions<'t> {
    /// The files that each path may refer to.
    files: &'t BTreeMap<String, Vec<String>>,
    parts: &'t BTreeMap<&'t PartQuery, Vec<Hit>>,
    /// All parts of the files that have a line that no part holds, in the order of their lines.
    whole: BTreeMap<String, Vec<Hit>>,
    is_typed: bool,
}

impl FoundMentions<'_> {
    /// The files of `mention` in which no part holds its lines.
    fn nowhere(&self, mention: &FileMention) -> impl Iterator<Item = &String> {
        let files = self.files_of(mention).iter();
        files.filter(move |path| mention.line.is_some() && self.parts_at(path, mention).is_empty())
    }

    /// The parts of the file at `path` before and after `lines`, none of which any part holds:
    /// these are blank, or say nothing alone. None if no part comes after them: it is not known
    /// whether the file has these lines.
    fn nearest(&self, path: &str, lines: RangeInclusive<u32>) -> Vec<Arc<Part>> {
        let all = self.whole.get(path).map_or(&[][..], Vec::as_slice);
        let after = all.iter().find(|it| it.part.span.start() > *lines.end());
        let before = all.iter().filter(|it| it.part.span.end() < *lines.start());
        let before = before.max_by_key(|it| it.part.span.end());
        let nearest = after.map(|it| before.into_iter().chain([it]));
        nearest.into_iter().flatten().map(shared).collect()
    }

    fn files_of(&self, mention: &FileMention) -> &[String] {
        self.files.get(&mention.path).map_or(&[], Vec::as_slice)
    }

    /// Adds to the parts of `calls` without any the nearest to their lines. Returns the lines of
    /// these parts that are nearest, with their files.
    fn add_nearest(&self, calls: Vec<(&Readings, &mut Vec<Arc<Part>>)>) -> Vec<(String, u32)> {
        let mut lines = Vec::new();
        for (readings, found) in calls {
            for (path, line) in readings.lines() {
                let nearest = self.nearest(path, line..=line);
                let of_parts = nearest.iter().map(|it| nearest_line(it, line));
                lines.extend(of_parts.map(|it| (path.clone(), it)));
                found.extend(nearest);
            }
        }
        lines
    }

    /// The parts of the file at `path` that `mention` refers to: if it has lines and no part holds
    /// any of them, the nearest before and after.
    fn parts_at(&self, path: &str, mention: &FileMention) -> Vec<Arc<Part>> {
        let mut met: Vec<Arc<Part>> = Vec::new();
        if let Some(name) = &mention.name {
            let called = |name: &String| {
                let found = self.parts.get(&PartQuery::new(path).called(name));
                found.map_or(&[][..], Vec::as_slice)
            };
            let bearers = bearers(name, called(&name.last));
            return match &name.within {
                // A small scope is one part with all that it defines.
                Some(within) if bearers.is_empty() => called(within).iter().map(shared).collect(),
                _ => bearers,
            };
        }
        for wanted in requests_for(path, mention) {
            let known = met.len();
            let found = self.parts.get(&wanted).into_iter().flatten();
            for hit in found.filter(|it| is_met(&it.part, mention)) {
                if met[..known].iter().all(|it| it.key() != hit.part.key()) {
                    met.push(Arc::clone(&hit.part));
                }
            }
        }
        if !self.is_typed && mention.end.is_some() && met.len() > MOST_MET {
            met.retain(|it| mention.line.is_none_or(|line| it.span.start() <= line));
        }
        if let Some(line) = mention.line.filter(|_| met.is_empty()) {
            return self.nearest(path, line..=mention.end.unwrap_or(line));
        }
        met
    }

    /// Adds the lines of `mention` to those of its files. Of several lines, a report means the
    /// first.
    fn add_lines(&self, mention: &FileMention, lines: &mut BTreeMap<String, BTreeSet<u32>>) {
        let Some(line) = mention.line else {
            return;
        };
        for path in self.files_of(mention) {
            let of_file = lines.entry(path.clone()).or_default();
            of_file.insert(line);
            for part in self.parts_at(path, mention) {
                if !is_met(&part, mention) {
                    of_file.insert(nearest_line(&part, line));
                }
            }
            if let Some(end) = mention.end.filter(|_| self.is_typed) {
                for part in self.parts_at(path, mention) {
                    // Empty for parts beside the lines.
                    of_file.extend(line.max(part.span.start())..=end.min(part.span.end()));
                }
            }
        }
    }

    /// Adds the parts that `mention` refers to to `found`.
    fn add_parts(&self, mention: &FileMention, found: &mut Sum) {
        let worth = if mention.is_part() { 1.0 } else { OF_FILE };
        for path in self.files_of(mention) {
            let at_mention = self.parts_at(path, mention);
            for part in &at_mention {
                found.add(part, worth);
            }
            // It may have been renamed, or the store may not know it as a name.
            if mention.name.is_some() && at_mention.is_empty() {
                let all = self.parts.get(&PartQuery::new(path)).into_iter().flatten();
                for it in all {
                    found.add(&it.part, OF_FILE);
                }
            }
        }
    }

    /// The hits of `mentions`, and of calls: in their files, and by the names of their functions.
    fn hits(
        &self,
        mentions: &[FileMention],
        in_files: &[Vec<Arc<Part>>],
        of_functions: &[Vec<Hit>],
    ) -> Vec<Hit> {
        let mut found = Sum::default();
        for mention in mentions {
            self.add_parts(mention, &mut found);
        }
        for part in in_files.iter().flatten() {
            found.add(part, OF_FRAME);
        }
        for hits in of_functions {
            #[expect(clippy::cast_precision_loss, reason = "there are at most 40")]
            let share = OF_FRAME / (hits.len() as f64).sqrt();
            for hit in hits {
                found.add(&hit.part, share);
            }
        }
        let mut hits = found.hits;
        let files: BTreeSet<&String> = mentions.iter().flat_map(|it| self.files_of(it)).collect();
        let files = files.into_iter().map(|it| Part::of_file(it.clone()));
        hits.extend(files.map(|it| Hit::new(it, OF_FILE)));
        hits
    }

    /// A warning if `mention` of a typed question has a line beyond all parts of the files that it
    /// may be in. A list of `longest` parts may be cut off, and does not show where its file ends.
    fn beyond(&self, mention: &FileMention, longest: usize) -> Option<Warning> {
        let (line, files) = (mention.line?, self.files_of(mention));
        let ends_before = |path: &String| {
            let parts = self.whole.get(path);
            parts.is_some_and(|parts| {
                parts.len() < longest && parts.iter().all(|it| it.part.span.end() < line)
            })
        };
        let is_beyond = self.is_typed && !files.is_empty() && files.iter().all(ends_before);
        is_beyond.then(|| {
            let files = join_first(files, MOST_FILES);
            let detail = format!("no part of {files} has line {line}");
            Warning::new(WarningCode::NoSuchLine, detail)
        })
    }
}

/// The lines of `frames`, by file, if they are in the parts that the frames refer to.
fn lines_of(frames: &[Frame], traced: &[Vec<Arc<Part>>]) -> BTreeMap<String, BTreeSet<u32>> {
    let mut lines: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
    for (frame, parts) in frames.iter().zip(traced) {
        // In another version of the file, the line belongs to something else.
        let is_in = |it: &&Arc<Part>| frame.line.is_some_and(|line| it.span.contains_line(line));
        for part in parts.iter().filter(is_in) {
            lines
                .entry(part.path.clone())
                .or_default()
                .extend(frame.line);
        }
    }
    lines
}

/// All parts of each of `files`, in the order of their lines.
async fn whole(
    search: &dyn FileSearch,
    files: &[String],
) -> PortResult<BTreeMap<String, Vec<Hit>>> {
    if files.is_empty() {
        return Ok(BTreeMap::new());
    }
    let wanted: Vec<PartQuery> = files.iter().map(PartQuery::new).collect();
    let answers = search.parts_of(&wanted, WIDE).await?;
    let answers = of_each("files", files, answers)?;
    Ok(files.iter().cloned().zip(answers).collect())
}

/// The line of `part` that is nearest to `line`.
fn nearest_line(part: &Part, line: u32) -> u32 {
    line.clamp(part.span.start(), part.span.end())
}

/// The warning if no call of `query` is found and it has any.
fn no_call(query: &Query) -> Option<Warning> {
    let frames = query.mentions.frames.iter();
    let told = unique(frames.filter_map(|it| it.path.as_ref().or(it.function.as_ref())));
    if told.is_empty() {
        return None;
    }
    let others = match query.frames_left_out {
        0 => String::new(),
        count => format!("; {count} calls between the first and the last were not looked up"),
    };
    let detail = format!(
        "no call of the stack trace is found here: {}{others}",
        join_first(&told, MOST_NAMED)
    );
    Some(Warning::new(WarningCode::NoSuchCall, detail))
}

/// The row of [`FAMILIES`] that has the extension of `path`, in any case.
fn family(path: &str) -> Option<&'static [&'static str]> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let (_, extension) = name.rsplit_once('.')?;
    let has = |it: &&&[&str]| it.iter().any(|it| it.eq_ignore_ascii_case(extension));
    FAMILIES.iter().find(has).copied()
}

/// The definitions of each of `names`, empty if there are too many: compiled code has different
/// files than its source, but the same names.
async fn by_name(search: &dyn FileSearch, names: &[String]) -> PortResult<Vec<Vec<Hit>>> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let answers = search.definitions(names, MOST_DEFINITIONS + 1).await?;
    let mut answers = of_each("names", names, answers)?;
    for answer in answers.iter_mut().filter(|it| it.len() > MOST_DEFINITIONS) {
        answer.clear();
    }
    Ok(answers)
}

/// The requests for `mention` in the file at `path`. If it has several lines: the part at the first
/// line, and all parts, which may be more than are returned; if it has a name: parts of that name
/// and of its scope, and all parts.
fn requests_for(path: &str, mention: &FileMention) -> Vec<PartQuery> {
    let mut first = PartQuery::new(path);
    first.line = mention.line;
    first.name = mention.name.as_ref().map(|it| it.last.clone());
    let is_all = mention.end.is_some() || mention.name.is_some();
    let all = is_all.then(|| PartQuery::new(path));
    let within = mention.name.as_ref().and_then(|it| it.within.as_ref());
    let within = within.map(|it| PartQuery::new(path).called(it));
    [first].into_iter().chain(within).chain(all).collect()
}

/// The parts in `found` with this `name`: if it has a scope, those within that scope, if there are
/// any.
fn bearers(name: &Name, found: &[Hit]) -> Vec<Arc<Part>> {
    let is_within = |it: &&Hit| {
        let qualified = it.qualified_name.as_deref().unwrap_or_default();
        name.within
            .as_deref()
            .is_none_or(|it| qualified.contains(it))
    };
    let mut bearers: Vec<Arc<Part>> = found.iter().filter(is_within).map(shared).collect();
    if bearers.is_empty() {
        bearers = found.iter().map(shared).collect();
    }
    bearers
}

fn shared(hit: &Hit) -> Arc<Part> {
    Arc::clone(&hit.part)
}

/// Whether `part`, in the file of `mention`, has any of its lines.
fn is_met(part: &Part, mention: &FileMention) -> bool {
    let last = mention.end.or(mention.line);
    let ends_before = |line: u32| part.span.end() < line;
    !mention.line.is_some_and(ends_before) && last.is_none_or(|it| part.span.start() <= it)
}

/// What a frame may refer to.
struct Readings {
    /// The languages that it may be in, if its file shows that.
    family: Option<&'static [&'static str]>,
    /// Its function, unless it is anonymous.
    name: Option<String>,
    /// The type or module that has the function, if the frame tells it and no file.
    within: Option<String>,
    /// Requests in the order of likelihood: the first with a result counts.
    in_files: Vec<Vec<PartQuery>>,
}

impl Readings {
    /// The report may be about another version: the function is better evidence than the line, if a
    /// file defines it. If a file shares only its name with the path, as files of libraries may,
    /// the line is no evidence if the function has a name.
    fn of(frame: &Frame, files: &[String]) -> Self {
        let name = frame.function.as_deref().and_then(last_name);
        let by_name = name.as_ref().map(|name| {
            let called = files.iter().map(|it| PartQuery::new(it).called(name));
            called.collect()
        });
        let told = frame.path.as_deref().unwrap_or_default();
        let is_it = |path: &&String| name.is_none() || has_folder_in_common(told, path);
        let by_line = frame.line.map(|line| {
            let at = files.iter().filter(is_it);
            at.map(|it| PartQuery::new(it).at(line)).collect()
        });
        let in_files = by_name.into_iter().chain(by_line).collect();
        let function = frame.function.as_deref().filter(|_| frame.path.is_none());
        Readings {
            family: family(told),
            within: function.and_then(qualifier),
            name,
            in_files,
        }
    }

    /// Whether `part` may be what is called: in a language that is known, nothing of another is,
    /// and without a file, nothing that is defined elsewhere than the name says.
    fn may_be(&self, part: &Part) -> bool {
        let qualified = part.qualified_name.as_deref().unwrap_or_default();
        let has_it = |within: &String| qualified.split(['.', ':', '#']).any(|it| it == within);
        self.family.is_none_or(|it| family(&part.path) == Some(it))
            && self.within.as_ref().is_none_or(has_it)
    }

    fn all(&self) -> impl Iterator<Item = &PartQuery> {
        self.in_files.iter().flatten()
    }

    /// The parts of the first request that found any.
    fn likeliest(&self, parts: &BTreeMap<&PartQuery, Vec<Hit>>) -> Vec<Arc<Part>> {
        let found = |wanted: &Vec<PartQuery>| -> Vec<Arc<Part>> {
            let hits = wanted.iter().filter_map(|it| parts.get(it)).flatten();
            hits.map(shared).collect()
        };
        let mut found = self.in_files.iter().map(found);
        found.find(|it| !it.is_empty()).unwrap_or_default()
    }

    /// The definitions that the function may be if no file contains it, of those found by name.
    fn by_name<'h>(
        &self,
        found: &BTreeMap<&String, &'h Vec<Hit>>,
    ) -> impl Iterator<Item = &'h Arc<Part>> {
        let hits = self.astray().and_then(|it| found.get(it).copied());
        let parts = hits.into_iter().flatten().map(|it| &it.part);
        parts.filter(move |it| self.may_be(it))
    }

    /// The lines that a call without a name may refer to, with the paths of their files.
    fn lines(&self) -> impl Iterator<Item = (&String, u32)> {
        let all = self.all().filter(|_| self.name.is_none());
        all.filter_map(|it| Some((&it.path, it.line?)))
    }

    /// The function, if no file may contain it.
    fn astray(&self) -> Option<&String> {
        self.name.as_ref().filter(|_| self.all().next().is_none())
    }
}

/// Whether both paths end with the same file name and folder, or one is a suffix of the other.
fn has_folder_in_common(a: &str, b: &str) -> bool {
    let common = ends(a).zip(ends(b)).take_while(|(a, b)| a == b).count();
    common > 1 || common > 0 && common == ends(a).count().min(ends(b).count())
}

/// Whether `path` is that of a file within a package that package managers have installed: such a
/// file has its own name, and often the same as one of the project.
fn is_below_dependency(path: &str) -> bool {
    const FOLDERS: [&str; 6] = [
        "dist-packages",
        "gems",
        "node_modules",
        "rustc",
        "site-packages",
        "vendor",
    ];
    // Go and Cargo keep packages by their versions.
    let has_version = |it: &str| it.contains("@v") || it.starts_with("index.crates.io-");
    let mut folders = path.rsplit('/').skip(1);
    // A file directly below the others may be all of a package.
    folders.next().is_some_and(has_version)
        || folders.any(|it| FOLDERS.contains(&it) || has_version(it))
}

/// The components of a path, the last first.
fn ends(path: &str) -> impl Iterator<Item = &str> {
    path.rsplit('/').filter(|it| !it.is_empty() && *it != ".")
}

/// The last name in a function: `f` of `a::b::f`, `C#f`, `C.f` and `C.f [as g]`, skipping anonymous
/// parts: `f.func1.2` of Go, `f::{{closure}}` of Rust; without its types (`f[T]` of .NET). `None`
/// if it is in angle brackets: `<module>`, `C.<init>`, `f.<locals>.<lambda>`.
fn last_name(function: &str) -> Option<String> {
    let is_nameless = |it: &str| {
        let number = it.strip_prefix("func").unwrap_or(it);
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        it.is_empty() || it.starts_with('{') || is_number
    };
    let function = function.split(" [as ").next().unwrap_or(function);
    let mut parts = function.rsplit(['.', ':', '#']);
    let last = parts.clone().next()?;
    if last.starts_with('<') {
        return None;
    }
    let name = parts.find(|it| !is_nameless(it)).unwrap_or(last);
    Some(without_types(name).to_owned())
}

/// What is before the last name in `function`: `Pool` of `Acme.Pool.Take`, also if it is generic
/// (``Acme.Pool`1.Take``) or nested (`Acme.Outer+Pool.Take`).
fn qualifier(function: &str) -> Option<String> {
    let (within, _) = function.rsplit_once('.')?;
    let last = within.rsplit(['.', '+']).next();
    last.map(|it| without_types(it).to_owned())
}

/// `name` without its parameters of types, as .NET writes them: `f[T]`, ``Pool`1``. `[]` is a name.
fn without_types(name: &str) -> &str {
    let bare = name.split(['[', '`']).next();
    bare.filter(|it| !it.is_empty()).unwrap_or(name)
}

/// The files that each of `paths`, from another machine, may refer to: those with the longest
/// common suffix. If these are too many, one of the `meant` paths refers to the file at exactly
/// that path.
async fn files_at(
    search: &dyn FileSearch,
    paths: &[String],
    meant: &BTreeSet<&String>,
) -> PortResult<BTreeMap<String, Vec<String>>> {
    let mut files = BTreeMap::new();
    let mut exact: Vec<(String, String)> = Vec::new();
    let end = |path: &String| (path.clone(), path.trim_start_matches('/').to_owned());
    let mut open: Vec<(String, String)> = paths.iter().map(end).collect();
    while !open.is_empty() {
        let ends = unique(open.iter().map(|(_, end)| end));
        let answers = files_ending_with(search, &ends, MOST_FILES + 1).await?;
        let found = by_question("ends of paths", &ends, answers)?;
        let mut longer = Vec::new();
        for (path, end) in &open {
            match found.get(end).map_or(&[][..], Vec::as_slice) {
                _ if !end.contains('/') && is_below_dependency(path) => {}
                [] => longer.extend(
                    end.split_once('/')
                        .map(|(_, rest)| (path.clone(), rest.to_owned())),
                ),
                // A name that many files have means none of them, but that of the whole path.
                found if found.len() > MOST_FILES => {
                    if meant.contains(path) && path.trim_start_matches("./") == end {
                        exact.push((path.clone(), end.clone()));
                    }
                }
                found => drop(files.insert(path.clone(), found.to_vec())),
            }
        }
        open = longer;
    }
    let ends: Vec<PartQuery> = exact.iter().map(|(_, end)| PartQuery::new(end)).collect();
    if !ends.is_empty() {
        let parts = of_each("files", &ends, search.parts_of(&ends, 1).await?)?;
        let there = exact.into_iter().zip(parts).filter(|it| !it.1.is_empty());
        files.extend(there.map(|((path, end), _)| (path, vec![end])));
    }
    Ok(files)
}
