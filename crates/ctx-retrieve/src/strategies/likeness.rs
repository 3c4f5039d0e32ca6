//! Recognises mistyped names.

/// The lengths of stems, in characters: a shorter one resembles too many others, and a longer one
/// is not typed by hand.
const LENGTHS: std::ops::RangeInclusive<usize> = 3..=40;
/// A stem with more characters than this may have two mistakes.
const LONG: usize = 5;
/// Transpositions are tried for stems of at most this many characters: they have few trigrams in
/// common with the intended name.
const SHORT: usize = 8;

/// How similar `name` is to `asked`, 0..=1, if they differ by one mistake: a letter inserted,
/// removed or replaced, or two swapped; two mistakes if the stem has more than five characters.
/// Ignores case. An extension in `asked` must be equal; without one, that of `name` does not count.
/// O(characters²), of at most 40.
pub(super) fn likeness(asked: &str, name: &str) -> Option<f64> {
    let (asked, name) = (asked.to_lowercase(), name.to_lowercase());
    let (asked_stem, asked_extension) = split(&asked);
    let (stem, extension) = split(&name);
    if asked_extension.is_some() && asked_extension != extension {
        return None;
    }
    let (length, other) = (asked_stem.chars().count(), stem.chars().count());
    let most = if length > LONG { 2 } else { 1 };
    if !LENGTHS.contains(&length) || length.abs_diff(other) > most {
        return None;
    }
    let mistakes = strsim::osa_distance(asked_stem, stem);
    #[expect(clippy::cast_precision_loss, reason = "there are at most 42")]
    let likeness = 1.0 - mistakes as f64 / length.max(other) as f64;
    (mistakes <= most).then_some(likeness)
}

/// Each variant of `name` with two adjacent characters of its stem swapped, if the stem is short.
pub(super) fn transposed(name: &str) -> Vec<String> {
    let (stem, extension) = split(name);
    let stem: Vec<char> = stem.chars().collect();
    if !LENGTHS.contains(&stem.len()) || stem.len() > SHORT {
        return Vec::new();
    }
    let differs = |it: &usize| stem[*it] != stem[*it + 1];
    let positions = (0..stem.len() - 1).filter(differs);
    let swapped = positions.map(|at| {
        let mut stem = stem.clone();
        stem.swap(at, at + 1);
        let stem = String::from_iter(stem);
        match extension {
            Some(extension) => format!("{stem}.{extension}"),
            None => stem,
        }
    });
    swapped.collect()
}

/// Splits the name of a file into stem and extension.
fn split(name: &str) -> (&str, Option<&str>) {
    match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => (stem, Some(extension)),
        _ => (name, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_like_one_with_a_mistake() {
        for (asked, name, expected) in [
            ("lokc.rs", "lock.rs", Some(75)),
            ("Lokc.rs", "LOCK.rs", Some(75)),
            ("loc.rs", "lock.rs", Some(75)),
            ("locck.rs", "lock.rs", Some(80)),
            ("rnu.rs", "run.rs", Some(67)),
            ("retreive.rs", "retrieve.rs", Some(88)),
            ("retreave.rs", "retrieve.rs", Some(75)),
            ("retreive", "retrieve.rs", Some(88)),
            ("lock.rs", "lock.rs", Some(100)),
            ("lokc.rs", "log.rs", None),
            ("lokc.rs", "lock.py", None),
            ("lokc.rs", "lock", None),
            ("ab.rs", "ba.rs", None),
            ("", "a", None),
            (".rs", ".rs", Some(100)),
        ] {
            let found = likeness(asked, name).map(|it| format!("{:.0}", it * 100.0));
            let expected = expected.map(|it: u32| it.to_string());
            assert_eq!(found, expected, "{asked} and {name}");
        }
        assert_eq!(likeness(&"a".repeat(41), &"a".repeat(41)), None);
    }

    #[test]
    fn short_names_are_looked_for_with_two_letters_in_the_other_order() {
        assert_eq!(transposed("lokc.rs"), ["olkc.rs", "lkoc.rs", "lock.rs"]);
        assert_eq!(transposed("éaa"), ["aéa"]);
        for name in ["", "ab", ".rs", "retrieves.rs"] {
            let found = transposed(name);
            let is_short = name == ".rs";
            assert_eq!(found.is_empty(), !is_short, "{name}: {found:?}");
        }
    }
}
