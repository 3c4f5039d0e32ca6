//! A packed outline is unpacked unchanged, and other bytes are rejected.

use std::sync::LazyLock;

use ctx_syntax::{
    Direction, Graph, Import, Language, Limits, LineSpan, Outline, Reference, ReferenceKind,
    RenditionKind, Source, Symbol, SymbolKind,
};
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
fn what_follows_an_outline_is_refused() {
    for packed in &*PACKED {
        assert_eq!(Outline::unpack(&[&packed[..], &[0]].concat()), None);
    }
}

/// `count` functions, each on a line of its own.
fn functions(count: u32) -> Outline {
    let function = |number: u32| {
        let span = LineSpan::new(number, number).unwrap();
        let start = number as usize * 10;
        Symbol::new(SymbolKind::Function, "f", span, start..start + 9)
    };
    let mut outline = Outline::default();
    outline.symbols = (1..=count).map(function).collect();
    outline
}

#[track_caller]
fn is_refused(outline: &Outline) {
    assert!(!outline.is_well_formed());
    assert_eq!(outline.pack(), None);
}

#[test]
fn an_outline_that_no_parser_makes_is_not_packed() {
    let sound = functions(3);
    assert_eq!(Outline::unpack(&sound.pack().unwrap()), Some(sound.clone()));
    let change = |change: fn(&mut Outline)| {
        let mut changed = sound.clone();
        change(&mut changed);
        changed
    };
    is_refused(&change(|it| it.symbols.swap(0, 1)));
    is_refused(&change(|it| it.symbols[1].bytes.start = 0));
    is_refused(&change(|it| it.symbols[1].parent = Some(1)));
    is_refused(&change(|it| it.symbols[1].parent = Some(2)));
    is_refused(&change(|it| {
        it.symbols[1].qualified_name = "f".repeat(1025);
    }));
    let reference = |line, within| {
        let mut reference = Reference::new(ReferenceKind::Call, "f", line);
        reference.within = within;
        let mut changed = sound.clone();
        changed.references.push(reference);
        changed
    };
    is_refused(&reference(0, None));
    is_refused(&reference(1, Some(3)));
    assert!(reference(1, Some(2)).pack().is_some());
    let nested = |depth: u32| {
        let mut outline = functions(depth);
        for (index, symbol) in outline.symbols.iter_mut().enumerate() {
            symbol.parent = index.checked_sub(1);
        }
        outline
    };
    assert!(nested(100).pack().is_some());
    is_refused(&nested(101));
}

/// A packed function that begins a line and a byte after the one before it. Its name is the first
/// of the table, and so is its qualified name.
const ALONE: [u8; 15] = [0, 0, 1, 0, 2, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0];
/// One within the function before it, whose qualified name is that of the other and twice its own.
const NESTED: [u8; 15] = [0, 0, 0, 0, 2, 0, 1, 1, 0, 0, 0, 0, 0, 1, 0];

/// The packed outline of a function with this name, and `count` of `others`.
fn forged(name: &str, others: [u8; 15], count: usize) -> Vec<u8> {
    let number = |it: usize| {
        let bytes = [it | 0x80, it >> 7 | 0x80, it >> 14];
        bytes.map(|it| it.to_le_bytes()[0])
    };
    [
        &[1][..],
        &number(name.len()),
        name.as_bytes(),
        &number(count + 1),
        &ALONE,
        &others.repeat(count),
        &[0, 0],
    ]
    .concat()
}

#[test]
fn names_take_memory_in_proportion_to_the_bytes() {
    let few = Outline::unpack(&forged("name", ALONE, 99)).unwrap();
    let names = few.symbols.iter().map(|it| it.qualified_name.as_str());
    assert_eq!(names.collect::<Vec<_>>(), ["name"; 100]);
    let nested = Outline::unpack(&forged("name", NESTED, 99)).unwrap();
    assert_eq!(nested.symbols[99].qualified_name, "name".repeat(199));
    let long = "n".repeat(50_000);
    assert!(Outline::unpack(&forged(&long, ALONE, 9)).is_some());
    for forged in [
        forged("name", NESTED, 100),
        forged(&"n".repeat(10), NESTED, 99),
        forged(&long, NESTED, 1),
        forged(&long, NESTED, 4_500),
        forged(&long, ALONE, 4_500),
    ] {
        assert_eq!(Outline::unpack(&forged), None);
    }
}

#[test]
fn an_outline_without_a_grammar_is_not_packed() {
    assert_eq!(outline("a.unknown", "text").pack(), None);
}

/// Any outline, most of which no parser makes.
fn outlines() -> impl Strategy<Value = Outline> {
    let span = || (0..9_u32, 0..3_u32).prop_map(|(start, more)| (start, start + more));
    let symbol = (
        0..SymbolKind::ALL.len(),
        ("[ab]{0,2}", "[ab.]{0,4}"),
        (0..9_u32, 0..3_u32, 0..9_usize, 0..5_usize),
        [span(), span(), span(), span()],
        (prop::option::of(0..9_usize), any::<bool>()),
    );
    let symbols = vec(symbol, 0..9).prop_map(|all| {
        // Mostly in order.
        let (mut line, mut byte) = (1, 0);
        let symbol = |(kind, names, (lines, more, start, length), near, (parent, is_title))| {
            let (name, qualified): (String, String) = names;
            let [signature, body, doc, lead] = near;
            let lines_of = |(start, end): (u32, u32)| LineSpan::new(start, end).ok();
            line = if lines == 8 { 1 } else { line + lines };
            byte = if start == 8 { 0 } else { byte + start };
            let span = LineSpan::new(line, line + more).unwrap();
            let mut symbol = Symbol::new(SymbolKind::ALL[kind], name, span, byte..byte + length);
            symbol.qualified_name = qualified;
            symbol.signature = lines_of(signature).unwrap_or(span);
            symbol.body = lines_of(body);
            symbol.doc = lines_of(doc);
            symbol.lead = lines_of(lead);
            symbol.parent = parent;
            symbol.is_title = is_title;
            symbol
        };
        all.into_iter().map(symbol).collect::<Vec<_>>()
    });
    let import = ("[ab]{0,2}", 1..9_u32)
        .prop_map(|(module, line)| Import::new(module, LineSpan::new(line, line + 1).unwrap()));
    let reference = (
        "[ab]{0,2}",
        0..99_u32,
        prop::option::of(0..9_usize),
        0..3_usize,
    );
    let reference = reference.prop_map(|(name, line, within, kind)| {
        use ReferenceKind::{Call, Extends, Type};
        let mut reference = Reference::new([Call, Type, Extends][kind], name, line);
        reference.within = within;
        reference
    });
    (symbols, vec(import, 0..3), vec(reference, 0..3)).prop_map(|(symbols, imports, references)| {
        let mut outline = Outline::default();
        outline.symbols = symbols;
        outline.imports = imports;
        outline.references = references;
        outline
    })
}

proptest! {
    #[test]
    fn a_well_formed_outline_comes_back_and_no_other_is_packed(outline in outlines()) {
        let packed = outline.pack();
        prop_assert_eq!(packed.is_some(), outline.is_well_formed());
        if let Some(packed) = packed {
            prop_assert_eq!(Outline::unpack(&packed), Some(outline));
        }
    }

    /// Some of which are of no text at all.
    #[test]
    fn an_outline_that_is_not_well_formed_is_used_without_a_panic(outline in outlines()) {
        let text = "a b\n".repeat(12);
        let _ = ctx_syntax::pieces(&ctx_syntax::lines(&text), &outline);
        let graph = Graph::new([("a.x", &outline)]);
        let _ = graph.neighbourhood(0, 9, Direction::Both);
        let source = Source::with_outline("a.x", &text, outline);
        for kind in RenditionKind::ALL {
            let _ = source.render(source.whole(), kind, &[]);
        }
    }

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
        // What comes back can be packed.
        if let Some(outline) = Outline::unpack(&packed) {
            prop_assert!(outline.is_well_formed());
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
