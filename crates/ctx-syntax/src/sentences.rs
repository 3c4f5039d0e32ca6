//! Splits prose into sentences.

use std::ops::Range;

/// Words that may end with a full stop within a sentence, in lower case. Sorted.
const ABBREVIATIONS: &[&str] = &[
    "al", "approx", "ca", "cf", "col", "dr", "eg", "fig", "gen", "ie", "inc", "jr", "ltd", "mr",
    "mrs", "ms", "prof", "rep", "resp", "sen", "sr", "st", "vs",
];

/// The byte ranges of the sentences of `text`, in order, without the white space around them. A
/// heading, a list item, a table row and a fenced code block count as one each; consecutive lines
/// are one paragraph, so a sentence may span several. Text without letters or digits, such as a
/// rule under a heading, belongs to the sentence before it. Scripts that end sentences without a
/// space are supported. By rules, not by a model: an abbreviation may end a sentence early.
/// O(bytes).
pub fn sentences(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for block in blocks(text) {
        let is_fenced = is_fence(text[block.clone()].trim_start());
        if is_fenced {
            keep(text, block, &mut found);
            continue;
        }
        let mut start = block.start;
        for end in ends(&text[block.clone()]) {
            keep(text, start..block.start + end, &mut found);
            start = block.start + end;
        }
        keep(text, start..block.end, &mut found);
    }
    found
}

/// Adds `range` to `found`, or extends the last sentence if `range` has no letters or digits.
fn keep(text: &str, range: Range<usize>, found: &mut Vec<Range<usize>>) {
    let part = &text[range.clone()];
    let trimmed = part.trim();
    if trimmed.is_empty() {
        return;
    }
    let start = range.start + part.len() - part.trim_start().len();
    let range = start..start + trimmed.len();
    match found.last_mut() {
        Some(last) if !trimmed.contains(char::is_alphanumeric) => last.end = range.end,
        _ => found.push(range),
    }
}

/// The blocks of `text`: runs of lines that belong together.
fn blocks(text: &str) -> Vec<Range<usize>> {
    let mut blocks: Vec<Range<usize>> = Vec::new();
    let mut fence: Option<&str> = None;
    let mut is_open = false;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let range = at..at + line.len();
        at = range.end;
        let trimmed = line.trim();
        let continues = is_open && (fence.is_some() || !begins_block(trimmed));
        if let Some(open) = fence {
            if trimmed.starts_with(open) {
                fence = None;
            }
        } else if trimmed.is_empty() {
            is_open = false;
            continue;
        } else if is_fence(trimmed) {
            fence = Some(&trimmed[..3]);
        }
        match blocks.last_mut() {
            Some(last) if continues => last.end = range.end,
            _ => blocks.push(range),
        }
        is_open = fence.is_some() || !(is_fence(trimmed) || is_heading(trimmed));
    }
    blocks
}

fn is_fence(line: &str) -> bool {
    line.starts_with("```") || line.starts_with("~~~")
}

fn is_heading(line: &str) -> bool {
    line.starts_with(['#', '='])
}

/// Whether `line` begins a new block: a heading, a list item, a quotation, a table row.
fn begins_block(line: &str) -> bool {
    let is_bullet = line.starts_with("- ") || line.starts_with("* ") || line.starts_with("+ ");
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let after = &line.as_bytes()[digits..];
    let is_numbered = (1..4).contains(&digits)
        && after.first().is_some_and(|it| b".)".contains(it))
        && after.get(1) == Some(&b' ');
    is_bullet || is_numbered || is_fence(line) || is_heading(line) || line.starts_with(['|', '>'])
}

/// The ends of the sentences of a paragraph, except for the last.
fn ends(text: &str) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        if matches!(c, '。' | '！' | '？') {
            ends.push(at + c.len_utf8());
            continue;
        }
        if !matches!(c, '.' | '!' | '?' | '…') {
            continue;
        }
        let mut end = at + c.len_utf8();
        while let Some(&(next, c)) = characters.peek()
            && is_closing(c)
        {
            end = next + c.len_utf8();
            characters.next();
        }
        if is_end(&text[..at], c, &text[end..]) {
            ends.push(end);
        }
    }
    ends
}

/// Characters that may stand between the last word of a sentence and the following space.
fn is_closing(c: char) -> bool {
    matches!(
        c,
        '.' | '!' | '?' | '…' | '"' | '\'' | '”' | '’' | '»' | ')' | ']' | '*' | '_' | '`'
    )
}

/// Whether `mark` between `before` and `after` ends a sentence: a space follows, and no word in
/// lower case.
fn is_end(before: &str, mark: char, after: &str) -> bool {
    if !after.starts_with(char::is_whitespace) {
        return false;
    }
    if after.trim_start().starts_with(char::is_lowercase) {
        return false;
    }
    mark != '.' || !is_abbreviation(before)
}

/// Whether `text` ends with an abbreviation or an initial, to which a full stop belongs: `Dr`, `J`.
fn is_abbreviation(text: &str) -> bool {
    let letters = text.bytes().rev().take_while(u8::is_ascii_alphabetic);
    // Longer than the longest abbreviation.
    let count = letters.take(8).count();
    let word = &text[text.len() - count..];
    let is_initial = count == 1 && word != "I" && word.bytes().all(|it| it.is_ascii_uppercase());
    is_initial
        || ABBREVIATIONS
            .binary_search(&&*word.to_ascii_lowercase())
            .is_ok()
}

#[cfg(test)]
mod tests {
    use ctx_testkit::laws::linear;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let found: Vec<&str> = sentences(text).into_iter().map(|it| &text[it]).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_sentence_ends_where_a_space_and_no_small_letter_follow() {
        check(
            "One. Two! Three? “Four.” 5.",
            &["One.", "Two!", "Three?", "“Four.”", "5."],
        );
        check(
            "See example.com or v1.2 of it. Next",
            &["See example.com or v1.2 of it.", "Next"],
        );
        check("Go on ... until it ends.", &["Go on ... until it ends."]);
    }

    #[test]
    fn abbreviations_and_initials_end_none() {
        check(
            "Dr. Who met J. Smith. I did.",
            &["Dr. Who met J. Smith.", "I did."],
        );
        check("So did I. Yes.", &["So did I.", "Yes."]);
        assert!(ABBREVIATIONS.is_sorted());
    }

    #[test]
    fn a_sentence_may_go_over_lines_but_not_over_paragraphs() {
        check(
            "It goes\non. And\non\n\nhere",
            &["It goes\non.", "And\non", "here"],
        );
    }

    #[test]
    fn headings_items_and_rows_are_sentences_of_their_own() {
        check(
            "# Title\nText\n- one\n- two\n  more\n| a | b |\n| c | d |\n",
            &[
                "# Title",
                "Text",
                "- one",
                "- two\n  more",
                "| a | b |",
                "| c | d |",
            ],
        );
        check("Title\n=====\nText", &["Title\n=====", "Text"]);
        check(
            "Run\n```sh\na. B\n\nc\n```\nand",
            &["Run", "```sh\na. B\n\nc\n```", "and"],
        );
    }

    #[test]
    fn scripts_without_spaces_are_cut() {
        check("一。二！三", &["一。", "二！", "三"]);
    }

    #[test]
    fn blank_text_has_no_sentences() {
        check("", &[]);
        check(" \n\t\n", &[]);
        check("***", &["***"]);
    }

    #[test]
    fn sentences_are_found_in_linear_time() {
        for pattern in [
            ".",
            ". ",
            "A. ",
            "a.\n",
            ".\n\n",
            ".   ",
            "?)",
            "!\"'",
            "。",
            "a",
            "\n",
            " ",
            "- \n",
            "1. ",
            "#\n",
            "```\n",
            "```\n\n~~~\n",
            "|",
            "| .\n",
            "Dr. ",
            "e.g. ",
            "*\n",
            "a\n",
            "…",
            "\u{2003}",
        ] {
            for before in ["", "a. ", "```\n", "- "] {
                let text = |n: usize| before.to_owned() + &pattern.repeat(n / pattern.len());
                linear(&format!("{pattern:?} after {before:?}"), text, |it| {
                    sentences(it)
                });
            }
        }
    }
}
