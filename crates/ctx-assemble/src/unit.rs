//! The units of selection: a chunk, or several chunks whose lines overlap or touch.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use ctx_format::{Slot, neutralise};
use ctx_model::merging::{Line, joined};
use ctx_model::{Chunk, LineSpan, Relation, without_line_end};
use smallvec::SmallVec;

/// A chunk, or several chunks of one file whose lines overlap or touch.
#[derive(Debug)]
pub(crate) enum Unit<'a> {
    /// One chunk, unchanged.
    One(&'a Chunk),
    /// Several chunks, merged.
    Many(Box<Merged<'a>>),
}

/// Several chunks of one file whose lines overlap or touch, and agree where they overlap.
#[derive(Debug)]
pub(crate) struct Merged<'a> {
    /// The merged chunk: the text of all parts, each line once; its other fields are those of the
    /// most relevant part.
    pub(crate) whole: Chunk,
    /// The parts, most relevant first.
    pub(crate) parts: Vec<&'a Chunk>,
    /// The part whose id the block had in the previous context. It represents each run that
    /// includes it, even if another part is more relevant.
    speaker: Option<&'a Chunk>,
    /// What that block stated beside its lines, if it was read back.
    sent: Option<Beside>,
    /// The offset of each line in the content of `whole`.
    line_starts: Vec<usize>,
}

/// What a block states beside its lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Beside {
    pub(crate) imports: Vec<String>,
    pub(crate) relations: Vec<Relation>,
}

/// Consecutive lines of a merged chunk, and the parts in them.
#[derive(Debug)]
pub(crate) struct Run<'a, 'u> {
    pub(crate) span: LineSpan,
    pub(crate) text: &'u str,
    /// The part that represents the run, and then the others, most relevant first.
    pub(crate) parts: SmallVec<[&'a Chunk; 1]>,
    /// The value of showing it: the sum over its parts of the value of a part × the share of its
    /// lines that no more relevant part shows.
    pub(crate) value: f64,
}

impl<'a> Unit<'a> {
    /// The chunk, or the merged chunk.
    pub(crate) fn chunk(&self) -> &Chunk {
        match self {
            Unit::One(chunk) => chunk,
            Unit::Many(merged) => &merged.whole,
        }
    }

    /// The chunks it consists of, most relevant first.
    pub(crate) fn parts(&self) -> &[&'a Chunk] {
        match self {
            Unit::One(chunk) => std::slice::from_ref(chunk),
            Unit::Many(merged) => &merged.parts,
        }
    }
}

impl<'a> Merged<'a> {
    /// Merges `parts`, whose lines are `lines`, from line `start` on.
    pub(crate) fn new(mut parts: Vec<&'a Chunk>, start: u32, lines: &[Line<'_>]) -> Self {
        parts.sort_unstable_by(|a, b| {
            b.relevance
                .cmp(&a.relevance)
                .then(a.span.cmp(&b.span))
                .then(a.id.cmp(&b.id))
        });
        let (content, line_starts) = joined(lines);
        let mut whole = parts[0].clone();
        whole.content = content;
        whole.span = u32::try_from(lines.len())
            .ok()
            .and_then(|count| LineSpan::new(start, start.checked_add(count.checked_sub(1)?)?).ok());
        whole.summary = None;
        whole.imports = each_once(parts.iter().flat_map(|part| &part.imports));
        whole.relations = each_once::<Relation>(parts.iter().flat_map(|part| &part.relations));
        let keywords = parts.iter().flat_map(|part| part.matched_keywords.iter());
        whole.matched_keywords = each_once(keywords).into();
        whole.pinned = parts.iter().any(|part| part.pinned);
        Merged {
            whole,
            parts,
            speaker: None,
            sent: None,
            line_starts,
        }
    }

    /// Whether all of it was in one block of the previous context, under the id of one of its
    /// parts.
    pub(crate) fn was_sent(&self) -> bool {
        self.sent.is_some()
    }

    /// Makes the part with this id, if there is one, represent the merged chunk, even if another is
    /// more relevant. Its block stated `sent` before, if it was read back.
    pub(crate) fn let_speak(&mut self, id: &str, sent: Option<&Beside>) {
        let Some(&speaker) = self.parts.iter().find(|part| part.id == id) else {
            return;
        };
        self.speaker = Some(speaker);
        self.sent = sent.cloned();
        let whole = &mut self.whole;
        whole.id.clone_from(&speaker.id);
        whole.kind = speaker.kind.clone();
        whole.origin = speaker.origin;
        whole.name.clone_from(&speaker.name);
        whole.qualified_name.clone_from(&speaker.qualified_name);
        whole.language.clone_from(&speaker.language);
    }

    /// What a block of `parts` states beside its lines: the imports and relations of these parts,
    /// each once, in the order of their lines. A block that was sent keeps to what it stated, in
    /// the same order, so that a new part within it does not change it. O(n log n).
    pub(crate) fn beside(&self, parts: &[&Chunk]) -> Beside {
        let mut parts = parts.to_vec();
        parts.sort_unstable_by_key(|part| (part.span, &*part.id));
        let speaker = self
            .speaker
            .filter(|&it| parts.iter().any(|part| std::ptr::eq(*part, it)));
        let sent = speaker.zip(self.sent.as_ref());
        let imports = sent.map(|(speaker, it)| (speaker, &*it.imports));
        let relations = sent.map(|(speaker, it)| (speaker, &*it.relations));
        Beside {
            imports: stated(&parts, imports, |it| &it.imports),
            relations: stated(&parts, relations, |it| &it.relations),
        }
    }

    /// The parts in the order in which they are shown as room grows: pinned parts, and then those
    /// worth most per line. `worth` returns what all of a part is worth. O(n log n) for n parts.
    pub(crate) fn by_density(&self, worth: impl Fn(&Chunk) -> f64) -> Vec<&'a Chunk> {
        let density =
            |part: &Chunk| worth(part) / f64::from(part.span.map_or(1, LineSpan::line_count));
        let mut parts: Vec<(f64, &'a Chunk)> = self
            .parts
            .iter()
            .map(|&part| (density(part), part))
            .collect();
        // Stable: of equals the more relevant stays first.
        parts.sort_by(|(a, one), (b, other)| other.pinned.cmp(&one.pinned).then(b.total_cmp(a)));
        parts.into_iter().map(|(_, part)| part).collect()
    }

    /// The runs of lines that `parts` cover, top to bottom. `worth` returns what all of a part is
    /// worth. O(lines of all parts), and O(n log n) for n parts.
    pub(crate) fn runs(
        &self,
        parts: &[&'a Chunk],
        worth: impl Fn(&Chunk) -> f64,
    ) -> Vec<Run<'a, '_>> {
        let mut shown = vec![false; self.line_starts.len()];
        for part in parts {
            shown[self.indices(part)].fill(true);
        }
        let mut runs = Vec::new();
        let mut line = 0;
        for stretch in shown.chunk_by(|above, below| above == below) {
            let next = line + stretch.len();
            if stretch[0] {
                runs.push(self.run(line..next));
            }
            line = next;
        }
        // Each line counts only for the most relevant part that includes it.
        let mut counted = vec![false; shown.len()];
        for &part in &self.parts {
            let indices = self.indices(part);
            if !shown[indices.start] {
                continue;
            }
            let span = part.span.expect("only chunks with lines are merged");
            let after = runs.partition_point(|run| run.span.start() <= span.start());
            let Some(run) = after.checked_sub(1).and_then(|at| runs.get_mut(at)) else {
                continue;
            };
            if !run.span.contains(span) {
                continue;
            }
            run.value += worth(part) * count_share(&mut counted, indices);
            match self.speaker {
                Some(speaker) if std::ptr::eq(speaker, part) => run.parts.insert(0, part),
                _ => run.parts.push(part),
            }
        }
        runs
    }

    /// For each part, the share of its lines that no more relevant part has. O(lines of all parts).
    pub(crate) fn shares(&self) -> Vec<f64> {
        let mut counted = vec![false; self.line_starts.len()];
        let parts = self.parts.iter();
        parts
            .map(|part| count_share(&mut counted, self.indices(part)))
            .collect()
    }

    /// The run of these lines, without parts.
    fn run(&self, lines: Range<usize>) -> Run<'a, '_> {
        let first = self.first_line();
        let number = |index: usize| first.saturating_add(u32::try_from(index).unwrap_or(u32::MAX));
        let span = LineSpan::new(number(lines.start), number(lines.end - 1))
            .expect("a run has a line, and lines are counted from 1");
        Run {
            span,
            text: self.text(lines),
            parts: SmallVec::new(),
            value: 0.0,
        }
    }

    /// The text of these lines, without the line ending of the last.
    fn text(&self, lines: Range<usize>) -> &str {
        let content = &self.whole.content;
        let start = self.line_starts[lines.start];
        let Some(&next) = self.line_starts.get(lines.end) else {
            return &content[start..];
        };
        without_line_end(&content[start..next])
    }

    fn indices(&self, part: &Chunk) -> Range<usize> {
        let span = part.span.expect("only chunks with lines are merged");
        let start = (span.start() - self.first_line()) as usize;
        start..start + span.line_count() as usize
    }

    fn first_line(&self) -> u32 {
        self.whole.span.map_or(1, LineSpan::start)
    }
}

/// Marks the lines at `indices` as counted; returns the share of them that were not counted before.
fn count_share(counted: &mut [bool], indices: Range<usize>) -> f64 {
    let all = indices.len();
    let new = indices
        .filter(|&line| !std::mem::replace(&mut counted[line], true))
        .count();
    #[expect(
        clippy::cast_precision_loss,
        reason = "a file has fewer than 2^52 lines"
    )]
    let share = new as f64 / all as f64;
    share
}

/// An item of a list that a block states.
trait Stated: Clone + Ord {
    /// The item as a block states it.
    fn written(&self) -> Cow<'_, Self>;
}

impl Stated for String {
    fn written(&self) -> Cow<'_, String> {
        match neutralise(self, Slot::Line) {
            Cow::Borrowed(_) => Cow::Borrowed(self),
            Cow::Owned(written) => Cow::Owned(written),
        }
    }
}

impl Stated for Relation {
    fn written(&self) -> Cow<'_, Relation> {
        Cow::Owned(Relation {
            kind: self.kind.written().into_owned(),
            target: self.target.written().into_owned(),
        })
    }
}

/// What a block of `parts` states of the items that `of` returns. If it was `sent` under one of
/// them, that is what it stated then, as far as its parts still state it. A block that lacks an
/// item of the part that it was sent under was written with other options, and says nothing about
/// the rest.
fn stated<T: Stated>(
    parts: &[&Chunk],
    sent: Option<(&Chunk, &[T])>,
    of: impl Fn(&Chunk) -> &[T],
) -> Vec<T> {
    let all = each_once(parts.iter().flat_map(|part| of(part)));
    let Some((speaker, sent)) = sent else {
        return all;
    };
    let all_sent: BTreeSet<&T> = sent.iter().collect();
    let was_stated = |it: &T| all_sent.contains(&*it.written());
    if !of(speaker).iter().all(was_stated) {
        return all;
    }
    let written: BTreeMap<T, &T> = all
        .iter()
        .map(|it| (it.written().into_owned(), it))
        .collect();
    let kept = sent.iter().filter_map(|it| written.get(it));
    kept.map(|&it| it.clone()).collect()
}

fn each_once<'t, T: Clone + Ord + 't>(items: impl Iterator<Item = &'t T>) -> Vec<T> {
    let mut seen = BTreeSet::new();
    items.filter(|item| seen.insert(*item)).cloned().collect()
}
