//! The five signals by which results are scored.

use ctx_model::Origin;

/// The weight of each signal, and the decay of recency. The default is that of the original design:
/// 0.35, 0.25, 0.15, 0.15 and 0.10, and λ = 0.01 per hour.
///
/// ```
/// use ctx_rank::{Profile, Signals};
///
/// let profile = Profile::default().with_recency(0.0);
/// let signals = Signals::default().with_text_similarity(1.0).with_usage_frequency(1.0);
/// assert!((profile.score(&signals).total - 0.45 / 0.85).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Profile {
    /// The weight of text similarity.
    pub text_similarity: f64,
    /// The weight of keyword match.
    pub keyword_match: f64,
    /// The weight of recency.
    pub recency: f64,
    /// The weight of source priority.
    pub source_priority: f64,
    /// The weight of usage frequency.
    pub usage_frequency: f64,
    /// The decay λ of recency, in 1/hours.
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

ctx_model::setters! {
    for Profile;
    /// Sets the weight of text similarity.
    with_text_similarity: text_similarity: f64;
    /// Sets the weight of keyword match.
    with_keyword_match: keyword_match: f64;
    /// Sets the weight of recency.
    with_recency: recency: f64;
    /// Sets the weight of source priority.
    with_source_priority: source_priority: f64;
    /// Sets the weight of usage frequency.
    with_usage_frequency: usage_frequency: f64;
    /// Sets the decay of recency, in 1/hours.
    with_decay: decay: f64;
}

/// The signals of one item, each in 0..=1. By default, keyword match and usage frequency are not
/// looked up, and the others are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Signals {
    /// The similarity of its text and the question:
    /// [`Corpus::similarity`](crate::Corpus::similarity).
    pub text_similarity: f64,
    /// The share of the question's [keywords](crate::Query::keywords) that it has:
    /// [`keyword_match`], or how much it is about them: [`weighted_keyword_match`]; `None` if not
    /// looked up.
    pub keyword_match: Option<f64>,
    /// How recent it is: [`recency`].
    pub recency: f64,
    /// The priority of its kind: [`source_priority`].
    pub source_priority: f64,
    /// How often it was used: [`usage_frequency`]; `None` if not looked up.
    pub usage_frequency: Option<f64>,
}

ctx_model::setters! {
    for Signals;
    /// Sets the similarity of its text and the question.
    with_text_similarity: text_similarity: f64;
    /// Sets the share of the question's keywords that it has.
    with_keyword_match: keyword_match: Option<f64>;
    /// Sets how recent it is.
    with_recency: recency: f64;
    /// Sets the priority of its kind.
    with_source_priority: source_priority: f64;
    /// Sets how often it was used.
    with_usage_frequency: usage_frequency: Option<f64>;
}

/// One signal's part in a score.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Contribution {
    /// The name of the signal, in camel case.
    pub name: &'static str,
    /// Its value, 0..=1; `None` if it was not looked up.
    pub value: Option<f64>,
    /// Its weight, as a share of all weights.
    pub weight: f64,
}

impl Contribution {
    /// The amount that it adds to the score: 0 if it was not looked up.
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
    /// The contributions of the five signals, in the order of [`Signals`].
    pub contributions: [Contribution; 5],
}

impl Profile {
    /// The weighted mean of `signals`, in 0..=1. Values outside 0..=1 count as the nearer end, NaN
    /// as 0, and so do signals that were not looked up. Weights that are infinite or not above 0
    /// count as 0.
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
        let sum = |scale: f64| -> f64 { parts.iter().map(|it| scale * positive(it.2)).sum() };
        // The sum of the highest weights is infinite, and that of their eighths is not.
        let scale = if sum(1.0).is_finite() { 1.0 } else { 0.125 };
        let all = sum(scale);
        let contributions = parts.map(|(name, value, weight)| Contribution {
            name,
            value: value.map(unit),
            weight: if all > 0.0 {
                scale * positive(weight) / all
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

/// `value`, or the nearer end of 0..=1; 0 for NaN.
pub(crate) fn unit(value: f64) -> f64 {
    if value.is_nan() {
        0.0
    } else {
        // Adding zero turns -0.0, which is the sum of no numbers, into 0.0: it would be written so.
        value.clamp(0.0, 1.0) + 0.0
    }
}

/// e^(−decay · hours): 1 for new items and those from the future. Halves every ln 2 / decay hours,
/// which is 69 by default. 0 if either is NaN.
pub fn recency(age_hours: f64, decay: f64) -> f64 {
    if age_hours.is_nan() || decay.is_nan() {
        return 0.0;
    }
    let age_hours = age_hours.max(0.0);
    // Nothing fades within no time, and nothing without a decay, even if the other is infinite.
    if age_hours == 0.0 || decay == 0.0 {
        return 1.0;
    }
    unit((-decay * age_hours).exp())
}

/// The recency of items without a date.
pub const UNDATED_RECENCY: f64 = 0.5;

/// The [`recency`] of an item of time `at`, both times in milliseconds since 1970;
/// [`UNDATED_RECENCY`] if one of them is unknown.
pub fn recency_at(now: Option<i64>, at: Option<i64>, decay: f64) -> f64 {
    let Some((now, at)) = now.zip(at) else {
        return UNDATED_RECENCY;
    };
    #[expect(
        clippy::cast_precision_loss,
        reason = "the decay of an age is no finer"
    )]
    let milliseconds = now.saturating_sub(at) as f64;
    recency(milliseconds / 3_600_000.0, decay)
}

/// 0.1 per use, at most 1.
pub fn usage_frequency(uses: u64) -> f64 {
    f64::from(u32::try_from(uses.min(10)).unwrap_or(10)) / 10.0
}

/// The share of `keywords` for which `has` returns true; 0 if there are none.
pub fn keyword_match<'k>(
    keywords: impl IntoIterator<Item = &'k str>,
    has: impl Fn(&str) -> bool,
) -> f64 {
    let degree = |it: &str| f64::from(u8::from(has(it)));
    weighted_keyword_match(keywords.into_iter().map(|it| (it, 1.0)), degree)
}

/// The mean of `degree` over `keywords`, by the weight of each, which is at least 0; 0 if all weigh
/// nothing. A degree in 0..=1 tells how much a text is about a keyword:
/// [`Corpus::saturation`](crate::Corpus::saturation). In a long question the mere number of
/// keywords tells little: most of them stand in most long texts.
pub fn weighted_keyword_match<'k>(
    keywords: impl IntoIterator<Item = (&'k str, f64)>,
    degree: impl Fn(&str) -> f64,
) -> f64 {
    let (mut all, mut found) = (0.0, 0.0);
    for (keyword, weight) in keywords {
        all += weight;
        found += weight * unit(degree(keyword));
    }
    if all > 0.0 { unit(found / all) } else { 0.0 }
}

/// The priority of an item by its origin: 1.0 if the user named it, 0.7 for a file that was found,
/// 0.6 for a part of one, 0.5 for a message.
pub fn source_priority(origin: Origin) -> f64 {
    match origin {
        Origin::Reference => 1.0,
        Origin::File => 0.7,
        Origin::Chunk => 0.6,
        Origin::Message => 0.5,
    }
}
