//! The bytes in a row that keys and tokens are made of: text without such a run has none of them.

/// How many bytes of a kind are in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Runs {
    /// Letters and digits.
    pub(crate) letters: usize,
    /// Those, `_` and `-`.
    pub(crate) joined: usize,
}

impl Runs {
    /// The longest in `text`. O(bytes), and mostly far fewer: bytes that no longer run has are not looked at.
    pub(crate) fn longest(text: &str) -> Self {
        let bytes = text.as_bytes();
        Runs {
            letters: longest(bytes, |it| it.is_ascii_alphanumeric()),
            joined: longest(bytes, |it| {
                it.is_ascii_alphanumeric() || matches!(it, b'_' | b'-')
            }),
        }
    }

    /// Whether they are as long as `needed`.
    pub(crate) fn are(self, needed: Runs) -> bool {
        self.letters >= needed.letters && self.joined >= needed.joined
    }
}

fn longest(bytes: &[u8], is: impl Fn(u8) -> bool) -> usize {
    let (mut start, mut longest) = (0, 0);
    while let Some(longer) = bytes.get(start..=start + longest) {
        // No longer run begins at or before the last byte that is in none.
        if let Some(at) = longer.iter().rposition(|it| !is(*it)) {
            start += at + 1;
        } else {
            let more = bytes[start + longest..].iter();
            longest += more.take_while(|it| is(**it)).count();
            start += longest;
        }
    }
    longest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_longest_run_is_that_of_all(text in "[ab_.é-]{0,60}") {
            let letters = text.split(|c: char| !c.is_ascii_alphanumeric());
            let joined = text.split(|c: char| !matches!(c, 'a' | 'b' | '_' | '-'));
            let longest = Runs {
                letters: letters.map(str::len).max().unwrap_or(0),
                joined: joined.map(str::len).max().unwrap_or(0),
            };
            prop_assert_eq!(Runs::longest(&text), longest);
        }
    }
}
