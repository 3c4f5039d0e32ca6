//! Where text may be cut so that the weights of the parts add up.

/// Whether the weight of `left + right` is the sum of their weights, for every counter whose
/// weights add up at safe joints.
///
/// That is so if `left` ends with a line break, the white space that begins `right` contains no
/// further line break, and `right` does not begin with `/`. Tokenizers of the GPT family never join
/// a line break to the text that follows it, except to more line breaks (across white space) and,
/// in `o200k_base`, to slashes. If one side is empty, there is nothing to join.
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

/// Finds, as a text grows, the last place that is a safe joint whatever is appended.
// Invariant: `open` is the end of a line, followed so far only by white space without a line break.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Joints {
    /// A line end that is a safe joint or not depending on the text to come.
    open: Option<usize>,
}

impl Joints {
    /// The last such place in `text`, if the text after byte `new` made one; the text before `new`
    /// was examined by earlier calls. O(length of the new text).
    pub(crate) fn last_settled(&mut self, text: &str, new: usize) -> Option<usize> {
        let mut settled = None;
        for (at, character) in text[new..].char_indices() {
            let at = new + at;
            match character {
                '\n' => self.open = Some(at + 1),
                '\r' => self.open = None,
                // A slash is only joined to a line break directly before it.
                '/' if self.open == Some(at) => self.open = None,
                c if c.is_whitespace() => {}
                _ => settled = self.open.take().or(settled),
            }
        }
        settled
    }

    /// Adjusts to the removal of the first `length` bytes of the text, at most up to the last place
    /// found.
    pub(crate) fn forget(&mut self, length: usize) {
        self.open = self.open.and_then(|it| it.checked_sub(length));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last place in `text` that is a safe joint whatever is appended, computed by the rule.
    fn by_rule(text: &str) -> Option<usize> {
        let mut ends = text.match_indices('\n').map(|(at, _)| at + 1);
        let is_settled = |at: &usize| {
            let rest = &text[*at..];
            !rest.trim_start().is_empty() && is_safe_joint(&text[..*at], rest)
        };
        ends.rfind(is_settled)
    }

    #[test]
    fn a_text_that_grows_has_the_joints_of_one_that_is_there() {
        let signs = ["\n", "\r", " ", "/", "x", "\u{2028}", "é"];
        for number in 0..signs.len().pow(6) {
            let mut text = String::new();
            let (mut joints, mut last, mut number) = (Joints::default(), None, number);
            for _ in 0..6 {
                let new = text.len();
                text.push_str(signs[number % signs.len()]);
                number /= signs.len();
                last = joints.last_settled(&text, new).or(last);
                assert_eq!(last, by_rule(&text), "{text:?}");
            }
            assert_eq!(Joints::default().last_settled(&text, 0), last, "{text:?}");
        }
    }
}
