//! The lines that name what a line of code is in, found by indentation alone.
//!
//! The definition that a change touched has to be found in an old version of a text, and there are
//! thousands of those: parsing each would take minutes. In indented code, the head of a block is
//! above it and less indented. So the words of these lines are collected, the nearest first, and
//! the first of them that the file defines today is taken for the definition.

use std::ops::Range;

/// A longer line, in bytes, is not considered.
const LONGEST_LINE: usize = 400;
/// How many lines are searched above a line for its heads, and below a head for its block.
const NEAR: usize = 600;
/// The most lines of one change that are taken as heads themselves.
const OWN: usize = 8;
/// The most words taken of one line.
const WORDS_OF_LINE: usize = 8;
/// The most words taken of all heads of one location.
const WORDS: usize = 24;
/// The lengths of words that are taken, in bytes.
const LENGTHS: std::ops::RangeInclusive<usize> = 2..=64;
/// The width of a tab, in blanks.
const TAB: usize = 8;

/// First words of lines that open a block but define nothing.
const STATEMENTS: [&str; 29] = [
    "assert", "await", "begin", "case", "catch", "do", "elif", "else", "elsif", "ensure", "except",
    "finally", "for", "foreach", "if", "loop", "match", "raise", "rescue", "return", "select",
    "switch", "throw", "try", "unless", "when", "while", "with", "yield",
];
/// Keywords one of which is at the beginning of a definition on one line.
const DEFINING: [&str; 23] = [
    "class",
    "const",
    "def",
    "define",
    "enum",
    "fn",
    "fun",
    "func",
    "function",
    "interface",
    "macro",
    "macro_rules",
    "mod",
    "module",
    "namespace",
    "record",
    "static",
    "struct",
    "trait",
    "type",
    "typealias",
    "typedef",
    "union",
];
/// First words of lines that define a name after a dot, too.
const DEFINERS: [&str; 6] = ["def", "fn", "fun", "func", "function", "local"];

/// The indices of the lines that may name what the lines `at` of `lines` are in: first those in
/// `at` that are heads or definitions on one line, then the heads above the first line of `at`, the
/// nearest first. An empty `at` means that lines were removed there: the line before it is used
/// instead. O(lines of `at`, and 600 above and below).
pub(crate) fn heads(lines: &[&str], at: Range<usize>) -> Vec<usize> {
    let at = at.start.min(lines.len())..at.end.min(lines.len());
    let is_said = |&it: &usize| depth(lines[it]).is_some();
    let (first, own) = match at.clone().find(is_said) {
        Some(first) => (first, first..at.end),
        // If lines were removed, the line before them is the best evidence.
        None => match (0..at.start).rev().take(NEAR).find(is_said) {
            Some(before) => (before, before..before + 1),
            None => return Vec::new(),
        },
    };
    let is_told = |it: usize| !at.is_empty() && defines(lines[it]);
    let own = own.filter(|&it| opens(lines, it) || is_told(it)).take(OWN);
    let mut heads: Vec<usize> = own.collect();
    above(lines, first, &mut heads);
    heads
}

/// Adds the heads above line `of`.
fn above(lines: &[&str], of: usize, heads: &mut Vec<usize>) {
    // Only lines with less indentation than this are heads.
    let Some(mut limit) = depth(lines[of]) else {
        return;
    };
    for (at, line) in lines[..of].iter().enumerate().rev().take(NEAR) {
        let Some(depth) = depth(line).filter(|&depth| depth < limit) else {
            continue;
        };
        match Line::of(line) {
            Line::Aside => continue,
            // The statement that the bracket belongs to begins above, with the same indentation.
            Line::Bracket => limit = depth + 1,
            Line::Statement => limit = depth,
            Line::Head => {
                limit = depth;
                heads.push(at);
            }
        }
        if limit == 0 {
            break;
        }
    }
}

/// Whether line `at` is a head, and the next line that is not blank is indented deeper.
fn opens(lines: &[&str], at: usize) -> bool {
    let Some(depth_here) = depth(lines[at]) else {
        return false;
    };
    let below = lines[at + 1..].iter().take(NEAR);
    let mut next = below.filter_map(|it| depth(it));
    next.next().is_some_and(|it| it > depth_here) && Line::of(lines[at]) == Line::Head
}

/// Whether `line` alone is a definition: by a keyword, or by an assignment without indentation.
fn defines(line: &str) -> bool {
    let Some(depth) = depth(line).filter(|_| Line::of(line) == Line::Head) else {
        return false;
    };
    if depth == 0 && line.contains(" = ") {
        return true;
    }
    // `pub(crate)` and `async` may precede the keyword; parts of a call or an expression may not.
    let is_word = |it: &str| {
        it.bytes()
            .all(|it| it.is_ascii_alphanumeric() || it == b'_')
    };
    let words = line.split_whitespace().take(WORDS_OF_LINE);
    let mut words = words.take_while(|it| is_word(it) || it.starts_with("pub("));
    words.any(|it| DEFINING.contains(&it)) && line.split_whitespace().nth(1).is_some()
}

/// How a line relates to more indented lines below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    /// May define what they are in.
    Head,
    /// A statement.
    Statement,
    /// Continues a head that began above it, or closes a block.
    Bracket,
    /// A line whose indentation means nothing: a label, a comment, a preprocessor directive.
    Aside,
}

impl Line {
    fn of(line: &str) -> Line {
        let line = line.trim();
        let first = first_word(line);
        let is_label = || {
            let name = line.strip_suffix(':');
            name.is_some_and(|it| {
                it.bytes()
                    .all(|it| it.is_ascii_alphanumeric() || it == b'_')
            })
        };
        if line.starts_with(['#', '*']) || line.starts_with("//") || line.starts_with("--") {
            Line::Aside
        } else if line.starts_with([')', ']', '}', '{']) {
            Line::Bracket
        } else if STATEMENTS.contains(&first) {
            Line::Statement
        } else if is_label() {
            Line::Aside
        } else {
            Line::Head
        }
    }
}

/// The indentation of a line; `None` if it is blank or too long.
fn depth(line: &str) -> Option<usize> {
    if line.len() > LONGEST_LINE {
        return None;
    }
    let said = line.trim_start();
    if said.is_empty() {
        return None;
    }
    let blank = line[..line.len() - said.len()].chars();
    Some(blank.map(|it| if it == '\t' { TAB } else { 1 }).sum())
}

fn first_word(line: &str) -> &str {
    words_of(line).next().map_or("", |(_, word)| word)
}

/// The words of `line` that may be names, each with its offset.
fn words_of(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_of_word = |it: char| it.is_alphanumeric() || it == '_' || it == '$';
    let words = line.split(move |it| !is_of_word(it));
    let words = words.map(|it| (it.as_ptr().addr() - line.as_ptr().addr(), it));
    words.filter(|(_, it)| LENGTHS.contains(&it.len()) && !it.starts_with(char::is_numeric))
}

/// The words of `heads` that may be names of definitions, each once: words before a parenthesis
/// come first in a line. Left out are words after an assignment, and words after a dot in lines
/// without a keyword of [`DEFINERS`].
pub(crate) fn names<'t>(heads: impl Iterator<Item = &'t str>) -> Vec<&'t str> {
    let mut names = Vec::new();
    for line in heads {
        if names.len() == WORDS {
            break;
        }
        let line = line.split(" = ").next().unwrap_or(line);
        let is_definition = DEFINERS.contains(&first_word(line));
        let words = words_of(line).filter(|(at, _)| is_definition || !line[..*at].ends_with('.'));
        let words: Vec<_> = words.take(WORDS_OF_LINE).collect();
        let is_called = |(at, word): &(usize, &str)| line[at + word.len()..].starts_with('(');
        let (called, others): (Vec<_>, Vec<_>) = words.into_iter().partition(is_called);
        for (_, word) in called.into_iter().chain(others) {
            if names.len() < WORDS && !names.contains(&word) {
                names.push(word);
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The names of the definitions around the lines `at`.
    fn named<'t>(lines: &[&'t str], at: Range<usize>) -> Vec<&'t str> {
        names(heads(lines, at).into_iter().map(|it| lines[it]))
    }

    /// Asserts that the first of `defined` among the names for the line of `text` with a `§` is
    /// `expected`.
    #[track_caller]
    fn is_in(text: &str, defined: &[&str], expected: Option<&str>) {
        let lines: Vec<&str> = text.lines().collect();
        let at = lines.iter().position(|it| it.contains('§')).unwrap();
        let found = named(&lines, at..at + 1);
        let found = found.into_iter().find(|it| defined.contains(it));
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn the_definition_around_a_line_is_found_by_indentation_in_any_language() {
        let python = "class Pool:\n    def take(self, size):\n        if empty(size):\n            wait() §\n\n    def give(self):\n        pass\n";
        is_in(
            python,
            &["Pool", "take", "give", "empty", "wait"],
            Some("take"),
        );
        is_in(python, &["Pool", "give"], Some("Pool"));
        let rust = "impl Pool {\n    pub fn take(\n        &self,\n        size: usize,\n    ) -> Slot {\n        match size {\n            0 => none(), §\n        }\n    }\n}\n";
        is_in(rust, &["Pool", "take", "Slot"], Some("take"));
        let c = "static int\ntake(struct pool *pool)\n{\n#ifdef DEBUG\n\tlog(pool);\n#endif\nagain:\n\twait(pool); /* § */\n}\n";
        is_in(c, &["take", "log", "again"], Some("take"));
        let go = "func (p *Pool) Take(n int) error {\n\tfor i := range n {\n\t\treturn p.wait(i) // §\n\t}\n}\n";
        is_in(go, &["Take", "Pool"], Some("Take"));
        is_in(go, &["Pool"], Some("Pool"));
        let javascript = "export const take = async (size) => {\n  const slots = all\n    .filter((it) => it.free) // §\n};\n";
        is_in(javascript, &["take"], Some("take"));
        let ruby = "class Pool\n  def self.take(size)\n    all.select(\n      free(size), §\n    )\n  end\nend\n";
        is_in(ruby, &["Pool", "take", "select"], Some("take"));
        let call = "def take(self):\n    slot = wait(\n        self.size, §\n    )\n";
        is_in(call, &["take", "wait"], Some("take"));
        is_in("x = 1 §\n", &["take"], None);
    }

    #[test]
    fn a_head_that_is_itself_changed_is_told_first_and_what_was_taken_away_by_the_line_before() {
        let lines = ["def take():", "    pass", "", "def give():", "    pass"];
        assert_eq!(named(&lines, 3..5), ["give", "def"]);
        assert_eq!(named(&lines, 2..2), ["take", "def"]);
        assert_eq!(named(&lines, 1..1), ["take", "def"]);
        assert_eq!(named(&lines, 0..0), [""; 0]);
        assert_eq!(named(&[], 0..7), [""; 0]);
    }

    #[test]
    fn a_definition_on_one_line_is_itself_what_was_changed() {
        for (text, name) in [
            ("pub const LIMIT: u32 = 5; §\n\nfn take() {}\n", "LIMIT"),
            ("mod inner {\n    fn one() { 0 } §\n}\n", "one"),
            (
                "impl Pool {\n    pub(crate) const fn one() -> u8 { 0 } §\n}\n",
                "one",
            ),
            (
                "class Pool {\n  private static final int MOST = 3; // §\n}\n",
                "MOST",
            ),
            ("MOST = 3 # §\n", "MOST"),
            ("export type Slot = Pool['slot']; // §\n", "Slot"),
        ] {
            let defined = ["LIMIT", "one", "MOST", "Slot", "Pool", "inner", "take"];
            is_in(text, &defined, Some(name));
        }
        // A statement belongs to the head above it.
        for text in [
            "def take():\n    size = most(1) # §\n",
            "fn take() {\n    most(1); // §\n}\n",
            "fn take() {\n    let most = 1; // §\n}\n",
        ] {
            is_in(text, &["most", "take"], Some("take"));
        }
        let lines = ["const AA: u8 = 1;", "const BB: u8 = 2;"];
        assert_eq!(named(&lines, 0..2), ["const", "AA", "u8", "BB"]);
        // The lines removed after a definition did not belong to it.
        assert_eq!(named(&lines, 1..1), [""; 0]);
    }

    #[test]
    fn lines_far_from_a_change_are_not_examined() {
        let apart = |blank: usize| {
            let blank = std::iter::repeat_n("", blank);
            let lines = ["take():"].into_iter().chain(blank);
            lines.chain(["    pass"]).collect::<Vec<_>>()
        };
        let (near, far) = (apart(NEAR - 1), apart(NEAR));
        let last = |lines: &[&str]| lines.len() - 1..lines.len();
        assert_eq!(heads(&near, last(&near)), [0]);
        assert_eq!(heads(&far, last(&far)), [0; 0]);
        assert_eq!(heads(&near, 0..1), [0]);
        assert_eq!(heads(&far, 0..1), [0; 0]);
    }

    proptest! {
        #[test]
        fn any_lines_have_no_more_words_than_are_kept(
            lines in prop::collection::vec("[ \t{}()#:a-z§]{0,12}", 0..40),
            start in 0_usize..50,
            length in 0_usize..20,
        ) {
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            let found = named(&lines, start..start + length);
            prop_assert!(found.len() <= WORDS);
            prop_assert!(found.iter().all(|it| lines.iter().any(|line| line.contains(it))));
        }
    }
}
