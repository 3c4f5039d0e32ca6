//! Where text may be cut so that the weights of the parts add up.

/// Whether the weight of `left + right` is the sum of their weights, for every counter that adds
/// up at safe joints.
///
/// It is where `left` ends a line, the white space that begins `right` holds no further line
/// break, and `right` does not begin with `/`. Tokenizers of the GPT family never join a line
/// break to what follows it, except to more line breaks (across white space) and, in
/// `o200k_base`, to slashes. Where one side is empty there is nothing to join.
///
/// # Examples
/// ```
/// use ctx_tokens::is_safe_joint;
///
/// assert!(is_safe_joint("one line\n", "  another"));
/// assert!(!is_safe_joint("no line break", "another"));
/// assert!(!is_safe_joint("one line\n", " \n another"));
/// assert!(!is_safe_joint("one line\n", "/slash"));
/// ```
pub fn is_safe_joint(left: &str, right: &str) -> bool {
    if left.is_empty() || right.is_empty() {
        return true;
    }
    let mut blank = right.chars().take_while(|c| c.is_whitespace());
    left.ends_with('\n') && !right.starts_with('/') && !blank.any(|c| matches!(c, '\r' | '\n'))
}

/// The last place in `text` that is a safe joint whatever is appended to `text`, if there is one.
///
/// O(length of what follows that place).
pub(crate) fn last_settled_joint(text: &str) -> Option<usize> {
    let mut ahead = Ahead::Undecided;
    for (at, character) in text.char_indices().rev() {
        if character == '\n' && ahead == Ahead::Joins {
            return Some(at + 1);
        }
        ahead = match character {
            '\r' | '\n' => Ahead::Breaks,
            '/' => Ahead::Slash,
            c if c.is_whitespace() => match ahead {
                // A slash binds only to the line break it touches.
                Ahead::Slash => Ahead::Joins,
                other => other,
            },
            _ => Ahead::Joins,
        };
    }
    None
}

/// What the text after a place says about that place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ahead {
    /// White space up to the end: whatever is appended decides.
    Undecided,
    /// A line break comes before anything else.
    Breaks,
    /// It begins with a slash.
    Slash,
    /// A line break just before this place would be a safe joint.
    Joins,
}
