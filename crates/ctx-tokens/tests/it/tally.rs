//! A tally equals a recount at every step.

use std::sync::Arc;
use std::thread;

use ctx_testkit::laws::tokens::{on_cut_texts, tallies};
use ctx_tokens::{Characters, Counters, Tally, TokenCounter, Tokens, Words};

/// Counts bytes, and never says that they add up.
struct Bytes;

impl TokenCounter for Bytes {
    fn count(&self, text: &str) -> Tokens {
        Tokens::saturating_from_u64(text.len() as u64)
    }
}

#[test]
fn a_tally_equals_a_recount_at_every_step() {
    on_cut_texts(|pieces| {
        tallies(&Characters, pieces);
        tallies(&Words, pieces);
        tallies(&Bytes, pieces);
    });
}

#[test]
#[cfg(feature = "openai")]
fn a_tally_of_an_encoding_equals_a_recount_at_every_step() {
    on_cut_texts(|pieces| {
        tallies(ctx_tokens::cl100k_base(), pieces);
        tallies(ctx_tokens::o200k_base(), pieces);
        let model = "gemini".parse().unwrap();
        tallies(&*ctx_tokens::counter(&model).unwrap(), pieces);
    });
}

#[test]
#[cfg(feature = "openai")]
fn joints_that_break_the_rule_are_counted_together() {
    let pieces = [
        "a;\n", "/", "/ b\n", " ", "\n", "  c\n", "\r", "\n\n", "d", "\n", "'s", "\n", "/",
    ];
    let pieces = pieces.map(str::to_owned);
    tallies(ctx_tokens::cl100k_base(), &pieces);
    tallies(ctx_tokens::o200k_base(), &pieces);
}

#[test]
fn a_tally_holds_on_to_no_more_than_the_last_stretch() {
    let mut tally = Tally::new(&Words);
    for _ in 0..1_000 {
        tally.push("a line of text\nand an");
        tally.push("other\n");
        assert!(tally.unsettled() <= "and another\na line of text\nand an".len());
    }
    assert_eq!(
        tally.tokens(),
        Words.count(&"a line of text\nand another\n".repeat(1_000))
    );
}

#[test]
fn a_character_at_a_time_equals_a_recount() {
    let text = "one\n\n  two\r\n/three\n \n four\n";
    let pieces: Vec<String> = text.chars().map(String::from).collect();
    tallies(&Characters, &pieces);
    #[cfg(feature = "openai")]
    tallies(ctx_tokens::o200k_base(), &pieces);
}

/// Were all of the line looked at for each piece, this would not end.
#[test]
fn a_long_line_in_small_pieces_is_looked_at_once() {
    let mut tally = Tally::new(&Words);
    tally.push("\n");
    for _ in 0..1 << 21 {
        tally.push("ab ");
    }
    assert_eq!(tally.unsettled(), 3 << 21);
    tally.push("\nx");
    assert_eq!(tally.unsettled(), 1);
}

#[test]
fn a_tally_keeps_its_counter_wherever_it_goes() {
    /// An answer that comes in pieces.
    struct Stream {
        tally: Tally<Arc<dyn TokenCounter>>,
    }

    let counter = Counters::default().get(&"wordBased".into()).unwrap();
    let mut stream = Stream {
        tally: Tally::new(counter),
    };
    let answer = thread::spawn(move || {
        stream.tally.push("some words ");
        stream.tally.push("and more");
        stream.tally.tokens()
    });
    assert_eq!(answer.join().unwrap(), Words.count("some words and more"));
}
