//! The five signals that what was found is scored by.

use ctx_model::Origin;

/// What each signal is worth, and how fast things grow old. The default is that of the design: 0.35, 0.25,
/// 0.15, 0.15 and 0.10, and λ = 0.01 an hour.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Profile {
    /// Of text similarity.
    pub text_similarity: f64,
    /// Of keyword match.
    pub keyword_match: f64,
    /// Of recency.
    pub recency: f64,
    /// Of source priority.
    pub source_priority: f64,
    /// Of usage frequency.
    pub usage_frequency: f64,
    /// How fast recency decays, in 1/hours.
    pub decay: f64,
}

impl Default for Profile {
    fn default() -> Self {
        Profile {
            text_similarity: 0.35,
            keyword_match: 0.25,
            recency: 0.15,
            source_priority: 0.15,
            usage_frequency: 0.10,
            decay: 0.01,
        }
    }
}

/// The signals of one item, each in 0..=1. By default nobody looked for keywords or how often it was of use, and the others are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Signals {
    /// How alike its text and the question are: [`Corpus::similarity`](crate::Corpus::similarity).
    pub text_similarity: f64,
    /// The share of the question's [keywords](crate::Query::keywords) that it has: [`keyword_match`]; `None` where that was not looked up.
    pub keyword_match: Option<f64>,
    /// [`recency`].
    pub recency: f64,
    /// What kind of thing it is: [`source_priority`].
    pub source_priority: f64,
    /// [`usage_frequency`]; `None` where that was not looked up.
    pub usage_frequency: Option<f64>,
}

/// One signal's part in a score.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Contribution {
    /// Which signal.
    pub name: &'static str,
    /// Its value, 0..=1; `None` where it was not looked up.
    pub value: Option<f64>,
    /// Its weight, as a share of all weights.
    pub weight: f64,
}

impl Contribution {
    /// What it adds to the score: nothing where it was not looked up.
    pub fn amount(&self) -> f64 {
        self.value.unwrap_or(0.0) * self.weight
    }
}

/// A score with its reasons.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Score {
    /// The sum of the contributions, 0..=1.
    pub total: f64,
    /// The five, in the order of [`Signals`].
    pub contributions: [Contribution; 5],
}

impl Profile {
    /// The weighted mean of `signals`. Values outside 0..=1, NaN among them, count as the nearer end (NaN as
    /// 0), so that the score is in 0..=1; so does what was not looked up. Weights that are not above 0, or infinite, count as 0.
    pub fn score(&self, signals: &Signals) -> Score {
        let parts = [
            (
                "textSimilarity",
                Some(signals.text_similarity),
                self.text_similarity,
            ),
            ("keywordMatch", signals.keyword_match, self.keyword_match),
            ("recency", Some(signals.recency), self.recency),
            (
                "sourcePriority",
                Some(signals.source_priority),
                self.source_priority,
            ),
            (
                "usageFrequency",
                signals.usage_frequency,
                self.usage_frequency,
            ),
        ];
        let positive = |weight: f64| {
            let is_weight = weight > 0.0 && weight.is_finite();
            if is_weight { weight } else { 0.0 }
        };
        let all: f64 = parts.iter().map(|(_, _, weight)| positive(*weight)).sum();
        let contributions = parts.map(|(name, value, weight)| Contribution {
            name,
            value: value.map(unit),
            weight: if all > 0.0 {
                positive(weight) / all
            } else {
                0.0
            },
        });
        let total: f64 = contributions.iter().map(Contribution::amount).sum();
        Score {
            total: unit(total),
            contributions,
        }
    }
}

pub(crate) fn unit(value: f64) -> f64 {
    if value.is_nan() {
        0.0
    } else {
        value.clamp(0.0, 1.0)
    }
}

/// e^(−decay · hours): 1 for what is new or from the future. Half is left after ln 2 / decay hours, 69 by
/// default.
pub fn recency(age_hours: f64, decay: f64) -> f64 {
    unit((-decay * age_hours.max(0.0)).exp())
}

/// The recency of what has no date.
pub const UNDATED: f64 = 0.5;

/// The [`recency`] of what is of `at`, both times in milliseconds since 1970: [`UNDATED`] where one of them is not known.
pub fn recency_at(now: Option<i64>, at: Option<i64>, decay: f64) -> f64 {
    let Some((now, at)) = now.zip(at) else {
        return UNDATED;
    };
    #[expect(
        clippy::cast_precision_loss,
        reason = "the decay of an age is no finer"
    )]
    let milliseconds = now.saturating_sub(at) as f64;
    recency(milliseconds / 3_600_000.0, decay)
}

/// A tenth for each use, 1 at most.
pub fn usage_frequency(uses: u64) -> f64 {
    f64::from(u32::try_from(uses.min(10)).unwrap_or(10)) / 10.0
}

/// The share of `keywords` that `has` says are there; 0 where there are none.
pub fn keyword_match<'k>(
    keywords: impl IntoIterator<Item = &'k str>,
    has: impl Fn(&str) -> bool,
) -> f64 {
    let (mut all, mut found) = (0_u32, 0_u32);
    for keyword in keywords {
        all += 1;
        found += u32::from(has(keyword));
    }
    if all == 0 {
        0.0
    } else {
        f64::from(found) / f64::from(all)
    }
}

/// What an item is worth for where it comes from: 1.0 when the user named it, 0.7 for a file that was found,
/// 0.6 for a part of one, 0.5 for a message.
pub fn source_priority(origin: Origin) -> f64 {
    match origin {
        Origin::Reference => 1.0,
        Origin::File => 0.7,
        Origin::Chunk => 0.6,
        Origin::Message => 0.5,
    }
}
