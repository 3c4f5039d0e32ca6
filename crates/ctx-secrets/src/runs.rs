//! Runs of bytes that keys and tokens consist of: a text without a run that is long enough has none
//! of them.

/// Lengths of runs of bytes of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Runs {
    /// ASCII letters and digits.
    pub(crate) letters: usize,
    /// ASCII letters, digits, `_` and `-`.
    pub(crate) joined: usize,
}

impl Runs {
    /// The longest runs in `text`. O(bytes), and mostly far less: bytes that cannot belong to a
    /// longer run are skipped.
    pub(crate) fn longest(text: &str) -> Self {
        let bytes = text.as_bytes();
        Runs {
            letters: longest(bytes, |it| it.is_ascii_alphanumeric()),
            joined: longest(bytes, |it| {
                it.is_ascii_alphanumeric() || matches!(it, b'_' | b'-')
            }),
        }
    }

    /// Whether both runs are at least as long as `needed`.
    pub(crate) fn are(self, needed: Runs) -> bool {
        self.letters >= needed.letters && self.joined >= needed.joined
    }
}

fn longest(bytes: &[u8], is: impl Fn(u8) -> bool) -> usize {
    let (mut start, mut longest) = (0, 0);
    while let Some(longer) = bytes.get(start..=start + longest) {
        // A longer run must begin after the last byte in this window that belongs to none.
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
