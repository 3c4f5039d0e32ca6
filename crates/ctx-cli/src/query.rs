//! `ctx query`: a question in, one context out.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use ctx::assemble::{Cancel, Control};
use ctx::git::PATIENCE;
use ctx::index::{Index, IndexError, Updated, has_index};
use ctx::model::{BuildOptions, BuiltContext, Warning, WarningCode, error_chain};
use ctx::rank::{MAX_TERM_BYTES, Query};
use ctx::resolve::Resolver;
use ctx::retrieve::{self, Near, Retriever, Strategy};
use ctx::service::{Answer, Service, ServiceError, missing_files, missing_names, no_such_name};
use ctx::source::{Decoded, Secrets, Sources, decode};
use ctx::syntax;
use ctx::tokens::Counters;
use tokio::runtime::{Builder, Runtime};

use crate::args::QueryArgs;
use crate::bounded::{self, Whole};
use crate::emit;
use crate::failure::Failure;
use crate::findings::{self, Findings};
use crate::hits;
use crate::indexing::{self, kept, status};
use crate::input::MARK;
use crate::missed::Missed;
use crate::options::counters;
use crate::past::{self, Past};
use crate::read::conversion;
use crate::report::{self, Report};
use crate::settings::Settings;
use crate::skipped;
use crate::user_dirs;
use crate::values;
use crate::walk::shown;

/// Runs the verb.
///
/// # Errors
/// Any of those in the list of exit codes. An empty result is no error, and neither is a failed
/// strategy if another one succeeded: both are warnings.
pub(crate) fn run(args: &QueryArgs, report: Report, cancel: &Cancel) -> Result<(), Failure> {
    let (question, mut hits) = input(args, report)?;
    let root = indexing::root(&args.search.root)?;
    if let Some(hits) = &mut hits {
        hits::below([&*root, &*args.search.root], hits);
    }
    let hits = hits.map(Arc::new);
    hint_at_folder(&args.text, &root, report);
    let mut settings = Settings::load(&root)?;
    let options = settings.index(args.indexed);
    let mut build = settings.build(&args.options)?;
    let mut retrieve = settings.retrieve(&args.search, build.max_tokens);
    if retrieve.strategies == [Strategy::Semantic] && args.search.hits.is_none() {
        return Err(Failure::usage("the strategy semantic needs --hits")
            .with_hint("give --hits the results of another search, or name other strategies"));
    }
    build.explain |= args.output.explain;
    // An unknown counter is reported before a folder is indexed in vain.
    let counters = Arc::new(counters());
    counters.get(&build.counter)?;
    retrieve.now = Some(indexing::now());
    if args.search.root == Path::new(".") {
        hint_at_repository(&root, report);
    }
    if args.search.no_index_update && !has_index(&user_dirs::index_folder(&root)?) {
        return Err(not_indexed(&root));
    }
    let index = indexing::open(&root, options)?;
    indexing::keep(&index, args.indexed.kept());
    settings.note_index(&status(&index)?, kept(&index)?);
    let strategies = &retrieve.strategies;
    let (missed, past) = if args.search.no_index_update {
        refuse_empty(&index)?;
        (Missed::default(), past::open(&root, strategies, report)?)
    } else {
        let missed = catch_up(&index, &settings, report, cancel)?;
        let past = past::up_to_date(&root, strategies, report, cancel, Some(PATIENCE))?;
        (missed, past)
    };
    if let Some(hits) = &hits {
        hits::tell_unknown(hits, |path| index.hash_of(path).is_some());
        hits::tell_beyond(hits, |path| index.lines_of(path));
    }
    let runtime = runtime()?;
    let index = Arc::new(index);
    let start = Instant::now();
    let control = Control::default()
        .with_cancel(cancel.clone())
        .with_clock(Arc::new(move || start.elapsed()))
        .with_deadline(args.options.deadline());
    let stores = Stores {
        index: &index,
        past,
        hits,
        resolver: resolver(&index, args.secrets.secrets())?,
        counters,
    };
    let answer = ask(&runtime, &stores, &question, &retrieve, &build, &control);
    if cancel.is_cancelled() {
        return Err(Failure::cancelled());
    }
    let mut answer = answer?;
    warn(&answer, &retrieve, (&root, &missed), report)?;
    warn_of_missing(&runtime, &mut answer, &missed, &index, &settings);
    tell_decoded(&mut answer.built, stores.resolver.sources(), report);
    let mut findings = Findings::of(&answer, settings.applied());
    if args.output.explain || args.output.json {
        findings = findings.with_snippets(&answer);
    }
    write(&answer, &findings, args, report)
}

/// The question, and the hits of another search, if there are any.
fn input(args: &QueryArgs, report: Report) -> Result<(String, Option<Vec<Near>>), Failure> {
    let is_input = |it: &Path| it == Path::new("-");
    if args.text == ["-"] && args.search.hits.as_deref().is_some_and(is_input) {
        let message = "the question and --hits cannot both be read from standard input (-)";
        return Err(Failure::usage(message).with_hint("give one of them as an argument or a file"));
    }
    let question = read(&args.text, report)?;
    check(&question)?;
    let hits = args.search.hits.as_deref().map(hits::read).transpose()?;
    Ok((question, hits))
}

/// Warns, also in the receipt, of files and names of the question that there are not.
fn warn_of_missing(
    runtime: &Runtime,
    answer: &mut Answer,
    missed: &Missed,
    index: &Index,
    settings: &Settings,
) {
    let unknown = runtime.block_on(missing_files(&answer.material.query, &[index]));
    let told = missed.tell(answer, index, settings, unknown);
    let nameless = no_such_name(&runtime.block_on(missing_names(&answer.material.query, &[index])));
    if let Some(warning) = &nameless {
        report::warning(&warning.detail);
    }
    answer.built.warnings.extend(told);
    answer.built.warnings.extend(nameless);
}

/// Byte order marks of UTF-16.
const MARKS: [&[u8]; 2] = [b"\xff\xfe", b"\xfe\xff"];

/// The question; several words are joined to one line.
fn read(words: &[String], report: Report) -> Result<String, Failure> {
    let is_input = |it: Option<&String>| it.is_some_and(|it| it == "-");
    if words.len() > 1 && (is_input(words.first()) || is_input(words.last())) {
        let message = "- (standard input) cannot be combined with other words of the question";
        return Err(
            Failure::usage(message).with_hint("give the question or -, or quote both as one text")
        );
    }
    if words != ["-"] {
        return Ok(words.join(" "));
    }
    let whole = Whole {
        name: "<stdin>",
        most: bounded::QUESTION,
        fewer: "give only its most relevant part",
        other: "give the question as an argument, or pipe it in",
    };
    let mut bytes = whole.stdin()?;
    if MARKS.iter().any(|it| bytes.starts_with(it)) {
        return decoded(bytes, report);
    }
    if bytes.starts_with(MARK) {
        bytes.drain(..MARK.len());
    }
    if let Err(error) = str::from_utf8(&bytes) {
        report::warning(&format!(
            "the question on <stdin> is not UTF-8, first at byte {}; invalid bytes are ignored",
            error.valid_up_to() + 1
        ));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The text of a question that begins with a byte order mark, as `>` of PowerShell writes it.
///
/// # Errors
/// It is not text.
fn decoded(bytes: Vec<u8>, report: Report) -> Result<String, Failure> {
    match decode(bytes) {
        Decoded::Text(text) => Ok(text),
        Decoded::Empty => Ok(String::new()),
        Decoded::Converted {
            text,
            from,
            replaced,
        } => {
            report.note(&format!("decoded the question on <stdin> from {from}"));
            if replaced > 0 {
                report::warning(&format!(
                    "the question on <stdin> is not valid {from}; invalid parts are ignored"
                ));
            }
            Ok(text)
        }
        Decoded::Binary => {
            let message = "the question on <stdin> has a UTF-16 byte order mark, but is not text";
            Err(Failure::input(message).with_hint("give it as UTF-8 or UTF-16"))
        }
    }
}

/// Refuses a question without anything to search for, before any other work.
fn check(question: &str) -> Result<(), Failure> {
    let query = Query::analyse(question);
    if query.bytes_left_out > 0 {
        let read = question.len() - query.bytes_left_out;
        report::warning(&format!(
            "the question is too long: the last {} bytes are ignored, the first {} are read",
            emit::grouped(query.bytes_left_out as u64),
            emit::grouped(read as u64),
        ));
    }
    if query.frames_left_out > 0 {
        report::warning(&format!(
            "the stack traces are too long: {} calls between the first and the last are ignored",
            emit::grouped(query.frames_left_out as u64),
        ));
    }
    if !query.is_empty() {
        return Ok(());
    }
    let hint = "name what it is about: a function, a file, a message, a few words";
    Err(Failure::input(nothing_in(question)).with_hint(hint))
}

/// Why there is nothing to search for in `question`.
fn nothing_in(question: &str) -> String {
    if question.trim().is_empty() {
        return "the question is empty".to_owned();
    }
    let is_of_word = |it: char| it.is_alphanumeric() || it == '_';
    let words = question.split(|it| !is_of_word(it));
    let words = words.filter(|it| it.contains(char::is_alphanumeric));
    let is_digit = |it: &str| it.len() == 1 && it.starts_with(|it: char| it.is_ascii_digit());
    let [mut common, mut digits, mut long] = [false; 3];
    for word in words {
        match word {
            word if word.len() > MAX_TERM_BYTES => long = true,
            word if is_digit(word) => digits = true,
            _ => common = true,
        }
    }
    let long_ones = format!("those of more than {MAX_TERM_BYTES} bytes");
    let kinds = [
        (common, "very common ones"),
        (digits, "single digits"),
        (long, &*long_ones),
    ];
    let met: Vec<&str> = kinds.iter().filter(|it| it.0).map(|it| it.1).collect();
    let met = met.join(" and ");
    let nothing = "the question has nothing to search for: no name, no path, and no";
    if met.is_empty() {
        format!("{nothing} letter or digit")
    } else {
        format!("{nothing} words but {met}")
    }
}

/// Users of grep name the folder last, where it would be a word of the question.
fn hint_at_folder(words: &[String], root: &Path, report: Report) {
    let [_, .., last] = words else {
        return;
    };
    let is_other = |it: &Path| it.is_dir() && it.canonicalize().is_ok_and(|it| it != root);
    if is_other(Path::new(last)) {
        report.hint(&format!(
            "the folder {last} was read as a word of the question; give --root {last} to search it"
        ));
    }
}

/// The first question in a folder of a repository indexes that folder, even if the whole repository
/// is indexed already.
fn hint_at_repository(root: &Path, report: Report) {
    let is_indexed = |it: &Path| user_dirs::index_folder(it).is_ok_and(|it| has_index(&it));
    let Some(repository) = user_dirs::repository_of(root).filter(|it| *it != root) else {
        return;
    };
    if is_indexed(repository) && !is_indexed(root) {
        let all = shown(repository);
        report.hint(&format!(
            "{all} is already indexed; give --root {all} to search all of it"
        ));
    }
}

/// Refuses an index that was begun and never written.
fn refuse_empty(index: &Index) -> Result<(), Failure> {
    let status = status(index)?;
    if status.files > 0 || status.written_at.is_some() {
        return Ok(());
    }
    Err(not_indexed(index.root()))
}

fn not_indexed(root: &Path) -> Failure {
    let root = shown(root);
    Failure::input(format!("{root} is not indexed"))
        .with_hint("give no --no-index-update, or run `ctx index` first")
}

/// Indexes changed files, and reports what is not searched. If the update fails, the index is used
/// as it was.
fn catch_up(
    index: &Index,
    settings: &Settings,
    report: Report,
    cancel: &Cancel,
) -> Result<Missed, Failure> {
    let start = Instant::now();
    let error = match indexing::update(index, report, cancel) {
        Ok(updated) => {
            indexing::report_losses(&updated, settings, report);
            skipped::report_skipped(&updated.skipped_files, settings, report);
            tell_updated(&updated, index, settings, start, report);
            return Ok(Missed::of(updated));
        }
        Err(IndexError::Cancelled) => return Err(Failure::cancelled()),
        Err(error) => error,
    };
    if status(index)?.files == 0 {
        return Err(indexing::failure(&error));
    }
    let why = match &error {
        IndexError::Busy { holder, .. } => indexing::writing(*holder),
        other => indexing::why(other),
    };
    match indexing::behind(index)? {
        Some(behind) => report::warning(&format!("{why}; {behind}")),
        // Only modification times changed, and could not be recorded.
        None => report.detail(&why),
    }
    Ok(Missed::default())
}

fn tell_updated(
    updated: &Updated,
    index: &Index,
    settings: &Settings,
    start: Instant,
    report: Report,
) {
    if updated.files == 0 {
        report::warning(&format!(
            "there are no files with text in {}{}",
            shown(index.root()),
            skipped::skipped_summary(&updated.skipped_files, settings),
        ));
    }
    if updated.changed > 0 {
        report.note(&format!(
            "indexed {} of {} in {:.1} s",
            emit::grouped(updated.changed as u64),
            emit::counted(updated.files as u64, "file"),
            start.elapsed().as_secs_f64(),
        ));
    }
}

fn runtime() -> Result<Runtime, Failure> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build();
    runtime.map_err(|error| {
        Failure::program(format!("failed to start threads: {error}"))
            .with_hint("is the number of processes limited?")
    })
}

/// The sources of an answer.
struct Stores<'s> {
    index: &'s Arc<Index>,
    /// The changes of the repository, if the folder is in one.
    past: Option<Past>,
    /// The hits of another search.
    hits: Option<Arc<Vec<Near>>>,
    resolver: Arc<Resolver>,
    counters: Arc<Counters>,
}

/// A resolver for the files of `index`.
fn resolver(index: &Arc<Index>, secrets: Secrets) -> Result<Arc<Resolver>, Failure> {
    let sources = index.sources().map_err(|it| indexing::failure(&it))?;
    let sources = sources.with_secrets(secrets);
    let resolver = Resolver::new(sources, syntax::Limits::default());
    Ok(Arc::new(resolver.with_index(index.clone())))
}

fn ask(
    runtime: &Runtime,
    stores: &Stores<'_>,
    question: &str,
    retrieve: &retrieve::Options,
    build: &BuildOptions,
    control: &Control,
) -> Result<Answer, Failure> {
    let index = stores.index;
    let mut retriever = Retriever::over(index.clone());
    if let Some(past) = &stores.past {
        retriever = past.add_to(retriever);
    }
    if let Some(hits) = &stores.hits {
        retriever = retriever.with_semantic(hits.clone());
    }
    let service = Service::new(retriever, Arc::clone(&stores.resolver));
    let service = service
        .for_project(index.root())
        .with_counters(Arc::clone(&stores.counters));
    let answer = runtime.block_on(service.answer(question, retrieve, build, control));
    answer.map_err(|error| match error {
        ServiceError::Tokens(error) => error.into(),
        ServiceError::Assemble(error) => error.into(),
        other => Failure::program(format!("failed to {}", error_chain(&other)))
            .with_hint("`ctx index --rebuild` rebuilds the index"),
    })
}

/// Reports what is missing from the answer; `missed` is not searched in its folder.
///
/// # Errors
/// All strategies failed.
fn warn(
    answer: &Answer,
    options: &retrieve::Options,
    (root, missed): (&Path, &Missed),
    report: Report,
) -> Result<(), Failure> {
    let reports = &answer.material.retrieved.reports;
    for it in reports {
        if let Some(why) = &it.failure {
            let strategy = it.strategy.as_str();
            report::warning(&format!(
                "the strategy {strategy} failed: {}",
                why.on_one_line()
            ));
        }
    }
    if !reports.is_empty() && reports.iter().all(|it| it.failure.is_some()) {
        let failure = Failure::program("failed to search: all strategies failed");
        let is_of_index = reports.iter().any(|it| it.strategy != Strategy::Changes);
        return Err(failure.with_hint(if is_of_index {
            "`ctx index --rebuild` rebuilds the index"
        } else {
            "name other strategies, or leave --strategies out"
        }));
    }
    if answer.material.retrieved.found.is_empty() {
        let others = match answer.material.retrieved.left_out {
            0 => String::new(),
            n => format!(
                "; {} {} not of the types {}",
                emit::counted(n as u64, "part"),
                if n == 1 { "is" } else { "are" },
                values::joined(&options.kinds, ", ")
            ),
        };
        let unread = match missed.without_text() {
            0 => String::new(),
            n => format!(
                "; {} without readable text, such as a PDF, not searched",
                emit::counted(n as u64, "file")
            ),
        };
        let then = if user_dirs::is_bare(root) {
            "it is a git repository without a work tree; search a clone, or a work tree made by `git worktree add`"
        } else {
            "try other words, or a name or path that exists (`ctx index --status` shows what is indexed)"
        };
        report::warning(&format!(
            "nothing in {} matches the question{others}{unread}; {then}",
            shown(root)
        ));
    }
    let told = &answer.material.retrieved.warnings;
    for warning in told {
        report::warning(&warning.detail);
    }
    emit::warnings(&answer.built, told, report);
    Ok(())
}

/// Reports which of the shown files were decoded, on standard error and in the receipt.
fn tell_decoded(built: &mut BuiltContext, sources: &Sources, report: Report) {
    let mut files = BTreeMap::new();
    for shown in &built.included {
        let Some(path) = &shown.file_path else {
            continue;
        };
        let what = files.entry(path.clone()).or_insert_with(|| {
            let converted = sources.text(path).ok()?.converted()?;
            Some(conversion(converted.from, converted.replaced))
        });
        let warning = |detail| Warning::new(WarningCode::Decoded, detail).of(&*shown.id);
        built.warnings.extend(what.clone().map(warning));
    }
    let files = files
        .into_iter()
        .filter_map(|(path, what)| Some((path, what?)));
    skipped::report_converted(&files.collect::<Vec<_>>(), report);
}

fn write(
    answer: &Answer,
    findings: &Findings<'_>,
    args: &QueryArgs,
    report: Report,
) -> Result<(), Failure> {
    if args.output.explain {
        report::lines(&findings::table(findings));
    }
    let whole = findings::Whole {
        built: &answer.built,
        retrieval: findings,
    };
    let documents = &answer.material.retrieved.whole;
    emit::result_with(&answer.built, &whole, documents, args.output, report)
}
