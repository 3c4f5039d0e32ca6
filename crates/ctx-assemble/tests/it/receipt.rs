//! What the result tells.

use ctx_model::{Exactness, Format, OmittedReason, Relevance, Tokens};

use crate::support::{build, chunk, files, is_sound, options};

#[test]
fn nothing_in_gives_a_valid_empty_result() {
    for format in Format::ALL {
        let options = options(100)
            .with_format(format)
            .with_header(Some("Before.".to_owned()))
            .with_footer(Some("After.".to_owned()));
        let built = build(&[], &options);
        assert!(
            built.context.contains("Before.") && built.context.contains("After."),
            "{format}"
        );
        assert!(built.included.is_empty() && built.omitted.is_empty() && !built.was_truncated);
        assert!(ctx_format::parse(format, &built.context).is_ok());
    }
}

#[test]
fn everything_that_fits_is_shown_without_a_notice() {
    let built = build(&files(5), &options(10_000));
    assert_eq!((built.included.len(), built.omitted.len()), (5, 0));
    assert!(!built.was_truncated && !built.context.contains("Left out"));
    assert_eq!(built.exactness, Exactness::Exact);
    assert_eq!(built.counter, "o200k_base");
    assert_eq!(built.files.len(), 5);
    assert!((built.average_relevance - 0.6).abs() < 1e-12);
    assert!(built.certificate.gap.abs() < f64::EPSILON);
}

#[test]
fn what_is_left_out_is_said_in_the_context_and_in_the_receipt() {
    let chunks = files(40);
    let options = options(500);
    let built = build(&chunks, &options);
    assert!(built.was_truncated);
    let told = format!("Left out: {} of 40 chunks.", built.omitted.len());
    assert!(built.context.contains(&told), "{}", built.context);
    assert!(
        built
            .omitted
            .iter()
            .all(|it| it.reason == OmittedReason::OverBudget)
    );
    let quiet = build(&chunks, &options.with_notice(false));
    assert!(!quiet.context.contains("Left out"));
}

#[test]
fn a_chunk_enters_at_the_budget_its_receipt_names() {
    let chunks = files(30);
    for options in [
        options(400),
        options(900)
            .with_reserve(Tokens::new(300))
            .with_sources(true),
    ] {
        let built = build(&chunks, &options);
        assert!(built.omitted.len() > 10);
        for omitted in &built.omitted {
            let enters_at = omitted.enters_at.expect("it is over budget");
            assert!(enters_at > options.max_tokens);
            let richer = build(&chunks, &options.clone().with_max_tokens(enters_at));
            assert!(
                richer.included.iter().any(|it| it.id == omitted.id),
                "{omitted:?}"
            );
        }
    }
}

#[test]
fn the_largest_number_of_chunks_is_kept_and_named() {
    let chunks = files(6);
    let options = options(10_000).with_max_chunks(Some(2));
    let built = build(&chunks, &options);
    assert_eq!(built.included.len(), 2);
    assert!(
        built
            .omitted
            .iter()
            .all(|it| it.reason == OmittedReason::MaxChunks)
    );
    assert!(built.was_truncated);
    let none = build(&chunks, &options.with_max_chunks(Some(0)));
    assert_eq!((none.included.len(), none.omitted.len()), (0, 6));
}

#[test]
fn what_matters_too_little_is_left_out_as_such() {
    let chunks = files(4);
    let options = options(10_000).with_min_relevance(Some(Relevance::new(0.5).unwrap()));
    let built = build(&chunks, &options);
    assert_eq!(built.included.len(), 3);
    assert_eq!(built.omitted[0].reason, OmittedReason::BelowMinRelevance);
    assert!(!built.was_truncated, "it was not for want of room");
    is_sound(
        &chunks,
        &options,
        &ctx_tokens::counter(&options.counter).unwrap(),
        &built,
    );
}

#[test]
fn the_parts_are_counted_as_they_are_emitted() {
    let header = "Answer from these files only.";
    let options = options(5_000)
        .with_header(Some(header.to_owned()))
        .with_footer(Some("Cite what you use.".to_owned()))
        .with_sources(true);
    let built = build(&files(3), &options);
    let counter = ctx_tokens::counter(&options.counter).unwrap();
    assert_eq!(built.tokens.header, counter.count(&format!("{header}\n\n")));
    assert_eq!(built.tokens.footer, counter.count("Cite what you use.\n"));
    assert!(built.tokens.notices > Tokens::ZERO);
}

#[test]
fn hidden_characters_are_shown_and_reported() {
    let chunks = [chunk("trojan", 1.0, "if admin\u{202e} { }\n\u{1b}[31m")];
    let built = build(&chunks, &options(1_000));
    assert!(built.context.contains("\\u{202e}") && built.context.contains("\\u{1b}"));
    assert_eq!(built.warnings.len(), 1);
    assert_eq!(built.warnings[0].id.as_deref(), Some("trojan"));
    assert_eq!(built.warnings[0].code, "neutralised");
}

#[test]
fn citations_stand_for_what_is_shown() {
    let built = build(&files(3), &options(5_000));
    for (included, citation) in built.included.iter().zip(&built.citations) {
        assert_eq!(included.citation, citation.id);
        assert_eq!(included.id, citation.chunk_id);
        assert_eq!(citation.content_hash.len(), 64);
    }
    let again = build(&files(2), &options(5_000));
    assert_eq!(again.citations.len(), 2);
    assert!(again.citations.iter().all(|it| it.id.starts_with("chu-")));
}
