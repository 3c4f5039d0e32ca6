//! `ctx assemble`: chunks in, one context out.

use std::collections::BTreeSet;
use std::io::{self, BufReader, IsTerminal as _};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ctx::assemble::{AssembleError, Cancel, Control, TokenCounter, assemble_each_line_once};
use ctx::model::{BuildOptions, BuiltContext, Chunk, Warning, WarningCode, error_chain};
use ctx::resolve::{Overlaps, Resolved, Resolver, mask};
use ctx::source::{self, Root, Secrets, Sources};
use ctx::syntax;

use crate::args::AssembleArgs;
use crate::bounded::{Bounded, CONTEXT};
use crate::emit;
use crate::failure::Failure;
use crate::input::{self, Input, Texts};
use crate::interrupt::Stdin;
use crate::options::counters;
use crate::progress::Progress;
use crate::report::{self, Report};
use crate::walk::{cause, shown};

/// Runs the verb.
///
/// # Errors
/// Any of those in the list of exit codes.
pub(crate) fn run(args: &AssembleArgs, report: Report, cancel: &Cancel) -> Result<(), Failure> {
    let Input {
        chunks,
        mut options,
    } = read(
        args.input.as_deref(),
        if args.root.is_some() {
            Texts::InFiles
        } else {
            Texts::Given
        },
    )?;
    if chunks.is_empty() {
        report::warning("the input holds no chunks");
    }
    args.options.apply(&mut options)?;
    options.explain |= args.output.explain;
    let secrets = args.secrets.secrets();
    let mut resolved = Resolved::default();
    if let Some(root) = &args.root {
        resolved = resolve_below(root, chunks, args.context_lines, secrets, report)?;
    } else {
        resolved.chunks = chunks;
        if secrets == Secrets::Masked {
            let masked = resolved.chunks.iter_mut().filter_map(mask);
            resolved.warnings.extend(masked);
        }
    }
    let deadline = args.options.deadline();
    let how: How = if args.root.is_some() {
        assemble_each_line_once
    } else {
        ctx::assemble::assemble
    };
    let mut built = build_by(how, &resolved.chunks, &options, deadline, report, cancel)?;
    let count = |is_of_it: &dyn Fn(&&Warning) -> bool| {
        let its = resolved.warnings.iter().filter(is_of_it);
        its.map(|it| &it.id).collect::<BTreeSet<_>>().len()
    };
    let is_unverified = |it: &&Warning| it.code == WarningCode::Unverified;
    match count(&is_unverified) {
        0 => {}
        1 => report::warning("1 chunk could not be compared with its file (-v says why)"),
        n => report::warning(&format!(
            "{n} chunks could not be compared with their files (-v says why)"
        )),
    }
    let is_other = |it: &&Warning| !emit::is_masked(it) && !is_unverified(it);
    match count(&is_other) {
        0 => {}
        1 => report::warning("1 chunk does not match its file (-v says why)"),
        n => report::warning(&format!(
            "{n} chunks do not match their files (-v says why)"
        )),
    }
    built.omitted.extend(resolved.omitted);
    built.warnings.extend(resolved.warnings);
    emit::warnings(&built, &[], report);
    emit::result(&built, args.output, report)
}

/// Gives the chunks the text of the files below `root`.
fn resolve_below(
    root: &Path,
    chunks: Vec<Chunk>,
    context_lines: u32,
    secrets: Secrets,
    report: Report,
) -> Result<Resolved, Failure> {
    let root = Root::open(root).map_err(|error| {
        Failure::input(error_chain(&error))
            .with_hint("give the folder that the paths of the chunks are relative to")
    })?;
    let _progress = Progress::start("resolving", 0, report);
    let sources = Sources::new(root, source::Limits::default()).with_secrets(secrets);
    let resolver = Resolver::new(sources, syntax::Limits::default());
    let resolver = resolver.with_context_lines(context_lines);
    Ok(resolver.with_overlaps(Overlaps::Merged).resolve(chunks))
}

fn read(path: Option<&Path>, texts: Texts) -> Result<Input, Failure> {
    match path.filter(|path| *path != Path::new("-")) {
        Some(path) => {
            let name = shown(path);
            let file = Bounded::open(path, CONTEXT)
                .map_err(|error| input::unreadable(&name, error.kind(), &cause(path, &error)))?;
            input::read(BufReader::with_capacity(1 << 16, file), &name, texts)
        }
        None if path.is_none() && io::stdin().is_terminal() => Err(Failure::usage(
            "there is nothing to read: standard input is a terminal",
        )
        .with_hint("give a FILE, pipe chunks in, or give - to type them")),
        None => {
            let stdin = BufReader::with_capacity(1 << 16, Bounded::new(Stdin::lock(), CONTEXT));
            input::read(stdin, "<stdin>", texts)
        }
    }
}

/// The function that assembles chunks.
type How =
    fn(&[Chunk], &BuildOptions, &dyn TokenCounter, &Control) -> Result<BuiltContext, AssembleError>;

/// Assembles `chunks` with the counter that `options` name. After `deadline`, the best selection so
/// far is used.
///
/// # Errors
/// Those of [`ctx::assemble::assemble`], each with a hint.
pub(crate) fn build(
    chunks: &[Chunk],
    options: &BuildOptions,
    deadline: Option<Duration>,
    report: Report,
    cancel: &Cancel,
) -> Result<BuiltContext, Failure> {
    let how = ctx::assemble::assemble;
    build_by(how, chunks, options, deadline, report, cancel)
}

fn build_by(
    how: How,
    chunks: &[Chunk],
    options: &BuildOptions,
    deadline: Option<Duration>,
    report: Report,
    cancel: &Cancel,
) -> Result<BuiltContext, Failure> {
    let _progress = Progress::start("assembling", 0, report);
    let counter = counters().get(&options.counter)?;
    let start = Instant::now();
    let control = Control::default()
        .with_cancel(cancel.clone())
        .with_clock(Arc::new(move || start.elapsed()))
        .with_deadline(deadline);
    let built = how(chunks, options, &counter, &control);
    if cancel.is_cancelled() {
        return Err(Failure::cancelled());
    }
    built.map_err(|error| match error {
        AssembleError::DuplicateId { id } => duplicate(chunks, &id),
        other => other.into(),
    })
}

/// Reports which two chunks have the same id.
fn duplicate(chunks: &[Chunk], id: &str) -> Failure {
    let places: Vec<_> = chunks
        .iter()
        .zip(1_usize..)
        .filter(|(chunk, _)| chunk.id == id)
        .map(|(_, number)| number.to_string())
        .take(5)
        .collect();
    Failure::input(format_args!(
        "chunks {} all have the id {id:?}",
        places.join(", ")
    ))
    .with_hint("give each chunk a unique id: the receipt names chunks by it")
}
