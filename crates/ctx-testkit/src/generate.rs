//! Generators of chunks, options and text, ordinary and hostile.
//!
//! Every generator shrinks, and is reproducible under proptest's own seeds. `PROPTEST_CASES` sets
//! the number of cases, as usual.

use std::collections::BTreeMap;
use std::ops::Range;

use ctx_model::{
    BuildOptions, Chunk, ChunkKind, CounterName, Format, GroupBy, LineSpan, Order, Origin,
    Previous, Relation, Relevance, Rendition, RenditionKind, Selection, Tokens, XmlContent,
};
use proptest::bool::weighted;
use proptest::collection::{SizeRange, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Ordinary words, in several scripts.
const WORDS: &[&str] = &[
    "the",
    "quick",
    "Straße",
    "naïve",
    "日本語",
    "λx",
    "Ω",
    "getUserById",
    "SCREAMING_CASE",
    "fn",
    "let x = 1;",
    "return",
    "{",
    "}",
    "=>",
    "<T>",
    "a&b",
    "\"s\"",
    "'q'",
    "// note",
    "# note",
    "🦀",
    "👩‍💻",
    "می‌خواهم",
    "क्‍ष",
    "١٢٣",
    "€",
    "$",
    "_",
    "0.5",
    "\u{3000}",
];

/// Texts that have broken, or could break, a format, a tokenizer or a parser.
const HOSTILE: &[&str] = &[
    // Markdown.
    "```",
    "````",
    "~~~",
    "```rust\n",
    "\n```\n",
    "\n    ```",
    "### ",
    "\n### fake\n",
    "## Relevant Code",
    "Lines 1-2",
    "Relevance: 100%",
    "Summary: ",
    "Imports: a; b",
    "Relations: calls x",
    "Shown: mention",
    "**Sources:**",
    "- a (b:1)",
    "> Left out: 1 of 2 chunks.",
    "---",
    "\n---\n",
    "- ```",
    "1. ```",
    "===",
    "[a]: /b",
    "a]: /b",
    "![p](http://a.example/p.png)",
    "[l][a]",
    "<img src=x>",
    "<http://a.example>",
    "__init__.py",
    "**b**",
    "*",
    "a*b*",
    "`c`",
    " #",
    " ##",
    "\\*",
    "<!--",
    "-->",
    "<div>",
    "<script>",
    "</script>",
    "|a|b|\n|-|-|",
    "`",
    "\\",
    "*",
    "_",
    // XML.
    "]]>",
    "]]",
    ">",
    "<![CDATA[",
    "</code-context>",
    "</context>",
    "</section>",
    "<section name=\"x\">",
    "&",
    "&amp;",
    "&lt;",
    "&#0;",
    "&#x1b;",
    "&undefined;",
    "<?xml version=\"1.0\"?>",
    "<!DOCTYPE a>",
    "\" onload=\"x",
    "' x='",
    "<code-context file=\"x\">",
    // JSON.
    "\"",
    "\"}",
    "\"},{\"file\":\"x\",\"content\":\"",
    "\\\"",
    "\\u0000",
    "]",
    "}\n,\n{",
    "{\"id\":\"a\",\"kind\":\"b\"}",
    "[a]",
    "\n[a]\n",
    // Plain text.
    "----------------------------------------",
    "\n----------------------------------------\n",
    "-----------------------------------------",
    "File: x",
    "\nFile: x (lines 1-2)\n",
    " (lines 1-2)",
    "=== Relevant Code ===",
    "Sources:",
    "Left out: 1 of 2 chunks.",
    "Shown: nothing",
    "\nShown: nothing\n",
    // Lists in one line.
    "; ",
    ";",
    " ",
    "  ",
    "",
    // Invisible characters.
    "\0",
    "\u{1b}[31m",
    "\u{7}",
    "\u{8}",
    "\u{b}",
    "\u{c}",
    "\u{7f}",
    "\u{85}",
    "\u{9b}",
    "\u{ad}",
    "\u{34f}",
    "\u{61c}",
    "\u{115f}",
    "\u{1160}",
    "\u{180b}",
    "\u{180e}",
    "\u{200b}",
    "\u{200c}",
    "\u{200d}",
    "\u{200e}",
    "\u{202e}",
    "\u{2028}",
    "\u{2029}",
    "\u{2060}",
    "\u{2066}",
    "\u{2069}",
    "\u{206f}",
    "\u{feff}",
    "\u{3164}",
    "\u{fe03}",
    "\u{fe0f}",
    "\u{fff0}",
    "\u{fff9}",
    "\u{fffe}",
    "\u{ffff}",
    "\u{fdd0}",
    "\u{1fffe}",
    "\u{10ffff}",
    "\u{e0001}",
    "\u{e0041}",
    "\u{e007f}",
    "\u{e0100}",
    "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
    "🏴\u{e0067}",
    // Line ends and white space.
    "\n",
    "\n\n",
    "\r\n",
    "\r",
    "\t",
    "\n\r",
    "\u{a0}",
    "\u{2003}",
    // Tokenizers and templates.
    "<|im_start|>",
    "<|endoftext|>",
    "[INST]",
    "{{",
    "}}",
    "/",
    "//",
    "/\n/",
    "../../etc/passwd",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "!!!!!!!!",
    "\u{301}\u{301}\u{301}",
];

/// What chunks of files import, ordinary or hostile.
const IMPORTS: &[&str] = &["std::fmt", "./util.js", "a; b", "\"q\"", "", "<a>`b`"];

/// Ordinary text of up to a few dozen words on a few lines; may be empty.
pub fn text() -> impl Strategy<Value = String> + Clone {
    let gap = select(&[" ", " ", " ", "\n", "\n\n", "  ", "\t", ""][..]);
    vec((select(WORDS), gap), 0..24).prop_map(joined)
}

/// Text made to break things: markup of every format, invisible characters, any characters at all.
pub fn hostile_text() -> impl Strategy<Value = String> + Clone {
    let piece = prop_oneof![
        6 => select(HOSTILE).prop_map(str::to_owned),
        2 => select(WORDS).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
        1 => (select(&['`', '-', ']', '\n', '~', '"'][..]), 1_usize..60)
            .prop_map(|(c, count)| c.to_string().repeat(count)),
    ];
    vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

/// Text that looks like source code: indented lines, some of them empty.
pub fn source_text() -> impl Strategy<Value = String> + Clone {
    let line = (
        0_usize..4,
        vec((select(WORDS), Just(" ")), 0..6),
        any::<bool>(),
    );
    let ending = select(&["\n", "\n", "\n", "\r\n"][..]);
    (vec(line, 0..12), ending, any::<bool>()).prop_map(|(lines, ending, ends_in_newline)| {
        let lines: Vec<String> = lines
            .into_iter()
            .map(|(depth, words, uses_tabs)| {
                let indent = if uses_tabs { "\t" } else { "    " };
                indent.repeat(depth) + joined(words).trim_end()
            })
            .collect();
        let mut text = lines.join(ending);
        if ends_in_newline {
            text.push_str(ending);
        }
        text
    })
}

/// Any text: mostly ordinary, often hostile.
pub fn any_text() -> impl Strategy<Value = String> + Clone {
    prop_oneof![text(), source_text(), hostile_text()]
}

/// A relevance, often one of the ends, mostly in hundredths.
pub fn relevance() -> impl Strategy<Value = Relevance> + Clone {
    let share = prop_oneof![
        1 => Just(0.0),
        1 => Just(1.0),
        6 => (0_u8..=100).prop_map(|percent| f64::from(percent) / 100.0),
        2 => 0.0..1.0,
    ];
    share.prop_map(|share| Relevance::new(share).expect("it is in 0..=1"))
}

/// A run of lines, rarely near the largest line number.
pub fn span() -> impl Strategy<Value = LineSpan> + Clone {
    let start = prop_oneof![8 => 1_u32..500, 1 => 1_u32..];
    (start, 0_u32..60).prop_map(|(start, more)| {
        LineSpan::new(start, start.saturating_add(more)).expect("it starts at 1 and ends after it")
    })
}

/// A chunk with any of its fields set, ordinary or hostile. Its id is not empty.
pub fn chunk() -> impl Strategy<Value = Chunk> + Clone {
    let name = || option::weighted(0.6, line());
    let kind = prop_oneof![
        4 => select(vec!["function", "class", "file", "document", "message", "text"])
            .prop_map(str::to_owned),
        1 => line(),
    ];
    let language = prop_oneof![
        4 => select(vec!["rust", "python", "c++", "c#", "typescript"]).prop_map(str::to_owned),
        1 => line(),
    ];
    let path =
        prop_oneof![4 => path(), 1 => line().prop_filter("a path is not empty", |p| !p.is_empty())];
    let origin = select(vec![
        Origin::Reference,
        Origin::File,
        Origin::Chunk,
        Origin::Message,
    ]);
    (
        (id(), kind.prop_map(ChunkKind::from), origin, name(), name()),
        (
            option::weighted(0.8, path),
            option::weighted(0.7, span()),
            option::weighted(0.6, language),
        ),
        (
            any_text(),
            option::weighted(0.2, any_text()),
            option::weighted(0.3, any_text()),
        ),
        (relevance(), vec(line(), 0..3), vec((line(), line()), 0..3)),
        (weighted(0.1), vec(rendition(), 0..3)),
        (
            option::weighted(0.3, content_hash()),
            keywords(),
            option::weighted(0.2, any::<i64>()),
        ),
    )
        .prop_map(
            |(names, place, texts, (relevance, imports, relations), (pinned, renditions), told)| {
                let mut chunk = Chunk::new(names.0, texts.0, relevance).with_renditions(renditions);
                (chunk.kind, chunk.origin, chunk.name, chunk.qualified_name) =
                    (names.1, names.2, names.3, names.4);
                (chunk.path, chunk.span, chunk.language) = place;
                (chunk.expanded_context, chunk.summary) = (texts.1, texts.2);
                chunk.imports = imports;
                chunk.relations = relations
                    .into_iter()
                    .map(|(kind, target)| Relation { kind, target })
                    .collect();
                chunk.pinned = pinned;
                (chunk.content_hash, chunk.created_at) = (told.0, told.2);
                chunk.matched_keywords = told.1.into();
                chunk
            },
        )
}

/// This many chunks, with unique ids and a few paths that several of them share. Some have long
/// texts that are equal or nearly equal, and some are named by [`options`] as part of the previous
/// context.
pub fn chunks(count: impl Into<SizeRange>) -> impl Strategy<Value = Vec<Chunk>> + Clone {
    let one = (chunk(), option::weighted(0.25, alike()), any::<bool>());
    vec(one, count).prop_map(|chunks| {
        let chunks = chunks.into_iter().enumerate();
        let named = chunks.map(|(index, (mut chunk, alike, is_numbered))| {
            chunk.id = if is_numbered {
                number(index)
            } else {
                format!("{index}.{}", chunk.id)
            };
            if let Some(text) = alike {
                (chunk.content, chunk.expanded_context) = (text, None);
            }
            chunk
        });
        named.collect()
    })
}

/// One of three texts of 24 lines each, perhaps with another line in one place: variants of one
/// text are near duplicates of it, but hardly of each other.
fn alike() -> impl Strategy<Value = String> + Clone {
    let changed = option::of((0_usize..24, select(WORDS)));
    (0_u8..3, changed, any::<bool>()).prop_map(|(text, changed, is_ended)| {
        let mut lines: Vec<String> = (0..24)
            .map(|line| format!("line {line} of text {text} says so"))
            .collect();
        if let Some((line, word)) = changed {
            lines[line] = format!("line {line} of text {text} says {word}");
        }
        lines.join("\n") + if is_ended { "\n" } else { "" }
    })
}

/// A hash that a few chunks share; it belongs to no text.
fn content_hash() -> impl Strategy<Value = String> + Clone {
    select(&["1", "2"][..]).prop_map(|digit| digit.repeat(64))
}

/// Words of a question, some of which occur in texts.
fn keywords() -> impl Strategy<Value = Vec<String>> + Clone {
    let word = prop_oneof![3 => select(WORDS).prop_map(str::to_owned), 1 => line()];
    prop_oneof![2 => Just(Vec::new()), 1 => vec(word, 1..5)]
}

/// The id of the chunk at an index.
fn number(index: usize) -> String {
    format!("c{index}")
}

/// Files with their texts, and chunks cut from them: runs of lines that often overlap or touch,
/// with or without the last line ending. All line endings of a file are alike; its last line may
/// have none. A few chunks have the lines around them as expanded context; many have imports and
/// relations.
pub fn chunks_of_files() -> impl Strategy<Value = (BTreeMap<String, String>, Vec<Chunk>)> + Clone {
    chunks_of_files_of(words(0..5))
}

/// As [`chunks_of_files`], of files without blank lines.
pub fn chunks_of_files_without_blank_lines()
-> impl Strategy<Value = (BTreeMap<String, String>, Vec<Chunk>)> + Clone {
    // One of the words is a space.
    chunks_of_files_of(words(1..5).prop_map(|line| without_blank_lines(&line)))
}

/// `text` with a word on each line that is blank; an empty text becomes that word.
#[must_use]
pub fn without_blank_lines(text: &str) -> String {
    const WORD: &str = "word";
    if text.is_empty() {
        return WORD.to_owned();
    }
    let filled = |line: &str| {
        let word = if line.trim().is_empty() { WORD } else { "" };
        format!("{word}{line}")
    };
    text.split_inclusive('\n').map(filled).collect()
}

/// So many words on one line.
fn words(count: Range<usize>) -> impl Strategy<Value = String> + Clone {
    vec((select(WORDS), Just(" ")), count).prop_map(joined)
}

fn chunks_of_files_of(
    line: impl Strategy<Value = String> + Clone,
) -> impl Strategy<Value = (BTreeMap<String, String>, Vec<Chunk>)> + Clone {
    let cut = (
        any::<Index>(),
        1_usize..9,
        any::<bool>(),
        relevance(),
        weighted(0.05),
        option::weighted(0.1, (0_usize..6, 0_usize..6)),
        vec(select(IMPORTS), 0..3),
    );
    let file = (
        vec(line, 1..24),
        select(&["\n", "\r\n"][..]),
        any::<bool>(),
        vec(cut, 1..6),
        (
            option::weighted(0.3, content_hash()),
            weighted(0.1),
            keywords(),
        ),
    );
    vec(file, 1..4).prop_map(|files| {
        let (mut texts, mut chunks) = (BTreeMap::new(), Vec::new());
        for (file, (mut lines, ending, is_ended, cuts, told)) in files.into_iter().enumerate() {
            let (content_hash, first_has_none, keywords) = told;
            let first = chunks.len();
            let path = format!("src/file{file}.rs");
            let last = lines.len() - 1;
            for (at, line) in lines.iter_mut().enumerate() {
                if at < last || is_ended {
                    line.push_str(ending);
                } else {
                    // An empty line without a line ending would not be a line.
                    line.push('.');
                }
            }
            for (start, length, has_end, relevance, is_pinned, around, imports) in cuts {
                let start = start.index(lines.len());
                let end = (start + length).min(lines.len());
                let text = lines[start..end].concat();
                // A single line without its ending would not show which line endings its file has.
                let cut = (!has_end && length > 1).then(|| text.strip_suffix(ending));
                let text = cut.flatten().unwrap_or(&text);
                let line = |at: usize| u32::try_from(at).expect("there are few");
                let span = LineSpan::new(line(start) + 1, line(end)).expect("it has a line");
                let mut chunk = Chunk::new(number(chunks.len()), text, relevance);
                chunk.pinned = is_pinned;
                chunk.expanded_context = around.map(|(before, after)| {
                    let wider = start.saturating_sub(before)..(end + after).min(lines.len());
                    lines[wider].concat()
                });
                chunk.content_hash.clone_from(&content_hash);
                if first_has_none && chunks.len() == first {
                    chunk.content_hash = None;
                }
                chunk.matched_keywords = keywords.clone().into();
                let relation = |(kind, target): (&str, &str)| Relation {
                    kind: kind.to_owned(),
                    target: target.to_owned(),
                };
                chunk.relations = imports
                    .iter()
                    .copied()
                    .zip(IMPORTS.iter().copied())
                    .map(relation)
                    .collect();
                chunk.imports = imports.into_iter().map(str::to_owned).collect();
                chunks.push(chunk.with_path(path.clone()).with_span(span));
            }
            texts.insert(path, lines.concat());
        }
        (texts, chunks)
    })
}

/// Any options: all formats, groupings, flags, separators, headers and footers, including hostile
/// text that some formats refuse; and a previous context without its text, whose ids include the
/// first ones of [`chunks`] and of [`chunks_of_files`]. Only counters that need no file are used.
pub fn options() -> impl Strategy<Value = BuildOptions> + Clone {
    let counters = ["characterBased", "wordBased", "cl100k_base", "o200k_base"].map(str::to_owned);
    let choices = (
        select(Format::ALL.to_vec()),
        group_by(),
        order(),
        selection(),
        select(counters.to_vec()),
    );
    let policy = (
        any::<bool>(),
        select(vec![1_u8, 0, 4, 255]),
        option::weighted(0.3, 0.0..=1.0_f64),
        weighted(0.2),
        weighted(0.2),
        weighted(0.3),
    );
    (
        sizes(),
        choices,
        any::<[bool; 11]>(),
        own_texts(),
        option::weighted(0.2, relevance()),
        policy,
        option::weighted(0.3, previous()),
    )
        .prop_map(
            |(sizes, choices, flags, texts, min_relevance, policy, previous)| {
                let xml_content = if flags[9] {
                    XmlContent::Cdata
                } else {
                    XmlContent::Escaped
                };
                BuildOptions::default()
                    .with_max_tokens(Tokens::new(sizes.0))
                    .with_max_chunks(sizes.1)
                    .with_reserve(Tokens::new(sizes.2))
                    .with_format(choices.0)
                    .with_group_by(choices.1)
                    .with_order(choices.2)
                    .with_selection(choices.3)
                    .with_counter(CounterName::from(choices.4))
                    .with_file_headers(flags[0])
                    .with_line_numbers(flags[1])
                    .with_scores(flags[2])
                    .with_sources(flags[3])
                    .with_content(flags[4])
                    .with_imports(flags[5])
                    .with_relations(flags[6])
                    .with_notice(flags[7])
                    .with_metadata(flags[8])
                    .with_ids(flags[10])
                    .with_xml_content(xml_content)
                    .with_chunk_separator(texts.0)
                    .with_header(texts.1)
                    .with_footer(texts.2)
                    .with_min_relevance(min_relevance)
                    .with_merge(policy.0)
                    .with_relevance_power(policy.1)
                    .with_diversity(policy.2.unwrap_or(0.0))
                    .with_exact(policy.3)
                    .with_caps(policy.4)
                    .with_explain(policy.5)
                    .with_previous(previous)
            },
        )
}

/// A previous context, given by the ids of its chunks: in any order, some repeated, and some that
/// no chunk has.
/// A budget, the most chunks, and a reserve.
fn sizes() -> impl Strategy<Value = (u32, Option<usize>, u32)> + Clone {
    (
        prop_oneof![8 => 0_u32..4_000, 1 => any::<u32>()],
        option::weighted(0.2, 0_usize..8),
        prop_oneof![8 => Just(0), 1 => 0_u32..500],
    )
}

/// A separator, a header and a footer.
fn own_texts() -> impl Strategy<Value = (Option<String>, Option<String>, Option<String>)> + Clone {
    let separators = [
        "",
        "\n",
        "\n\n",
        "\n---\n\n",
        "---",
        " \r\n***\n",
        "  ",
        "\n/\n",
    ];
    let separator = prop_oneof![
        3 => select(separators.to_vec()).prop_map(str::to_owned),
        1 => hostile_text(),
    ];
    let own_text = || option::weighted(0.4, prop_oneof![2 => text(), 1 => hostile_text()]);
    (option::weighted(0.4, separator), own_text(), own_text())
}

fn previous() -> impl Strategy<Value = Previous> + Clone {
    let id = prop_oneof![9 => (0_usize..12).prop_map(number), 1 => id()];
    vec(id, 0..12).prop_map(|ids| Previous {
        digest: "0".repeat(64),
        ids,
        context: None,
    })
}

fn group_by() -> impl Strategy<Value = GroupBy> + Clone {
    select(vec![GroupBy::None, GroupBy::File, GroupBy::Kind])
}

fn order() -> impl Strategy<Value = Order> + Clone {
    select(vec![Order::Relevance, Order::Stable, Order::Edges])
}

fn selection() -> impl Strategy<Value = Selection> + Clone {
    select(vec![
        Selection::InOrder,
        Selection::Density,
        Selection::Optimal,
    ])
}

fn rendition() -> impl Strategy<Value = Rendition> + Clone {
    let kind = select(RenditionKind::ALL.to_vec());
    let lines = option::weighted(0.4, 1_u32..500);
    (kind, any_text(), 0.0..=1.0_f64, lines).prop_map(|(kind, text, information, first)| {
        // Some renditions have no line map, and some lines have no source line.
        let numbers = text.lines().count();
        let rendition = Rendition::new(kind, text, information).expect("the share is in 0..=1");
        let Some(first) = first else { return rendition };
        let lines = (first..).take(numbers);
        let lines = lines.map(|line| (line % 5 > 0).then_some(line));
        rendition
            .with_lines(lines.collect())
            .expect("there is one for each line")
    })
}

/// A short text for one line, hostile in half of the cases.
fn line() -> impl Strategy<Value = String> + Clone {
    prop_oneof![
        select(WORDS).prop_map(str::to_owned),
        select(HOSTILE).prop_map(str::to_owned),
        hostile_text(),
    ]
}

fn id() -> impl Strategy<Value = String> + Clone {
    prop_oneof![
        3 => "[a-z0-9]{1,8}",
        1 => line().prop_map(|line| format!("#{line}")),
    ]
}

fn path() -> impl Strategy<Value = String> + Clone {
    (0_u8..3, 0_u8..3, select(vec!["rs", "py", "md"]))
        .prop_map(|(folder, file, extension)| format!("src/dir{folder}/file{file}.{extension}"))
}

fn joined(words: Vec<(&str, &str)>) -> String {
    words
        .into_iter()
        .flat_map(|(word, gap)| [word, gap])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest! {
        #[test]
        fn blank_lines_alone_are_filled(text in any_text()) {
            let filled = without_blank_lines(&text);
            prop_assert!(filled.lines().next().is_some());
            prop_assert!(!filled.lines().any(|line| line.trim().is_empty()), "{filled:?}");
            prop_assert_eq!(without_blank_lines(&filled), filled);
        }

        #[test]
        fn files_without_blank_lines_have_none(
            (files, _) in chunks_of_files_without_blank_lines(),
        ) {
            let mut lines = files.values().flat_map(|it| it.lines());
            prop_assert!(!lines.any(|line| line.trim().is_empty()), "{files:?}");
        }
    }
}
