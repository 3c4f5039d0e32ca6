//! Whether the parts of a receipt agree with each other, and with the notice in its context.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use ctx::assemble::is_citation_id;
use ctx::format::{FormatOptions, Notice, formatter, parse_known};
use ctx::model::{BuiltContext, Format, Omitted, OmittedReason, Tokens};

use super::{Check, Shown};
use crate::emit;

/// Sums of the same floating-point numbers in another order differ by less.
const ROUNDING: f64 = 1e-9;
/// Blocks state relevance to a hundredth.
const HUNDREDTH: f64 = 0.005;

/// All of these checks. `shown` are the blocks, if they match the receipt.
pub(super) fn agrees(receipt: &BuiltContext, shown: Option<&[Shown<'_>]>) -> Check {
    let mut failures = Vec::new();
    citations(receipt, &mut failures);
    omissions(receipt, &mut failures);
    certificate(receipt, &mut failures);
    files(receipt, &mut failures);
    if let Some(shown) = shown {
        relevance(receipt, shown, &mut failures);
        notice(receipt, shown, &mut failures);
    }
    Check::new("receipt", "its parts agree".to_owned(), failures)
}

/// Each block has a citation of its own, and each citation refers to something that is shown.
fn citations(receipt: &BuiltContext, failures: &mut Vec<String>) {
    let mut own = BTreeMap::new();
    for (number, included) in receipt.included.iter().enumerate() {
        if let Some(before) = own.insert(&*included.citation, number) {
            failures.push(format!(
                "included[{number}].citation is that of included[{before}]"
            ));
        }
    }
    let is_merged = |it: &&Omitted| it.reason == OmittedReason::MergedInto;
    let merged = receipt.omitted.iter().filter(is_merged).map(|it| &*it.id);
    let included = receipt.included.iter().map(|it| &*it.id);
    let shown: BTreeSet<&str> = included.chain(merged).collect();
    let mut seen = BTreeSet::new();
    for (number, citation) in receipt.citations.iter().enumerate() {
        let mut fail =
            |why: &str| failures.push(format!("citations[{number}] ({}): {why}", citation.id));
        if !seen.insert(&*citation.id) {
            fail("its id is not unique");
        }
        if !is_citation_id(citation) {
            fail("its id does not match its source, lines and hash");
        }
        if !shown.contains(&*citation.chunk_id) {
            fail("its chunk is not shown");
        }
        if citation
            .file_path
            .as_ref()
            .is_some_and(|path| *path != citation.source)
        {
            fail("its source is not its file");
        }
    }
}

/// The chunk that stands for an omitted one exists, and is named where there must be one.
fn omissions(receipt: &BuiltContext, failures: &mut Vec<String>) {
    let included: BTreeSet<&str> = receipt.included.iter().map(|it| &*it.id).collect();
    let known: BTreeSet<&str> = receipt.omitted.iter().map(|it| &*it.id).collect();
    for (number, omitted) in receipt.omitted.iter().enumerate() {
        let mut fail =
            |why: &str| failures.push(format!("omitted[{number}] ({}): {why}", omitted.id));
        let is_there = |other: &str| included.contains(other) || known.contains(other);
        match (omitted.reason, omitted.other.as_deref()) {
            (OmittedReason::MergedInto, Some(other)) if !included.contains(other) => {
                fail("the chunk that it is merged into is not shown");
            }
            (OmittedReason::DuplicateOf | OmittedReason::NearDuplicateOf, Some(other))
                if !is_there(other) =>
            {
                fail("the chunk that it is a duplicate of does not exist");
            }
            (reason, other) => match (has_other(reason), other) {
                (true, None) => fail("the chunk that is shown instead is not named"),
                (false, Some(_)) => fail("no other chunk may be named for this reason"),
                _ => {}
            },
        }
        if omitted.enters_at.is_some() && omitted.reason != OmittedReason::OverBudget {
            fail("there is no budget at which it would enter");
        }
    }
    if !receipt.was_truncated && receipt.omitted.iter().any(has_no_room) {
        failures
            .push("wasTruncated is false, but chunks were left out for lack of room".to_owned());
    }
}

/// Whether another chunk is shown instead of one omitted for this reason.
fn has_other(reason: OmittedReason) -> bool {
    matches!(
        reason,
        OmittedReason::MergedInto | OmittedReason::DuplicateOf | OmittedReason::NearDuplicateOf
    )
}

fn has_no_room(omitted: &Omitted) -> bool {
    matches!(
        omitted.reason,
        OmittedReason::OverBudget | OmittedReason::MaxChunks
    )
}

/// The value is that of the shown chunks, and the gap is that between it and the bound.
fn certificate(receipt: &BuiltContext, failures: &mut Vec<String>) {
    let told = receipt.certificate;
    let sum: f64 = receipt.included.iter().map(|it| it.value).sum();
    let value = told.value;
    if (value - sum).abs() > ROUNDING * sum.abs().max(1.0) {
        failures.push(format!(
            "certificate.value is {value}, but the values of the chunks add up to {sum}"
        ));
    }
    if told.upper_bound < told.value - ROUNDING * told.value.abs() {
        failures.push("certificate.upperBound is below certificate.value".to_owned());
    }
    let gap = if told.upper_bound > 0.0 {
        (told.upper_bound - told.value) / told.upper_bound
    } else {
        0.0
    };
    if (gap - told.gap).abs() > ROUNDING {
        let told = told.gap;
        failures.push(format!(
            "certificate.gap is {told}, but the value and the bound give {gap}"
        ));
    }
}

/// The files are those of the shown chunks, each once.
fn files(receipt: &BuiltContext, failures: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    let paths = receipt
        .included
        .iter()
        .filter_map(|it| it.file_path.as_deref());
    let wanted: Vec<&str> = paths.filter(|path| seen.insert(*path)).collect();
    if receipt.files != wanted {
        failures
            .push("files does not list the files of the shown chunks in their order".to_owned());
    }
}

/// The mean relevance, if the blocks state their own.
fn relevance(receipt: &BuiltContext, shown: &[Shown<'_>], failures: &mut Vec<String>) {
    let told = receipt.average_relevance;
    let mut sum = 0.0;
    let mut count = 0_u32;
    for relevance in shown.iter().filter_map(|it| it.block.relevance) {
        sum += relevance;
        count += 1;
    }
    let mean = sum / f64::from(count.max(1));
    let is_told = usize::try_from(count).is_ok_and(|count| count == shown.len());
    let is_wrong = is_told && (mean - told).abs() > HUNDREDTH + ROUNDING;
    if is_wrong || !(0.0..=1.0).contains(&told) {
        failures.push(format!(
            "averageRelevance is {told}, but that of the blocks is {mean}"
        ));
    }
}

/// The notice states as many chunks as the receipt.
fn notice(receipt: &BuiltContext, shown: &[Shown<'_>], failures: &mut Vec<String>) {
    let count = |is_so: &dyn Fn(OmittedReason) -> bool| {
        receipt.omitted.iter().filter(|it| is_so(it.reason)).count()
    };
    let is_missing = |it| {
        matches!(
            it,
            OmittedReason::OverBudget
                | OmittedReason::MaxChunks
                | OmittedReason::NotChosen
                | OmittedReason::BelowMinRelevance
                | OmittedReason::NearDuplicateOf
        )
    };
    let (missing, twins) = (
        count(&is_missing),
        count(&|it| it == OmittedReason::DuplicateOf),
    );
    let ids = emit::shown(receipt);
    let is_lost = |it: &&Omitted| {
        let is_twin = it.reason == OmittedReason::DuplicateOf;
        is_twin && !ids.contains(&*it.id)
    };
    let lost = receipt.omitted.iter().filter(is_lost).count();
    let merged = count(&|it| it == OmittedReason::MergedInto);
    // Some chunks are merged, and some are left out as duplicates or for other reasons before the
    // context is built: the notice counts none of these.
    let least = shown.len() + missing;
    let totals = least..=least + twins + merged;
    // Earlier notices did not count duplicates of chunks that are not shown.
    let missing = BTreeSet::from([missing + lost, missing]);
    let told = missing.iter().filter(|&&it| it > 0);
    if told
        .into_iter()
        .any(|&it| says_one_of(receipt, it, totals.clone()))
    {
        return;
    }
    if shown.is_empty() && matches!(receipt.format, Format::Markdown | Format::Plain) {
        // The caller's own text may look like a notice; but if nothing is shown, only the notice
        // itself counts in `tokens.notices`.
        if receipt.tokens.notices > Tokens::ZERO {
            failures.push(format!(
                "the context states that chunks were left out, but not that {} of {} were",
                missing.last().unwrap_or(&0),
                totals.end()
            ));
        }
        return;
    }
    if let Some(Notice { omitted, total }) = parsed_notice(receipt, shown)
        && !(missing.contains(&omitted) && totals.contains(&total))
    {
        failures.push(format!(
            "the context says that {omitted} of {total} chunks were left out, the receipt lists {} of {}",
            missing.last().unwrap_or(&0),
            totals.end()
        ));
    }
}

/// The notice of the context, which follows the blocks that are `shown`.
fn parsed_notice(receipt: &BuiltContext, shown: &[Shown<'_>]) -> Option<Notice> {
    let mut blocks = shown.iter().map(|it| &it.block);
    let without_head = |it: &ctx::format::ParsedBlock| {
        let mut bare = it.without_head();
        bare.forget_own_id();
        bare
    };
    let mut is_next = |block: &ctx::format::ParsedBlock| {
        let mut rest = blocks.clone();
        // If the caller's own text looks like a heading, the blocks have none.
        let is_it = rest.next().is_some_and(|it| {
            it == block || it.body == block.body && without_head(it) == without_head(block)
        });
        if is_it {
            blocks = rest;
        }
        is_it
    };
    let parsed = parse_known(receipt.format, &receipt.context, shown.len(), &mut is_next);
    parsed.ok().and_then(|it| it.notice)
}

/// Whether a line of the context is the notice that `omitted` chunks of one of `totals` were left
/// out. O(context + totals).
fn says_one_of(receipt: &BuiltContext, omitted: usize, mut totals: RangeInclusive<usize>) -> bool {
    if !matches!(receipt.format, Format::Markdown | Format::Plain) {
        return false;
    }
    let Ok(formatter) = formatter(receipt.format, &FormatOptions::default()) else {
        return false;
    };
    let lines: BTreeSet<&str> = receipt.context.split('\n').collect();
    totals.any(|total| {
        let mut text = String::new();
        formatter.notice(&Notice { omitted, total }, &mut text);
        lines.contains(text.trim_matches('\n'))
    })
}
