//! What is said about files that were passed over.

use crate::report::{self, Report};
use crate::walk::{Reason, Skipped};

/// Says what was passed over: each loss by name, the rest in numbers unless every name is wanted.
pub(crate) fn report(skipped: &[Skipped], report: Report) {
    for file in skipped {
        if file.reason.is_loss() {
            report::warning(&format!("{} is left out: {}", file.shown, file.detail));
        } else {
            report.detail(&format!("{} is passed over: {}", file.shown, file.detail));
        }
    }
    let quiet = |reason: &Reason| !reason.is_loss();
    let counts: Vec<_> = Reason::ALL
        .into_iter()
        .filter(quiet)
        .filter_map(|reason| {
            let n = skipped.iter().filter(|file| file.reason == reason).count();
            (n > 0).then(|| format!("{n} {}", reason.noun(n > 1)))
        })
        .collect();
    if !counts.is_empty() {
        let more = if report.is_verbose() {
            ""
        } else {
            " (--verbose names them)"
        };
        report.note(&format!("passed over: {}{more}", counts.join(", ")));
    }
}
