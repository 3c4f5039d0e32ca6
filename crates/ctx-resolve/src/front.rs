//! Images, badges and tags at the beginning of a document.

/// Characters that may stand between two badges.
const BETWEEN: [char; 5] = ['|', '·', '•', '\u{a0}', '\u{200b}'];

/// The number of lines at the beginning of `text`, Markdown or HTML, that have only images, badges,
/// comments, and tags without words between them; all lines if there are no others. Unclosed tags
/// and comments do not count. O(bytes).
pub fn lines_of_pictures(text: &str) -> usize {
    let (mut within, mut open) = (Within::Nothing, 0);
    let mut count = 0;
    for line in text.lines() {
        if within == Within::Nothing {
            open = count;
        }
        match rest_of(line, within) {
            Some(next) => within = next,
            None => return count,
        }
        count += 1;
    }
    if within == Within::Nothing {
        count
    } else {
        open
    }
}

/// The construct in which a line ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Nothing,
    Tag,
    Comment,
}

/// The construct in which `line` ends, if it begins within `within`; `None` if it has a word.
fn rest_of(line: &str, mut within: Within) -> Option<Within> {
    let mut rest = line;
    loop {
        let end = match within {
            Within::Tag => ">",
            Within::Comment => "-->",
            Within::Nothing => {
                rest =
                    rest.trim_start_matches(|it: char| it.is_whitespace() || BETWEEN.contains(&it));
                if rest.is_empty() {
                    return Some(within);
                }
                if let Some(after) = rest.strip_prefix("&nbsp;").or_else(|| after_badge(rest)) {
                    rest = after;
                    continue;
                }
                within = opened(rest)?;
                continue;
            }
        };
        let Some((_, after)) = rest.split_once(end) else {
            return Some(within);
        };
        (rest, within) = (after, Within::Nothing);
    }
}

/// The construct that begins `text`: a comment, or an HTML tag, but not a URL in angle brackets.
fn opened(text: &str) -> Option<Within> {
    if text.starts_with("<!--") {
        return Some(Within::Comment);
    }
    let inner = text.strip_prefix('<')?;
    let name = inner.strip_prefix('/').unwrap_or(inner);
    let after = name.trim_start_matches(|it: char| it.is_ascii_alphanumeric());
    let is_name = name.starts_with(|it: char| it.is_ascii_alphabetic());
    let is_tag = is_name && (after.is_empty() || after.starts_with([' ', '\t', '/', '>']));
    is_tag.then_some(Within::Tag)
}

/// The text after a leading image, or after a leading link that contains only an image.
fn after_badge(text: &str) -> Option<&str> {
    let Some(linked) = text.strip_prefix('[') else {
        return after_picture(text);
    };
    after_target(after_picture(linked)?.strip_prefix(']')?)
}

fn after_picture(text: &str) -> Option<&str> {
    let (_, after) = text.strip_prefix("![")?.split_once(']')?;
    after_target(after)
}

/// The text after the URL or the label of a link.
fn after_target(text: &str) -> Option<&str> {
    let (inner, end) = match text.as_bytes().first() {
        Some(b'(') => (&text[1..], ')'),
        Some(b'[') => (&text[1..], ']'),
        _ => return None,
    };
    inner.split_once(end).map(|(_, after)| after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: usize) {
        assert_eq!(lines_of_pictures(text), expected, "{text}");
    }

    #[test]
    fn pictures_badges_and_tags_say_nothing() {
        check(
            "<p align=\"center\">\n  <img src=\"a.svg\" alt=\"owls\">\n</p>\n\n# Owls\n",
            4,
        );
        check("<img\n  src=\"a.svg\"\n  alt=\"owls\"\n/>\nOwls fly.\n", 4);
        check(
            "[![Build](b.svg)](c) [![Docs][d]][e] | ![f](g)\n\nOwls fly.\n",
            2,
        );
        check("<!-- all\n\n# rights -->\n<br/>&nbsp;<br>\nOwls fly.\n", 4);
        check("<a href=\"x\"><img src=\"y\"></a>\n", 1);
        check("", 0);
    }

    #[test]
    fn a_line_with_a_word_says_something() {
        for text in [
            "# Owls",
            "<h1>Owls</h1>",
            "<p>Owls\n</p>",
            "[Docs](a.md)",
            "![Owls](a.svg) fly.",
            "<https://owls.example>",
            "<3 owls",
            "[![Build](b.svg)",
            "---\ntitle: Owls\n---",
        ] {
            check(text, 0);
            check(&format!("<p>\n\n{text}"), 2);
        }
        check("<p>\n<b>Owls</b> fly.", 1);
    }

    #[test]
    fn an_unclosed_tag_is_no_tag() {
        check("<p>\n<img src=\"a.svg\"\nOwls fly.\n", 1);
        check("<!-- Owls fly.\n", 0);
    }
}
