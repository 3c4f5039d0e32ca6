//! The page about indexing and searching a million lines.

use super::figures::{bytes, digits, time};
use super::goals::searching;
use super::report::{head, push, push_foot};
use super::search::{Asked, Figures, Indexed, Processes, Spread};

const LEFT_OUT: &str = "\
* The questions are made of the corpus, one in four of each kind, and are no users'. Each is timed the first time it is asked, after
  others, with files in the page cache. Memory of an index is the largest resident set of a whole process.
* The corpus has no git history, so the strategy `changes` does not run, and the index keeps no commits: in a repository, both take more.
* Bare tantivy keeps the words between spaces of whole files; it knows nothing of parts, names, stems or positions in files.
";

/// The whole page, as Markdown.
pub(super) fn page(command: &str, figures: &Figures, machine: &str) -> String {
    let title = "A million lines, indexed and asked";
    let mut page = head(title, command, machine, &searching(figures));
    write(&mut page, figures);
    push_foot(&mut page, LEFT_OUT);
    page
}

fn write(page: &mut String, figures: &Figures) {
    let corpus = &figures.corpus;
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let size = bytes(corpus.bytes as f64);
    push(
        page,
        format_args!(
            "\n## Figures\n\nThe Rust, Markdown and TOML files of at most 512 KiB of the dependencies of this workspace, \
             in the versions of its `Cargo.lock`, crate by crate by their names, until there are a million lines: {} files, {} \
             lines, {size}. Nothing is generated or repeated.\n",
            corpus.files, corpus.lines
        ),
    );
    if let Some(indexed) = &figures.indexed {
        write_indexed(page, indexed);
    }
    if let Some(asked) = &figures.asked {
        write_asked(page, asked);
    }
    if let Some(processes) = &figures.processes {
        write_processes(page, processes);
    }
}

fn write_indexed(page: &mut String, it: &Indexed) {
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let (files, source, size) = (
        it.files as f64,
        it.source_bytes as f64,
        it.index_bytes as f64,
    );
    push(
        page,
        format_args!(
            "\nOf these {} files of {} lines, {}, are indexed (the others are empty, generated or copies), as {} parts; the index has \
             {}, {} × the source. Bare tantivy gets the same files, one document each, its words between spaces. Median of {} \
             rounds, taking turns, with {} cores.\n\n| what | wall time | files/s | against bare |\n|---|--:|--:|--:|\n",
            it.files,
            it.lines,
            bytes(source),
            it.parts,
            bytes(size),
            digits(size / source),
            it.rounds,
            it.threads,
        ),
    );
    let several = format!("bare tantivy, {} threads", it.threads);
    for (what, seconds) in [
        ("ctx, from nothing", it.cold),
        (several.as_str(), it.bare),
        ("bare tantivy, 1 thread", it.bare_alone),
    ] {
        push(
            page,
            format_args!(
                "| {what} | {} | {} | {} × |\n",
                time(seconds * 1e9),
                digits(files / seconds),
                digits(seconds / it.bare)
            ),
        );
    }
    for (what, seconds) in [
        ("ctx, where nothing changed", it.unchanged),
        ("ctx, where one file changed", it.changed),
    ] {
        push(
            page,
            format_args!("| {what} | {} | | |\n", time(seconds * 1e9)),
        );
    }
}

fn write_asked(page: &mut String, it: &Asked) {
    push(
        page,
        format_args!(
            "\n{} questions made of the corpus, to contexts of 8,000 tokens of `o200k_base` in one process: {} had something to show. \
             Of so many of a hundred the time is at most:\n\n| | 50 | 90 | 99 | all |\n|---|--:|--:|--:|--:|\n",
            it.questions, it.answered
        ),
    );
    write_spread(page, "each for the first time", &it.first);
    for (kind, spread) in &it.kinds {
        write_spread(page, &format!("… {kind}"), spread);
    }
    for (stage, spread) in &it.stages {
        write_spread(page, &format!("… {stage}"), spread);
    }
    write_spread(page, "all once more", &it.again);
    if let Some(processor) = it.processor {
        push(
            page,
            format_args!(
                "\nA question takes {} of processor time in the mean.\n",
                time(processor)
            ),
        );
    }
}

fn write_spread(page: &mut String, what: &str, it: &Spread) {
    let [half, ninety, ninety_nine, most] = [it.half, it.ninety, it.ninety_nine, it.most].map(time);
    push(
        page,
        format_args!("| {what} | {half} | {ninety} | {ninety_nine} | {most} |\n"),
    );
}

fn write_processes(page: &mut String, it: &Processes) {
    let peak = |it: Option<f64>| it.map_or_else(|| "an unmeasured amount".to_owned(), bytes);
    push(
        page,
        format_args!(
            "\nWhole processes: `ctx index --rebuild` takes {} of memory at its peak. `ctx query`, which looks for changes first and \
             verifies every checksum of the index, answers in {} from start to end (median of {}), and takes {} at most.\n",
            peak(it.index_peak),
            time(it.query),
            it.queries,
            peak(it.query_peak)
        ),
    );
}
