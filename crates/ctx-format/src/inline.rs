//! One-line text that Markdown shows literally: active characters are escaped by a backslash, and
//! unescaped when read back.

/// Appends `line`, which must be neutralised, so that CommonMark shows its characters, except for
/// emphasis (0.31, chapter 6). A character is escaped only where it could be active, which is
/// nowhere in most paths and sentences. White space at the ends, which no heading keeps, is left as
/// it is. O(bytes).
pub(crate) fn push_escaped(out: &mut String, line: &str) {
    let mut from = 0;
    for at in acting(line) {
        out.push_str(&line[from..at]);
        out.push('\\');
        from = at;
    }
    out.push_str(&line[from..]);
}

/// `line`, which must be [neutralised](crate::neutralise), as Markdown that shows its characters:
/// it holds no link, picture, tag or code, though emphasis may be one. O(bytes).
///
/// ```
/// assert_eq!(ctx_format::literal("a.rs - ![x](//y)"), "a.rs - ![x\\](//y)");
/// ```
pub fn literal(line: &str) -> String {
    let mut escaped = String::with_capacity(line.len());
    push_escaped(&mut escaped, line);
    escaped
}

/// Writes a line of text that will stand in brackets at the beginning of a line: there a closing
/// bracket and a colon within it would define a link for the whole document (CommonMark 0.31,
/// section 4.7).
pub(crate) fn push_bracketed(out: &mut String, line: &str) {
    let escaped = literal(line);
    let mut parts = escaped.split("]:");
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        out.push_str("\\]:");
        out.push_str(part);
    }
}

/// The positions of the characters of `line` that could be active, all of them ASCII. Emphasis is
/// not included: it neither links nor loads anything, and readers of the raw text should see
/// `__init__.py` unchanged. O(bytes).
pub(crate) fn acting(line: &str) -> impl Iterator<Item = usize> {
    let line = if may_act(line) { line } else { "" };
    let bytes = line.bytes().enumerate();
    bytes.filter_map(|(at, byte)| acts(line, at, byte).then_some(at))
}

/// Whether `line` has a character that can be active. Without a branch per byte, so that many are
/// tested at once.
fn may_act(line: &str) -> bool {
    let is_it = |byte: u8| matches!(byte, b'`' | b'\\' | b'<' | b'&' | b']');
    line.bytes().fold(false, |any, byte| any | is_it(byte))
}

/// Appends `line` as a heading: also escapes `#` characters at the end, which would be taken for
/// the end of the heading.
pub(crate) fn push_escaped_heading(out: &mut String, line: &str) {
    let start = out.len();
    push_escaped(out, line);
    let text = out[start..].trim_end();
    let without = text.trim_end_matches('#');
    let is_end =
        without.len() < text.len() && (without.is_empty() || without.ends_with([' ', '\t']));
    if is_end {
        out.insert(start + without.len(), '\\');
    }
}

/// The line that [`push_escaped`] escaped.
pub(crate) fn unescaped(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        let escaped = chars.next_if(|next| c == '\\' && next.is_ascii_punctuation());
        text.push(escaped.unwrap_or(c));
    }
    text
}

/// Whether `byte` at `at` in `line` could be active. For the few candidates, the line after it is
/// examined.
fn acts(line: &str, at: usize, byte: u8) -> bool {
    let rest = || &line[at + 1..];
    let next = || rest().chars().next();
    match byte {
        b'`' => true,
        // At the end, a backslash breaks the line.
        b'\\' => next().is_none_or(|next| next.is_ascii_punctuation()),
        b'<' => {
            let is_tag = |it: char| it.is_ascii_alphabetic() || matches!(it, '/' | '!' | '?');
            next().is_some_and(is_tag) || is_address(rest())
        }
        b'&' => is_entity(rest()),
        // Without a link target, brackets are ordinary characters.
        b']' => matches!(next(), Some('(' | '[')),
        _ => false,
    }
}

/// Whether `rest`, the text after `<`, may be an e-mail autolink (CommonMark 0.31, 6.5).
fn is_address(rest: &str) -> bool {
    let is_local = |it: char| it.is_ascii_alphanumeric() || ".!#$%&'*+/=?^_`{|}~-".contains(it);
    let domain = rest.trim_start_matches(is_local);
    domain.len() < rest.len() && domain.starts_with('@')
}

/// Whether `rest`, the text after an ampersand, forms a character reference with it.
fn is_entity(rest: &str) -> bool {
    let name = rest.trim_start_matches('#');
    let end = name.find(|c: char| !c.is_ascii_alphanumeric());
    rest.len() - name.len() <= 1 && end.is_some_and(|end| end > 0 && name[end..].starts_with(';'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn escaped(line: &str, expected: &str) {
        let mut out = String::new();
        push_escaped(&mut out, line);
        assert_eq!(out, expected);
        assert_eq!(unescaped(&out), line);
    }

    #[test]
    fn inert_text_keeps_its_bytes() {
        for line in [
            "src/some_module/file-name.test.rs",
            "pages/[slug]/index.tsx",
            r"C:\work\file.txt",
            "use std::collections::*",
            "a & b < c > d * e ~ f!",
            "#include x # y",
            "name (src/a_b.rs:3) [id]",
            "R&D, AT&T",
            "日本語_テスト.rs",
            "pkg/__init__.py",
            "*a* and **b** of _c_",
            "i <10, j <= 9, k <-1 <@a.b",
        ] {
            escaped(line, line);
        }
    }

    #[test]
    fn active_markup_is_escaped() {
        escaped("![p](http://a/p.png)", r"![p\](http://a/p.png)");
        escaped("see <img src=x>", r"see \<img src=x>");
        escaped("`a` &lt; &#9;", r"\`a\` \&lt; \&#9;");
        escaped(r"a\*b\", r"a\\*b\\");
        escaped("Vec<T>", r"Vec\<T>");
        for address in ["1@evil.example", ".a@b.c", "+a@b.c", "=@b.c"] {
            escaped(&format!("see <{address}>"), &format!(r"see \<{address}>"));
        }
    }

    #[test]
    fn a_heading_keeps_the_hashes_it_ends_with() {
        for (line, expected) in [
            ("notes #", r"notes \#"),
            ("notes ##", r"notes \##"),
            ("#", r"\#"),
            ("c#", "c#"),
        ] {
            let mut out = "### ".to_owned();
            push_escaped_heading(&mut out, line);
            assert_eq!(out, format!("### {expected}"));
            assert_eq!(unescaped(expected), line);
        }
    }
}
