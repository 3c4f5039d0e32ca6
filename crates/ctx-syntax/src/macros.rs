//! Blanks what is meant for a preprocessor, in C, C++ and C#, and that the grammars cannot parse.
//!
//! The grammars see source that has not been preprocessed. Words in capitals where C++ allows
//! nothing (`class EXPORT A {`, `int a GUARDED_BY(b);`) are taken for macros that annotate a
//! declaration; and of a condition (`#if`) that cuts a list, an expression, a statement or a block,
//! only the first branch is kept. Removed text is replaced by spaces, so that all else keeps its
//! place.

use std::ops::Range;

use crate::header::{Token, Tokens};
use crate::table::Preprocessor;

/// Replaces what is meant for the `preprocessor` in `text` by spaces; `None` if there is nothing
/// like that. O(bytes).
pub(crate) fn blanked(text: &str, preprocessor: Preprocessor) -> Option<String> {
    if preprocessor == Preprocessor::Nothing {
        return None;
    }
    let tokens = Placed::all(text);
    let reader = Reader {
        text,
        tokens: &tokens,
    };
    let mut ranges = Vec::new();
    if preprocessor == Preprocessor::All {
        ranges = reader.macros();
    }
    reader.conditions(&mut ranges);
    blank(text, ranges)
}

/// Replaces macros before an access word (`Q_OBJECT public:`) in `text` by spaces; `None` if there
/// are none. The grammar reads both as a field and its type, which need not be an error. O(bytes).
pub(crate) fn without_those_before_access(text: &str) -> Option<String> {
    if !ACCESS.iter().any(|word| text.contains(word)) {
        return None;
    }
    let tokens = Placed::all(text);
    let reader = Reader {
        text,
        tokens: &tokens,
    };
    blank(text, reader.macros_before_access())
}

fn blank(text: &str, ranges: Vec<Range<usize>>) -> Option<String> {
    if ranges.is_empty() {
        return None;
    }
    let mut bytes = text.as_bytes().to_vec();
    for range in ranges {
        for byte in &mut bytes[range] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
    }
    String::from_utf8(bytes).ok()
}

/// A token with its place and its matching parenthesis.
#[derive(Debug)]
struct Placed<'t> {
    token: Token<'t>,
    bytes: Range<usize>,
    /// For a `)`, the index of its `(`.
    opened: Option<usize>,
    /// For a `(`, the index of its `)`.
    closed: Option<usize>,
}

impl<'t> Placed<'t> {
    fn all(text: &'t str) -> Vec<Self> {
        let mut tokens = Tokens::of(text.as_bytes());
        let mut all: Vec<Placed<'t>> = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        while let Some((token, bytes)) = tokens.next_placed() {
            let number = all.len();
            let mut opened = None;
            match token {
                Token::Sign(b'(') => open.push(number),
                Token::Sign(b')') => opened = open.pop(),
                // A parenthesis that is not closed before a brace is never closed.
                Token::Sign(b'{' | b'}') => open.clear(),
                _ => {}
            }
            if let Some(opened) = opened {
                all[opened].closed = Some(number);
            }
            all.push(Placed {
                token,
                bytes,
                opened,
                closed: None,
            });
        }
        all
    }
}

/// Words before a `:` that say who may use the members after it.
const ACCESS: [&str; 3] = ["public", "protected", "private"];

/// Words that are neither the name of a declaration nor a user-defined type before it.
const KEYWORDS: &[&[u8]] = &[
    b"auto",
    b"bool",
    b"case",
    b"catch",
    b"char",
    b"class",
    b"const",
    b"constexpr",
    b"do",
    b"double",
    b"else",
    b"enum",
    b"explicit",
    b"extern",
    b"float",
    b"for",
    b"friend",
    b"goto",
    b"if",
    b"inline",
    b"int",
    b"long",
    b"new",
    b"operator",
    b"public",
    b"private",
    b"protected",
    b"register",
    b"return",
    b"short",
    b"signed",
    b"sizeof",
    b"static",
    b"struct",
    b"switch",
    b"throw",
    b"typedef",
    b"typename",
    b"union",
    b"unsigned",
    b"using",
    b"virtual",
    b"void",
    b"volatile",
    b"while",
];

/// An open condition.
#[derive(Debug)]
struct Condition {
    /// The token it begins with.
    begin: usize,
    /// The token its second branch begins with.
    other: Option<usize>,
    /// How many more braces were opened than closed in the first branch, and the least so far.
    depth: isize,
    lowest: isize,
}

impl Condition {
    fn begins(at: usize) -> Self {
        Condition {
            begin: at,
            other: None,
            depth: 0,
            lowest: 0,
        }
    }

    /// Notes a change of the depth.
    fn meet(&mut self, change: isize) {
        if self.other.is_none() {
            self.depth += change;
            self.lowest = self.lowest.min(self.depth);
        }
    }
}

struct Reader<'a, 't> {
    text: &'t str,
    tokens: &'a [Placed<'t>],
}

impl<'t> Reader<'_, 't> {
    fn macros(&self) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        let mut at = 0;
        // The last token that is kept.
        let mut last = None;
        while at < self.tokens.len() {
            if let Some(end) = self.macro_at(at, last) {
                found.push(self.tokens[at].bytes.start..self.tokens[end - 1].bytes.end);
                at = end;
            } else {
                last = Some(at);
                at += 1;
            }
        }
        found
    }

    /// Macros where a member may begin, one or more before an access word.
    fn macros_before_access(&self) -> Vec<Range<usize>> {
        let count = self.tokens.len();
        // Whether nothing but macros precedes an access word from each token on.
        let mut leads = vec![false; count + 1];
        for at in (0..count).rev() {
            leads[at] = self.is_access(at) || is_macro(self.token(at)) && leads[self.behind(at)];
        }
        let mut found = Vec::new();
        let (mut at, mut last) = (0, Token::Begin);
        while at < count {
            if last.begins_statement() && leads[at] && is_macro(self.token(at)) {
                let behind = self.behind(at);
                found.push(self.tokens[at].bytes.start..self.tokens[behind - 1].bytes.end);
                at = behind;
            } else {
                last = self.token(at);
                at += 1;
            }
        }
        found
    }

    /// Whether an access word is at `at`: `public:`, or `public slots:`.
    fn is_access(&self, at: usize) -> bool {
        let colon = Token::Sign(b':');
        let is_word = |it: &&str| self.token(at) == Token::Word(it.as_bytes());
        ACCESS.iter().any(is_word)
            && match self.token(at + 1) {
                Token::Word(_) => self.token(at + 2) == colon,
                next => next == colon,
            }
    }

    /// Where the macro at `at` ends, with its arguments.
    fn behind(&self, at: usize) -> usize {
        let next = self.tokens.get(at + 1);
        next.and_then(|it| it.closed).unwrap_or(at) + 1
    }

    /// Blanks conditions that cut something, except for their first branch.
    fn conditions(&self, ranges: &mut Vec<Range<usize>>) {
        let mut open: Vec<Condition> = Vec::new();
        for (at, it) in self.tokens.iter().enumerate() {
            let directive = match it.token {
                Token::Begin => self.text[it.bytes.clone()].trim_start_matches(['#', ' ', '\t']),
                Token::Sign(sign @ (b'{' | b'}')) => {
                    if let Some(inner) = open.last_mut() {
                        inner.meet(if sign == b'{' { 1 } else { -1 });
                    }
                    continue;
                }
                _ => continue,
            };
            if directive.starts_with("if") {
                open.push(Condition::begins(at));
            } else if directive.starts_with("el")
                && let Some(inner) = open.last_mut()
            {
                inner.other.get_or_insert(at);
            } else if directive.starts_with("endif")
                && let Some(inner) = open.pop()
            {
                if let Some(outer) = open.last_mut() {
                    outer.meet(inner.lowest);
                    outer.meet(inner.depth - inner.lowest);
                }
                if self.cuts(&inner, at) {
                    let begin = self.tokens[inner.begin].bytes.clone();
                    let end = self.tokens[inner.other.unwrap_or(at)].bytes.start..it.bytes.end;
                    ranges.extend([begin, end]);
                }
            }
        }
    }

    /// Whether the condition that ends at `end` begins or ends in the middle of something.
    fn cuts(&self, condition: &Condition, end: usize) -> bool {
        let first = condition.begin + 1..condition.other.unwrap_or(end);
        self.goes_on(condition.begin, condition.other.is_some())
            || condition.depth != 0
            || condition.lowest != 0
            || !first.is_empty() && (self.continues(first.start) || self.is_head(first.end - 1))
            || is_continuation(self.token(end + 1))
    }

    /// Whether what begins at `at` continues something.
    fn continues(&self, at: usize) -> bool {
        let token = self.token(at);
        is_continuation(token) || matches!(token, Token::Sign(sign) if b":.?|=)".contains(&sign))
    }

    /// Whether `last` is the end of `else` or `if (…)`, after which there must be a statement.
    fn is_head(&self, last: usize) -> bool {
        let opened = self.tokens[last].opened;
        match opened.and_then(|it| it.checked_sub(1)) {
            Some(before) => matches!(
                self.token(before),
                Token::Word(b"for" | b"foreach" | b"if" | b"switch" | b"while")
            ),
            None => self.token(last) == Token::Word(b"else"),
        }
    }

    /// Whether the text before the directive at `at` continues after it. List items stay if there
    /// are alternatives to them.
    fn goes_on(&self, at: usize, has_others: bool) -> bool {
        let before = |by| at.checked_sub(by).map(|it| self.token(it));
        match before(1) {
            Some(Token::Sign(b',')) => !has_others,
            Some(Token::Sign(b':')) => before(2) == Some(Token::Sign(b')')),
            Some(Token::Sign(sign)) => b"(=+|&?<".contains(&sign),
            _ => false,
        }
    }

    fn token(&self, at: usize) -> Token<'t> {
        self.tokens.get(at).map_or(Token::Begin, |it| it.token)
    }

    /// The end of the macro that begins at `at`, including its arguments, if there is one after the
    /// kept token `last`.
    fn macro_at(&self, at: usize, last: Option<usize>) -> Option<usize> {
        if !is_macro(self.token(at)) {
            return None;
        }
        let behind = self.behind(at);
        let before = last.map_or(Token::Begin, |it| self.token(it));
        // `PRIVATE_UNLESS_TESTED:` in the place of an access word, or a label.
        if before.begins_statement() && self.token(at + 1) == Token::Sign(b':') {
            return Some(at + 2);
        }
        let is_one = match before {
            Token::Word(b"class" | b"struct" | b"union") => self.is_named_type(before, behind),
            Token::Word(b"extern" | b"static" | b"inline" | b"virtual" | b"friend") => {
                self.is_declaration(behind)
            }
            _ => {
                let has_arguments = behind > at + 1;
                before.ends() && !has_arguments && self.is_declaration(behind)
                    || before.begins_statement() && has_arguments && self.is_statement(behind)
                    || self.is_declared(last?, has_arguments) && self.ends_declaration(behind)
            }
        };
        is_one.then_some(behind)
    }

    /// Whether `at` is the name of a type in its definition, or of a class in its declaration.
    fn is_named_type(&self, keyword: Token<'t>, at: usize) -> bool {
        let next = self.token(at + 1);
        let is_class = keyword == Token::Word(b"class");
        matches!(self.token(at), Token::Word(word) if word != b"final")
            && (matches!(
                next,
                Token::Sign(b'{' | b':' | b'<') | Token::Word(b"final")
            ) || is_class && next == Token::Sign(b';'))
    }

    /// Whether a declaration begins at `at`: a type, and something after it.
    fn is_declaration(&self, mut at: usize) -> bool {
        while self.token(at) == Token::Word(b"const") {
            at += 1;
        }
        if !matches!(self.token(at), Token::Word(_)) || is_macro(self.token(at)) {
            return false;
        }
        while let (Token::Path, Token::Word(_)) = (self.token(at + 1), self.token(at + 2)) {
            at += 2;
        }
        matches!(
            self.token(at + 1),
            Token::Word(_) | Token::Sign(b'*' | b'&' | b'<')
        )
    }

    /// Whether a statement begins at `at` that no expression or declaration is.
    fn is_statement(&self, at: usize) -> bool {
        matches!(
            self.token(at),
            Token::Word(b"do" | b"for" | b"goto" | b"if" | b"return" | b"switch" | b"while")
        )
    }

    /// Whether a declaration may end at `last`: with the parameters of a function, or a name after
    /// its type.
    fn is_declared(&self, last: usize, has_arguments: bool) -> bool {
        let mut at = last;
        while let Token::Word(b"const" | b"noexcept" | b"override" | b"final") = self.token(at)
            && at > 0
        {
            at -= 1;
        }
        if let Some(open) = self.tokens[at].opened {
            let name = open.checked_sub(1).map(|it| self.token(it));
            return matches!(name, Some(it @ Token::Word(word)) if !is_macro(it) && !KEYWORDS.contains(&word));
        }
        let Token::Word(word) = self.token(last) else {
            return false;
        };
        let is_type = |it| match it {
            Token::Word(b"const" | b"int" | b"bool" | b"char" | b"long" | b"float" | b"double") => {
                true
            }
            Token::Word(word) => !is_macro(it) && !KEYWORDS.contains(&word),
            it => matches!(it, Token::Sign(b'*' | b'&' | b'>')),
        };
        has_arguments
            && !KEYWORDS.contains(&word)
            && last
                .checked_sub(1)
                .is_some_and(|it| is_type(self.token(it)))
    }

    /// Whether a declaration, or its head, ends at `at`, or another macro follows.
    fn ends_declaration(&self, at: usize) -> bool {
        let token = self.token(at);
        matches!(token, Token::Sign(b';' | b'{' | b':' | b'='))
            || matches!(token, Token::Word(b"override" | b"final" | b"const"))
            || is_macro(token)
    }
}

/// Whether no statement begins with `token`, only another branch of the one before.
fn is_continuation(token: Token<'_>) -> bool {
    matches!(token, Token::Word(b"catch" | b"else" | b"finally"))
}

fn is_macro(token: Token<'_>) -> bool {
    let is_of_it = |it: &u8| it.is_ascii_uppercase() || it.is_ascii_digit() || *it == b'_';
    matches!(token, Token::Word(word) if word.len() > 2
        && word.iter().all(is_of_it)
        && word.iter().any(u8::is_ascii_uppercase))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn all_else_is_where_it_was(
            words in prop::collection::vec(
                prop::sample::select(vec![
                    "A_B", "class ", "a ", "(", ")", "{", ";", ":", ",", "\n#if A\n", "\n#else\n", "\n#endif\n", "\"", "/*",
                    "*/", "// \\\n", "é", "'", "const ", "public", "\\", "*", "=", "::", "#", "\r\n",
                ]),
                0..40,
            ),
        ) {
            let text = words.concat();
            let kinds = [Preprocessor::All, Preprocessor::Conditions];
            for after in kinds.map(|it| blanked(&text, it)).into_iter().chain([without_those_before_access(&text)]) {
                let after = after.unwrap_or_else(|| text.clone());
                prop_assert_eq!(after.len(), text.len());
                let is_kept = |(was, is): (u8, u8)| was == is || (is == b' ' && was != b'\n');
                prop_assert!(text.bytes().zip(after.bytes()).all(is_kept));
            }
        }
    }

    #[track_caller]
    fn reads(text: &str, expected: &str) {
        let blanked = blanked(text, Preprocessor::All).unwrap_or_else(|| text.to_owned());
        assert_eq!(blanked.len(), text.len());
        let words: Vec<&str> = blanked.split_whitespace().collect();
        assert_eq!(words.join(" "), expected, "{text}");
    }

    #[test]
    fn annotations_of_declarations_are_blanked() {
        reads("class EXPORT A {", "class A {");
        reads("class ALIGN(8) A final : B {", "class A final : B {");
        reads("class EXPORT A;", "class A;");
        reads("int a GUARDED_BY(b);", "int a ;");
        reads("A* const a GUARDED_BY(b);", "A* const a ;");
        reads("void a() const LOCKS_EXCLUDED(b) {", "void a() const {");
        reads(
            "void a(int)\n    REQUIRES(b) EXCLUDES(c, d(e));",
            "void a(int) ;",
        );
        reads(
            "explicit A(B* b) LOCKS(b) : b_(b) {}",
            "explicit A(B* b) : b_(b) {}",
        );
        reads("EXPORT const A* a(void);", "const A* a(void);");
        reads("; EXPORT std::string a();", "; std::string a();");
        reads("static FORCE_INLINE void a();", "static void a();");
    }

    #[test]
    fn macros_for_access_words_are_blanked() {
        reads("class A { PRIVATE: int a; };", "class A { int a; };");
        reads(
            "class A { int a; PRIVATE: B(); };",
            "class A { int a; B(); };",
        );
        for text in ["case FOO: a();", "int FOO: 3;", "a ? FOO : b;", "FOO::a();"] {
            reads(text, text);
        }
    }

    #[test]
    fn calls_without_an_end_before_a_statement_are_blanked() {
        reads(
            "{ int a; GET(a) if (a) { b(); } }",
            "{ int a; if (a) { b(); } }",
        );
        reads("{ GET(a, (b)) return a; }", "{ return a; }");
        for text in [
            "if (a) GET(a) else b();",
            "a = GET(b) if",
            "GET(a) b(c);",
            "GET if",
        ] {
            reads(text, text);
        }
    }

    #[track_caller]
    fn reads_access(text: &str, expected: &str) {
        let blanked = without_those_before_access(text).unwrap_or_else(|| text.to_owned());
        assert_eq!(blanked.len(), text.len());
        let words: Vec<&str> = blanked.split_whitespace().collect();
        assert_eq!(words.join(" "), expected, "{text}");
    }

    #[test]
    fn macros_before_an_access_word_are_blanked() {
        reads_access(
            "class A { Q_OBJECT public: A(); };",
            "class A { public: A(); };",
        );
        reads_access(
            "class A { Q_OBJECT Q_PROPERTY(int a READ b(c)) public slots: d(); };",
            "class A { public slots: d(); };",
        );
        reads_access("int a; FOO() private:", "int a; private:");
        reads_access("void a() {} FOO private:", "void a() {} private:");
        reads_access("private: FOO protected:", "private: protected:");
        for text in [
            "class A { Q_OBJECT int a; public: };",
            "class A { Q_OBJECT Q_PROPERTY(int a) B(); public: };",
            "class A : FOO public B {};",
            "class A : FOO public ::B {};",
            "int FOO(a) public:",
            "x = FOO public:",
            "{ FOO public",
            "{ FOO(a public:",
        ] {
            reads_access(text, text);
        }
    }

    #[test]
    fn a_condition_within_something_is_blank() {
        reads(
            "A() :\n#if B\n  c(1),\n#endif // B\n  d(2) {}",
            "A() : c(1), d(2) {}",
        );
        reads("a(b,\n#ifdef C\n  c,\n#endif\n  d);", "a(b, c, d);");
        reads(
            "int a =\n#if B\n  1\n#elif C\n  2\n#else\n  3\n#endif\n  ;",
            "int a = 1 ;",
        );
        for text in [
            "int a;\n#if B\nint c;\n#endif\nint d;",
            "enum { A,\n#if B\nB,\n#else\nC,\n#endif\nD };",
            "#endif\n#else\n#if",
        ] {
            assert_eq!(blanked(text, Preprocessor::All), None, "{text}");
        }
    }

    #[test]
    fn of_a_condition_that_cuts_a_statement_or_a_block_the_first_branch_is_kept() {
        reads(
            "#if A\nif (b) {\n#else\nif (c) {\n#endif\nd(); }",
            "if (b) { d(); }",
        );
        reads(
            "#if A\nif (b) c();\nelse\n#endif\nd();",
            "if (b) c(); else d();",
        );
        reads(
            "#ifdef A\nif (b)\n#endif\nc();\n#if D\ne();\n#endif",
            "if (b) c(); #if D e(); #endif",
        );
        reads(
            "if (a) {\n#if A\n} else {\n#endif\nb(); }",
            "if (a) { } else { b(); }",
        );
        reads("#if A\n#if B\n{\n#else\n[\n#endif\n#endif\n}", "{ }");
        reads(
            "if (a) {}\n#if B\nelse if (b) {}\n#endif\nelse {}",
            "if (a) {} else if (b) {} else {}",
        );
        reads(
            "if (a) {}\n#if B\nelse {}\n#endif\nc();",
            "if (a) {} else {} c();",
        );
        reads("#if B\nif (b) {}\n#endif\nelse {}", "if (b) {} else {}");
        reads("a()\n#if A\n.b()\n#endif\n.c();", "a() .b() .c();");
        reads(
            "class A\n#if B\n: C\n#else\n: D\n#endif\n{ }",
            "class A : C { }",
        );
        for text in [
            "#if A\n#if B\nif (c) { d(); }\n#endif\n#else\n{\n#endif",
            "#if A\nFOO(b)\n#else\nBAR(c)\n#endif",
            "#if A\n#endif",
            "#if A\n#else\n#endif",
        ] {
            reads(text, &text.replace('\n', " "));
        }
    }

    #[test]
    fn conditions_alone_leave_macros() {
        let text = "class EXPORT A {\n#if B\nint c() {\n#else\nlong c() {\n#endif\n}};";
        let blanked = blanked(text, Preprocessor::Conditions).unwrap();
        let words: Vec<&str> = blanked.split_whitespace().collect();
        assert_eq!(words.join(" "), "class EXPORT A { int c() { }};");
    }

    #[test]
    fn macros_that_may_be_types_names_or_calls_stay() {
        for text in [
            "struct FOO bar;",
            "class FOO final {",
            "HANDLE a(void);",
            "DWORD b = 1;",
            "int FOO(int a);",
            "static foo_t FOO(int a);",
            "if (a) FOO(b);",
            "return FOO(b);",
            "x = (int) FOO;",
            "FOO(a) BAR(b) {",
            "else FOO(a);",
            "FILE *a;",
            "a(b, FOO(c));",
            "enum { FOO, BAR };",
            "é FOO(",
        ] {
            reads(text, text);
        }
    }
}
