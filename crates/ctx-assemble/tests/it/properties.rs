//! The invariants, over generated chunks, options, formats and counters, ordinary and hostile.

use std::cell::Cell;
use std::collections::BTreeMap;

use ctx_assemble::{Control, assemble};
use ctx_model::{
    BuildOptions, BuiltContext, Chunk, CounterName, Format, Omitted, OmittedReason, Previous,
    Relevance, Selection, Tokens, Warning, lines,
};
use ctx_testkit::generate;
use ctx_testkit::laws::contexts::{build, counter_of, is_justified, is_sound, reads_back};
use ctx_tokens::CachedCounter;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestRunner;

/// So much of `first` is the beginning of `next` as is told.
fn keeps_what_it_says(first: &BuiltContext, next: &BuiltContext) {
    let shared = next.shared_prefix.as_ref().expect("its text is known");
    let bytes = shared.bytes;
    let (before, now) = (first.context.as_bytes(), next.context.as_bytes());
    assert_eq!(before[..bytes], now[..bytes]);
    assert!(before.len() == bytes || now.len() == bytes || before[bytes] != now[bytes]);
    assert!(shared.tokens <= next.tokens.total);
}

/// Of any kind, or such as meet.
fn any_chunks() -> impl Strategy<Value = Vec<Chunk>> {
    prop_oneof![
        2 => generate::chunks(0..16),
        1 => generate::chunks_of_files().prop_map(|(_, chunks)| chunks),
    ]
}

/// Chunks that have text and no blank lines: these stand in many places, and lose their ends.
fn chunks_without_blank_lines() -> impl Strategy<Value = Vec<Chunk>> {
    let of_any_kind = generate::chunks(2..16).prop_map(|mut chunks| {
        for chunk in &mut chunks {
            chunk.content = generate::without_blank_lines(&chunk.content);
        }
        chunks
    });
    prop_oneof![
        2 => of_any_kind,
        1 => generate::chunks_of_files_without_blank_lines().prop_map(|(_, chunks)| chunks),
    ]
}

/// `options` by which blocks tell their lines: Markdown and plain text do so below the heading of a
/// file.
fn telling_lines(options: BuildOptions) -> BuildOptions {
    let is_below = matches!(options.format, Format::Markdown | Format::Plain);
    let has_headers = options.include_file_headers || is_below;
    options
        .with_line_numbers(true)
        .with_file_headers(has_headers)
}

type Input = (
    (BTreeMap<String, String>, Vec<Chunk>),
    BuildOptions,
    u32,
    bool,
);

/// Whether the lines of its content stand in its expanded context elsewhere than in one place.
fn is_lost(chunk: &Chunk) -> bool {
    let Some(wider) = &chunk.expanded_context else {
        return false;
    };
    let part: Vec<&str> = lines(&chunk.content).collect();
    let all: Vec<&str> = lines(wider).collect();
    (0..all.len())
        .filter(|&at| all[at..].starts_with(&part))
        .count()
        != 1
}

/// Of each citation of lines, the file says there what the hash is of: without what ends the last
/// line, or with it. Without lines are those alone whose lines nobody knows.
fn cites_what_files_say(files: &BTreeMap<String, String>, chunks: &[Chunk], built: &BuiltContext) {
    for citation in &built.citations {
        let chunk = chunks.iter().find(|it| it.id == citation.chunk_id);
        if is_lost(chunk.unwrap()) {
            assert_eq!(citation.start_line, None, "{citation:?}");
            continue;
        }
        let text = &files[citation
            .file_path
            .as_deref()
            .expect("each chunk is of a file")];
        let (first, last) = (citation.start_line.unwrap(), citation.end_line.unwrap());
        let lines = text.split_inclusive('\n').skip(first as usize - 1);
        let lines: String = lines.take((last - first + 1) as usize).collect();
        let cut = lines.strip_suffix('\n').unwrap_or(&lines);
        let cut = cut.strip_suffix('\r').unwrap_or(cut);
        let is_it = |text: &&str| {
            let hash = blake3::hash(text.as_bytes());
            hash.to_hex().as_str() == citation.content_hash
        };
        assert!(
            [cut, &lines].iter().any(is_it),
            "{citation:?} is not {lines:?}\n{}",
            built.context
        );
    }
}

#[test]
fn lines_that_were_put_together_again_are_those_of_their_file() {
    let mut runner = TestRunner::new(ProptestConfig::with_source_file(file!()));
    let inputs = (
        generate::chunks_of_files(),
        generate::options(),
        prop_oneof![3 => 60_u32..1_000, 1 => Just(1_000_000)],
        any::<bool>(),
    );
    let (tried, merged) = (Cell::new(0_u32), Cell::new(0_u32));
    let law = |((files, chunks), options, tokens, is_wide): Input| {
        let mut options = options
            .with_max_tokens(Tokens::new(tokens))
            .with_merge(true)
            .with_content(true);
        if is_wide {
            options = options
                .with_max_chunks(None)
                .with_min_relevance(None)
                .with_max_tokens(Tokens::new(1_000_000));
        }
        match build(&chunks, &options) {
            Ok(built) => {
                is_sound(&chunks, &options, &*counter_of(&options), &built);
                // A chunk whose last line is empty, and lost its end, may be one that has a line
                // less.
                let is_unsure = |id: &str| {
                    let chunk = chunks.iter().find(|it| it.id == id).unwrap();
                    let said = chunk.span.unwrap().line_count() as usize;
                    chunk.content.ends_with('\n') && lines(&chunk.content).count() + 1 == said
                };
                let is_wrong = |it: &&Warning| {
                    let id = it.id.as_deref();
                    let lost = |id: &str| is_lost(chunks.iter().find(|it| it.id == id).unwrap());
                    id.is_some_and(|id| it.code != "span_mismatch" || !(is_unsure(id) || lost(id)))
                };
                assert_eq!(
                    built.warnings.iter().find(is_wrong),
                    None,
                    "{}",
                    built.context
                );
                cites_what_files_say(&files, &chunks, &built);
                let is_merged = |it: &Omitted| it.reason == OmittedReason::MergedInto;
                tried.set(tried.get() + 1);
                merged.set(merged.get() + u32::from(built.omitted.iter().any(is_merged)));
            }
            Err(error) => is_justified(&chunks, &options, &error),
        }
        Ok(())
    };
    runner.run(&inputs, law).unwrap();
    assert!(
        merged.get() > tried.get() / 3,
        "of {} contexts {} have a block of several chunks",
        tried.get(),
        merged.get()
    );
}

proptest! {
    #[test]
    fn every_input_gives_a_sound_result_or_a_justified_refusal(
        chunks in any_chunks(),
        options in generate::options(),
    ) {
        match build(&chunks, &options) {
            Ok(built) => {
                is_sound(&chunks, &options, &*counter_of(&options), &built);
                reads_back(&chunks, &options, &built);
            }
            Err(error) => is_justified(&chunks, &options, &error),
        }
    }

    #[test]
    fn no_budget_that_holds_a_context_proves_that_there_is_none(
        chunks in any_chunks(),
        options in generate::options(),
    ) {
        let options = options.with_caps(false).with_previous(None);
        let Ok(built) = build(&chunks, &options) else {
            return Ok(());
        };
        let tight = options.clone().with_max_tokens(built.tokens.total + options.reserve);
        let again = build(&chunks, &tight).unwrap();
        let least = built.certificate.value * (1.0 - 1e-9);
        prop_assert!(again.certificate.upper_bound >= least, "{:?} {:?}", built.certificate, again.certificate);
    }

    #[test]
    fn where_everything_fits_nothing_is_over_the_budget(
        chunks in any_chunks(),
        options in generate::options(),
    ) {
        let options = options.with_caps(false).with_max_tokens(Tokens::new(10_000_000)).with_reserve(Tokens::ZERO);
        if let Ok(built) = build(&chunks, &options) {
            let is_over = |it: &&Omitted| it.reason == OmittedReason::OverBudget;
            prop_assert_eq!(built.omitted.iter().find(is_over), None);
        }
    }

    #[test]
    fn a_notice_keeps_nothing_out_of_what_needs_none(
        chunks in any_chunks(),
        options in generate::options(),
    ) {
        let Ok(all) = build(&chunks, &options.clone().with_notice(false)) else {
            return Ok(());
        };
        if all.omitted.is_empty() {
            let built = build(&chunks, &options.clone().with_notice(true)).unwrap();
            let worth = all.certificate.value * (1.0 - 1e-9);
            prop_assert!(built.certificate.upper_bound >= worth);
            if options.selection == Selection::Optimal && options.exact && options.diversity == 0.0 {
                prop_assert!(built.certificate.value >= worth);
            }
        }
    }

    #[test]
    fn the_order_of_arrival_does_not_show(
        (chunks, shuffled) in any_chunks()
            .prop_flat_map(|chunks| (Just(chunks.clone()), Just(chunks).prop_shuffle())),
        options in generate::options(),
    ) {
        match (build(&chunks, &options), build(&shuffled, &options)) {
            (Ok(one), Ok(other)) => prop_assert_eq!(one, other),
            (Err(one), Err(other)) => prop_assert_eq!(one.to_string(), other.to_string()),
            (one, other) => prop_assert!(false, "{:?}\n{:?}", one, other),
        }
    }

    #[test]
    fn a_context_that_follows_another_is_as_sound_in_any_order(
        (chunks, shuffled) in any_chunks()
            .prop_flat_map(|chunks| (Just(chunks.clone()), Just(chunks).prop_shuffle())),
        options in generate::options(),
        sent in any::<Index>(),
    ) {
        let sent = &chunks[..sent.index(chunks.len() + 1)];
        let Ok(first) = build(sent, &options.clone().with_max_chunks(None)) else {
            return Ok(());
        };
        let options = options.with_previous(Some(Previous {
            digest: first.digest.clone(),
            ids: first.included.iter().map(|it| it.id.clone()).collect(),
            context: Some(first.context.clone()),
        }));
        match (build(&chunks, &options), build(&shuffled, &options)) {
            (Ok(one), Ok(other)) => {
                is_sound(&chunks, &options, &*counter_of(&options), &one);
                reads_back(&chunks, &options, &one);
                keeps_what_it_says(&first, &one);
                prop_assert_eq!(one, other);
            }
            (Err(one), Err(other)) => {
                is_justified(&chunks, &options, &one);
                prop_assert_eq!(one.to_string(), other.to_string());
            }
            (one, other) => prop_assert!(false, "{:?}\n{:?}", one, other),
        }
    }

    /// Where blocks tell their lines.
    #[test]
    fn one_more_hit_changes_no_block_that_was_sent(
        mut chunks in chunks_without_blank_lines(),
        options in generate::options(),
        new in any::<Index>(),
    ) {
        let options = telling_lines(options)
            .with_max_tokens(Tokens::new(10_000_000))
            .with_relevance_power(1)
            .with_max_chunks(None)
            .with_min_relevance(None)
            .with_caps(false)
            .with_previous(None);
        // What is worth nothing is not shown for its own sake.
        for chunk in &mut chunks {
            chunk.relevance = chunk.relevance.max(Relevance::new(0.1).unwrap());
        }
        let new = new.index(chunks.len());
        chunks.swap(0, new);
        let Ok(first) = build(&chunks[1..], &options) else {
            return Ok(());
        };
        let sent: Vec<String> = first.included.iter().map(|it| it.id.clone()).collect();
        let options = options.with_previous(Some(Previous {
            digest: first.digest.clone(),
            ids: sent.clone(),
            context: Some(first.context.clone()),
        }));
        let next = build(&chunks, &options).unwrap();
        let shown: Vec<&String> = next.included.iter().map(|it| &it.id).collect();
        prop_assert!(shown.iter().copied().take(sent.len()).eq(&sent), "{:?} after {:?}", shown, sent);
        if let Some(changed) = next.shared_prefix.unwrap().first_difference {
            let at = shown.iter().position(|it| **it == changed).unwrap();
            prop_assert!(at >= sent.len(), "{:?}:\n{}\n{}", changed, first.context, next.context);
        }
    }

    /// Whichever chunks are the most relevant in a turn.
    #[test]
    fn no_turn_of_a_session_changes_a_block_that_was_sent(
        (_, mut chunks) in generate::chunks_of_files_without_blank_lines(),
        options in generate::options(),
        counts in prop::collection::vec(any::<Index>(), 3),
        relevances in prop::collection::vec(0.1..=1.0_f64, 4 * 16),
    ) {
        let mut options = telling_lines(options)
            .with_max_tokens(Tokens::new(10_000_000))
            .with_scores(false)
            .with_relevance_power(1)
            .with_max_chunks(None)
            .with_min_relevance(None)
            .with_caps(false)
            .with_previous(None);
        let mut counts: Vec<usize> = counts.iter().map(|it| it.index(chunks.len() + 1)).collect();
        counts.sort_unstable();
        counts.push(chunks.len());
        let mut before: Option<BuiltContext> = None;
        for (count, relevances) in counts.into_iter().zip(relevances.chunks(16)) {
            for (chunk, relevance) in chunks.iter_mut().zip(relevances) {
                chunk.relevance = Relevance::new(*relevance).unwrap();
            }
            let Ok(now) = build(&chunks[..count], &options) else {
                return Ok(());
            };
            let shown: Vec<String> = now.included.iter().map(|it| it.id.clone()).collect();
            if let Some(before) = before {
                let sent: Vec<&String> = before.included.iter().map(|it| &it.id).collect();
                prop_assert!(sent.iter().copied().eq(shown.iter().take(sent.len())));
                if let Some(changed) = &now.shared_prefix.as_ref().unwrap().first_difference {
                    let at = shown.iter().position(|it| it == changed).unwrap();
                    prop_assert!(at >= sent.len(), "{:?}:\n{}\n{}", changed, before.context, now.context);
                }
            }
            options.previous = Some(Previous {
                digest: now.digest.clone(),
                ids: shown,
                context: Some(now.context.clone()),
            });
            before = Some(now);
        }
    }

    #[test]
    fn other_counters_are_kept_to_as_well(
        chunks in generate::chunks(0..12),
        options in generate::options(),
        name in prop::sample::select(vec!["claude-sonnet-4", "gemini-2.5-pro", "gpt-4"]),
    ) {
        let options = options.with_counter(CounterName::from(name.to_owned()));
        let cached = CachedCounter::new(counter_of(&options), 64);
        match assemble(&chunks, &options, &cached, &Control::default()) {
            Ok(built) => is_sound(&chunks, &options, &*counter_of(&options), &built),
            Err(error) => is_justified(&chunks, &options, &error),
        }
    }
}
