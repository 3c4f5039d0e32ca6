//! The sizes and times of stored contexts, which decide which of them to delete.

use std::collections::VecDeque;

use rusqlite::{Connection, Row};

use super::Keeping;
use super::database::Result;
use super::receipts::of_contexts;
use crate::build::now;

/// How many characters of a receipt are searched for its creation time, which follows its id.
const BEGINNING: usize = 160;

/// The least sequence number that is a time; smaller ones were written by earlier versions.
const TIMES: i64 = 1 << 40;

/// A stored context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct StoredContext {
    seq: i64,
    bytes: u64,
    /// When it was last returned, in milliseconds since 1970.
    at: i64,
}

/// The stored contexts, in the order in which they are deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ledger {
    contexts: VecDeque<StoredContext>,
    bytes: u64,
}

impl Ledger {
    /// Reads the ledger of the stored contexts. O(bytes).
    pub(super) fn read(contexts: &Connection) -> Result<Self> {
        let get = format!(
            "SELECT seq, length(CAST(receipt AS BLOB)), substr(receipt, 1, {BEGINNING}) FROM contexts ORDER BY seq"
        );
        let now = now();
        let kept = |row: &Row<'_>| {
            let seq = row.get(0)?;
            let at = created_at(&row.get::<_, String>(2)?).max(time_of(seq));
            Ok((seq, row.get::<_, i64>(1)?.cast_unsigned(), at))
        };
        let mut get = contexts.prepare(&get).map_err(of_contexts)?;
        let rows = get.query_map([], kept).map_err(of_contexts)?;
        let mut ledger = Ledger::default();
        for row in rows {
            let (seq, bytes, at) = row.map_err(of_contexts)?;
            // Rows are in the order in which they were last returned, so none is older than the one
            // before.
            let before = ledger.contexts.back().map(|it| it.at);
            ledger.add(seq, bytes, at.max(before).unwrap_or(now).min(now));
        }
        Ok(ledger)
    }

    /// Adds a context as the latest.
    pub(super) fn add(&mut self, seq: i64, bytes: u64, at: i64) {
        self.contexts.push_back(StoredContext { seq, bytes, at });
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Removes a context.
    pub(super) fn remove(&mut self, seq: i64) {
        let position = self.contexts.partition_point(|it| it.seq < seq);
        if self.contexts.get(position).is_some_and(|it| it.seq == seq)
            && let Some(gone) = self.contexts.remove(position)
        {
            self.bytes = self.bytes.saturating_sub(gone.bytes);
        }
    }

    /// Whether context `seq` will be deleted soon: at time `at`, later contexts fill more than half
    /// of the byte limit, or more than half of its age limit has passed.
    pub(super) fn is_about_to_go(&self, seq: i64, at: i64, keeping: &Keeping) -> bool {
        let later = self.contexts.iter().rev().take_while(|it| it.seq > seq);
        let later = later.fold(0_u64, |sum, it| sum.saturating_add(it.bytes));
        let position = self.contexts.partition_point(|it| it.seq < seq);
        let given = self.contexts.get(position).map_or(i64::MIN, |it| it.at);
        later > keeping.bytes / 2 || given < at.saturating_sub(milliseconds(keeping) / 2)
    }

    /// Removes contexts that are too old at `at` or too large in total; the latest stays. Returns
    /// the number of the last one removed, if any.
    pub(super) fn let_go(&mut self, at: i64, keeping: &Keeping) -> Option<i64> {
        let oldest = at.saturating_sub(milliseconds(keeping));
        let mut gone = None;
        while self.contexts.len() > 1
            && let Some(first) = self.contexts.front_mut()
        {
            // The clock has been set back. Whatever time it was, it is over.
            first.at = first.at.min(at);
            if self.bytes <= keeping.bytes && first.at >= oldest {
                break;
            }
            self.bytes = self.bytes.saturating_sub(first.bytes);
            gone = Some(first.seq);
            self.contexts.pop_front();
        }
        gone
    }
}

/// The number of a context that is returned at `at`, after the one numbered `last`. It is the time
/// itself where possible, so that the time can be read back.
pub(super) fn number(last: i64, at: i64) -> i64 {
    at.max(last.saturating_add(1))
}

/// When the context numbered `seq` was returned, if its number is a time.
fn time_of(seq: i64) -> Option<i64> {
    Some(seq).filter(|it| *it >= TIMES)
}

fn milliseconds(keeping: &Keeping) -> i64 {
    i64::try_from(keeping.age.as_millis()).unwrap_or(i64::MAX)
}

/// The creation time in a receipt with this beginning.
fn created_at(beginning: &str) -> Option<i64> {
    let (_, at) = beginning.split_once("\"createdAt\":")?;
    let end = at.find(|c: char| !c.is_ascii_digit())?;
    at[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn keeping(age: u64, bytes: u64) -> Keeping {
        let age = Duration::from_millis(age);
        Keeping { age, bytes }
    }

    fn ledger() -> Ledger {
        let mut ledger = Ledger::default();
        for (seq, at) in (1..=4).zip([100, 200, 300, 400]) {
            ledger.add(seq, 10, at);
        }
        ledger
    }

    #[test]
    fn the_oldest_go_by_bytes_and_by_age_and_the_latest_stays() {
        for (at, age, bytes, gone) in [
            (400, 1_000, 40, None),
            (400, 1_000, 39, Some(1)),
            (400, 1_000, 20, Some(2)),
            (400, 1_000, 0, Some(3)),
            (500, 300, 40, Some(1)),
            (500, 250, 40, Some(2)),
            (9_999, 10, 40, Some(3)),
        ] {
            let mut ledger = ledger();
            assert_eq!(ledger.let_go(at, &keeping(age, bytes)), gone);
            assert_eq!(ledger.bytes, ledger.contexts.len() as u64 * 10);
        }
    }

    #[test]
    fn what_was_returned_while_a_clock_was_ahead_ages_from_when_it_was_set_back() {
        let mut ledger = ledger();
        let keeping = keeping(1_000, 1_000);
        assert_eq!(ledger.let_go(50, &keeping), None);
        assert_eq!(ledger.let_go(1_050, &keeping), None);
        assert_eq!(ledger.let_go(1_051, &keeping), Some(1));
    }

    #[test]
    fn one_is_about_to_go_when_half_of_what_may_be_kept_is_later_or_half_of_its_time_is_over() {
        let about_to_go = |age, bytes| {
            let keeping = keeping(age, bytes);
            let goes = |it: &i64| ledger().is_about_to_go(*it, 400, &keeping);
            (1..=4).filter(goes).collect::<Vec<i64>>()
        };
        assert_eq!(about_to_go(10_000, 40), [1]);
        assert_eq!(about_to_go(10_000, 80), [0_i64; 0]);
        assert_eq!(about_to_go(300, 1_000), [1, 2]);
    }

    #[test]
    fn receipts_refreshed_by_earlier_versions_are_as_late_as_those_before_them() {
        let contexts = Connection::open_in_memory().unwrap();
        let table = r#"CREATE TABLE contexts (seq, receipt);
            INSERT INTO contexts VALUES (3, '{"createdAt":200,'), (5, '{"createdAt":300,'), (6, '{"createdAt":100,'), (9, '')"#;
        contexts.execute_batch(table).unwrap();
        let kept = Ledger::read(&contexts).unwrap().contexts;
        let kept: Vec<(i64, i64)> = kept.iter().map(|it| (it.seq, it.at)).collect();
        assert_eq!(kept, [(3, 200), (5, 300), (6, 300), (9, 300)]);
    }

    #[test]
    fn a_number_tells_when_and_is_larger_than_the_one_before_it() {
        let (before, at) = (TIMES + 7, TIMES + 9);
        assert_eq!(number(4, at), at);
        for last in [at, at + 5] {
            assert_eq!(number(last, at), last + 1);
        }
        assert_eq!(time_of(number(before, at)), Some(at));
        assert_eq!(time_of(number(4, 0)), None);
    }

    #[test]
    fn when_a_receipt_was_made_stands_at_its_beginning() {
        let of = |text: &str| created_at(text);
        assert_eq!(of(r#"{"id":"ctx-1","createdAt":1234,"stats""#), Some(1_234));
        for none in ["", r#"{"id":"ctx-1","createdAt":"#, r#"{"createdAt":x"#] {
            assert_eq!(of(none), None, "{none}");
        }
    }
}
