//! `ctx tokens`: the token counts of files, added up by folder.

use std::io::Write as _;

use ctx::assemble::Cancel;
use ctx::model::Exactness;
use serde::Serialize;

use crate::args::TokensArgs;
use crate::emit::{self, exactness, grouped};
use crate::failure::Failure;
use crate::options::counters;
use crate::progress::Progress;
use crate::read::{Content, read_each};
use crate::report::{Report, clean};
use crate::skipped;
use crate::tree::{Entries, Tree};
use crate::walk::{Skipped, walk};

/// The answer as one JSON value.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Wire<'a> {
    counter: &'a str,
    exactness: Exactness,
    tokens: u64,
    files: u64,
    entries: Entries<'a>,
    skipped: Vec<SkippedWire<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SkippedWire<'a> {
    path: &'a str,
    reason: &'static str,
    detail: &'a str,
}

/// Runs the verb.
///
/// # Errors
/// Any of those in the list of exit codes except the budget's.
pub(crate) fn run(args: &TokensArgs, report: Report, cancel: &Cancel) -> Result<(), Failure> {
    let counter = counters().get(&args.counter)?;
    let walked = walk(&args.files.paths, cancel)?;
    let limit = args.files.max_file_size;
    let answers = read_each(
        &walked,
        limit,
        args.files.secrets.secrets(),
        cancel,
        &Progress::start("counting", walked.files.len(), report),
        |_, content| match content {
            Content::Text {
                text, converted, ..
            } => Ok((u64::from(counter.count(&text).get()), converted)),
            Content::Skipped(skipped) => Err(skipped),
        },
    )?;
    let mut skipped = walked.skipped;
    let mut converted = Vec::new();
    let mut counts = Vec::with_capacity(answers.len());
    for (file, count) in walked.files.into_iter().zip(answers) {
        match count {
            Ok((tokens, conversion)) => {
                converted.extend(conversion.map(|what| (file.shown.clone(), what)));
                counts.push((file.shown, tokens));
            }
            Err(passed_over) => skipped.push(passed_over),
        }
    }
    let tree = Tree::new(counts);
    let depth = args.depth.unwrap_or(usize::MAX);
    skipped::report_faults(&walked.faults);
    skipped::report(&skipped, report);
    skipped::report_converted(&converted, report);
    if args.json {
        let top = tree.top();
        emit::json(&Wire {
            counter: counter.name(),
            exactness: counter.exactness(),
            tokens: top.tokens,
            files: top.files,
            entries: tree.entries(depth),
            skipped: skipped.iter().map(wire).collect(),
        })
    } else {
        print(&tree, depth)?;
        let files = tree.top().files;
        report.note(&format!(
            "{} {}, counted by {} ({})",
            grouped(files),
            if files == 1 { "file" } else { "files" },
            counter.name(),
            exactness(counter.exactness()),
        ));
        Ok(())
    }
}

fn wire(skipped: &Skipped) -> SkippedWire<'_> {
    SkippedWire {
        path: &skipped.shown,
        reason: skipped.reason.code(),
        detail: &skipped.detail,
    }
}

/// Prints the tree as lines; a single file needs no total above it.
fn print(tree: &Tree, depth: usize) -> Result<(), Failure> {
    let width = grouped(tree.top().tokens).len();
    let lone = tree.top().files == 1 && depth > 0;
    emit::write(|out| {
        for (level, node) in tree.rows(if lone { usize::MAX } else { depth }) {
            let tokens = grouped(node.tokens);
            if !lone {
                writeln!(
                    out,
                    "{tokens:>width$}  {:indent$}{}",
                    "",
                    clean(&node.label()),
                    indent = 2 * level
                )?;
            } else if !node.is_folder {
                writeln!(out, "{tokens}  {}", clean(&node.path))?;
            }
        }
        Ok(())
    })
}
