//! Definitions as `grep` users type them: `def get`, `pub fn layer`, `class Session`.

use crate::Query;
use crate::names::{Name, may_be_name};
use crate::words::{Analyzer, says_nothing};

/// Keywords of code after which any word is a name.
const KEYWORDS: [&str; 5] = ["def", "defn", "defun", "fn", "func"];
/// Keywords that also occur in sentences, or before plain words.
const KINDS: [&str; 10] = [
    "class",
    "enum",
    "function",
    "impl",
    "interface",
    "method",
    "module",
    "struct",
    "trait",
    "type",
];
/// Modifiers that may precede a keyword.
const MODIFIERS: [&str; 17] = [
    "abstract",
    "async",
    "const",
    "default",
    "export",
    "final",
    "inline",
    "internal",
    "open",
    "override",
    "private",
    "protected",
    "pub",
    "public",
    "static",
    "unsafe",
    "virtual",
];
/// Words that ask where something is defined.
const DEFINED: [&str; 2] = ["declared", "defined"];

/// A definition in a question.
struct Defined {
    name: Name,
    /// The words that mark it as a definition, if the question is about nothing else.
    said: Option<Vec<String>>,
}

impl Query {
    /// Adds the name after the keyword of a definition, and removes the terms that only mark it as
    /// one.
    pub(crate) fn note_definition(&mut self) {
        let Some(line) = self.typed.clone() else {
            return;
        };
        let tokens: Vec<&str> = line.split_whitespace().collect();
        let Some(defined) = asked_where(&tokens).or_else(|| behind_keyword(&tokens)) else {
            return;
        };
        let name = defined.name;
        self.is_definition = defined.said.is_some();
        if self.is_definition {
            self.mentions.names = vec![name];
        } else if !self.mentions.names.iter().any(|it| it.last == name.last) {
            self.mentions.names.push(name);
        }
        let said = defined.said.unwrap_or_default();
        let said = Analyzer::default().terms(&said.join(" "));
        for terms in [&mut self.terms, &mut self.title] {
            terms.retain(|it| !said.contains(&it.text));
        }
    }
}

/// Parses `where is NAME defined`, with an optional word for the kind of thing before the name.
fn asked_where(tokens: &[&str]) -> Option<Defined> {
    let lower: Vec<String> = tokens.iter().map(|it| it.to_lowercase()).collect();
    let lower: Vec<&str> = lower.iter().map(String::as_str).collect();
    let ["where", "is" | "are", rest @ ..] = lower.as_slice() else {
        return None;
    };
    let is_before = |it: &&&str| **it == "the" || KEYWORDS.contains(*it) || KINDS.contains(*it);
    let at = 2 + rest.iter().take_while(is_before).count();
    let behind = lower
        .get(at + 1)?
        .trim_matches(|it: char| !it.is_alphanumeric());
    if !DEFINED.contains(&behind) {
        return None;
    }
    let name = tokens[at].trim_matches(['`', '\'', '"']);
    let name = name.trim_end_matches("()");
    let (ident, rest) = identifier(name)?;
    let is_name = matches!(rest, "" | "?" | "!") && may_be_name(ident, true);
    let is_all = tokens.len() == at + 2;
    let mut said: Vec<String> = lower[2..at].iter().map(|&it| it.to_owned()).collect();
    said.push(behind.to_owned());
    is_name.then(|| Defined {
        name: Name::alone(ident).before(rest),
        said: is_all.then_some(said),
    })
}

/// The name after the first keyword that has one.
fn behind_keyword(tokens: &[&str]) -> Option<Defined> {
    let begins = tokens.iter().take_while(|it| MODIFIERS.contains(*it));
    let begins = begins.count();
    (0..tokens.len()).find_map(|at| {
        let keyword = *tokens.get(at)?;
        let is_of_code = KEYWORDS.contains(&keyword);
        if !is_of_code && !KINDS.contains(&keyword) {
            return None;
        }
        let behind = tokens.get(at + 1..)?;
        // In Go, a method's receiver precedes its name.
        let receiver = match behind.first() {
            Some(it) if keyword == "func" && it.starts_with('(') => {
                1 + behind.iter().position(|it| it.ends_with(')'))?
            }
            _ => 0,
        };
        let (ident, rest) = identifier(behind.get(receiver)?)?;
        let after = behind.get(receiver + 1..).unwrap_or_default();
        let is_start = at == begins;
        // `type handler struct`, `struct handler {`.
        let next = after.first().copied().unwrap_or_default();
        let is_shaped = next.starts_with(['{', ':', '=']) || KINDS.contains(&next);
        let stands_out = ident.contains(|it: char| it.is_uppercase() || it == '_')
            || rest.starts_with(['(', '<', '{'])
            || is_start && is_shaped;
        // `the function route`, `function route`; not `the route function name`.
        let is_asked = is_start || at == 1 && tokens[0].eq_ignore_ascii_case("the");
        let is_plain = after.is_empty() && is_asked && may_be_name(ident, false);
        let is_name = is_of_code && (is_asked || after.is_empty()) && may_be_name(ident, true)
            || stands_out && !says_nothing(ident)
            || rest.starts_with('(') && may_be_name(ident, true)
            || is_plain;
        if !is_name || rest.starts_with(['.', '\'', '"']) || rest.starts_with("::") {
            return None;
        }
        // If words follow, the question asks something about the definition.
        let is_code_behind = rest.starts_with(['(', '<', '{', ':'])
            || next.starts_with(['(', '<', '{', ':', '='])
            || KINDS.contains(&next)
            || keyword == "impl" && next == "for";
        let is_all = is_start && (is_of_code || stands_out) && (after.is_empty() || is_code_behind);
        let said = tokens[..=at].iter().map(|&it| it.to_owned());
        let mut name = Name::alone(ident).before(rest);
        if receiver > 0 {
            let of = behind[receiver - 1].trim_matches(|it: char| !it.is_alphanumeric());
            name.within = Some(of.to_owned());
        }
        Some(Defined {
            name,
            said: is_all.then(|| said.collect()),
        })
    })
}

/// The identifier at the start of `token`, and the rest of it.
fn identifier(token: &str) -> Option<(&str, &str)> {
    let is_of_name = |it: char| it.is_alphanumeric() || it == '_';
    let end = token.find(|it| !is_of_name(it)).unwrap_or(token.len());
    let (name, rest) = token.split_at(end);
    let begins = name.starts_with(|it: char| !it.is_ascii_digit());
    begins.then_some((name, rest))
}
