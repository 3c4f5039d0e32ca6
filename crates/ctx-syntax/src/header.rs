//! Decides whether a header is C++ or C.
//!
//! C++ is recognised by constructs that C does not allow in that place: `class`, `template` and
//! `private` may be names in C. Comments, strings and directives do not count, and neither does
//! code that is for one of the languages only (`#ifdef __cplusplus`), unless there is no other
//! code.

use std::ops::Range;

/// The most bytes of a header that are examined.
const MOST: usize = 64 * 1024;

/// Whether `text` is a C++ header. O(64 KiB).
pub(crate) fn is_cpp(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut tokens = Tokens::of(&bytes[..bytes.len().min(MOST)]);
    let [mut seen, mut apart] = [Seen::default(), Seen::default()];
    while let Some(token) = tokens.next() {
        let is_apart = tokens.apart > 0;
        let seen = if is_apart { &mut apart } else { &mut seen };
        if seen.tells(token) && !is_apart {
            return true;
        }
    }
    !seen.is_any && apart.has_told
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Token<'t> {
    /// A place where a declaration may begin: the beginning of the text, and after a directive.
    #[default]
    Begin,
    /// An `#include` of the C++ standard library: headers of C have a full stop in their names.
    Library,
    Word(&'t [u8]),
    Sign(u8),
    /// `::`
    Path,
    /// A number, a string or a character.
    Value,
}

impl Token<'_> {
    /// Whether a declaration, or a macro before one, may begin after this token.
    pub(crate) fn ends(self) -> bool {
        match self {
            Token::Begin => true,
            Token::Sign(sign) => b";{}:>)".contains(&sign),
            Token::Word(word) => !word.iter().any(u8::is_ascii_lowercase),
            Token::Library | Token::Path | Token::Value => false,
        }
    }

    /// Whether a statement or a member may begin after this token.
    pub(crate) fn begins_statement(self) -> bool {
        matches!(self, Token::Begin | Token::Sign(b'{' | b'}' | b';' | b':'))
    }
}

/// State of the search for C++.
#[derive(Debug, Default)]
struct Seen<'t> {
    /// The last four tokens.
    last: [Token<'t>; 4],
    /// The number of open `[`.
    brackets: usize,
    /// Whether there was any token other than directives.
    is_any: bool,
    has_told: bool,
}

impl<'t> Seen<'t> {
    /// Whether the tokens up to `token` have shown that this is not C.
    fn tells(&mut self, token: Token<'t>) -> bool {
        use Token::{Path, Sign, Word};
        self.is_any |= token != Token::Begin;
        match token {
            Sign(b'[') => self.brackets += 1,
            Sign(b']') => self.brackets = self.brackets.saturating_sub(1),
            _ => {}
        }
        let [_, a, b, c] = self.last;
        self.last = [a, b, c, token];
        self.has_told |= match self.last {
            // C attributes have paths, too.
            [_, Word(_), Path, Word(_)] => self.brackets == 0,
            [.., Token::Library]
            | [Word(b"enum"), Word(b"class"), Word(_), Sign(b'{' | b':')]
            | [_, Sign(b')'), Sign(b'='), Word(b"default")] => true,
            [before, Word(b"struct"), Word(_), Sign(b':')]
            | [_, before, Word(b"class" | b"using" | b"friend"), Word(_)]
            | [_, before, Word(b"namespace"), Word(_) | Sign(b'{')]
            | [_, before, Word(b"template"), Sign(b'<')]
            | [_, before, Word(b"virtual"), Word(_) | Sign(b'~')]
            | [
                _,
                before,
                Word(b"public" | b"protected" | b"private"),
                Sign(b':'),
            ] => before.ends(),
            _ => false,
        };
        self.has_told
    }
}

/// The tokens of a text. Comments are none, and a directive is one.
#[derive(Debug, Default)]
pub(crate) struct Tokens<'t> {
    bytes: &'t [u8],
    at: usize,
    /// Where the last token began.
    began: usize,
    /// Whether a token precedes on this line.
    is_line_begun: bool,
    /// For each open condition, whether its code is for one language only, or disabled.
    open: Vec<bool>,
    /// How many of the open conditions are of that kind.
    apart: usize,
}

impl<'t> Tokens<'t> {
    pub(crate) fn of(bytes: &'t [u8]) -> Self {
        Tokens {
            bytes,
            ..Tokens::default()
        }
    }

    /// The next token, and its bytes.
    pub(crate) fn next_placed(&mut self) -> Option<(Token<'t>, Range<usize>)> {
        let token = self.next()?;
        Some((token, self.began..self.at))
    }

    fn next(&mut self) -> Option<Token<'t>> {
        loop {
            let rest = &self.bytes[self.at..];
            let byte = *rest.first()?;
            let is_directive = byte == b'#' && !self.is_line_begun;
            let (token, length) = match byte {
                b'/' if rest.starts_with(b"//") => (None, line(rest)),
                b'/' if rest.starts_with(b"/*") => (None, comment(rest)),
                _ if byte.is_ascii_whitespace() => (None, 1),
                _ if is_directive => {
                    let length = line_with_comments(rest);
                    (Some(self.directive(&rest[1..length])), length)
                }
                _ => {
                    let (token, length) = token(rest);
                    (Some(token), length)
                }
            };
            self.began = self.at;
            self.at += length;
            self.is_line_begun = match token {
                Some(_) => !is_directive,
                None => self.is_line_begun && byte != b'\n',
            };
            if token.is_some() {
                return token;
            }
        }
    }

    /// The token for `directive`, given without its `#`; opens and closes conditions.
    fn directive(&mut self, directive: &[u8]) -> Token<'t> {
        let directive = directive.trim_ascii();
        let letters = directive.iter().take_while(|it| it.is_ascii_alphabetic());
        let (name, rest) = directive.split_at(letters.count());
        let rest = rest.trim_ascii();
        let is_apart = || rest == b"0" || rest.windows(11).any(|it| it == b"__cplusplus");
        match name {
            b"if" | b"ifdef" | b"ifndef" => self.open(is_apart()),
            b"endif" => drop(self.close()),
            // The other branch is for the other language.
            b"elif" => {
                let was_apart = self.close().unwrap_or(false);
                self.open(was_apart || is_apart());
            }
            b"include" if is_of_library(rest) => return Token::Library,
            _ => {}
        }
        Token::Begin
    }

    fn open(&mut self, is_apart: bool) {
        self.open.push(is_apart);
        self.apart += usize::from(is_apart);
    }

    fn close(&mut self) -> Option<bool> {
        let was_apart = self.open.pop()?;
        self.apart -= usize::from(was_apart);
        Some(was_apart)
    }
}

/// Whether the include is like `<vector>`, not like `<a.h>`.
fn is_of_library(included: &[u8]) -> bool {
    let name = included.strip_prefix(b"<").unwrap_or_default();
    let name = name.split(|&it| it == b'>').next().unwrap_or_default();
    !name.is_empty() && name.iter().all(|&it| is_of_word(it))
}

/// The length of the line at the start of `bytes`, with its continuation lines, without the line
/// end.
fn line(bytes: &[u8]) -> usize {
    let ends = memchr::memchr_iter(b'\n', bytes);
    let is_end = |&at: &usize| {
        let before = &bytes[..at];
        !before
            .strip_suffix(b"\r")
            .unwrap_or(before)
            .ends_with(b"\\")
    };
    ends.into_iter().find(is_end).unwrap_or(bytes.len())
}

/// The same for a line that may contain comments with line ends in them. O(bytes up to its end).
fn line_with_comments(bytes: &[u8]) -> usize {
    let (mut at, mut end) = (0, line(bytes));
    while let Some(begin) = memchr::memmem::find(&bytes[at..end], b"/*") {
        at += begin + comment(&bytes[at + begin..]);
        // A line end after the comment is still the first.
        if at > end {
            end = at + line(&bytes[at..]);
        }
    }
    end
}

/// The length of the comment at the start of `bytes`.
fn comment(bytes: &[u8]) -> usize {
    let end = memchr::memmem::find(&bytes[2..], b"*/");
    end.map_or(bytes.len(), |at| at + 4)
}

/// The token at the start of `bytes`, and its length, at least 1.
fn token(bytes: &[u8]) -> (Token<'_>, usize) {
    match bytes[0] {
        quote @ (b'"' | b'\'') => (Token::Value, quoted(&bytes[1..], quote) + 1),
        b':' if bytes.starts_with(b"::") => (Token::Path, 2),
        byte if byte.is_ascii_digit() => {
            let is_of_it = |&it: &u8| is_of_word(it) || it == b'.' || it == b'\'';
            (Token::Value, count(bytes, is_of_it))
        }
        byte if is_of_word(byte) => {
            let length = count(bytes, |&it| is_of_word(it));
            (Token::Word(&bytes[..length]), length)
        }
        byte => (Token::Sign(byte), 1),
    }
}

/// The length of the start of `bytes` up to and including the `quote`, or up to the line end.
fn quoted(bytes: &[u8], quote: u8) -> usize {
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'\n' => return at,
            _ if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn count(bytes: &[u8], is_of_it: impl Fn(&u8) -> bool) -> usize {
    bytes.iter().take_while(|it| is_of_it(it)).count()
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

#[cfg(test)]
mod tests {
    use ctx_testkit::laws::linear;

    use super::*;

    #[test]
    fn keywords_that_c_lacks_make_a_header_cpp() {
        for text in [
            "namespace a {\n",
            "namespace {\n",
            "NAMESPACE_BEGIN\nclass A;\n",
            "class EXPORT A {\n",
            "EXPORT class A {\n",
            "__attribute__((packed)) class A;\n",
            "enum class A : int { B };\n",
            "template <typename T>\nT max(T a, T b);\n",
            "struct A {\n private:\n  int b;\n};\n",
            "struct A {\n  virtual ~A();\n};\n",
            "struct A : B {};\n",
            "struct A {\n  A() = default;\n};\n",
            "using A = int;\n",
            "void a(std::string b);\n",
            "#include <vector>\n",
            "#if A\n#endif\nint b::c();\n",
            "#ifdef __cplusplus\n#else\n#error none\n#endif\nclass A;\n",
            "/* a */ // b\n\n  class A;\n",
            "// a \\\n class A;\nclass B;\n",
            "#ifndef A\n#define A\n#if __cplusplus >= 201103L\nclass A;\n#endif\n#endif\n",
        ] {
            assert!(is_cpp(text), "{text}");
        }
    }

    #[test]
    fn headers_that_are_valid_c_stay_c() {
        for text in [
            "",
            "#include <sys/types.h>\n#include \"vector\"\nint a(void);\n",
            "#ifdef __cplusplus\nextern \"C\" {\nnamespace a {}\n#endif\nint b(void);\n",
            "#if A\n#elif defined(__cplusplus)\nclass A;\n#else\nclass B;\n#endif\nint c;\n",
            "#ifdef __cplusplus\n#if A\n#endif\nclass A;\n#endif\nint b;\n",
            "#if 0\n;\nclass of this\n#endif\nint a;\n",
            "#define A class B { \\\n  public: \\\n};\nint a;\n",
            "struct class *class;\nint class, namespace = 0;\nstruct template template;\n",
            "struct a {\n  unsigned public : 1, private : 2;\n  char *namespace;\n};\n",
            "/* class A; */\n// class B; \\\nclass C;\nchar *a = \"; class A {\";\nint b = '\\'';\n",
            "#define A 1 /* of\n virtual things */ /* and\n*/ class A;\nint a;\n",
            "[[gnu::packed]] struct a;\n",
            "@class A;\n@interface A : B\n@public\n@end\n",
            "int a = b ? class : d;\n",
            "enum a { default_a };\nint b = 1'000;\n",
        ] {
            assert!(!is_cpp(text), "{text}");
        }
    }

    #[test]
    fn a_directive_ends_with_the_first_line_that_ends_outside_its_comments() {
        let end = |text: &str| {
            let mut at = 0;
            loop {
                let end = at + line(&text.as_bytes()[at..]);
                let Some(begin) = text[at..end].find("/*") else {
                    return end;
                };
                at += begin + comment(&text.as_bytes()[at + begin..]);
            }
        };
        let pieces = ["/*", "*/", "\\", "\n", "\r\n", "a"];
        for number in 0..6_usize.pow(6) {
            let piece = |place| pieces[number / 6_usize.pow(place) % 6];
            let text: String = (0..6).map(piece).collect();
            assert_eq!(line_with_comments(text.as_bytes()), end(&text), "{text:?}");
        }
    }

    #[test]
    fn the_end_of_a_directive_with_many_comments_is_found_in_linear_time() {
        for comment in ["/**/", "/**/\\\n", "/*\n*/"] {
            let comments = |n: usize| comment.repeat(n / comment.len());
            linear(&format!("{comment:?}"), comments, |it| {
                line_with_comments(it.as_bytes())
            });
        }
    }

    #[test]
    fn so_much_is_looked_at() {
        let behind = |spaces: usize| " ".repeat(spaces) + "class A;";
        assert!(is_cpp(&behind(MOST - 8)));
        assert!(!is_cpp(&behind(MOST)));
        for torn in [
            "\"",
            "'",
            "'\\",
            "/*",
            "//",
            "#",
            "#if",
            "#include <",
            "0'",
            "é",
        ] {
            assert!(!is_cpp(torn), "{torn}");
        }
    }
}
