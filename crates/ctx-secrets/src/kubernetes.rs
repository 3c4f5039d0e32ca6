//! Secrets of Kubernetes: each value below `data` and `stringData` of a manifest, wherever the
//! manifest stands: in a file of its own, a list, a template, a document, or another manifest.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// The keys whose values are secrets.
const SECTIONS: [&str; 2] = ["data", "stringData"];

/// The most objects of JSON within each other; manifests have fewer than ten.
const DEEPEST: usize = 128;

static KIND: LazyLock<Regex> = LazyLock::new(|| {
    let expression = r#"\bkind(?:\\?["'])?\s*:\s*(?:\\?["'])?Secret\b"#;
    Regex::new(expression).expect("it is an expression")
});

/// The ranges of the values of secrets in `text`, in no order. O(bytes).
pub(crate) fn values(text: &str) -> Vec<Range<usize>> {
    let mut values = Vec::new();
    if KIND.is_match(text) {
        for section in united(yaml_sections(text)) {
            yaml_values(text, section, &mut values);
        }
        for json in [Json::PLAIN, Json::QUOTED] {
            for section in united(json.sections(text)) {
                let strings = json.tokens(text, section).filter_map(Token::value);
                values.extend(strings.filter(|it| !is_placeholder(&text[it.clone()])));
            }
        }
    }
    values
}

/// Without those that are within another.
fn united(mut sections: Vec<Range<usize>>) -> Vec<Range<usize>> {
    sections.sort_by_key(|it| it.start);
    sections.dedup_by(|next, last| {
        let is_within = next.start < last.end;
        if is_within {
            last.end = last.end.max(next.end);
        }
        is_within
    });
    sections
}

/// Whether `value` is none, stands for one, or is masked already.
fn is_placeholder(value: &str) -> bool {
    let is_within = |start: &str, end: &str| value.starts_with(start) && value.ends_with(end);
    let is_variable = is_within("{{", "}}") || is_within("${", "}") || is_within("$(", ")");
    let is_none = ["null", "~", "{}"].contains(&value);
    is_variable || is_within("<", ">") || is_none || value.bytes().all(|it| it == b'*')
}

/// What is known of a mapping, or an object, while it is read.
#[derive(Default)]
struct Mapping {
    /// Where its keys stand, in bytes from the start of the line.
    indent: usize,
    is_secret: bool,
    /// Where its last key was one of [`SECTIONS`], where the value of that begins.
    open: Option<usize>,
    /// What is below [`SECTIONS`].
    sections: Vec<Range<usize>>,
}

impl Mapping {
    fn end_section(&mut self, end: usize) {
        self.sections.extend(self.open.take().map(|it| it..end));
    }

    /// Ends this mapping, and adds its sections to `found` if they are secret.
    fn end(mut self, end: usize, found: &mut Vec<Range<usize>>) {
        self.end_section(end);
        if self.is_secret {
            found.append(&mut self.sections);
        }
    }
}

/// The sections of secrets in the mappings of YAML in `text`, which are told by their indentation.
fn yaml_sections(text: &str) -> Vec<Range<usize>> {
    let (mut open, mut found) = (Vec::<Mapping>::new(), Vec::new());
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let at = start;
        start += line.len();
        let mut content = line.trim();
        if content.is_empty() || content.starts_with('#') || is_directive(content) {
            continue;
        }
        let mut indent = line.len() - line.trim_start().len();
        // The end of a document, or of what is quoted in one.
        let is_boundary = line.starts_with("---") || content.starts_with("```");
        while let Some(mapping) = open.pop_if(|it| is_boundary || it.indent > indent) {
            mapping.end(at, &mut found);
        }
        // An item of a sequence, as which a mapping may begin.
        while let Some(item) = content.strip_prefix("- ").filter(|_| !is_boundary) {
            while let Some(mapping) = open.pop_if(|it| it.indent > indent) {
                mapping.end(at, &mut found);
            }
            indent += content.len() - item.trim_start().len();
            content = item.trim_start();
        }
        if let Some(mapping) = open.last_mut().filter(|it| it.indent == indent) {
            mapping.end_section(at);
        }
        let Some((key, value)) = entry(content).filter(|_| !is_boundary) else {
            continue;
        };
        if open.last().is_none_or(|it| it.indent < indent) {
            open.push(Mapping {
                indent,
                ..Mapping::default()
            });
        }
        if let Some(mapping) = open.last_mut() {
            mapping.is_secret |= key == "kind" && is_secret(value);
            // The value is the end of the line but for white space.
            let behind = at + line.trim_end().len() - value.len();
            mapping.open = SECTIONS.contains(&key).then_some(behind);
        }
    }
    let end = text.len();
    for mapping in open {
        mapping.end(end, &mut found);
    }
    found
}

/// Whether a line has nothing but a directive of a template, which may stand anywhere.
fn is_directive(content: &str) -> bool {
    content.starts_with("{{") && content.ends_with("}}")
}

/// The key and the value of a line, without the white space and the quotes around the key.
fn entry(content: &str) -> Option<(&str, &str)> {
    let quoted = content.strip_prefix(['"', '\'']);
    let (key, value) = match quoted {
        Some(quoted) => {
            let (key, behind) = quoted.split_once(&content[..1])?;
            (key, behind.trim_start().strip_prefix(':')?)
        }
        None => content
            .split_once(": ")
            .or_else(|| Some((content.strip_suffix(':')?, "")))?,
    };
    Some((key.trim(), value.trim_start()))
}

/// Whether a value is the kind of secrets: in code, a comma follows it.
fn is_secret(value: &str) -> bool {
    let plain = value.split(" #").next().unwrap_or(value).trim_end();
    ["Secret", "'Secret'", "\"Secret\""].contains(&plain)
}

/// A value without its tag and its anchor.
fn untagged(value: &str) -> &str {
    let mut plain = value;
    while plain.starts_with(['!', '&']) {
        plain = plain.split_once(' ').map_or("", |it| it.1.trim_start());
    }
    plain
}

/// Where the scalar is in a value: without quotes, or a remark.
fn scalar(value: &str) -> Range<usize> {
    if let Some(quoted) = value.strip_prefix(['"', '\'']) {
        return 1..1 + quoted.rfind(&value[..1]).unwrap_or(quoted.len());
    }
    let plain = value.split(" #").next().unwrap_or(value);
    0..plain.trim_end().len()
}

/// Whether a value is on the lines below, or is that of an anchor elsewhere.
fn is_elsewhere(value: &str) -> bool {
    let is_indicator = |it: char| matches!(it, '+' | '-' | '0'..='9');
    let block = value.strip_prefix(['|', '>']).map(|it| &it[scalar(it)]);
    let alias = value.strip_prefix('*');
    block.is_some_and(|it| it.chars().all(is_indicator))
        || alias.is_some_and(|it| !it.starts_with('*'))
}

/// Adds the values below the key that `section` is of.
fn yaml_values(text: &str, section: Range<usize>, values: &mut Vec<Range<usize>>) {
    let mut push = |value: Range<usize>| {
        let said = &text[value.clone()];
        values.extend((!said.is_empty() && !is_placeholder(said)).then_some(value));
    };
    let (mut start, mut indent) = (section.start, None);
    for (number, line) in (0..).zip(text[section].split_inclusive('\n')) {
        let content = line.trim();
        let own = line.len() - line.trim_start().len();
        let at = start + own;
        start += line.len();
        if content.is_empty() || is_directive(content) {
        } else if number == 0 {
            // On the line of the key there is nothing but a mapping within braces.
            if let Some(flow) = content.strip_prefix('{') {
                let flow = flow.strip_suffix('}').unwrap_or(flow);
                push(at + 1..at + 1 + flow.len());
            }
        } else if indent.is_some_and(|it| own > it) {
            // A line of a value of several.
            push(at..at + content.len());
        } else if !content.starts_with('#') {
            indent = Some(own);
            let value = untagged(entry(content).map_or("", |it| it.1));
            let before = at + content.len() - value.len();
            let scalar = scalar(value);
            if !is_elsewhere(value) {
                push(before + scalar.start..before + scalar.end);
            }
        }
    }
}

/// How strings are written in JSON.
struct Json {
    quote: &'static str,
    escape: &'static str,
}

/// What JSON consists of, as far as it matters here.
enum Token {
    Open,
    Close(usize),
    Key(Range<usize>),
    Value(Range<usize>),
}

impl Token {
    fn value(self) -> Option<Range<usize>> {
        match self {
            Token::Value(it) => Some(it),
            _ => None,
        }
    }
}

impl Json {
    const PLAIN: Json = Json {
        quote: "\"",
        escape: "\\",
    };
    /// Within a string of JSON.
    const QUOTED: Json = Json {
        quote: "\\\"",
        escape: "\\\\",
    };

    /// The sections of secrets in the objects in `text`.
    fn sections(&self, text: &str) -> Vec<Range<usize>> {
        let (mut open, mut found) = (Vec::<Mapping>::new(), Vec::new());
        let mut is_kind = false;
        for token in self.tokens(text, 0..text.len()) {
            let was_kind = std::mem::take(&mut is_kind);
            let depth = open.len();
            match (token, open.last_mut()) {
                (Token::Open, _) => {
                    if depth == DEEPEST {
                        open.clear();
                    }
                    open.push(Mapping::default());
                }
                (Token::Close(at), _) => {
                    if let Some(object) = open.pop() {
                        object.end(at, &mut found);
                    }
                    if let Some(parent) = open.last_mut() {
                        parent.end_section(at);
                    }
                }
                (Token::Key(key), Some(object)) => {
                    object.end_section(key.start);
                    is_kind = &text[key.clone()] == "kind";
                    let is_section = SECTIONS.contains(&&text[key.clone()]);
                    object.open = is_section.then_some(key.end + self.quote.len());
                }
                (Token::Value(value), Some(object)) => {
                    object.is_secret |= was_kind && &text[value] == "Secret";
                }
                (_, None) => {}
            }
        }
        let end = text.len();
        for mapping in open {
            mapping.end(end, &mut found);
        }
        found
    }

    fn tokens(&self, text: &str, within: Range<usize>) -> impl Iterator<Item = Token> {
        let mut at = within.start;
        std::iter::from_fn(move || {
            while at < within.end {
                let left = &text.as_bytes()[at..within.end];
                if left.starts_with(self.quote.as_bytes()) {
                    let start = at + self.quote.len();
                    let (end, is_whole) = self.end_of_string(text, start..within.end);
                    at = end;
                    if is_whole {
                        at += self.quote.len();
                        let is_key = text[at..within.end].trim_start().starts_with(':');
                        let token = if is_key { Token::Key } else { Token::Value };
                        return Some(token(start..end));
                    }
                    continue;
                }
                at += 1;
                match left[0] {
                    b'{' => return Some(Token::Open),
                    b'}' => return Some(Token::Close(at - 1)),
                    _ => {}
                }
            }
            None
        })
    }

    /// Where the string ends that begins at `within`, and whether that is its quote: none has the
    /// end of a line in it.
    fn end_of_string(&self, text: &str, within: Range<usize>) -> (usize, bool) {
        let bytes = text.as_bytes();
        let mut at = within.start;
        while at < within.end {
            let left = &bytes[at..within.end];
            let has = |it: &str, behind: usize| left[behind..].starts_with(it.as_bytes());
            if has(self.quote, 0) {
                return (at, true);
            }
            if matches!(left[0], b'\n' | b'"') {
                return (at, false);
            }
            at += if has(self.escape, 0) {
                let escape = self.escape.len();
                let of_two = [self.quote, self.escape];
                let escaped = of_two.into_iter().find(|it| has(it, escape));
                escape + escaped.map_or(1, str::len)
            } else {
                1
            };
        }
        (within.end, false)
    }
}
