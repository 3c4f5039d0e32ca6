//! The values of flags, environment variables and keys of `ctx.toml`: each is parsed by the same
//! rules in all three.

use std::time::Duration;

use ctx::model::{CounterName, Format, Selection, Tokens};
use ctx::retrieve::{PartKind, Strategy};
use ctx::source::Limits;

use crate::{args, options};

/// The value of a setting.
pub(crate) trait Value: Clone {
    /// Parses it; an error says what is expected.
    fn read(word: &str) -> Result<Self, String>;

    /// Formats it so that it can be parsed again.
    fn tell(&self) -> String;
}

/// Search strategies, at least one of which can search alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Strategies(pub(crate) Vec<Strategy>);

/// Kinds of parts of files; an empty list means all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kinds(pub(crate) Vec<PartKind>);

/// The item that stands for all strategies, or all kinds.
const ALL: &str = "all";

impl Value for Strategies {
    fn read(word: &str) -> Result<Self, String> {
        let all = || joined(Strategy::ALL, ", ");
        let mut strategies: Vec<Strategy> = Vec::new();
        for word in items(word).filter(|it| *it != ALL) {
            let strategy = word.parse();
            strategies.push(strategy.map_err(|_| format!("{word:?} is not one of {}", all()))?);
        }
        if items(word).any(|it| it == ALL) {
            strategies = Strategy::ALL.to_vec();
        }
        if strategies.is_empty() {
            return Err(format!("name at least one of {}", all()));
        }
        if strategies.iter().all(|it| *it == Strategy::Relations) {
            return Err(
                "the strategy relations only extends the results of others; name another one with it"
                    .to_owned(),
            );
        }
        Ok(Strategies(strategies))
    }

    fn tell(&self) -> String {
        joined(&self.0, ",")
    }
}

impl Value for Kinds {
    fn read(word: &str) -> Result<Self, String> {
        // Whole files are searched, but only their parts are found.
        let of = |word: &str| {
            let kind = word.parse::<PartKind>().ok();
            let kind = kind.filter(|it| *it != PartKind::File);
            kind.ok_or_else(|| {
                let known = joined(PartKind::WITHIN_FILES, ", ");
                format!("{word:?} is not one of {known}")
            })
        };
        let named = items(word).filter(|it| *it != ALL).map(of);
        let mut kinds = named.collect::<Result<Vec<_>, _>>()?;
        if items(word).any(|it| it == ALL) {
            kinds.clear();
        }
        Ok(Kinds(kinds))
    }

    fn tell(&self) -> String {
        if self.0.is_empty() {
            ALL.to_owned()
        } else {
            joined(&self.0, ",")
        }
    }
}

/// The words for `items`, with `between` between them.
pub(crate) fn joined<T: ToString>(items: &[T], between: &str) -> String {
    let words: Vec<String> = items.iter().map(T::to_string).collect();
    words.join(between)
}

/// The items of a list separated by commas.
fn items(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|it| !it.is_empty())
}

impl Value for Tokens {
    fn read(word: &str) -> Result<Self, String> {
        options::budget(word)
    }

    fn tell(&self) -> String {
        self.to_string()
    }
}

impl Value for usize {
    fn read(word: &str) -> Result<Self, String> {
        match options::whole(word)? {
            0 => Err("0 would find nothing; give at least 1".to_owned()),
            n => Ok(n),
        }
    }

    fn tell(&self) -> String {
        self.to_string()
    }
}

impl Value for u8 {
    fn read(word: &str) -> Result<Self, String> {
        let refuse = |_| "not a whole number up to 255".to_owned();
        word.parse().map_err(refuse)
    }

    fn tell(&self) -> String {
        self.to_string()
    }
}

/// The size of the largest file that is indexed, in bytes.
impl Value for u64 {
    fn read(word: &str) -> Result<Self, String> {
        let size = args::size(word)?;
        // Larger files are not read to be shown, nor is a larger size remembered.
        let most = Limits::default().file_bytes;
        if size > most {
            return Err(format!("give at most {}M", most >> 20));
        }
        Ok(size)
    }

    fn tell(&self) -> String {
        self.to_string()
    }
}

/// A share from 0 to 1.
impl Value for f64 {
    fn read(word: &str) -> Result<Self, String> {
        match word.parse() {
            Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
            _ => Err("not a number from 0 to 1".to_owned()),
        }
    }

    fn tell(&self) -> String {
        self.to_string()
    }
}

/// A duration in seconds.
impl Value for Duration {
    fn read(word: &str) -> Result<Self, String> {
        let refuse = || "not a number of seconds from 0 to 86400".to_owned();
        let seconds = word.parse().map_err(|_| refuse())?;
        if !(0.0..=86_400.0).contains(&seconds) {
            return Err(refuse());
        }
        Duration::try_from_secs_f64(seconds).map_err(|_| refuse())
    }

    fn tell(&self) -> String {
        self.as_secs_f64().to_string()
    }
}

impl Value for bool {
    fn read(word: &str) -> Result<Self, String> {
        match word {
            "true" | "1" => Ok(true),
            "false" | "0" => Ok(false),
            _ => Err("not true or false".to_owned()),
        }
    }

    fn tell(&self) -> String {
        self.to_string()
    }
}

impl Value for Format {
    fn read(word: &str) -> Result<Self, String> {
        options::word(word, options::FORMATS)
    }

    fn tell(&self) -> String {
        self.to_string()
    }
}

impl Value for Selection {
    fn read(word: &str) -> Result<Self, String> {
        options::word(word, options::SELECTIONS)
    }

    fn tell(&self) -> String {
        match self {
            Selection::InOrder => "in-order",
            Selection::Density => "density",
            Selection::Optimal => "optimal",
        }
        .to_owned()
    }
}

impl Value for CounterName {
    fn read(word: &str) -> Result<Self, String> {
        options::counter(word)
    }

    fn tell(&self) -> String {
        self.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn comes_back<T: Value>(word: &str) {
        assert_eq!(T::read(word).unwrap().tell(), word);
    }

    #[test]
    fn a_value_is_told_as_it_is_read() {
        comes_back::<Strategies>("text,relations");
        comes_back::<Kinds>("function,lines");
        comes_back::<Kinds>("all");
        comes_back::<Tokens>("8000");
        comes_back::<usize>("7");
        comes_back::<f64>("0.25");
        comes_back::<bool>("true");
        comes_back::<Duration>("60");
        comes_back::<Duration>("0.5");
        for word in options::FORMATS {
            comes_back::<Format>(word);
        }
        for word in options::SELECTIONS {
            comes_back::<Selection>(word);
        }
        comes_back::<CounterName>("cl100k_base");
    }

    #[test]
    fn all_stands_for_every_strategy_and_for_every_kind() {
        let all = Strategies::read("all").unwrap();
        assert_eq!(all.0, Strategy::ALL);
        assert_eq!(Strategies::read(&all.tell()).unwrap(), all);
        assert_eq!(Strategies::read("text, all").unwrap(), all);
        for word in ["all", "", "class,all"] {
            assert_eq!(Kinds::read(word).unwrap(), Kinds::default(), "{word}");
        }
        assert!(Kinds::read("al").is_err() && Kinds::read("all,al").is_err());
    }

    #[test]
    fn senseless_values_are_refused() {
        assert!(Strategies::read("").is_err());
        assert!(Strategies::read("text,luck").unwrap_err().contains("luck"));
        assert!(Strategies::read("relations,relations").is_err());
        assert!(Kinds::read("klass").unwrap_err().contains("class"));
        let whole = Kinds::read("file").unwrap_err();
        assert!(whole.ends_with("section, lines"), "{whole}");
        assert!(Tokens::read("0").is_err());
        assert!(usize::read("0").is_err());
        assert_eq!(u64::read("64M"), Ok(64 << 20));
        for size in ["0", "65M", "67108865", "1G"] {
            assert!(u64::read(size).is_err(), "{size}");
        }
        for seconds in ["NaN", "-1", "inf", "1e9", "1m", ""] {
            assert!(Duration::read(seconds).is_err(), "{seconds}");
        }
        for share in ["NaN", "-0.1", "1.1", "inf", ""] {
            assert!(f64::read(share).is_err(), "{share}");
        }
    }
}
