//! What is measured is what all strategies of the search find together.

use anyhow::{Result, bail};
use ctx::retrieve::Retrieved;

/// Checks that no strategy failed: what the others find alone is soon found, and shows less.
///
/// # Errors
/// One failed, or was late.
pub(crate) fn none_failed(retrieved: &Retrieved) -> Result<()> {
    for report in &retrieved.reports {
        if let Some(failure) = &report.failure {
            bail!(
                "the strategy {} failed: {failure}",
                report.strategy.as_str()
            );
        }
    }
    Ok(())
}
