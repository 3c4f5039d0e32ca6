//! Adversarial inputs: parsing stays bounded, and none is shown as something else.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use ctx_model::RenditionKind;
use ctx_syntax::{Fallback, Language, Limits, Outline, Source};

fn ends(path: &str, text: &str) {
    let mut limits = Limits::default();
    limits.time /= 4;
    let source = Source::new(path, text, &limits);
    crate::is_nested(text, &source, source.whole(), &[1]);
}

#[test]
fn odd_texts_end() {
    let texts = [
        "x".repeat(400_000),
        "var a=1;".repeat(50_000),
        "\0".repeat(1000),
        "fn a() {}\r\n\rfn b() {}\n\0\u{feff}fn c() {}".to_owned(),
        "\u{202e}fn a() {}\n".repeat(100),
        "\"".repeat(100_001),
        "/*".repeat(100_000),
        String::new(),
        "\n".repeat(10_000),
    ];
    for text in &texts {
        for path in [
            "a.rs",
            "a.js",
            "a.py",
            "a.go",
            "a.md",
            "a.sh",
            "a.swift",
            "a.unknown",
        ] {
            ends(path, text);
        }
    }
}

#[test]
fn texts_that_are_too_large_or_too_slow_fall_back_with_the_reason() {
    let large = "fn a() {}\n".repeat(60_000);
    let outline = Outline::of(&large, Language::by_name("rust"), &Limits::default());
    assert_eq!(
        outline.fallback,
        Some(Fallback::TooLarge { limit: 512 * 1024 })
    );
    let mut limits = Limits::default();
    limits.time = Duration::ZERO;
    let text = "fn a() { b(c(d(e()))) }\n".repeat(10_000);
    let outline = Outline::of(&text, Language::by_name("rust"), &limits);
    assert_eq!(outline.fallback, Some(Fallback::TooSlow));
    let outline = Outline::of(&text, None, &limits);
    assert_eq!(outline.fallback, Some(Fallback::NoGrammar));
}

#[test]
fn the_same_text_takes_the_same_steps_however_busy_the_machine_is() {
    let text = "fn a() { b(c(d(e()))) }\n".repeat(30);
    let is_enough = |steps: u64| {
        let mut limits = Limits::default();
        (limits.steps, limits.time) = (steps, Duration::from_hours(1));
        let outline = Outline::of(&text, Language::by_name("rust"), &limits);
        let expected = Fallback::TooMuchWork { limit: steps };
        assert!(outline.fallback.is_none_or(|it| it == expected));
        outline.fallback.is_none()
    };
    let least = (0..500).find(|steps| is_enough(*steps)).unwrap();
    assert!(least > 1, "{least}");
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let beside_others = [least - 1, least].map(is_enough);
        stop.store(true, Ordering::Relaxed);
        assert_eq!(beside_others, [false, true]);
    });
}

#[test]
fn without_a_grammar_lines_speak_for_themselves() {
    let text = "chapter one\n  some text\n  more text\n\nchapter two\n  the end\n";
    let source = Source::new("a.unknown", text, &Limits::default());
    let skeleton = source.render(source.whole(), RenditionKind::Skeleton, &[]);
    assert_eq!(
        skeleton.text(),
        "chapter one\n  … 3 lines left out\nchapter two\n  … 1 line left out\n"
    );
    crate::is_nested(text, &source, source.whole(), &[2, 6]);
}
