//! The log of `ctx serve` on standard error: when, how severe, for which request, and what went
//! wrong.

use std::fmt::{self, Write as _};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ctx_server::RequestInfo;
use tracing::Level;
use tracing::field::{Field, Visit};

use crate::report;

/// Reports panics by location only: their messages may quote a document.
pub(super) fn tell_panics_by_place() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        let place = place.unwrap_or_else(|| "an unknown place".to_owned());
        let said = Fields {
            text: format!("panicked at {place}"),
            status: None,
        };
        tell(Level::ERROR, &said);
    }));
}

/// The crates whose events are logged.
const TOLD: [&str; 2] = ["ctx_server", "ctx_postgres"];

/// Logs the server's errors to standard error. Events of other crates may contain text of requests
/// and are ignored.
pub(super) struct Log;

impl tracing::Subscriber for Log {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        let target = metadata.target().split(':').next();
        target.is_some_and(|it| TOLD.contains(&it)) && *metadata.level() <= Level::WARN
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut said = Fields::default();
        event.record(&mut said);
        tell(*event.metadata().level(), &said);
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

/// The text of an event.
#[derive(Default)]
struct Fields {
    text: String,
    /// The status of the answer, if known by then.
    status: Option<String>,
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a string cannot fail.
        let _ = match field.name() {
            "message" => write!(self.text, "{value:?} "),
            "status" => {
                self.status = Some(format!("{value:?}"));
                Ok(())
            }
            name => write!(self.text, "{name}={value:?} "),
        };
    }
}

/// Writes one line: when, how severe, for which request, and what.
fn tell(level: Level, said: &Fields) {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let mut line = format!("{} {level}", rfc3339(since.unwrap_or_default()));
    let asked = RequestInfo::current();
    // Writing to a string cannot fail.
    if let Some(asked) = &asked {
        let _ = write!(line, " {} {}", asked.method, asked.route);
    }
    if let Some(status) = &said.status {
        let _ = write!(line, " status={status}");
    }
    if let Some(asked) = &asked {
        let _ = write!(line, " request={}", asked.id);
    }
    let _ = write!(line, " {}", said.text.trim_end());
    report::logged(&line);
}

/// Formats a duration since 1970 as UTC: `2026-02-03T04:05:06.789Z`. O(years since).
fn rfc3339(since: Duration) -> String {
    let seconds = since.as_secs();
    let mut days = seconds / 86_400;
    let mut year = 1970;
    while days >= days_of_year(year) {
        days -= days_of_year(year);
        year += 1;
    }
    let mut month = 1;
    while days >= days_of_month(year, month) {
        days -= days_of_month(year, month);
        month += 1;
    }
    let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    let (day, milliseconds) = (days + 1, since.subsec_millis());
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milliseconds:03}Z")
}

fn days_of_year(year: u64) -> u64 {
    (1..=12).map(|month| days_of_month(year, month)).sum()
}

fn days_of_month(year: u64, month: u64) -> u64 {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_rfc_3339_has_them() {
        for (milliseconds, wanted) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_000_000_000_000, "2001-09-09T01:46:40.000Z"),
            (1_709_251_199_001, "2024-02-29T23:59:59.001Z"),
            (1_735_689_599_000, "2024-12-31T23:59:59.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(rfc3339(Duration::from_millis(milliseconds)), wanted);
        }
    }
}
