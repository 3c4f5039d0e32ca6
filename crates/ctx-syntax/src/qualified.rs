//! Names that are written with the scopes around them.

/// The names that `text` consists of, the outermost first: those between each `separator`, without
/// their type arguments. `Stack<T>::Node` has `Stack` and `Node`. A text that is anything else
/// (`&[T]`) is returned as one name. O(bytes).
pub(crate) fn names<'t>(text: &'t str, separator: &str) -> Vec<&'t str> {
    path(text, separator).unwrap_or_else(|| vec![text])
}

fn path<'t>(text: &'t str, separator: &str) -> Option<Vec<&'t str>> {
    let mut names = Vec::new();
    // A path may begin at the outermost scope.
    let mut rest = text.strip_prefix(separator).unwrap_or(text);
    loop {
        let after = rest.trim_start_matches(|it: char| it.is_alphanumeric() || it == '_');
        let name = &rest[..rest.len() - after.len()];
        if name.is_empty() {
            return None;
        }
        names.push(name);
        rest = without_arguments(after.trim_start())?.trim_start();
        if rest.is_empty() {
            return Some(names);
        }
        rest = rest.strip_prefix(separator)?.trim_start();
    }
}

/// What follows the type arguments that `text` may begin with; `None` if they do not end.
fn without_arguments(text: &str) -> Option<&str> {
    if !text.starts_with('<') {
        return Some(text);
    }
    let (mut open, mut last) = (0_usize, ' ');
    for (at, it) in text.char_indices() {
        match it {
            '<' => open += 1,
            // The end of an arrow closes nothing.
            '>' if last != '-' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return text.get(at + 1..);
        }
        last = it;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, separator: &str, expected: &[&str]) {
        assert_eq!(names(text, separator), expected, "{text}");
    }

    #[test]
    fn scopes_and_names_are_without_type_arguments() {
        check("Api::V1::User", "::", &["Api", "V1", "User"]);
        check("MyApp.Accounts.User", ".", &["MyApp", "Accounts", "User"]);
        check("::Top", "::", &["Top"]);
        check("a :: b", "::", &["a", "b"]);
        check("Größe", ".", &["Größe"]);
        check("Stack<T>::Node", "::", &["Stack", "Node"]);
        check("a::Map<b::K, Vec<V>> :: It", "::", &["a", "Map", "It"]);
        check("Box<dyn Fn(a::B) -> C>", "::", &["Box"]);
        check("Foo<'a>", "::", &["Foo"]);
    }

    #[test]
    fn what_is_no_path_is_one_name() {
        for text in [
            "",
            "::",
            "a::",
            "a::::b",
            "a.b",
            "&'static mut [a::T]",
            "dyn a::B",
            "(a::B, c::D)",
            "Foo<(a > b)>::c",
            "Foo<T",
            "Foo>::a",
            "<A as b::C>::D",
            "a::~b",
        ] {
            check(text, "::", &[text]);
        }
    }
}
