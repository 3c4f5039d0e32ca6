//! Formatters and policies of a caller's own, lawful and not.

use std::fmt::Write as _;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};

use ctx_assemble::{
    AssembleError, BudgetError, Claims, Control, Extras, Formatter, Policy, Poll, Problem,
    TokenCounter, assemble_with,
};
use ctx_budget::Item;
use ctx_format::{Block, FormatOptions, Group, Notice, Slot, formatter, neutralise};
use ctx_model::{
    BuildOptions, BuiltContext, Chunk, Format, GroupBy, Omitted, OmittedReason, Selection, Tokens,
};
use ctx_testkit::{generate, laws};
use proptest::prelude::*;

use crate::support::{build, chunk, files, is_sound, options};

/// `[title]`, and the lines of the chunk below it, each behind a bar.
#[derive(Debug)]
struct Bars;

/// Writes the lines of `text` behind bars.
fn bars(text: &str, out: &mut String) {
    for line in neutralise(text, Slot::Text).lines() {
        out.push_str("| ");
        out.push_str(line);
        out.push('\n');
    }
}

impl Formatter for Bars {
    fn open(&self, header: Option<&str>, out: &mut String) {
        bars(header.unwrap_or_default(), out);
    }

    fn open_group(&self, group: &Group<'_>, out: &mut String) {
        if let Group::File(path) = group {
            out.push_str("= ");
            out.push_str(&neutralise(path, Slot::Line));
            out.push('\n');
        }
    }

    fn block(&self, block: &Block<'_>, out: &mut String) {
        out.push('[');
        out.push_str(&neutralise(block.title(), Slot::Line));
        out.push_str("]\n");
        bars(block.body, out);
    }

    fn open_sources(&self, out: &mut String) {
        out.push_str("Sources\n");
    }

    fn source(&self, block: &Block<'_>, out: &mut String) {
        bars(block.title(), out);
    }

    fn notice(&self, notice: &Notice, out: &mut String) {
        let Notice { omitted, total } = notice;
        let _ = writeln!(out, "{omitted} of {total} left out");
    }

    fn close(&self, footer: Option<&str>, out: &mut String) {
        bars(footer.unwrap_or_default(), out);
    }
}

/// How a formatter breaks the rules.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// Pieces neither end their lines nor begin with a visible character.
    Glued,
    /// Each piece is longer than the one before.
    Growing,
    /// Each piece is shorter than the one before.
    Shrinking,
    /// Each piece has so many bytes more than it should.
    Long(usize),
}

/// Another formatter, with a fault.
#[derive(Debug)]
struct Faulty {
    of: Box<dyn Formatter>,
    fault: Fault,
    written: AtomicUsize,
}

impl Faulty {
    fn new(fault: Fault) -> Self {
        Faulty {
            of: formatter(Format::Plain, &FormatOptions::default()).unwrap(),
            fault,
            written: AtomicUsize::new(0),
        }
    }

    fn spoil(&self, write: impl Fn(&mut String), out: &mut String) {
        let start = out.len();
        let written = self.written.fetch_add(1, Ordering::Relaxed);
        match self.fault {
            Fault::Glued => {
                out.push_str("\n \r\n");
                write(out);
                out.truncate(out.trim_end().len().max(start));
            }
            Fault::Growing => {
                write(out);
                out.push_str(&"more ".repeat(written.min(200)));
            }
            Fault::Shrinking => {
                write(out);
                out.push_str(&"less ".repeat(200_usize.saturating_sub(written)));
            }
            Fault::Long(bytes) => {
                write(out);
                out.extend([&"x".repeat(bytes), "\n"]);
            }
        }
    }
}

impl Formatter for Faulty {
    fn format(&self) -> Format {
        self.of.format()
    }

    fn group_of<'b>(&self, block: &Block<'b>) -> Option<Group<'b>> {
        self.of.group_of(block)
    }

    fn fragment(&self, block: &Block<'_>, out: &mut String) {
        self.of.fragment(block, out);
    }

    fn open(&self, header: Option<&str>, out: &mut String) {
        self.spoil(|out| self.of.open(header, out), out);
    }

    fn open_group(&self, group: &Group<'_>, out: &mut String) {
        self.spoil(|out| self.of.open_group(group, out), out);
    }

    fn block(&self, block: &Block<'_>, out: &mut String) {
        self.spoil(|out| self.of.block(block, out), out);
    }

    fn separator(&self, out: &mut String) {
        self.spoil(|out| self.of.separator(out), out);
    }

    fn close_group(&self, group: &Group<'_>, out: &mut String) {
        self.of.close_group(group, out);
    }

    fn close_chunks(&self, out: &mut String) {
        self.of.close_chunks(out);
    }

    fn open_sources(&self, out: &mut String) {
        self.of.open_sources(out);
    }

    fn source(&self, block: &Block<'_>, out: &mut String) {
        self.spoil(|out| self.of.source(block, out), out);
    }

    fn source_separator(&self, out: &mut String) {
        self.of.source_separator(out);
    }

    fn close_sources(&self, out: &mut String) {
        self.of.close_sources(out);
    }

    fn notice(&self, notice: &Notice, out: &mut String) {
        self.spoil(|out| self.of.notice(notice, out), out);
    }

    fn close(&self, footer: Option<&str>, out: &mut String) {
        self.spoil(|out| self.of.close(footer, out), out);
    }
}

/// Takes chunks in the order of relevance, whole or not at all, at most so many.
#[derive(Debug)]
struct First(usize);

impl Policy for First {
    fn choose(
        &self,
        problem: &Problem,
        chunks: &[&Chunk],
        _: &mut dyn FnMut() -> Poll,
    ) -> Vec<Option<usize>> {
        assert_eq!(problem.items.len(), chunks.len());
        let cheapest = |item: usize| {
            let choices = &problem.items[item].choices;
            (0..choices.len()).min_by_key(|&it| choices[it].weight)
        };
        let items = problem.items.iter().enumerate();
        let pinned = items.map(|(at, it)| it.pinned.then(|| cheapest(at)).flatten());
        let mut chosen: Vec<Option<usize>> = pinned.collect();
        let weight = |chosen: &[Option<usize>]| {
            let mut open = vec![false; problem.groups.len()];
            let mut weight = 0;
            for (item, choice) in problem.items.iter().zip(chosen) {
                let Some(choice) = choice else { continue };
                weight += item.choices[*choice].weight;
                if let Some(group) = item.group.map(|it| it as usize)
                    && !std::mem::replace(&mut open[group], true)
                {
                    weight += problem.groups[group];
                }
            }
            weight
        };
        let most = problem.max_items.unwrap_or(usize::MAX).min(self.0);
        for (at, item) in problem.items.iter().enumerate() {
            let may_be = item.cap.is_none_or(|cap| item.choices[0].weight <= cap);
            if chosen[at].is_some() || !may_be || chosen.iter().flatten().count() >= most {
                continue;
            }
            chosen[at] = Some(0);
            if weight(&chosen) > problem.capacity.safe {
                chosen[at] = None;
            }
        }
        chosen
    }
}

/// Finds something else each time: one chunk more, up to all of them.
#[derive(Debug, Default)]
struct Fickle(AtomicUsize);

impl Policy for Fickle {
    fn choose(
        &self,
        problem: &Problem,
        chunks: &[&Chunk],
        poll: &mut dyn FnMut() -> Poll,
    ) -> Vec<Option<usize>> {
        First(self.0.fetch_add(1, Ordering::Relaxed)).choose(problem, chunks, poll)
    }
}

/// Chooses well, and nothing if it is told to finish.
#[derive(Debug)]
struct Unready;

impl Policy for Unready {
    fn choose(
        &self,
        problem: &Problem,
        chunks: &[&Chunk],
        poll: &mut dyn FnMut() -> Poll,
    ) -> Vec<Option<usize>> {
        if poll() == Poll::Finish {
            return Vec::new();
        }
        First(usize::MAX).choose(problem, chunks, poll)
    }
}

/// Shows every item with as few tokens as it can.
#[derive(Debug)]
struct Least;

impl Policy for Least {
    fn choose(
        &self,
        problem: &Problem,
        _: &[&Chunk],
        _: &mut dyn FnMut() -> Poll,
    ) -> Vec<Option<usize>> {
        let least = |item: &Item| (0..item.choices.len()).min_by_key(|&it| item.choices[it].weight);
        problem.items.iter().map(least).collect()
    }
}

/// Chooses the same whatever is allowed.
#[derive(Debug)]
struct Stubborn(Option<usize>);

impl Policy for Stubborn {
    fn choose(
        &self,
        problem: &Problem,
        _: &[&Chunk],
        _: &mut dyn FnMut() -> Poll,
    ) -> Vec<Option<usize>> {
        vec![self.0; problem.items.len()]
    }
}

fn with(
    extras: &Extras<'_>,
    chunks: &[Chunk],
    options: &BuildOptions,
) -> Result<BuiltContext, AssembleError> {
    let counter = ctx_tokens::counter(&options.counter).unwrap();
    assemble_with(chunks, extras, options, &*counter, &Control::default())
}

#[test]
fn a_formatter_of_ones_own_keeps_the_law_and_is_used() {
    laws::formatter(&Bars);
    let extras = Extras::default().with_formatter(&Bars);
    let chunks = [
        chunk("a", 0.9, "one\ntwo").with_path("a.md"),
        chunk("b", 0.2, &"long ".repeat(900)).with_path("b.md"),
    ];
    let options = options(60)
        .with_header(Some("Head".to_owned()))
        .with_sources(true);
    let built = with(&extras, &chunks, &options).unwrap();
    assert_eq!(
        built.context,
        "| Head\n= a.md\n[a.md]\n| one\n| two\nSources\n| a.md\n1 of 2 left out\n"
    );
    assert_eq!(built.format, Format::Plain);
    assert_eq!(built.warnings, []);
    assert!(built.omitted[0].enters_at.is_some());
}

#[test]
fn a_built_in_formatter_given_as_ones_own_changes_nothing() {
    let chunks = files(20);
    let options = options(600).with_selection(Selection::Optimal);
    let markdown = formatter(Format::Markdown, &FormatOptions::from(&options)).unwrap();
    let extras = Extras::default().with_formatter(&*markdown);
    let own = with(&extras, &chunks, &options).unwrap();
    assert_eq!(
        format!("{own:?}"),
        format!("{:?}", build(&chunks, &options))
    );
}

/// A context of pinned chunks takes the smallest budget that a refusal names, to the token.
#[test]
fn a_formatter_that_groups_otherwise_shows_each_file_and_weighs_what_was_priced() {
    let mut chunks = files(6);
    chunks.push(chunk("more", 0.4, "fn more() {}\n").with_path("src/file2.rs"));
    for chunk in &mut chunks {
        chunk.pinned = true;
    }
    let groupings = [GroupBy::None, GroupBy::File, GroupBy::Kind];
    for format in Format::ALL {
        for number in 0..groupings.len().pow(2) {
            let (own, of_document) = (groupings[number / 3], groupings[number % 3]);
            let what = format!("{format} by {own}, and the document by {of_document}");
            let options = options(1).with_group_by(of_document).with_sources(false);
            let own = FormatOptions::from(&options).with_group_by(own);
            let own = formatter(format, &own).unwrap();
            let extras = Extras::default().with_formatter(&*own);
            let smallest = match with(&extras, &chunks, &options) {
                Err(AssembleError::Budget(BudgetError::TooSmall { smallest, .. })) => smallest,
                other => panic!("{what}: {other:?}"),
            };
            let built = with(&extras, &chunks, &options.with_max_tokens(smallest)).unwrap();
            assert_eq!(built.tokens.total, smallest, "{what}: {}", built.context);
            for number in 0..6 {
                let path = format!("src/file{number}.rs");
                assert!(built.context.contains(&path), "{what}: {}", built.context);
            }
        }
    }
}

#[test]
fn a_format_whose_pieces_do_not_join_safely_is_warned_of() {
    let faulty = Faulty::new(Fault::Glued);
    let extras = Extras::default().with_formatter(&faulty);
    let built = with(&extras, &files(20), &options(600)).unwrap();
    let warned = built.warnings.iter().find(|it| it.code == "unsafe_joint");
    assert!(warned.unwrap().detail.starts_with("pieces of the format"));
}

/// Counts nothing.
struct Nothing;

impl TokenCounter for Nothing {
    fn count(&self, _: &str) -> Tokens {
        Tokens::ZERO
    }
}

#[test]
fn a_context_of_very_many_bytes_is_refused_however_few_its_tokens() {
    let refused = |extras: &Extras<'_>, chunks: &[Chunk], options: &BuildOptions| {
        let built = assemble_with(chunks, extras, options, &Nothing, &Control::default());
        match built {
            Err(AssembleError::TooLong { option, bytes, .. }) => {
                assert!(bytes > 256 << 20, "{bytes}");
                option
            }
            other => panic!("{:?}", other.map(|it| it.context.len())),
        }
    };
    let long = Faulty::new(Fault::Long(40 << 20));
    let extras = Extras::default().with_formatter(&long);
    assert_eq!(refused(&extras, &files(5), &options(100)), "maxTokens");
    // What is not seen is written as an escape.
    let separator = "\u{200b}".repeat(BuildOptions::LONGEST_SEPARATOR);
    let chunks: Vec<Chunk> = (0..50_000)
        .map(|number| chunk(&number.to_string(), 0.5, &number.to_string()))
        .collect();
    let options = options(100).with_chunk_separator(Some(separator));
    let refused = refused(&Extras::default(), &chunks, &options);
    assert_eq!(refused, "chunkSeparator");
}

#[test]
fn a_lawful_policy_passes_the_laws_and_others_do_not() {
    for most in [0, 3, usize::MAX] {
        laws::policy(&First(most));
    }
    let broken: [(&str, Box<dyn Policy>); 5] = [
        ("leaves out a pinned item", Box::new(Stubborn(None))),
        ("is too heavy", Box::new(Stubborn(Some(0)))),
        (
            "does not belong to the problem",
            Box::new(Stubborn(Some(7))),
        ),
        ("another selection", Box::<Fickle>::default()),
        ("when it is to Finish", Box::new(Unready)),
    ];
    for (what, policy) in broken {
        let checked = panic::catch_unwind(AssertUnwindSafe(|| laws::policy(&*policy)));
        let refusal = checked.expect_err(what);
        let refusal = refusal.downcast_ref::<String>().unwrap();
        assert!(refusal.contains(what), "{what}: {refusal}");
    }
}

#[test]
fn a_policy_of_ones_own_decides_though_everything_would_fit() {
    let policy = First(3);
    let extras = Extras::default().with_policy(&policy);
    let built = with(&extras, &files(20), &options(100_000)).unwrap();
    let ids: Vec<&str> = built.included.iter().map(|it| &*it.id).collect();
    assert_eq!(ids, ["id0", "id1", "id2"]);
    let is_declined = |it: &Omitted| it.reason == OmittedReason::NotChosen;
    assert!(built.omitted.iter().all(is_declined), "{:?}", built.omitted);
    assert!(!built.was_truncated, "there was room for all");
    let certificate = built.certificate;
    assert!(certificate.gap > 0.5, "{certificate:?}");
}

/// A claim that is granted is a pin, and claims are dropped where nothing can be chosen beside
/// them.
#[test]
fn a_selection_without_what_was_granted_is_refused() {
    let claims = Claims::new(vec!["id4".to_owned()], 0.5);
    let policy = Stubborn(None);
    let extras = Extras::default().with_claims(&claims).with_policy(&policy);
    let built = with(&extras, &files(9), &options(500));
    assert!(
        matches!(
            built,
            Err(AssembleError::Budget(BudgetError::Selection { .. }))
        ),
        "{built:?}"
    );
}

#[test]
fn a_selection_that_is_not_allowed_is_refused() {
    let mut chunks = files(9);
    chunks[4].pinned = true;
    for (chosen, max_tokens, what) in [
        (None, 500, "leaves out a pinned item"),
        (Some(0), 200, "is too heavy"),
        (Some(7), 500, "does not belong to the problem"),
    ] {
        let policy = Stubborn(chosen);
        let extras = Extras::default().with_policy(&policy);
        match with(&extras, &chunks, &options(max_tokens)) {
            Err(AssembleError::Budget(BudgetError::Selection { what: why })) => {
                assert_eq!(why, what);
            }
            other => panic!("{other:?}"),
        }
    }
    let policy = Stubborn(Some(0));
    let extras = Extras::default().with_policy(&policy);
    let few = options(5_000).with_max_chunks(Some(3));
    let refused = with(&extras, &chunks, &few).unwrap_err().to_string();
    assert_eq!(refused, "the policy's selection has too many items");
    let capped = options(200).with_caps(true).with_relevance_power(8);
    assert!(with(&extras, &chunks, &capped).is_err());
}

fn faults() -> impl Strategy<Value = Fault> {
    prop::sample::select(vec![Fault::Glued, Fault::Growing, Fault::Shrinking])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn lawful_formatters_and_policies_keep_all_that_is_promised(
        chunks in generate::chunks(0..12),
        options in generate::options(),
        group_by in prop::sample::select(vec![GroupBy::None, GroupBy::File, GroupBy::Kind]),
        most in 0..12_usize,
    ) {
        let policy = First(most);
        let counter = ctx_tokens::counter(&options.counter).unwrap();
        let other = FormatOptions::from(&options).with_group_by(group_by);
        let other = formatter(options.format, &other.with_separator(None)).unwrap();
        for extras in [
            Extras::default().with_formatter(&Bars),
            Extras::default().with_formatter(&*other),
            Extras::default().with_policy(&policy),
            Extras::default().with_formatter(&Bars).with_policy(&policy),
        ] {
            match with(&extras, &chunks, &options) {
                Ok(built) => is_sound(&chunks, &options, &*counter, &built),
                Err(AssembleError::Budget(BudgetError::TooSmall { smallest, .. })) => {
                    let enough = options.clone().with_max_tokens(smallest);
                    prop_assert!(smallest == Tokens::MAX || with(&extras, &chunks, &enough).is_ok());
                }
                Err(AssembleError::Budget(BudgetError::TooManyPins { .. }) | AssembleError::Format(_)) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }

    #[test]
    fn what_a_policy_leaves_out_though_there_is_room_is_not_over_the_budget(
        (_, chunks) in generate::chunks_of_files(),
        options in generate::options(),
        most in 0..12_usize,
    ) {
        let options = options
            .with_caps(false)
            .with_max_chunks(None)
            .with_reserve(Tokens::ZERO)
            .with_max_tokens(Tokens::new(10_000_000));
        let first = First(most);
        for policy in [&first as &dyn Policy, &Least] {
            let Ok(built) = with(&Extras::default().with_policy(policy), &chunks, &options) else {
                return Ok(());
            };
            let is_over = |it: &&Omitted| it.reason == OmittedReason::OverBudget;
            prop_assert_eq!(built.omitted.iter().find(is_over), None);
        }
    }

    #[test]
    fn a_formatter_that_breaks_the_rules_never_exceeds_the_budget(
        chunks in generate::chunks(0..12),
        options in generate::options(),
        fault in faults(),
        max_tokens in prop_oneof![0..3_000_u32, Just(1_000_000)],
    ) {
        let faulty = Faulty::new(fault);
        let extras = Extras::default().with_formatter(&faulty);
        let options = options.with_max_tokens(Tokens::new(max_tokens));
        let counter = ctx_tokens::counter(&options.counter).unwrap();
        match with(&extras, &chunks, &options) {
            Ok(built) => is_sound(&chunks, &options, &*counter, &built),
            Err(AssembleError::Budget(_) | AssembleError::Format(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
}
