//! What is changed in the expressions of the bundle.

/// Parts of expressions, with what replaces them.
pub(crate) const AMENDED: [(&str, &str, &str); 8] = [
    // Each option is that of the call before it, and not the last one of the line or of five lines.
    (
        "curl-auth-header",
        r"(?:[\r\n]{1,2}.*?){1,5})",
        r"(?:[\r\n]{1,2}.*?){1,5}?)",
    ),
    (
        "curl-auth-user",
        r"(?:.*|.*(?:[\r\n]{1,2}.*){1,5})",
        r"(?:.*?|.*?(?:[\r\n]{1,2}.*?){1,5}?)",
    ),
    ("kingfisher.curl.1", r"\s.*(", r"\s.*?("),
    ("kingfisher.curl.2", r"\s.*(", r"\s.*?("),
    // Entries without a password may stand before the first that has one.
    (
        "kingfisher.docker.1",
        "[^}]*?\n  \" (?P<REG>",
        "(?: [^{}]*? \\{ [^{}]* \\} )*? [^}]*? \" (?P<REG>",
    ),
    // An arm that goes on to the end of the text, while another arm matches a piece of it, is
    // followed to that end again for every match.
    ("kingfisher.drone.1", "_-]{30,}", "_-]{30,512}"),
    ("kingfisher.krb5.asrep.23.1", "[^:]+", "[^:\\s]{1,256}"),
    ("kingfisher.pdflayer.1", "<>]*", "<>]{0,512}"),
];

/// What an expression begins with that finds whole words, and what it begins with here: the last
/// letter of an escape, an encoded character or a colour is none of the word behind it.
const BEGIN: [&str; 2] = [r"\b", r"(?:\b|\\[nrt]|%[0-9A-Fa-f]{2}|\x1b\[[0-9;]{0,16}m)"];

/// How expressions for tokens end, which name some of the characters that may follow one.
const END: [&str; 2] = [r#"(?:[\x60'"\s;]|\\[nr]|$)"#, r"(?:[^A-Za-z0-9_-]|$)"];

/// The expression of the rule `id`, as it is used, of the one in the bundle.
pub(crate) fn amended(id: &str, expression: &str) -> String {
    let own = AMENDED.iter().filter(|it| it.0 == id);
    let amended = own.fold(expression.to_owned(), |it, (_, part, instead)| {
        it.replace(part, instead)
    });
    let amended = amended.replace(END[0], END[1]);
    let amended = amended.replace(r"|\b(", &["|", BEGIN[1], "("].concat());
    let is_flags = |it: &str| it.is_empty() || it.starts_with("(?") && it.ends_with(')');
    let is_token = |it: &str| it.starts_with('(') && !it.starts_with("(?");
    match amended.split_once(BEGIN[0]) {
        Some((flags, word)) if is_flags(flags.trim()) && is_token(word.trim()) => {
            [flags, BEGIN[1], word].concat()
        }
        _ => amended,
    }
}
