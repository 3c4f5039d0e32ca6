//! Excerpts of prose: they show the most likely sentences and omit the rest.

use std::ops::Range;

use ctx_model::{Chunk, ChunkKind, ELISION, LineSpan, Rendition, RenditionKind};
use ctx_syntax::{is_encoded, is_headed_table, is_log, is_prose, is_table, language_name};

use crate::pieces::{LONGEST, pieces};
use crate::renditions::share;

/// The most bytes of a table's first line that is shown with every row.
const LONGEST_HEADING: usize = 500;

/// The byte ranges of the sentences in the content of a chunk; none if it is not prose. For tables
/// and notebooks, these are the lines, except for encoded ones, which excerpts omit; for logs the
/// entries, each with the lines that belong to it. A sentence of more than 1 KiB is given in
/// pieces, since it may be too long to be shown: a transcript without full stops, a row with a
/// document in it. A fenced block of code is cut only if one of its lines is that long. O(bytes).
pub fn sentences(chunk: &Chunk) -> Vec<Range<usize>> {
    let path = chunk.path.as_deref().unwrap_or_default();
    if is_log(path) {
        return entries(&chunk.content);
    }
    if is_table(path) {
        return in_rows(&chunk.content, rows(&chunk.content));
    }
    let language = chunk.language.as_deref();
    let language = language.or_else(|| language_name(path, &chunk.content));
    if is_prose(path, language) {
        let found = ctx_syntax::sentences(&chunk.content).into_iter();
        found.flat_map(|it| in_pieces(&chunk.content, it)).collect()
    } else {
        Vec::new()
    }
}

/// The kind of a chunk for the file at `path`: a document if it is written for people to read.
/// `language` is guessed from the path if it is not given.
pub fn file_kind(path: &str, language: Option<&str>) -> ChunkKind {
    let language = language.or_else(|| language_name(path, ""));
    if is_prose(path, language) {
        ChunkKind::Document
    } else {
        ChunkKind::File
    }
}

/// The lines that say anything, without the white space around them.
fn rows(text: &str) -> Vec<Range<usize>> {
    let mut at = 0;
    let rows = text.split_inclusive('\n').map(|line| {
        let start = at + line.len() - line.trim_start().len();
        at += line.len();
        start..start + line.trim().len()
    });
    rows.filter(|it| says(&text[it.clone()])).collect()
}

/// Whether `row` has a letter or digit, and is not encoded.
fn says(row: &str) -> bool {
    row.contains(char::is_alphanumeric) && !is_encoded(row)
}

/// The pieces of `rows` that say anything.
fn in_rows(text: &str, rows: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let pieces = rows.into_iter().flat_map(|it| pieces(text, it));
    pieces.filter(|it| says(&text[it.clone()])).collect()
}

/// The entries of a log. Where most lines begin with a date or a bracket, each such line begins an
/// entry, else each line that is not indented: the calls of a stack trace, and often its message,
/// belong to the line above.
fn entries(text: &str) -> Vec<Range<usize>> {
    let rows = rows(text);
    let is_outer = |it: &Range<usize>| it.start == 0 || text[..it.start].ends_with('\n');
    let is_dated = |it: &Range<usize>| {
        is_outer(it) && text[it.start..].starts_with(|c: char| c.is_ascii_digit() || c == '[')
    };
    let are_dated = 2 * rows.iter().filter(|it| is_dated(it)).count() > rows.len();
    let mut entries: Vec<Range<usize>> = Vec::new();
    for row in rows {
        let is_first = if are_dated {
            is_dated(&row)
        } else {
            is_outer(&row)
        };
        match entries.last_mut() {
            // Encoded lines between two rows belong to neither.
            Some(last) if !is_first && text[last.end..row.start].trim().is_empty() => {
                last.end = row.end;
            }
            _ => entries.push(row),
        }
    }
    in_rows(text, entries)
}

/// The pieces of the sentence at `range` of `text`.
fn in_pieces(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let sentence = &text[range.clone()];
    let is_code = sentence.starts_with("```") || sentence.starts_with("~~~");
    if is_code && sentence.lines().all(|it| it.len() <= LONGEST) {
        vec![range]
    } else {
        pieces(text, range)
    }
}

/// Excerpts of `chunk`, the longest first: all `sentences` with a `worth` of at least `least`, then
/// ever fewer of them, the best ones last (…, 8, 5, 3, 2, 1). The information of each is its share
/// of the worth of all these, or of their number if none is worth anything. Sentences are shown
/// character for character, with the text between adjacent ones; a line with `…` stands for omitted
/// text. Each excerpt is shorter than the content and the one before it. If the chunk is a table
/// (`.csv`, `.tsv`) that begins with the first line of the file, each excerpt includes that line,
/// whatever its worth, since it names the columns. Without excerpts if `sentences` are not disjoint
/// ascending ranges of whole characters, as [`sentences`] returns them. O(bytes × log sentences).
pub fn excerpts(
    chunk: &Chunk,
    sentences: &[Range<usize>],
    worth: &[f64],
    least: f64,
) -> Vec<Rendition> {
    if !are_of(&chunk.content, sentences) {
        return Vec::new();
    }
    let mut order: Vec<usize> = (0..sentences.len().min(worth.len()))
        .filter(|&it| worth[it] >= least)
        .collect();
    // The sort is stable: of ties, the first sentence comes first.
    order.sort_by(|&a, &b| worth[b].total_cmp(&worth[a]));
    let all: f64 = order.iter().map(|&it| worth[it]).sum();
    let heading = has_headings(chunk, sentences).then_some(0);
    let mut excerpts: Vec<Rendition> = Vec::new();
    for count in counts(order.len()) {
        let mut chosen = order[..count].to_vec();
        // Summed in the order of `all`, so that all sentences are worth exactly as much.
        let mut kept: f64 = chosen.iter().map(|&it| worth[it]).sum();
        if let Some(it) = heading.filter(|it| !chosen.contains(it)) {
            chosen.push(it);
            kept += if worth[it] >= least { worth[it] } else { 0.0 };
        }
        chosen.sort_unstable();
        let (mut text, lines) = excerpt(chunk, sentences, &chosen);
        let shortest = excerpts
            .last()
            .map_or(chunk.content.len(), |it| it.text().len() + 1);
        if text.len() >= shortest {
            continue;
        }
        // Chunks have their text without the final line feed.
        text.pop();
        let kept = kept / all;
        let information = if kept.is_nan() {
            share(count, order.len())
        } else {
            kept.clamp(0.0, 1.0)
        };
        let rendition = Rendition::new(RenditionKind::Excerpt, text, information);
        excerpts.extend(rendition.and_then(|it| it.with_lines(lines)));
    }
    excerpts
}

/// Whether `ranges` are ascending and disjoint ranges of whole characters of `content`.
fn are_of(content: &str, ranges: &[Range<usize>]) -> bool {
    let is_there = |it: &Range<usize>| content.get(it.clone()).is_some();
    ranges.iter().all(is_there) && ranges.windows(2).all(|it| it[0].end <= it[1].start)
}

/// Whether the first of the `sentences` of `chunk` has the names of columns.
fn has_headings(chunk: &Chunk, sentences: &[Range<usize>]) -> bool {
    let path = chunk.path.as_deref().unwrap_or_default();
    let is_first = chunk.span.is_none_or(|it| it.start() == 1);
    is_headed_table(path)
        && is_first
        && sentences.first().is_some_and(|it| {
            let line = to_line_ends(&chunk.content, it.clone());
            it.len() <= LONGEST_HEADING
                && !chunk.content[..it.start].contains('\n')
                && is_whole(&chunk.content, &line)
        })
}

/// `most`, and the Fibonacci numbers below it, the largest first.
pub(crate) fn counts(most: usize) -> Vec<usize> {
    let (mut low, mut high) = (1, 2);
    let mut counts = Vec::new();
    while low < most {
        counts.push(low);
        (low, high) = (high, low + high);
    }
    counts.extend((most > 0).then_some(most));
    counts.reverse();
    counts
}

/// The text of the `chosen` sentences, and the line number of each of its lines that is shown in
/// full.
fn excerpt(
    chunk: &Chunk,
    sentences: &[Range<usize>],
    chosen: &[usize],
) -> (String, Vec<Option<u32>>) {
    let content = &*chunk.content;
    let (mut text, mut lines) = (String::new(), Vec::new());
    // The next sentence, and the end of what is shown.
    let (mut next, mut shown) = (0, 0);
    // Line numbers are counted on from the previous place.
    let (mut counted, mut number) = (0, chunk.span.map_or(1, LineSpan::start));
    // Encoded text beside rows is no sentence, and is not shown with them.
    let says = |from: usize, to: usize| content[from..to].contains(char::is_alphanumeric);
    let is_next =
        |&a: &usize, &b: &usize| a + 1 == b && !says(sentences[a].end, sentences[b].start);
    for run in chosen.chunk_by(is_next) {
        let (start, end) = (run[0], run[run.len() - 1]);
        if start > next || says(shown, sentences[start].start) {
            push(&mut text, &mut lines, ELISION, None);
        }
        (next, shown) = (end + 1, sentences[end].end);
        let range = to_line_ends(content, sentences[start].start..sentences[end].end);
        let mut at = range.start;
        for line in content[range.clone()].split('\n') {
            let place = at..at + line.len();
            let before = content[counted..place.start].bytes();
            let lines_before = before.filter(|&it| it == b'\n').count();
            number = number.saturating_add(u32::try_from(lines_before).unwrap_or(u32::MAX));
            counted = place.start;
            push(
                &mut text,
                &mut lines,
                line,
                is_whole(content, &place).then_some(number),
            );
            at = place.end + 1;
        }
    }
    if next < sentences.len() || says(shown, content.len()) {
        push(&mut text, &mut lines, ELISION, None);
    }
    (text, lines)
}

fn push(text: &mut String, lines: &mut Vec<Option<u32>>, line: &str, number: Option<u32>) {
    text.push_str(line.strip_suffix('\r').unwrap_or(line));
    text.push('\n');
    lines.push(number);
}

/// Extends `range` by the white space around it, where that reaches the start or end of a line.
fn to_line_ends(content: &str, range: Range<usize>) -> Range<usize> {
    let is_space = |c: char| c != '\n' && c.is_whitespace();
    let before = content[..range.start].trim_end_matches(is_space);
    let after = content[range.end..].trim_start_matches(is_space);
    let start = if before.is_empty() || before.ends_with('\n') {
        before.len()
    } else {
        range.start
    };
    let end = if after.is_empty() || after.starts_with('\n') {
        content.len() - after.len()
    } else {
        range.end
    };
    start..end
}

fn is_whole(content: &str, line: &Range<usize>) -> bool {
    content[..line.start]
        .chars()
        .next_back()
        .is_none_or(|it| it == '\n')
        && content[line.end..]
            .chars()
            .next()
            .is_none_or(|it| it == '\n')
}

#[cfg(test)]
mod tests {
    use ctx_model::Relevance;
    use ctx_testkit::laws::linear;

    use super::*;

    #[test]
    fn rows_of_a_table_are_its_sentences_and_what_is_encoded_is_none() {
        let image = "iVBORw0KGgo".repeat(100);
        let content = format!("id,city\n1,Oslo\r\n\n  2,Rome\n{image}\n3,Bern");
        for (path, count) in [("a.csv", 4), ("a.ipynb", 4), ("a.rs", 0)] {
            let chunk = Chunk::new("a", &*content, Relevance::ONE).with_path(path);
            let found = sentences(&chunk);
            assert_eq!(found.len(), count, "{path}");
            if count > 0 {
                let told: Vec<&str> = found.iter().map(|it| &content[it.clone()]).collect();
                assert_eq!(told, ["id,city", "1,Oslo", "2,Rome", "3,Bern"]);
                let all = excerpts(&chunk, &found, &[0.5; 4], 0.1);
                assert!(!all[0].text().contains("iVBOR"));
            }
        }
    }

    #[test]
    fn an_entry_of_a_log_has_the_lines_that_belong_to_it() {
        let trace = "Traceback (most recent call last):\n  File \"a.py\", line 1\nValueError: no";
        let image = "iVBORw0KGgo".repeat(100);
        for (content, expected) in [
            (
                format!("2024 one\n2024 two\n{trace}\n2024 three\n2024 four\n[5] five\n"),
                vec![
                    "2024 one".to_owned(),
                    format!("2024 two\n{trace}"),
                    "2024 three".to_owned(),
                    "2024 four".to_owned(),
                    "[5] five".to_owned(),
                ],
            ),
            (
                "INFO one\r\nERROR two\r\n    at a.b(c)\r\n\r\n    at d\r\nINFO three".to_owned(),
                vec![
                    "INFO one".to_owned(),
                    "ERROR two\r\n    at a.b(c)\r\n\r\n    at d".to_owned(),
                    "INFO three".to_owned(),
                ],
            ),
            (
                format!("  at the end of another\n{image}\n  INFO one"),
                vec!["at the end of another".to_owned(), "INFO one".to_owned()],
            ),
        ] {
            for path in ["a.log", "logs/a.log.1"] {
                let chunk = Chunk::new("a", &*content, Relevance::ONE).with_path(path);
                let found = sentences(&chunk);
                let told: Vec<&str> = found.iter().map(|it| &content[it.clone()]).collect();
                assert_eq!(told, expected);
            }
        }
    }

    #[test]
    fn encoded_lines_between_two_rows_are_elided_with_a_mark() {
        let image = "iVBORw0KGgo".repeat(100);
        let content = format!("{image}\n2,Rome\n{image}\n3,Bern\n{image}");
        let chunk = Chunk::new("a", content, Relevance::ONE).with_path("a.csv");
        let all = excerpts(&chunk, &sentences(&chunk), &[0.5; 2], 0.1);
        assert_eq!(all[0].text(), "…\n2,Rome\n…\n3,Bern\n…");
        assert_eq!(all[0].lines(), [None, Some(2), None, Some(4), None]);
    }

    /// The excerpt with the sentence that has `word`.
    #[track_caller]
    fn shown_for(word: &str, path: &str, content: &str) -> Rendition {
        let chunk = Chunk::new("a", content, Relevance::ONE).with_path(path);
        let found = sentences(&chunk);
        let has = |it: &Range<usize>| f64::from(u8::from(content[it.clone()].contains(word)));
        let worth: Vec<f64> = found.iter().map(has).collect();
        let excerpt = excerpts(&chunk, &found, &worth, 0.5).pop().unwrap();
        assert!(excerpt.text().contains(word), "{excerpt:?}");
        let shown = excerpt.text().split('\n').filter(|it| *it != ELISION);
        let mut rest = content;
        for it in shown {
            rest = rest.split_once(it).expect("it is there, and in order").1;
        }
        excerpt
    }

    #[test]
    fn of_a_long_sentence_or_row_a_piece_is_shown() {
        let said = "and then we went on to say that ".repeat(150);
        let row = "1234,5678.9,".repeat(10_000);
        let thai = "สวัสดีครับทุกคน".repeat(150);
        let image = "iVBORw0KGgo".repeat(400);
        for (path, before, word) in [
            ("meeting.txt", &said, "zebra"),
            ("a.md", &said, "zebra"),
            ("a.csv", &row, "zebra"),
            ("a.ipynb", &format!("{{\"cells\": [\"{said}\"], "), "zebra"),
            ("a.txt", &thai, "ม้าลาย"),
        ] {
            let content = format!("{before}{word} {before}");
            let excerpt = shown_for(word, path, &content);
            assert!(excerpt.text().len() < 2048, "{path}: {excerpt:?}");
            // Of no line all is shown.
            assert!(excerpt.lines().iter().all(Option::is_none), "{excerpt:?}");
        }
        let row = format!("{{\"a\": \"{image}\", \"b\": \"{said}\", \"c\": \"{image}\"}}");
        let chunk = Chunk::new("a", &*row, Relevance::ONE).with_path("a.ipynb");
        let found = sentences(&chunk);
        assert!(found.iter().all(|it| !is_encoded(&row[it.clone()])));
        assert!(found.iter().map(Range::len).sum::<usize>() < said.len() + 3000);
        // Lines of a long paragraph keep their numbers.
        let lines = format!(
            "{}zebra\n{}",
            "on it goes\n".repeat(150),
            "and on\n".repeat(90)
        );
        let excerpt = shown_for("zebra", "a.txt", &lines);
        assert!(excerpt.lines().contains(&Some(151)), "{excerpt:?}");
        assert!(excerpt.text().len() < 1200);
    }

    #[test]
    fn a_block_of_code_is_cut_only_at_a_long_line() {
        for (line, count) in [("    call(zebra);\n", 1), ("call(zebra); ", 3)] {
            let code = format!("```c\n{}\n```", line.repeat(3000 / line.len()));
            let chunk = Chunk::new("a", code, Relevance::ONE).with_path("a.md");
            assert_eq!(sentences(&chunk).len(), count, "{line}");
        }
    }

    #[test]
    fn of_ranges_that_are_no_sentences_of_it_there_are_no_excerpts() {
        let chunk = Chunk::new("a", "Ä is here. B is not. ".repeat(9), Relevance::ONE);
        let chunk = chunk.with_path("a.md");
        let good = sentences(&chunk);
        assert!(!excerpts(&chunk, &good, &[0.5; 2], 0.1).is_empty());
        for bad in [
            vec![1..10, 11..20],
            vec![0..10, 11..usize::MAX],
            vec![good[1].clone(), good[0].clone()],
            vec![0..15, 11..20],
            vec![Range { start: 10, end: 2 }, 11..20],
        ] {
            assert_eq!(excerpts(&chunk, &bad, &[0.5; 2], 0.1), [], "{bad:?}");
        }
    }

    #[test]
    fn sentences_without_any_worth_count_by_their_number() {
        let content = "A sentence of some words. ".repeat(8);
        let chunk = Chunk::new("a", content, Relevance::ONE).with_path("a.md");
        for worth in [0.0, f64::INFINITY] {
            let found = excerpts(&chunk, &sentences(&chunk), &[worth; 8], 0.0);
            let information: Vec<f64> = found.iter().map(Rendition::information).collect();
            assert_eq!(information, [5.0 / 8.0, 3.0 / 8.0, 2.0 / 8.0, 1.0 / 8.0]);
        }
    }

    #[test]
    fn all_likely_sentences_keep_all_that_is_likely() {
        // Summed in another order, these give another number.
        let worth: Vec<f64> = (1..=20_u32)
            .map(|it| 1.0 / f64::from(it * 7 % 23 + 1))
            .collect();
        let content = "A sentence of some words. ".repeat(worth.len());
        let chunk = Chunk::new("a", content, Relevance::ONE).with_path("a.md");
        let found = excerpts(&chunk, &sentences(&chunk), &worth, 0.06);
        assert!((found[0].information() - 1.0).abs() == 0.0, "{found:?}");
    }

    #[test]
    fn white_space_up_to_the_ends_of_a_line_is_shown_with_it() {
        for (content, expected) in [
            ("  One.  \nTwo.", "  One.  "),
            ("a One. \r\n", "One. \r"),
            ("a\n\n One. b", " One."),
            ("One.\u{2003}\n", "One.\u{2003}"),
            (" One. b", " One."),
            ("é One.", "One."),
        ] {
            let start = content.find("One.").unwrap();
            let range = to_line_ends(content, start..start + 4);
            assert_eq!(&content[range], expected, "{content:?}");
        }
    }

    #[test]
    fn excerpts_of_one_long_line_take_linear_time() {
        let prose = |n: usize| {
            let content = "One is here. Two is not. ".repeat(n / 25);
            let chunk = Chunk::new("a", content, Relevance::ONE).with_path("a.md");
            let found = sentences(&chunk);
            let worth: Vec<f64> = (0..found.len())
                .map(|it| if it % 2 == 0 { 0.5 } else { 0.0 })
                .collect();
            (chunk, found, worth)
        };
        linear("every second sentence", prose, |(chunk, found, worth)| {
            excerpts(chunk, found, worth, 0.1)
        });
    }

    #[test]
    fn rows_are_shown_with_the_headings_of_their_columns() {
        let content =
            "id,city,people\n1,Oslo,709037\n2,Rome,2754719\n3,Bern,137995\n4,Riga,605273\n";
        let of = |path: &str, first: u32, least: f64| {
            let span = LineSpan::new(first, first + 4).unwrap();
            let chunk = Chunk::new("a", content, Relevance::ONE);
            let chunk = chunk.with_path(path).with_span(span);
            let found = excerpts(
                &chunk,
                &sentences(&chunk),
                &[0.01, 0.1, 0.1, 0.5, 0.1],
                least,
            );
            let last = found.last().unwrap();
            let is_shorter = |two: &[Rendition]| {
                two[1].text().len() < two[0].text().len()
                    && two[1].information() < two[0].information()
            };
            assert!(found.windows(2).all(is_shorter), "{found:?}");
            (
                last.text().to_owned(),
                last.lines().to_vec(),
                last.information(),
            )
        };
        for path in ["a.csv", "b/A.TSV"] {
            let (text, lines, information) = of(path, 1, 0.05);
            assert_eq!(text, "id,city,people\n…\n3,Bern,137995\n…");
            assert_eq!(lines, [Some(1), None, Some(4), None]);
            assert!((information - 0.625).abs() < 1e-9, "{information}");
            // Its worth counts if that is at least `least`.
            let (_, _, information) = of(path, 1, 0.0);
            assert!((information - 0.51 / 0.81).abs() < 1e-9, "{information}");
        }
        // A line of the file outside the part is never shown.
        assert_eq!(of("a.csv", 41, 0.05).0, "…\n3,Bern,137995\n…");
        assert_eq!(of("a.jsonl", 1, 0.05).0, "…\n3,Bern,137995\n…");
        for columns in [100, 160] {
            let wide = format!("{}\n{content}", "column,".repeat(columns));
            let chunk = Chunk::new("a", wide, Relevance::ONE).with_path("a.csv");
            let sentences = sentences(&chunk);
            let mut worth = vec![0.01; sentences.len() - 5];
            worth.extend([0.01, 0.5, 0.1, 0.1, 0.1]);
            let found = excerpts(&chunk, &sentences, &worth, 0.05);
            assert!(found.iter().all(|it| !it.text().contains("column")));
        }
    }
}
