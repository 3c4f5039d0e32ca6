//! A packed outline is unpacked unchanged, and other bytes are rejected.

use std::sync::LazyLock;

use ctx_syntax::{Language, Limits, Outline};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::languages::{SAMPLES, Sample};

fn outline(path: &str, text: &str) -> Outline {
    Outline::of(text, Language::of(path, text), &Limits::default())
}

static PACKED: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let packed = |it: &Sample| outline(it.path, it.text).pack().unwrap();
    SAMPLES.iter().map(packed).collect()
});

#[test]
fn an_outline_comes_back_as_it_was() {
    for sample in SAMPLES {
        let outline = outline(sample.path, sample.text);
        let packed = outline.pack().unwrap();
        assert_eq!(Outline::unpack(&packed), Some(outline), "{}", sample.path);
    }
    let empty = outline("a.rs", "");
    assert_eq!(Outline::unpack(&empty.pack().unwrap()), Some(empty));
}

#[test]
fn a_reference_takes_few_bytes() {
    let calls = "    used(again);\n".repeat(1_000);
    let text = format!("fn all() {{\n{calls}}}\n");
    let outline = outline("a.rs", &text);
    assert_eq!(outline.references.len(), 1_000);
    let size = outline.pack().unwrap().len();
    assert!(size < 4_000, "{size}");
}

#[test]
fn an_outline_without_a_grammar_is_not_packed() {
    assert_eq!(outline("a.unknown", "text").pack(), None);
}

proptest! {
    #[test]
    fn arbitrary_bytes_unpack_without_a_panic(bytes in vec(any::<u8>(), 0..200)) {
        let _ = Outline::unpack(&bytes);
    }

    #[test]
    fn a_changed_outline_is_none_or_another(
        sample in 0..SAMPLES.len(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut packed = PACKED[sample].clone();
        let at = at.index(packed.len());
        packed[at] = byte;
        // What comes back can be packed: its numbers are those of what it has.
        if let Some(outline) = Outline::unpack(&packed) {
            let packed = outline.pack();
            prop_assert_eq!(packed.as_deref().and_then(Outline::unpack), packed.is_some().then_some(outline));
        }
    }

    #[test]
    fn a_sealed_outline_is_that_of_its_text_or_none(
        sample in 0..SAMPLES.len(),
        at in any::<prop::sample::Index>(),
        bit in 0..8_u8,
    ) {
        let sample = &SAMPLES[sample];
        let outline = outline(sample.path, sample.text);
        let (its, other) = ([7; 32], [8; 32]);
        let mut sealed = outline.seal(&its).unwrap();
        prop_assert_eq!(Outline::unseal(&sealed, &other), None);
        let at = at.index(sealed.len());
        prop_assert_eq!(Outline::unseal(&sealed[..at], &its), None);
        sealed[at] ^= 1 << bit;
        prop_assert_eq!(Outline::unseal(&sealed, &its), None);
        sealed[at] ^= 1 << bit;
        prop_assert_eq!(Outline::unseal(&sealed, &its), Some(outline));
    }
}
