//! Excerpts of parts that are too long to be shown whole.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use ctx_model::{Rendition, RenditionKind};
use ctx_resolve::{Keywords, NamedLines, renditions};
use ctx_syntax::{Limits, Source};
use proptest::prelude::*;

/// A function whose body is these lines.
fn function(body: impl Iterator<Item = String>) -> String {
    let mut text = String::from("fn build() {\n");
    for line in body {
        writeln!(text, "    {line};").unwrap();
    }
    text.push_str("}\n");
    text
}

/// The excerpts of all of `text`, the longest first.
fn excerpts(text: &str, words: &[&str]) -> Vec<Rendition> {
    about(text, words, (&[], 0.0))
}

/// The same, of which these lines are asked about, and tell so much at least.
fn about(text: &str, words: &[&str], (lines, told): (&[u32], f64)) -> Vec<Rendition> {
    let named = NamedLines {
        lines,
        least_information: told,
    };
    let source = Source::new("a.rs", text, &Limits::default());
    let words: Vec<String> = words.iter().map(|&it| it.to_owned()).collect();
    let mut all = renditions(&source, source.whole(), &Keywords::new(&words), named);
    all.retain(|it| it.kind() == RenditionKind::Excerpt);
    all
}

fn lines(rendition: &Rendition) -> BTreeSet<u32> {
    rendition.lines().iter().flatten().copied().collect()
}

#[test]
fn of_a_long_function_the_line_with_the_rarest_words_is_shown_by_itself() {
    let line = |it: u32| match it {
        300 => "arg(\"wrap\", flag)".to_owned(),
        it if it % 3 == 0 => format!("arg(\"f{it}\", flag)"),
        it => format!("other({it})"),
    };
    let text = function((2..=700).map(line));
    let found = excerpts(&text, &["arg", "flag", "wrap"]);
    let shortest = found.last().unwrap();
    assert!(
        shortest.text().contains("arg(\"wrap\", flag);"),
        "{shortest:?}"
    );
    assert_eq!(
        lines(shortest),
        BTreeSet::from([1, 298, 299, 300, 301, 302, 701])
    );
    assert!(found.len() > 5, "{} excerpts", found.len());
    let information: Vec<f64> = found.iter().map(Rendition::information).collect();
    assert!(information.is_sorted_by(|a, b| a > b), "{information:?}");
}

/// Also where it says nothing of the question, and where the part is short.
#[test]
fn a_line_that_is_asked_about_is_in_each_excerpt() {
    for length in [50, 700] {
        let line = |it: u32| match it {
            _ if it.is_multiple_of(3) => format!("arg(\"f{it}\", flag)"),
            _ => format!("other({it})"),
        };
        let text = function((2..=length).map(line));
        let near: BTreeSet<u32> = (24..=36).collect();
        for words in [&["arg", "flag"][..], &[]] {
            let found = about(&text, words, (&[30], 0.0));
            assert!(
                found.iter().all(|it| lines(it).is_superset(&near)),
                "{found:?}"
            );
            let mut shortest = near.clone();
            shortest.extend([1, length + 1]);
            assert_eq!(lines(found.last().unwrap()), shortest, "{words:?}");
            for (told, least) in [(0.0, 0.3), (0.8, 0.86)] {
                let found = about(&text, words, (&[30], told));
                let told: Vec<f64> = found.iter().map(Rendition::information).collect();
                assert!(told.is_sorted_by(|a, b| a > b), "{told:?}");
                assert!(told.iter().all(|it| *it >= least - 1e-9), "{told:?}");
            }
        }
        // At the ends of the part.
        for at in [1, length + 1] {
            let found = about(&text, &[], (&[at], 0.0));
            assert!(lines(&found[0]).contains(&at), "{found:?}");
        }
    }
}

#[test]
fn what_an_excerpt_tells_at_least_is_a_share_whatever_was_said() {
    let text = function((2..700).map(|it| format!("call({it})")));
    let told = |least| {
        let found = about(&text, &["(13)", "(40)"], (&[30], least));
        assert!(found.len() > 1, "{least}: {found:?}");
        found
    };
    for (beyond, nearest) in [
        (1.5, 1.0),
        (f64::INFINITY, 1.0),
        (-0.5, 0.0),
        (f64::NEG_INFINITY, 0.0),
        (f64::NAN, 0.0),
    ] {
        assert_eq!(told(beyond), told(nearest), "{beyond}");
    }
}

#[test]
fn a_short_text_has_one_excerpt() {
    let text = function((2..50).map(|it| format!("call({it})")));
    assert_eq!(excerpts(&text, &["(13)", "(40)"]).len(), 1);
}

/// A question for a setting has a word of every one.
#[test]
fn a_short_text_that_matches_everywhere_shows_where_it_matches_best() {
    let text: String = (1..=40)
        .map(|it| match it {
            30 => "retry_setting = 1\n".to_owned(),
            it => format!("other_setting_{it} = 1\n"),
        })
        .collect();
    let excerpts = |path: &str| {
        let source = Source::new(path, &text, &Limits::default());
        let words = Keywords::new(&["set".to_owned(), "retry".to_owned()]);
        let mut all = renditions(&source, source.whole(), &words, NamedLines::default());
        all.retain(|it| it.kind() == RenditionKind::Excerpt);
        all
    };
    for path in ["a.ini", "a.toml", "a.py"] {
        let found = excerpts(path);
        let shortest = found.last().unwrap_or_else(|| panic!("{path}"));
        assert_eq!(lines(shortest), BTreeSet::from([1, 28, 29, 30, 31, 32]));
        assert!(found.is_sorted_by(|a, b| lines(a).is_superset(&lines(b))));
    }
    // What is read in order is not cut.
    assert!(excerpts("a.md").is_empty());
}

proptest! {
    #[test]
    fn each_excerpt_is_part_of_the_longer_ones(
        body in prop::collection::vec("[a-d]{1,3}\\([a-d]{1,3}\\)", 58..160),
        words in prop::collection::vec("[a-d]{1,3}", 1..6),
    ) {
        let text = function(body.into_iter());
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let found = excerpts(&text, &words);
        for pair in found.windows(2) {
            prop_assert!(lines(&pair[0]).is_superset(&lines(&pair[1])));
            prop_assert!(pair[0].text().len() > pair[1].text().len());
            prop_assert!(pair[0].information() >= pair[1].information());
        }
        prop_assert_eq!(&found, &excerpts(&text, &words));
    }
}
