//! The results, for people and for programs.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::answers;
use super::passages::{POLICIES, Reached};
use super::product::Measured;
use super::sets::{Golden, Set};

const INTRODUCTION: &str = "\
# What a context shows of the answer

Written by `cargo xtask eval passages`; not by hand. Budgets are tokens of o200k over all of a context, wrappers included; figures are means
over the questions; each context is counted again and built twice.
";

const POLICIES_OF: &str = "\
## Policies among given passages

Plain BM25 (k1 = 1.2, b = 0.75, words and their camelCase and snake_case parts) ranks the passages of a set; the best 100 are
offered as chunks, each with its score as a share of the best, and each policy chooses among them. **Recall** is
the share of the golden passages (in `chroma`, of the golden characters) that the context shows; **precision** the share of what it shows that
is golden.
";

const SETS: &str = "\
`codebase`: source files in chunks, and questions about one of them. `docs`: passages of a documentation. `chroma`: two
texts, cut after a sentence into pieces of at most 800 characters, and questions with exact spans.
";

const TUNING: &str = "\
How prose is weighed (`sentence_chances` of `ctx-rank`) was tuned on `chroma`: the shape (four scales, a saturation of 0.6, two numbers for the
regression) was chosen looking at all questions; the three constants of the regression were then fitted on the questions with an even number
alone, counted from 0, so those with an odd number tell what fitting is worth. What all of a section is worth (`chances_in_section`) has a
form that was chosen looking at `docs`, and a weight of 0.6, which leaves more than three times the precision of BM25 where the headings
of `chroma` are marked as such (`cargo xtask eval passages --only headed`). `codebase` showed that a role of files
is worth more where a question asks for it, and that the few names of a short question should weigh more than those of a report, whatever their
file is for; how much more (1 / n² for n names) was chosen of five forms that `codebase` and the issues of `eval.md` were asked with. `codebase` has 139 questions here, of
the 248 that others publish figures for. It has paths only of the 50 files with answers, so all 90 are called by their ids; their languages are guessed.
";

/// The page of all sets.
pub(super) fn page(measured: &[(Set, Vec<[Reached; 4]>, Measured)]) -> String {
    let answers = answers::section(measured);
    let mut page = format!("{INTRODUCTION}\n{SETS}\n{TUNING}\n{answers}\n{POLICIES_OF}");
    for (set, rows, _) in measured {
        let _ = writeln!(
            page,
            "\n### {}: {} passages, {} questions\n",
            set.name,
            set.passages.len(),
            set.questions.len()
        );
        let is_spans = matches!(set.questions[0].golden, Golden::Spans(..));
        table(&mut page, "recall", set, rows, |it| it.recall);
        if is_spans {
            table(&mut page, "precision", set, rows, |it| it.precision);
        }
        table(&mut page, "share of the budget used", set, rows, |it| {
            it.tokens
        });
    }
    let cells = || {
        measured
            .iter()
            .flat_map(|(_, rows, _)| rows.iter().flatten())
    };
    let over: usize = cells().map(|it| it.over).sum();
    let unstable: usize = cells().map(|it| it.unstable).sum();
    let _ = writeln!(
        page,
        "{over} contexts were over their budget; {unstable} came out otherwise the second time."
    );
    page
}

fn table(
    page: &mut String,
    what: &str,
    set: &Set,
    rows: &[[Reached; 4]],
    figure: impl Fn(&Reached) -> f64,
) {
    let _ = write!(page, "| {what} |");
    for budget in set.budgets {
        let _ = write!(page, " {budget} |");
    }
    page.push_str("\n|---|--:|--:|--:|--:|\n");
    let is_tokens = what.starts_with("share");
    for (policy, row) in POLICIES.iter().zip(rows) {
        let _ = write!(page, "| {} |", policy.name);
        for (reached, budget) in row.iter().zip(set.budgets) {
            let figure = figure(reached);
            let _ = if is_tokens {
                write!(page, " {:.2} |", figure / f64::from(budget))
            } else {
                write!(page, " {figure:.3} |")
            };
        }
        page.push('\n');
    }
    page.push('\n');
}

/// The results of all sets for programs.
pub(super) fn json(measured: &[(Set, Vec<[Reached; 4]>, Measured)]) -> Value {
    let rows = measured.iter().flat_map(|(set, rows, _)| {
        POLICIES.iter().zip(rows).flat_map(move |(policy, row)| {
            row.iter().zip(set.budgets).map(move |(reached, budget)| {
                json!({
                    "set": set.name, "policy": policy.name, "budget": budget,
                    "recall": reached.recall, "precision": reached.precision,
                    "tokens": reached.tokens, "over": reached.over, "unstable": reached.unstable,
                })
            })
        })
    });
    let answers = measured
        .iter()
        .map(|(set, _, answers)| json!({ "set": set.name, "answers": answers }));
    json!({ "policies": rows.collect::<Value>(), "answers": answers.collect::<Value>() })
}
