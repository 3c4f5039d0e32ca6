//! The results of contexts that `ctx query` builds, compared with plain BM25 in the same run.

use std::fmt::Write as _;

use super::passages::Reached;
use super::product::{Ask, By, Cell, Measured};
use super::sets::{Golden, Set};

/// The least chances of sentences (floors) that are tried at the largest budget.
const CHANCES: [f64; 10] = [
    0.0, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.1, 0.15,
];

/// The number of ways before those with a floor: the four budgets with the retriever's default
/// floor, without one, and through the server.
const CURVE: usize = 12;

const INTRODUCTION: &str = "\
## From a question to a context

The texts of a set are files in a folder, `ctx-index` indexes it, and `ctx-service` answers as it does for `ctx query`. Each line of a
context is looked up where it is cited; what is not there is a false span. **Characters** is the share of the golden passages that is shown, each
passage for itself (in `chroma`, of all golden characters); **touched** the share of the golden passages of which something is shown:
where a context shows sentences of a passage instead of all of it, recall as others count it lies between the two. Precision is the share of the
characters shown that is golden. *BM25* is score order among the given passages, each whole, as below. *Without a floor* is
`min_chance` 0: the budget is filled. *By the server* is a message without a thread, as `POST /v1/context/build` answers it, with nothing reserved.
";

/// The ways in which each set is evaluated.
pub(super) fn ways(set: &Set) -> Vec<Ask> {
    let mut ways = Vec::new();
    for min_chance in [None, Some(0.0)] {
        ways.extend(set.budgets.map(|budget| Ask {
            by: By::Query,
            budget,
            min_chance,
        }));
    }
    ways.extend(set.budgets.map(|budget| Ask {
        by: By::Server,
        budget,
        min_chance: None,
    }));
    if is_spans(set) {
        let budget = set.budgets[3];
        ways.extend(CHANCES.map(|it| Ask {
            by: By::Query,
            budget,
            min_chance: Some(it),
        }));
    }
    ways
}

fn is_spans(set: &Set) -> bool {
    matches!(set.questions[0].golden, Golden::Spans(..))
}

/// The section of all sets. `rows` of BM25 are those of its policies, score order first.
pub(super) fn section(all: &[(Set, Vec<[Reached; 4]>, Measured)]) -> String {
    let mut page = INTRODUCTION.to_owned();
    for (set, rows, measured) in all {
        let _ = writeln!(
            page,
            "\n### {}: {} files, {} questions\n",
            set.name,
            set.files.len(),
            set.questions.len()
        );
        if let Some(share) = measured.pass_at_20 {
            let _ = writeln!(
                page,
                "Golden passages among the first 20 that the ranking comes to: {share:.3}.\n"
            );
        }
        table(&mut page, set, &rows[0], measured);
        if is_spans(set) {
            curve(&mut page, measured);
            at_equal_recall(&mut page, set, &rows[0], measured);
        }
    }
    let cells = || all.iter().flat_map(|(_, _, it)| &it.cells);
    let _ = writeln!(
        page,
        "\n{} contexts were over their budget; {} came out otherwise the second time; {} parts were not where they are cited.\n",
        cells().map(|it| it.over).sum::<usize>(),
        cells().map(|it| it.unstable).sum::<usize>(),
        cells().map(|it| it.false_spans).sum::<usize>(),
    );
    page
}

type Figure = fn(&Cell) -> f64;

fn table(page: &mut String, set: &Set, bm25: &[Reached; 4], measured: &Measured) {
    let _ = write!(page, "| |");
    for budget in set.budgets {
        let _ = write!(page, " {budget} |");
    }
    page.push_str("\n|---|--:|--:|--:|--:|\n");
    let mut row = |name: &str, figures: Vec<f64>, digits: usize| {
        let _ = write!(page, "| {name} |");
        for figure in figures {
            let _ = write!(page, " {figure:.digits$} |");
        }
        page.push('\n');
    };
    let of = |cells: &[Cell], figure: Figure| cells.iter().take(4).map(figure).collect::<Vec<_>>();
    let (with, without) = (&measured.cells[..4], &measured.cells[4..8]);
    let server = &measured.cells[8..CURVE];
    let recall: Figure = |it| it.all.recall;
    let precision: Figure = |it| it.all.precision;
    let tokens: Figure = |it| it.all.tokens;
    row("BM25, recall", bm25.iter().map(|it| it.recall).collect(), 3);
    row("characters", of(with, recall), 3);
    row("characters, without a floor", of(without, recall), 3);
    row("characters, by the server", of(server, recall), 3);
    if is_spans(set) {
        row(
            "BM25, precision",
            bm25.iter().map(|it| it.precision).collect(),
            3,
        );
    } else {
        row("touched", of(with, |it| it.all.touched), 3);
        row("touched, by the server", of(server, |it| it.all.touched), 3);
        row(
            "touched, without a floor",
            of(without, |it| it.all.touched),
            3,
        );
    }
    row("precision", of(with, precision), 3);
    row("precision, by the server", of(server, precision), 3);
    row("precision, without a floor", of(without, precision), 3);
    row("tokens", of(with, tokens), 0);
    row("tokens, by the server", of(server, tokens), 0);
    row("tokens, without a floor", of(without, tokens), 0);
    page.push('\n');
}

/// Recall and precision for each floor, of all questions and of both halves.
fn curve(page: &mut String, measured: &Measured) {
    let cells = &measured.cells[CURVE..];
    let Some(budget) = cells.first().map(|it| it.ask.budget) else {
        return;
    };
    let _ = writeln!(
        page,
        "Within {budget} tokens, by the floor; *even* and *odd* are the questions by their number:\n\n\
         | floor | recall | precision | tokens | even: recall | precision | odd: recall | precision |\n\
         |--:|--:|--:|--:|--:|--:|--:|--:|"
    );
    for cell in cells {
        let [even, odd] = cell.halves;
        let _ = writeln!(
            page,
            "| {} | {:.3} | {:.3} | {:.0} | {:.3} | {:.3} | {:.3} | {:.3} |",
            cell.ask.min_chance.unwrap_or_default(),
            cell.all.recall,
            cell.all.precision,
            cell.all.tokens,
            even.recall,
            even.precision,
            odd.recall,
            odd.precision,
        );
    }
    page.push('\n');
}

/// For each budget of BM25, the highest floor whose recall is no lower.
fn at_equal_recall(page: &mut String, set: &Set, bm25: &[Reached; 4], measured: &Measured) {
    page.push_str(
        "Precision at equal recall: for each budget of BM25 the highest of these floors with no less recall.\n\n\
         | BM25 within | its recall | its precision | floor | recall | precision | times |\n|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for (budget, bm25) in set.budgets.iter().zip(bm25) {
        let cells = measured.cells[CURVE..].iter().rev();
        let Some(cell) = cells.into_iter().find(|it| it.all.recall >= bm25.recall) else {
            let _ = writeln!(
                page,
                "| {budget} | {:.3} | {:.3} | none | | | |",
                bm25.recall, bm25.precision
            );
            continue;
        };
        let _ = writeln!(
            page,
            "| {budget} | {:.3} | {:.3} | {} | {:.3} | {:.3} | {:.1} |",
            bm25.recall,
            bm25.precision,
            cell.ask.min_chance.unwrap_or_default(),
            cell.all.recall,
            cell.all.precision,
            cell.all.precision / bm25.precision,
        );
    }
}
