//! `ctx index`: builds the index of a folder and keeps it up to date.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ctx::assemble::Cancel;
use ctx::index::{Index, IndexError, Inspected, Options, Pending, Status, Updated};
use ctx::model::UnixSeconds;
use serde::Serialize;

use crate::args::{IndexArgs, Indexed};
use crate::cached;
use crate::emit::{self, counted, grouped};
use crate::explain::aligned;
use crate::failure::Failure;
use crate::indexing::{self, kept, status};
use crate::past::{self, Past};
use crate::report::{self, Report, clean};
use crate::settings::{self, Settings};
use crate::skipped;
use crate::user_dirs;
use crate::walk::shown;

/// The interval at which a watch checks for an interrupt.
const STEP: Duration = Duration::from_millis(50);

/// Runs the verb.
///
/// # Errors
/// The folder or its index cannot be opened, another process writes the index, the disk is full.
pub(crate) fn run(args: &IndexArgs, report: Report, cancel: &Cancel) -> Result<(), Failure> {
    if args.list {
        return cached::list(args, report);
    }
    if args.prune {
        return cached::prune(args, report);
    }
    let root = indexing::root(&args.path)?;
    let mut settings = Settings::load(&root)?;
    let options = settings.index(args.indexed);
    if args.status {
        return look(&root, options, &mut settings, report, args.json);
    }
    let index = indexing::open(&root, options)?;
    indexing::keep(&index, args.indexed.kept());
    settings.note_index(&status(&index)?, kept(&index)?);
    let start = Instant::now();
    let updated = if args.rebuild {
        indexing::rebuild(&index, report, cancel)
    } else {
        indexing::update(&index, report, cancel)
    };
    let updated = updated.map_err(|it| indexing::failure_of(&index, &it))?;
    // The first question need not wait for them.
    let past = past::up_to_date(&root, &settings.strategies(None), report, cancel, None)?;
    past.iter().for_each(Past::warn);
    indexing::report_losses(&updated, &settings, report);
    skipped::report_skipped(&updated.skipped_files, &settings, report);
    skipped::report_generated(&updated.skipped_files, report);
    let done = Done {
        updated: &updated,
        past: past.as_ref(),
        took: Some(start.elapsed()),
    };
    tell_updated(&done, &status(&index)?, args.json)?;
    if args.watch {
        let watched = Watched {
            root: &root,
            index: &index,
            indexed: args.indexed,
            settings: RefCell::new(settings),
            options: Cell::new(options),
            fault: RefCell::default(),
            reported: RefCell::default(),
            report,
        };
        watched.watch(cancel)?;
    }
    Ok(())
}

/// Shows the state of the index, and changes nothing.
fn look(
    root: &Path,
    options: Options,
    settings: &mut Settings,
    report: Report,
    json: bool,
) -> Result<(), Failure> {
    let folder = user_dirs::index_folder(root)?;
    match Index::inspect(root, &folder, options).map_err(|it| indexing::failure(&it))? {
        Inspected::Nothing => tell_none(root, &folder, options, json),
        Inspected::Damaged(why) => tell_damaged(root, &folder, options, &why, json),
        Inspected::Whole(index) => {
            if let Some(loss) = index.loss() {
                report::warning(loss);
            }
            settings.note_index(&status(&index)?, kept(&index)?);
            let past = past::look(root, &settings.strategies(None), report)?;
            if let Some((past, _)) = &past {
                past.warn();
            }
            tell_status(&index, settings, past.as_ref(), json)
        }
    }
}

/// A folder whose index follows its changes.
struct Watched<'w> {
    root: &'w Path,
    index: &'w Index,
    /// The settings given by flags.
    indexed: Indexed,
    /// The settings as they were read before the last update.
    settings: RefCell<Settings>,
    options: Cell<Options>,
    /// Why they could not be read then, if so.
    fault: RefCell<Option<String>>,
    /// The errors reported since the last update that succeeded.
    reported: RefCell<BTreeSet<String>>,
    report: Report,
}

impl Watched<'_> {
    /// Runs until it is cancelled, which is its normal end.
    fn watch(&self, cancel: &Cancel) -> Result<(), Failure> {
        let mut failed = None;
        let mut options = || self.options();
        let mut tell = |updated| match self.tell(updated) {
            Ok(()) => ControlFlow::Continue(()),
            Err(failure) => {
                failed = Some(failure);
                ControlFlow::Break(())
            }
        };
        let watched = with_stop(cancel, |stop| {
            self.index.watch_with(stop, &mut options, &mut tell)
        });
        match (failed, watched) {
            (Some(failure), _) => Err(failure),
            (None, Err(error)) => Err(indexing::failure(&error)),
            (None, Ok(())) => Ok(()),
        }
    }

    /// Reads the settings again, as each question does. If they cannot be read, that is reported
    /// once, and the last valid ones apply.
    fn options(&self) -> Options {
        let fault = match Settings::load(self.root) {
            Ok(mut settings) => {
                self.options.set(settings.index(self.indexed));
                self.settings.replace(settings);
                None
            }
            Err(failure) => Some(format!("{:#}", failure.error)),
        };
        let before = self.fault.replace(fault.clone());
        if let Some(fault) = fault.filter(|it| before.as_ref() != Some(it)) {
            report::warning(&format!("{fault}; the previous settings stay in effect"));
        }
        self.options.get()
    }

    /// Reports an update. One that failed is tried again, so its error is only a warning.
    fn tell(&self, updated: Result<Updated, IndexError>) -> Result<(), Failure> {
        let now = updated.and_then(|updated| {
            let (status, kept) = (self.index.status()?, self.index.stored_options()?);
            Ok((updated, status, kept))
        });
        let (updated, status, kept) = match now {
            Ok(now) => now,
            Err(IndexError::Cancelled) => return Ok(()),
            Err(IndexError::Busy { holder, .. }) => {
                let report = self.report;
                report.detail(&indexing::writing(holder));
                return Ok(());
            }
            Err(error @ (IndexError::Root(_) | IndexError::Watch { .. })) => {
                return Err(indexing::failure(&error));
            }
            Err(error) => {
                let why = indexing::why(&error);
                if self.reported.borrow_mut().insert(why.clone()) {
                    report::warning(&format!("{why}; the update will be tried again"));
                }
                return Ok(());
            }
        };
        self.reported.take();
        let mut settings = self.settings.borrow_mut();
        settings.note_index(&status, kept);
        indexing::report_losses(&updated, &settings, self.report);
        if updated.changed == 0 && updated.removed == 0 {
            return Ok(());
        }
        let done = Done {
            updated: &updated,
            past: None,
            took: None,
        };
        tell_updated(&done, &status, false)
    }
}

/// Runs `work` with a flag that is set once `cancel` is.
fn with_stop<T>(cancel: &Cancel, work: impl FnOnce(&AtomicBool) -> T) -> T {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        // Also after a panic, since the scope waits for the thread.
        let _over = Stop(&stop);
        scope.spawn(|| {
            while !cancel.is_cancelled() && !stop.load(Ordering::Relaxed) {
                thread::sleep(STEP);
            }
            stop.store(true, Ordering::Relaxed);
        });
        work(&stop)
    })
}

/// Sets the flag when it is dropped.
struct Stop<'s>(&'s AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The result of an update.
struct Done<'d> {
    updated: &'d Updated,
    /// The known git commits, if there is a repository that is searched.
    past: Option<&'d Past>,
    /// `None` if nobody waited for it.
    took: Option<Duration>,
}

/// The state of the index, as `--json` writes it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StatusJson<'t> {
    root: String,
    folder: String,
    indexed: bool,
    /// What is wrong with the existing index.
    #[serde(skip_serializing_if = "Option::is_none")]
    damaged: Option<&'t str>,
    #[serde(flatten)]
    totals: Totals,
    #[serde(skip_serializing_if = "Option::is_none")]
    pending: Option<PendingJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated: Option<UpdateJson<'t>>,
}

/// What the next update would process.
#[derive(Serialize)]
struct PendingJson {
    changed: usize,
    removed: usize,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Totals {
    files: u64,
    parts: u64,
    lines: u64,
    bytes: u64,
    generation: u64,
    include_generated: bool,
    max_file_bytes: u64,
    /// How many files are skipped because they are generated or vendored.
    #[serde(skip_serializing_if = "Option::is_none")]
    passed_generated: Option<usize>,
    /// How many changes of a git repository are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<usize>,
    /// Whether these are all; not told after an update, which reads them.
    #[serde(skip_serializing_if = "Option::is_none")]
    changes_complete: Option<bool>,
    /// Why no changes are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    changes_failure: Option<String>,
    /// When the index was written, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    written_at: Option<i64>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct UpdateJson<'t> {
    changed: usize,
    removed: usize,
    left_out: usize,
    skipped: usize,
    faults: &'t [String],
    unheeded: &'t [String],
    passed: Vec<PassedJson>,
    by_lines: &'t [String],
    took_ms: f64,
}

/// A skipped file, and why.
#[derive(Serialize)]
struct PassedJson {
    path: String,
    reason: &'static str,
}

impl<'t> StatusJson<'t> {
    /// The state if nothing is known of the index: it would be begun with `options`.
    fn of_none(root: &Path, folder: &Path, options: Options) -> Self {
        let by_default = settings::DEFAULT_FILE_SIZE;
        StatusJson {
            root: shown(root),
            folder: shown(folder),
            indexed: false,
            damaged: None,
            totals: Totals {
                include_generated: options.include_generated.unwrap_or_default(),
                max_file_bytes: options.max_file_bytes.unwrap_or(by_default),
                ..Totals::default()
            },
            pending: None,
            updated: None,
        }
    }

    fn of(status: &Status) -> Self {
        StatusJson {
            indexed: true,
            totals: Totals {
                files: status.files,
                parts: status.parts,
                lines: status.lines,
                bytes: status.bytes,
                generation: status.generation,
                include_generated: status.include_generated,
                max_file_bytes: status.max_file_bytes,
                passed_generated: None,
                changes: None,
                changes_complete: None,
                changes_failure: None,
                written_at: status.written_at.map(UnixSeconds::get),
            },
            ..StatusJson::of_none(&status.root, &status.folder, Options::default())
        }
    }

    fn with_past(mut self, past: Option<&Past>) -> Self {
        self.totals.changes = past.and_then(Past::count);
        self.totals.changes_failure = past.and_then(Past::failure);
        self
    }

    fn with_pending(mut self, pending: Pending) -> Self {
        self.totals.passed_generated = Some(pending.generated);
        self.pending = Some(PendingJson {
            changed: pending.changed,
            removed: pending.removed,
        });
        self
    }

    fn with_update(mut self, done: &Done<'t>) -> Self {
        let updated = done.updated;
        self.totals.passed_generated = Some(skipped::count_generated(&updated.skipped_files));
        self.updated = Some(UpdateJson {
            changed: updated.changed,
            removed: updated.removed,
            left_out: updated.left_out,
            skipped: updated.skipped,
            faults: &updated.faults,
            unheeded: &updated.unheeded,
            passed: updated
                .skipped_files
                .iter()
                .map(|it| PassedJson {
                    path: shown(&it.path),
                    reason: skipped::code(it.reason),
                })
                .collect(),
            by_lines: &updated.by_lines,
            took_ms: done.took.unwrap_or_default().as_secs_f64() * 1e3,
        });
        self
    }
}

fn tell_none(root: &Path, folder: &Path, options: Options, json: bool) -> Result<(), Failure> {
    if json {
        return emit::json(&StatusJson::of_none(root, folder, options));
    }
    let (root, folder) = (shown(root), shown(folder));
    let (root, folder) = (clean(&root), clean(&folder));
    emit::write(|out| writeln!(out, "{root} is not indexed; its index would be {folder}"))
}

fn tell_damaged(
    root: &Path,
    folder: &Path,
    options: Options,
    why: &str,
    json: bool,
) -> Result<(), Failure> {
    let why = format!("failed to {why}");
    if json {
        let mut told = StatusJson::of_none(root, folder, options);
        told.damaged = Some(&why);
        return emit::json(&told);
    }
    let rows = [
        ("root", shown(root)),
        ("index", shown(folder)),
        ("damaged", format!("{why}; the next update rebuilds it")),
    ];
    table(rows.map(|(what, value)| (what, clean(&value).into_owned())))
}

fn table<const N: usize>(rows: [(&str, String); N]) -> Result<(), Failure> {
    let rows = rows.map(|(what, value)| [what.to_owned(), value]);
    let mut table = String::new();
    aligned(&mut table, ["", ""], rows.into_iter());
    emit::text(&table)
}

fn tell_status(
    index: &Index,
    settings: &Settings,
    past: Option<&(Past, bool)>,
    json: bool,
) -> Result<(), Failure> {
    let status = &status(index)?;
    let pending = index.pending().map_err(|it| indexing::failure(&it))?;
    if json {
        let mut told = StatusJson::of(status).with_past(past.map(|it| &it.0));
        told.totals.changes_complete = told.totals.changes.and(past.map(|it| it.1));
        return emit::json(&told.with_pending(pending));
    }
    let by = |key| clean(&settings.by(key)).into_owned();
    let generated = match pending.generated {
        _ if status.include_generated => "included".to_owned(),
        0 => "skipped".to_owned(),
        n => {
            let files = counted(n as u64, "file");
            format!("{files} skipped; --include-generated includes them")
        }
    };
    table([
        ("root", clean(&shown(&status.root)).into_owned()),
        ("index", clean(&shown(&status.folder)).into_owned()),
        ("files", grouped(status.files)),
        ("parts", grouped(status.parts)),
        ("lines", grouped(status.lines)),
        ("index size", counted(status.bytes, "byte")),
        ("git commits", commits(past)),
        ("generation", grouped(status.generation)),
        (
            "written",
            status.written_at.map_or("never".to_owned(), indexing::ago),
        ),
        ("since then", indexing::changes(pending)),
        (
            "generated",
            format!("{generated} ({})", by(settings::INCLUDE_GENERATED)),
        ),
        (
            "largest file",
            format!(
                "{} bytes ({})",
                grouped(status.max_file_bytes),
                by(settings::MAX_FILE_SIZE)
            ),
        ),
    ])
}

/// What is known of a git history.
fn commits(past: Option<&(Past, bool)>) -> String {
    let Some((past, is_all)) = past else {
        return "none".to_owned();
    };
    match (past.count(), is_all) {
        (None, _) => {
            let why = past.failure().unwrap_or_default();
            format!("not searched: {}", clean(&why))
        }
        (Some(0), true) => "0 (merges and a first commit are not searched)".to_owned(),
        (Some(0), false) => "not read yet; the next question reads them".to_owned(),
        (Some(changes), true) => grouped(changes as u64),
        (Some(changes), false) => {
            format!(
                "{} so far; the next question reads more",
                grouped(changes as u64)
            )
        }
    }
}

fn tell_updated(done: &Done<'_>, status: &Status, json: bool) -> Result<(), Failure> {
    if json {
        let told = StatusJson::of(status).with_past(done.past);
        return emit::json(&told.with_update(done));
    }
    let line = summary(done, status);
    emit::write(|out| writeln!(out, "{line}"))
}

fn summary(done: &Done<'_>, status: &Status) -> String {
    let updated = done.updated;
    let number = |n: usize| grouped(n as u64);
    let changes = done.past.and_then(Past::count);
    let changes = changes.map_or_else(String::new, |it| {
        format!(", {}", counted(it as u64, "git commit"))
    });
    let took = done
        .took
        .map_or_else(String::new, |it| format!(" in {:.1} s", it.as_secs_f64()));
    format!(
        "{} ({} new or changed, {} removed, {} skipped), {}, {} in an index of {}{changes}{took}",
        counted(updated.files as u64, "file"),
        number(updated.changed),
        number(updated.removed),
        number(updated.skipped),
        counted(status.parts, "part"),
        counted(status.lines, "line"),
        counted(status.bytes, "byte"),
    )
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    fn work_that_watches_ends_by_itself_when_cancelled_and_by_a_panic() {
        let cancel = Cancel::new();
        assert_eq!(with_stop(&cancel, |_| 1), 1);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            with_stop(&cancel, |_| panic!("an update"));
        }));
        assert!(panicked.is_err());
        with_stop(&cancel, |stop| {
            cancel.cancel();
            while !stop.load(Ordering::Relaxed) {
                thread::yield_now();
            }
        });
    }
}
