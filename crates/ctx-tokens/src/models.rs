//! The table of models and their encodings.

/// The counter that a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// `cl100k_base`, exactly.
    Cl100k,
    /// `o200k_base`, exactly.
    O200k,
    /// A closed model: `o200k_base` times `numerator / denominator`.
    Calibrated { numerator: u32, denominator: u32 },
}

/// A family of models.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// The name, or the beginning of names: the next character must be `-`, `.`, `:` or `@`.
    pub(crate) family: &'static str,
    pub(crate) target: Target,
    /// The source of the row; for an estimate, the source of its factor.
    pub(crate) source: &'static str,
}

const fn exact(family: &'static str, target: Target) -> Row {
    Row {
        family,
        target,
        source: "the model table of the reference implementation, tiktoken",
    }
}

const fn calibrated(
    family: &'static str,
    (numerator, denominator): (u32, u32),
    source: &'static str,
) -> Row {
    Row {
        family,
        target: Target::Calibrated {
            numerator,
            denominator,
        },
        source,
    }
}

const EARLIER_CLAUDE: &str = "published comparisons of Claude 3.5 Sonnet with GPT-4o (May 2025) \
    found up to 30 % more tokens; raised to 40 %";
const LATER_CLAUDE: &str = "announced as up to 1.35 × the tokens of earlier Claude models (April \
    2026), on top of the 30 % published for those; raised to 80 %";
const GEMINI: &str = "a deliberate margin of 25 %: the vendor says no more than about 4 characters \
    a token, and we know of no published comparison";

/// The table. If several families begin a name, the longest decides.
pub(crate) static ROWS: &[Row] = &[
    exact("cl100k_base", Target::Cl100k),
    exact("gpt-3.5", Target::Cl100k),
    exact("gpt-35", Target::Cl100k),
    exact("gpt-4", Target::Cl100k),
    exact("text-embedding-3", Target::Cl100k),
    exact("text-embedding-ada-002", Target::Cl100k),
    exact("o200k_base", Target::O200k),
    exact("chatgpt-4o", Target::O200k),
    exact("gpt-4.1", Target::O200k),
    exact("gpt-4.5", Target::O200k),
    exact("gpt-4o", Target::O200k),
    exact("gpt-5", Target::O200k),
    exact("gpt-oss", Target::O200k),
    exact("o1", Target::O200k),
    exact("o3", Target::O200k),
    exact("o4", Target::O200k),
    calibrated("claude", (9, 5), LATER_CLAUDE),
    calibrated("claude-2", (7, 5), EARLIER_CLAUDE),
    calibrated("claude-3", (7, 5), EARLIER_CLAUDE),
    calibrated("claude-haiku-4", (7, 5), EARLIER_CLAUDE),
    calibrated("claude-opus-4", (7, 5), EARLIER_CLAUDE),
    calibrated("claude-opus-4-7", (9, 5), LATER_CLAUDE),
    calibrated("claude-opus-4-8", (9, 5), LATER_CLAUDE),
    calibrated("claude-opus-4-9", (9, 5), LATER_CLAUDE),
    calibrated("claude-sonnet-4", (7, 5), EARLIER_CLAUDE),
    calibrated("gemini", (5, 4), GEMINI),
];

/// The longest name, in bytes, that is compared with known names or shown in full.
pub(crate) const LONGEST: usize = 64;

/// The row for `name`. Ignored are a provider's prefix (`openai/`), the case of letters, the `ft:`
/// of a tuned model, and the difference between the point that resellers write in the version of a
/// Claude model and the vendor's hyphen.
pub(crate) fn find(name: &str) -> Option<&'static Row> {
    let name = name.to_ascii_lowercase();
    let model = name.rsplit('/').next().unwrap_or(&name);
    let model = model.strip_prefix("ft:").unwrap_or(model);
    let hyphenated = model.replace('.', "-");
    let model = if model.starts_with("claude") {
        &hyphenated
    } else {
        model
    };
    ROWS.iter()
        .filter(|row| {
            model
                .strip_prefix(row.family)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.', ':', '@']))
        })
        .max_by_key(|row| row.family.len())
}

/// At most 3 known names that are similar to `name`, the nearest first; none for a name of more
/// than [`LONGEST`] bytes.
pub(crate) fn near(name: &str) -> Vec<String> {
    const ENOUGH: f64 = 0.6;

    if name.len() > LONGEST {
        return Vec::new();
    }
    let name = name.to_ascii_lowercase();
    let known = ["characterBased", "wordBased"].into_iter();
    let mut scored: Vec<(f64, &str)> = known
        .chain(ROWS.iter().map(|row| row.family))
        .map(|known| {
            let lowered = known.to_ascii_lowercase();
            let begins = lowered.starts_with(&name) || name.starts_with(&lowered);
            let likeness = strsim::normalized_damerau_levenshtein(&name, &lowered);
            (
                if begins {
                    likeness.max(ENOUGH)
                } else {
                    likeness
                },
                known,
            )
        })
        .filter(|&(likeness, _)| likeness >= ENOUGH && !name.is_empty())
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored.truncate(3);
    scored
        .into_iter()
        .map(|(_, known)| known.to_owned())
        .collect()
}
