//! The wire: names, defaults, refusals, and that valid values read back as they were written.

use ctx_model::{
    BuildOptions, BuiltContext, Certificate, Chunk, ChunkKind, Citation, CounterName, Exactness,
    Format, GroupBy, Included, LineSpan, Omitted, OmittedReason, Order, Origin, Previous, Relation,
    Relevance, Rendition, RenditionKind, Selection, SharedPrefix, TokenSplit, Tokens, Warning,
    XmlContent,
};
use ctx_testkit::laws::wire::reads_back;
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;
use serde::de::DeserializeOwned;
use serde_json::json;

#[track_caller]
fn refused<T: DeserializeOwned + std::fmt::Debug>(value: &serde_json::Value, mention: &str) {
    let error = serde_json::from_value::<T>(value.clone())
        .expect_err("accepted")
        .to_string();
    assert!(
        error.contains(mention),
        "{error:?} does not mention {mention:?}"
    );
}

#[test]
fn a_chunk_needs_three_fields() {
    let chunk: Chunk =
        serde_json::from_value(json!({"id": "a", "content": "x", "relevance": 1})).unwrap();
    assert_eq!(chunk, Chunk::new("a", "x", Relevance::ONE));
    for missing in ["id", "content", "relevance"] {
        let mut value = json!({"id": "a", "content": "x", "relevance": 1});
        value.as_object_mut().unwrap().remove(missing);
        refused::<Chunk>(&value, missing);
    }
}

/// What no constructor or conversion gives.
#[test]
fn values_written_as_another_variant_read_back_as_it() {
    let json = |value: &dyn Fn(&mut BuildOptions)| {
        let mut options = BuildOptions::default();
        value(&mut options);
        serde_json::to_value(options).unwrap()
    };
    let word = serde_json::to_value(ChunkKind::Other("function".to_owned())).unwrap();
    let kind: ChunkKind = serde_json::from_value(word).unwrap();
    assert_eq!(kind, ChunkKind::Function);
    let word = serde_json::to_value(CounterName::Named("wordBased".to_owned())).unwrap();
    let name: CounterName = serde_json::from_value(word).unwrap();
    assert_eq!(name, CounterName::WordBased);
    let none = json(&|it| it.diversity = f64::NAN);
    let none: BuildOptions = serde_json::from_value(none).unwrap();
    assert_eq!(none, BuildOptions::default());
    refused::<BuildOptions>(&json(&|it| it.diversity = 2.0), "diversity 2");
    assert_eq!(json(&|_| {}).get("diversity"), None);
    for none in [json!(0), json!(-0.0), serde_json::Value::Null] {
        let options: BuildOptions = serde_json::from_value(json!({"diversity": none})).unwrap();
        assert_eq!(options, BuildOptions::default());
    }
}

#[test]
fn a_chunk_with_a_path_is_a_file() {
    let value = json!({"id": "a", "content": "x", "relevance": 1, "filePath": "a.rs"});
    let chunk: Chunk = serde_json::from_value(value).unwrap();
    assert_eq!(chunk.kind, ChunkKind::File);
    assert_eq!(
        chunk,
        Chunk::new("a", "x", Relevance::ONE).with_path("a.rs")
    );
}

#[test]
fn a_bad_chunk_is_refused_by_name() {
    let with = |extra: serde_json::Value| {
        let mut value = json!({"id": "hit-7", "content": "x", "relevance": 1});
        value
            .as_object_mut()
            .unwrap()
            .extend(extra.as_object().unwrap().clone());
        value
    };
    refused::<Chunk>(&with(json!({"relevance": 1.5})), "hit-7");
    refused::<Chunk>(&with(json!({"relevance": null})), "null");
    refused::<Chunk>(&with(json!({"startLine": 5, "endLine": 4})), "hit-7");
    refused::<Chunk>(
        &with(json!({"startLine": 0, "endLine": 4})),
        "counted from 1",
    );
    refused::<Chunk>(&with(json!({"startLine": 5})), "without endLine");
    refused::<Chunk>(&with(json!({"filePath": ""})), "filePath is empty");
    refused::<Chunk>(&with(json!({"id": ""})), "id is empty");
    refused::<Chunk>(&with(json!({"file_path": "a"})), "file_path");
    refused::<Chunk>(&with(json!({"origin": "web"})), "web");
}

#[test]
fn options_are_all_optional() {
    let options: BuildOptions = serde_json::from_str("{}").unwrap();
    assert_eq!(options, BuildOptions::default());
}

#[test]
fn group_by_file_is_an_alias() {
    let grouping = |value| {
        serde_json::from_value::<BuildOptions>(value)
            .unwrap()
            .group_by
    };
    assert_eq!(grouping(json!({"groupByFile": true})), GroupBy::File);
    assert_eq!(grouping(json!({"groupByFile": false})), GroupBy::None);
    assert_eq!(
        grouping(json!({"groupByFile": false, "groupBy": "kind"})),
        GroupBy::Kind
    );
    refused::<BuildOptions>(
        &json!({"groupByFile": true, "groupBy": "kind"}),
        "groupByFile",
    );
}

#[test]
fn bad_options_are_refused_by_name() {
    refused::<BuildOptions>(&json!({"maxToken": 5}), "maxToken");
    refused::<BuildOptions>(&json!({"maxTokens": -5}), "-5");
    refused::<BuildOptions>(&json!({"maxTokens": 5_000_000_000_u64}), "5000000000");
    refused::<BuildOptions>(&json!({"format": "yaml"}), "yaml");
    refused::<BuildOptions>(&json!({"minRelevance": 2}), "minRelevance");
    refused::<BuildOptions>(&json!({"diversity": -1}), "diversity");
    refused::<BuildOptions>(&json!({"selection": "best"}), "best");
}

fn share() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(1.0), 0.0..1.0]
}

fn relevance() -> impl Strategy<Value = Relevance> {
    share().prop_map(|value| Relevance::new(value).unwrap())
}

fn span() -> impl Strategy<Value = LineSpan> {
    (1_u32.., 0_u32..9)
        .prop_map(|(start, more)| LineSpan::new(start, start.saturating_add(more)).unwrap())
}

fn rendition() -> impl Strategy<Value = Rendition> {
    let lines = vec((".{0,9}", of(1_u32..)), 0..4);
    (select(RenditionKind::ALL.to_vec()), lines, share()).prop_map(|(kind, lines, kept)| {
        let text: String = lines
            .iter()
            .map(|(line, _)| line.replace(['\r', '\n'], "") + "\n")
            .collect();
        let map: Vec<_> = lines.iter().map(|(_, number)| *number).collect();
        Rendition::new(kind, text, kept)
            .unwrap()
            .with_lines(map)
            .unwrap()
    })
}

prop_compose! {
    fn chunk()(
        id in ".{1,9}",
        kind in ".{0,9}",
        origin in select(vec![Origin::Reference, Origin::File, Origin::Chunk, Origin::Message]),
        names in (of(any::<String>()), of(any::<String>()), of(".{1,9}"), of(any::<String>())),
        span in of(span()),
        texts in (any::<String>(), of(any::<String>()), of(any::<String>()), of(any::<String>())),
        relevance in relevance(),
        lists in (vec(any::<String>(), 0..3), vec((any::<String>(), any::<String>()), 0..3), vec(any::<String>(), 0..3)),
        created_at in any::<Option<i64>>(),
        pinned in any::<bool>(),
        renditions in vec(rendition(), 0..3),
    ) -> Chunk {
        let mut chunk = Chunk::new(id, texts.0, relevance).with_renditions(renditions);
        chunk.kind = ChunkKind::from(kind);
        chunk.origin = origin;
        (chunk.name, chunk.qualified_name, chunk.path, chunk.language) = names;
        chunk.span = span;
        (chunk.expanded_context, chunk.summary, chunk.content_hash) = (texts.1, texts.2, texts.3);
        (chunk.imports, chunk.matched_keywords) = (lists.0, lists.2.into());
        chunk.relations =
            lists.1.into_iter().map(|(kind, target)| Relation { kind, target }).collect();
        chunk.created_at = created_at;
        chunk.pinned = pinned;
        chunk
    }
}

prop_compose! {
    fn options()(
        sizes in any::<(u32, Option<usize>, u32)>(),
        format in select(Format::ALL.to_vec()),
        group_by in select(vec![GroupBy::None, GroupBy::File, GroupBy::Kind]),
        order in select(vec![Order::Relevance, Order::Stable, Order::Edges]),
        selection in select(vec![Selection::InOrder, Selection::Density, Selection::Optimal]),
        flags in any::<[bool; 15]>(),
        diversity in share(),
        previous in of(any::<(String, Vec<String>, Option<String>)>()),
        texts in any::<(Option<String>, Option<String>, Option<String>)>(),
        counter in prop_oneof!["characterBased", "wordBased", any::<String>()],
        min_relevance in of(relevance()),
    ) -> BuildOptions {
        BuildOptions::default()
            .with_max_tokens(Tokens::new(sizes.0))
            .with_max_chunks(sizes.1)
            .with_reserve(Tokens::new(sizes.2))
            .with_format(format)
            .with_group_by(group_by)
            .with_order(order)
            .with_selection(selection)
            .with_file_headers(flags[0])
            .with_line_numbers(flags[1])
            .with_scores(flags[2])
            .with_sources(flags[3])
            .with_content(flags[4])
            .with_imports(flags[5])
            .with_relations(flags[6])
            .with_notice(flags[7])
            .with_metadata(flags[8])
            .with_ids(flags[14])
            .with_xml_content(if flags[9] { XmlContent::Cdata } else { XmlContent::Escaped })
            .with_chunk_separator(texts.0)
            .with_header(texts.1)
            .with_footer(texts.2)
            .with_counter(CounterName::from(counter))
            .with_min_relevance(min_relevance)
            .with_merge(flags[10])
            .with_exact(flags[11])
            .with_caps(flags[12])
            .with_explain(flags[13])
            .with_diversity(diversity)
            .with_previous(previous.map(|(digest, ids, context)| Previous { digest, ids, context }))
    }
}

prop_compose! {
    fn included()(
        names in any::<(String, Option<String>, String, String)>(),
        rendition in select(RenditionKind::ALL.to_vec()),
        tokens in any::<u32>(),
        value in share(),
        lines in any::<(Option<u32>, Option<u32>)>(),
    ) -> Included {
        let mut included = Included::new(names.0, rendition, Tokens::new(tokens), names.2);
        included.value = value;
        included.why = names.3;
        included.file_path = names.1;
        (included.start_line, included.end_line) = lines;
        included
    }
}

prop_compose! {
    fn omitted()(
        id in any::<String>(),
        reason in select(vec![
            OmittedReason::OverBudget,
            OmittedReason::MaxChunks,
            OmittedReason::BelowMinRelevance,
            OmittedReason::BelowMinChance,
            OmittedReason::DuplicateOf,
            OmittedReason::NearDuplicateOf,
            OmittedReason::MergedInto,
            OmittedReason::Unreadable,
            OmittedReason::Stale,
        ]),
        enters_at in any::<Option<u32>>(),
        other in any::<Option<String>>(),
    ) -> Omitted {
        let mut omitted = Omitted::new(id, reason);
        omitted.enters_at = enters_at.map(Tokens::new);
        omitted.other = other;
        omitted
    }
}

prop_compose! {
    fn citation()(
        names in any::<(String, String, String, Option<String>, String)>(),
        lines in any::<(Option<u32>, Option<u32>)>(),
    ) -> Citation {
        Citation {
            id: names.0,
            chunk_id: names.1,
            source: names.2,
            file_path: names.3,
            start_line: lines.0,
            end_line: lines.1,
            content_hash: names.4,
        }
    }
}

prop_compose! {
    fn result()(
        texts in any::<(String, String, String)>(),
        split in any::<[u32; 6]>(),
        exactness in select(vec![Exactness::Exact, Exactness::UpperBound, Exactness::Estimate]),
        lists in (vec(included(), 0..3), vec(omitted(), 0..3), vec(any::<String>(), 0..3), vec(citation(), 0..3)),
        shares in (share(), share(), share(), share(), share(), share()),
        was_truncated in any::<bool>(),
        format in select(Format::ALL.to_vec()),
        warnings in vec(any::<(Option<String>, String, String)>(), 0..3),
        shared in of(any::<(u32, usize, Option<String>)>()),
    ) -> BuiltContext {
        let [total, header, chunks, notices, footer, left] = split.map(Tokens::new);
        let split = TokenSplit { total, header, chunks, notices, footer, left };
        let mut built = BuiltContext::new(texts.0, texts.2, format, texts.1, exactness, split);
        (built.included, built.omitted, built.files, built.citations) = lists;
        built.average_relevance = shares.0;
        built.was_truncated = was_truncated;
        built.certificate = Certificate {
            value: shares.1,
            upper_bound: shares.2,
            gap: shares.3,
            lambda: shares.4,
        };
        built.build_time = shares.5;
        built.shared_prefix = shared.map(|(tokens, bytes, first_difference)| SharedPrefix {
            tokens: Tokens::new(tokens),
            bytes,
            first_difference,
        });
        let warning = |(id, code, detail): (Option<String>, String, String)| {
            let mut warning = Warning::new(code, detail);
            warning.id = id;
            warning
        };
        built.warnings = warnings.into_iter().map(warning).collect();
        built
    }
}

proptest! {
    #[test]
    fn every_chunk_reads_back(chunk in chunk()) {
        reads_back(&chunk);
    }

    #[test]
    fn every_option_set_reads_back(options in options()) {
        reads_back(&options);
    }

    #[test]
    fn every_result_reads_back(result in result()) {
        reads_back(&result);
        reads_back(&result.tokens);
        reads_back(&result.certificate);
    }

    #[test]
    fn every_span_holds_its_ends(span in span()) {
        prop_assert!(span.contains(span) && span.touches(span));
        prop_assert_eq!(u64::from(span.line_count()), u64::from(span.end()) - u64::from(span.start()) + 1);
    }
}

#[test]
fn a_result_with_fields_of_a_later_version_is_read() {
    let split = TokenSplit::default();
    let mut built = BuiltContext::new("a", "0", Format::Xml, "words", Exactness::Exact, split);
    built.omitted = vec![Omitted::new("b", OmittedReason::Stale)];
    built.warnings = vec![Warning::new("neutralised", "1 character")];
    let mut later = serde_json::to_value(&built).unwrap();
    for place in ["", "/tokens", "/certificate", "/omitted/0", "/warnings/0"] {
        let fields = later.pointer_mut(place).and_then(|it| it.as_object_mut());
        fields.unwrap().insert("later".to_owned(), true.into());
    }
    assert_eq!(
        serde_json::from_value::<BuiltContext>(later).unwrap(),
        built
    );
}

#[test]
fn an_error_about_a_chunk_describes_one() {
    let error = serde_json::from_str::<Chunk>("1").unwrap_err().to_string();
    let said = "invalid type: integer `1`, expected a chunk, an object with `id`, `content` and `relevance`";
    assert!(error.starts_with(said), "{error}");
}

#[test]
fn errors_name_the_expected_type_in_terms_of_json() {
    #[track_caller]
    fn told<T: DeserializeOwned>(text: &str, expected: &str) {
        let error = serde_json::from_str::<T>(text).err().unwrap().to_string();
        let said = ctx_model::json_error(&error);
        assert_eq!(said.split(" at line ").next().unwrap(), expected);
    }
    told::<f64>("\"1\"", "invalid type: string \"1\", expected a number");
    let whole = "expected a whole number from 0 to 4294967295";
    told::<u32>("-1", &format!("invalid value: integer `-1`, {whole}"));
    told::<u32>(
        "1.5",
        &format!("invalid type: floating point `1.5`, {whole}"),
    );
    told::<usize>("null", "invalid type: null, expected a whole number from 0");
    told::<std::num::NonZeroU8>(
        "0",
        "invalid value: integer `0`, expected a whole number from 1 to 255",
    );
    told::<i64>("{}", "invalid type: object, expected a whole number");
    told::<Vec<u8>>("{}", "invalid type: object, expected an array");
    told::<std::collections::BTreeMap<String, u8>>("[]", "invalid type: array, expected an object");
    told::<(u8, u8)>("1", "invalid type: integer `1`, expected an array");
    told::<TokenSplit>("1", "invalid type: integer `1`, expected an object");
    // What a caller said stays as it was said.
    told::<f64>(
        "\", expected u32\"",
        "invalid type: string \", expected u32\", expected a number",
    );
    told::<bool>(
        "\"u32\"",
        "invalid type: string \"u32\", expected a boolean",
    );
    told::<Format>(
        "\", expected f64\"",
        "unknown variant `, expected f64`, expected one of `markdown`, `xml`, `json`, `plain`",
    );
}
