//! Checks whether files say what a context shows of them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Component, Path};
use std::sync::Arc;

use ctx::format::{ParsedBlock, Slot, neutralise};
use ctx::model::{BuiltContext, Citation, LineSpan, RenditionKind};
use ctx::source::{Limits, Located, Root, Secrets, SourceError, Sources, Text, Wanted, locate};

use super::{Check, Shown, part};
use crate::emit::counted;
use crate::walk::hidden_by;

/// What to do if none of the cited files exists.
const ELSEWHERE: &str =
    "none of the files exists: give --root the folder that was packed or searched";

/// The files that a receipt is compared with.
pub(super) struct Files {
    below: Sources,
    /// The same with unmasked secrets, for a context made with --keep-secrets.
    unmasked: Sources,
    /// The folder that contains them.
    root: Root,
}

impl Files {
    pub(super) fn below(folder: &Path) -> Result<Self, SourceError> {
        let root = Root::open(folder)?;
        let below = Sources::new(root.try_clone()?, Limits::default());
        let unmasked = Sources::new(root.try_clone()?, Limits::default());
        Ok(Files {
            below,
            unmasked: unmasked.with_secrets(Secrets::Shown),
            root,
        })
    }

    /// The file that a receipt calls `path`. A file that was packed by a path that leads out of the
    /// folder has that path as its name, and was named by the user.
    fn text(&self, path: &str, secrets: Secrets) -> Result<Arc<Text>, SourceError> {
        match (self.beside(Path::new(path)), secrets) {
            (Some((beside, name)), _) => beside.with_secrets(secrets).text(&name),
            (None, Secrets::Masked) => self.below.text(path),
            (None, Secrets::Shown) => self.unmasked.text(path),
        }
    }

    /// The file whose name is not UTF-8 and is written as `path`, if there is one.
    fn unnamed(&self, path: &str, secrets: Secrets) -> Option<Arc<Text>> {
        let name = hidden_by(path)?;
        let limit = Limits::default().file_bytes;
        let bytes = if leads_out(&name) {
            let path = self.root.path().join(&name);
            let folder = Root::open(path.parent()?).ok()?;
            folder.read(path.file_name()?, limit)
        } else {
            self.root.read(&name, limit)
        };
        Text::decode(path, bytes.ok()?, secrets).map(Arc::new)
    }

    fn beside(&self, path: &Path) -> Option<(Sources, String)> {
        if !leads_out(path) {
            return None;
        }
        let path = self.root.path().join(path);
        let name = path.file_name()?.to_str()?.to_owned();
        let folder = Root::open(path.parent()?).ok()?;
        Some((Sources::new(folder, Limits::default()), name))
    }
}

fn leads_out(path: &Path) -> bool {
    path.is_absolute() || path.components().any(|it| it == Component::ParentDir)
}

/// Whether the files say, on the cited lines, what is shown.
pub(super) fn compared(receipt: &BuiltContext, shown: &[Shown<'_>], files: &Files) -> Check {
    let by_citation: BTreeMap<&str, &Shown<'_>> = shown
        .iter()
        .map(|it| (it.entry.citation.id.as_str(), it))
        .collect();
    let mut failures = Vec::new();
    let (mut compared, mut in_part, mut passed_over, mut missing) = (0_u64, 0, 0, 0_u64);
    for (number, citation) in receipt.citations.iter().enumerate() {
        let shown = by_citation.get(citation.id.as_str()).copied();
        match compare_with_file(citation, shown, files) {
            Comparison::PassedOver => passed_over += 1,
            Comparison::NoLines(why) => failures.push(format!("citations[{number}]: {why}")),
            Comparison::Compared { is_part, fault } => {
                compared += 1;
                in_part += usize::from(is_part);
                if let Some(FileFault {
                    at,
                    why,
                    is_missing,
                }) = fault
                {
                    missing += u64::from(is_missing);
                    failures.push(format!("citations[{number}] ({at}): {why}"));
                }
            }
        }
    }
    let mut detail = format!("{} compared", counted(compared, "citation"));
    if in_part > 0 {
        let _ = write!(detail, ", {in_part} of them shown in part");
    }
    if passed_over > 0 {
        let _ = write!(
            detail,
            ", {passed_over} skipped: no lines of a file, or only mentioned"
        );
    }
    let mut check = Check::new("files", detail, failures);
    check.hint = (compared > 0 && missing == compared).then_some(ELSEWHERE);
    check
}

/// The result of a citation when its file is read.
enum Comparison {
    /// It cites no lines of a file, or a summary, which need not be in the file.
    PassedOver,
    /// It cites invalid lines.
    NoLines(String),
    Compared {
        /// Whether the lines are shown in part.
        is_part: bool,
        fault: Option<FileFault>,
    },
}

/// A file that does not say what is shown of it.
struct FileFault {
    /// The path and the lines.
    at: String,
    why: String,
    /// Whether the file cannot be read.
    is_missing: bool,
}

fn compare_with_file(citation: &Citation, shown: Option<&Shown<'_>>, files: &Files) -> Comparison {
    let rendition = shown.map_or(RenditionKind::Full, |it| it.entry.included.rendition);
    let is_of_file = shown.is_none_or(|it| !it.block.body.is_empty());
    let lines = citation.start_line.zip(citation.end_line);
    let (Some(path), Some((start, end)), true) = (&citation.file_path, lines, is_of_file) else {
        return Comparison::PassedOver;
    };
    let Ok(span) = LineSpan::new(start, end) else {
        return Comparison::NoLines(format!(
            "lines {start}-{end} are invalid: startLine must be at least 1, and endLine not less"
        ));
    };
    let block = shown.map(|it| &it.block);
    let is_part = rendition != RenditionKind::Full;
    let compare = |text: Result<&Arc<Text>, &SourceError>| match block {
        Some(block) if is_part => part::stands(&block.body, rendition, path, span, text),
        _ => compare(citation, block, span, text),
    };
    let fault = fault_of(files, path, compare);
    // A summary need not be in the file.
    if rendition == RenditionKind::Mention && fault.as_ref().is_some_and(|it| !it.1) {
        return Comparison::PassedOver;
    }
    let fault = fault.map(|(why, is_missing)| FileFault {
        at: format!("{path}:{span}"),
        why,
        is_missing,
    });
    Comparison::Compared { is_part, fault }
}

/// Why no file that `path` may name says what `compare` wants, and whether no such file exists.
fn fault_of(
    files: &Files,
    path: &str,
    compare: impl Fn(Result<&Arc<Text>, &SourceError>) -> Result<(), String>,
) -> Option<(String, bool)> {
    let text = files.text(path, Secrets::Masked);
    let mut why = compare(text.as_ref()).err()?;
    // A text that is shown with its secrets differs from the masked file.
    let whole = files.text(path, Secrets::Shown);
    let unnamed = || files.unnamed(path, Secrets::Shown);
    let is_said = |text| compare(Ok(text)).is_ok();
    if whole.as_ref().is_ok_and(is_said) || unnamed().as_ref().is_some_and(is_said) {
        return None;
    }
    let is_missing = text.is_err();
    // A file whose name is UTF-8 is tried first, but need not be the one that was packed.
    let Some(unnamed) = files.unnamed(path, Secrets::Masked) else {
        return Some((why, is_missing));
    };
    let other = compare(Ok(&unnamed)).err()?;
    if is_missing {
        why = other;
    } else {
        why.push_str("; the file whose name has these bytes does not match either");
    }
    Some((why, false))
}

/// Whether the file says what is cited of it, or, if that has escapes, what is shown.
fn compare(
    citation: &Citation,
    block: Option<&ParsedBlock>,
    span: LineSpan,
    text: Result<&Arc<Text>, &SourceError>,
) -> Result<(), String> {
    let wanted = Wanted {
        path: citation.file_path.as_deref().unwrap_or_default(),
        span,
        content: None,
        content_hash: Some(&citation.content_hash),
    };
    let now = text.ok().and_then(|text| text.slice(span));
    let why = match locate(text, wanted) {
        Located::Fresh { .. } => return Ok(()),
        Located::Moved { to, .. } => return Err(format!("the text is on lines {to} now")),
        // Receipts have no hashes of another kind.
        Located::Unavailable { .. } | Located::Unverified { .. } if now.is_some() => {
            format!("lines {span} have changed")
        }
        Located::Unavailable { why } => why,
        _ => "the text of the file differs".to_owned(),
    };
    // The text may be cited with other line endings, or without its invisible characters.
    let shown = block.map(|block| block.body.as_str());
    match (shown, now) {
        (Some(shown), Some(now)) if is_shown(shown, now) => Ok(()),
        _ => Err(why),
    }
}

fn is_shown(shown: &str, now: &str) -> bool {
    let now = neutralise(now, Slot::Text);
    shown.lines().eq(now.lines())
}
