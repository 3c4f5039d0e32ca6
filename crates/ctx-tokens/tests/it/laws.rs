//! Every counter keeps the laws of the trait.

use ctx_testkit::laws::token_counter;
use ctx_tokens::{Calibrated, Characters, TokenCounter, Tokens, Words};

#[test]
fn characters() {
    token_counter(&Characters);
}

#[test]
fn words() {
    token_counter(&Words);
}

#[test]
fn a_counter_that_writes_only_count() {
    struct Bytes;

    impl TokenCounter for Bytes {
        fn count(&self, text: &str) -> Tokens {
            Tokens::saturating_from_u64(text.len() as u64)
        }
    }

    token_counter(&Bytes);
    token_counter(&Calibrated::new(Bytes, "double", (2, 1), "made up"));
    token_counter(&Calibrated::new(Bytes, "third", (1, 3), "made up"));
}

#[test]
#[should_panic(expected = "on another thread")]
fn a_counter_that_knows_threads_is_none() {
    struct OfThread(std::thread::ThreadId);

    impl TokenCounter for OfThread {
        fn count(&self, text: &str) -> Tokens {
            let is_its_own = std::thread::current().id() == self.0;
            Tokens::saturating_from_u64(text.len() as u64 * u64::from(is_its_own))
        }
    }

    token_counter(&OfThread(std::thread::current().id()));
}

#[test]
#[should_panic(expected = "again")]
fn a_counter_that_says_something_else_each_time_is_none() {
    struct Turns(std::sync::atomic::AtomicU32);

    impl TokenCounter for Turns {
        fn count(&self, text: &str) -> Tokens {
            if text.is_empty() {
                return Tokens::ZERO;
            }
            Tokens::new(self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
        }
    }

    token_counter(&Turns(std::sync::atomic::AtomicU32::new(0)));
}

/// What the base does with a text that is not expected to come again is its own matter.
#[test]
fn a_calibrated_counter_asks_its_base_in_the_same_way() {
    struct Twofold;

    impl TokenCounter for Twofold {
        fn count(&self, _: &str) -> Tokens {
            Tokens::new(1)
        }

        fn weigh_once(&self, _: &str) -> u64 {
            2
        }
    }

    let calibrated = Calibrated::new(Twofold, "double", (2, 1), "made up");
    assert_eq!((calibrated.weigh("a"), calibrated.weigh_once("a")), (1, 2));
}

#[test]
fn estimates_of_estimates() {
    token_counter(&Calibrated::new(Words, "words and more", (7, 5), "made up"));
    token_counter(&Calibrated::new(
        Characters,
        "characters",
        (9, 5),
        "made up",
    ));
}

#[test]
#[cfg(feature = "openai")]
fn encodings() {
    token_counter(ctx_tokens::cl100k_base());
    token_counter(ctx_tokens::o200k_base());
}

#[test]
#[cfg(feature = "openai")]
fn closed_models() {
    let model = "claude-sonnet-4".parse().unwrap();
    token_counter(&*ctx_tokens::counter(&model).unwrap());
}

#[test]
#[cfg(feature = "cache")]
fn a_cache_is_the_counter_it_wraps() {
    use ctx_tokens::CachedCounter;

    let small = CachedCounter::new(Words, 8);
    token_counter(&small);
    assert!(small.remembered() <= 8);
    let cached = CachedCounter::new(Characters, 1_000);
    cached.weigh_once("said once");
    assert_eq!(cached.remembered(), 0);
    token_counter(&cached);
    #[cfg(feature = "openai")]
    {
        let cached = CachedCounter::new(ctx_tokens::o200k_base(), 1_000);
        token_counter(&cached);
        ctx_testkit::laws::tokens::on_texts(|text| {
            assert_eq!(cached.weigh(text), cached.inner().weigh(text));
        });
    }
}
