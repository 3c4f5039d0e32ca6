//! The registry of counters: custom counters, and tokenizers that are kept.

use std::sync::Arc;

use ctx_testkit::laws::token_counter;
use ctx_tokens::{CounterName, Counters, Identity, TokenCounter, Tokens, TokensError};

/// So many tokens a byte.
struct PerByte(u64, &'static str);

impl TokenCounter for PerByte {
    fn count(&self, text: &str) -> Tokens {
        Tokens::saturating_from_u64(text.len() as u64 * self.0)
    }

    fn name(&self) -> &str {
        self.1
    }
}

#[test]
fn a_counter_of_ones_own_goes_by_its_name() {
    let counters = Counters::default()
        .with(Arc::new(PerByte(1, "mine")))
        .unwrap()
        .with(Arc::new(PerByte(2, "characterBased")))
        .unwrap();
    let mine = counters.get(&"mine".into()).unwrap();
    assert_eq!((mine.count("abc").get(), mine.name()), (3, "mine"));
    token_counter(&mine);
    let instead = counters.get(&"characterBased".into()).unwrap();
    assert_eq!(instead.count("abc").get(), 6, "it comes before ours");
    let named = CounterName::Named("characterBased".to_owned());
    let named = counters.get(&named).unwrap();
    assert_eq!(named.count("abc").get(), 6, "it is the same name");
    let words = counters.get(&"wordBased".into()).unwrap();
    assert_eq!(words.name(), "wordBased");
    let unknown = counters.get(&"theirs".into());
    assert!(matches!(unknown, Err(TokensError::UnknownName { .. })));
}

#[test]
fn an_identity_tells_counters_of_one_name_apart() {
    let (mine, words) = ("mine".into(), "wordBased".into());
    let counters = |per_byte| {
        let counters = Counters::default().with(Arc::new(PerByte(per_byte, "mine")));
        counters.unwrap()
    };
    let (some, others) = (counters(1), counters(2));
    let identity = |counters: &Counters, name| counters.known(name).unwrap().identity;
    assert_eq!(identity(&some, &mine), identity(&some, &mine));
    assert_ne!(identity(&some, &mine), identity(&others, &mine));
    assert_eq!(identity(&some, &words), identity(&others, &words));
    assert_eq!(identity(&some, &words), Identity::default());
}

#[test]
fn two_counters_of_one_name_are_refused() {
    /// A counter that nobody gave a name.
    struct Nameless;

    impl TokenCounter for Nameless {
        fn count(&self, _: &str) -> Tokens {
            Tokens::ZERO
        }
    }

    let counters = Counters::default().with(Arc::new(Nameless)).unwrap();
    let error = counters.with(Arc::new(Nameless)).unwrap_err();
    assert!(matches!(&error, TokensError::NameTaken { name } if name == "custom"));
    assert_eq!(
        error.to_string(),
        "two token counters have the name \"custom\""
    );
}
