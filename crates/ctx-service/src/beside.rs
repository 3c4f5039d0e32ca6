//! Removes lines that a named part already has from parts that overlap it, as long as the named
//! part is shown in full.

use ctx_model::{Chunk, LineSpan, Origin, Rendition, lines, without_line_end};

/// The lines of a named part.
struct Lines {
    path: String,
    span: LineSpan,
    text: String,
    has_renditions: bool,
}

/// Removes from each of `chunks`, except those for which `stays` returns true, the lines at its
/// beginning or end that a named chunk has too, if the texts are equal, and returns these chunks as
/// they were. If no other lines are left but blank ones, these are removed instead, so that the
/// chunk lies within the named one. Two chunks without renditions are left to the assembler, which
/// merges them, and so are two of which one contains the other. O(bytes of overlapping chunks, and
/// chunks × named chunks).
pub(crate) fn take_out_named(chunks: &mut [Chunk], stays: impl Fn(&Chunk) -> bool) -> Vec<Chunk> {
    let named = chunks.iter().filter(|it| it.origin == Origin::Reference);
    let named = named.filter_map(|it| {
        Some(Lines {
            path: it.path.clone()?,
            span: it.span?,
            text: it.content.clone(),
            has_renditions: !it.renditions.is_empty(),
        })
    });
    let named: Vec<Lines> = named.collect();
    let mut cut = Vec::new();
    if named.is_empty() {
        return cut;
    }
    for chunk in chunks {
        if chunk.origin == Origin::Reference || stays(chunk) {
            continue;
        }
        let mut whole = None;
        // A chunk that contained a named one may no longer do so once it is cut.
        while let Some(rest) = named.iter().find_map(|it| it.rest(chunk)) {
            whole.get_or_insert_with(|| chunk.clone());
            reduce(chunk, rest);
        }
        cut.extend(whole);
    }
    cut
}

/// Whether `chunk` has, outside the lines `now`, a line that is not blank and for which `is_shown`
/// returns false.
pub(crate) fn has_lost(
    chunk: &Chunk,
    now: Option<LineSpan>,
    is_shown: impl Fn(u32) -> bool,
) -> bool {
    let first = chunk.span.map_or(1, LineSpan::start);
    let is_outside = |line: u32| now.is_none_or(|it| line < it.start() || it.end() < line);
    let mut all = (first..).zip(lines(&chunk.content));
    all.any(|(line, text)| is_outside(line) && !text.trim().is_empty() && !is_shown(line))
}

/// Reduces `chunk` to its lines `rest`.
fn reduce(chunk: &mut Chunk, rest: LineSpan) {
    let Some(span) = chunk.span else { return };
    let own = chunk.content.split_inclusive('\n');
    let before = (rest.start() - span.start()) as usize;
    let left: String = own.skip(before).take(rest.line_count() as usize).collect();
    without_line_end(&left).clone_into(&mut chunk.content);
    chunk.span = Some(rest);
    chunk.content_hash = None;
    let renditions = std::mem::take(&mut chunk.renditions).into_iter();
    let within = renditions.filter_map(|it| within(&it, rest));
    let length = chunk.content.len();
    chunk.renditions = within.filter(|it| it.text().len() < length).collect();
}

impl Lines {
    /// The lines that `chunk` keeps beside these, if these overlap its end or its beginning and the
    /// shared lines are equal: those before or after these, without blank ones at their ends, or
    /// the shared ones if nothing else is left.
    fn rest(&self, chunk: &Chunk) -> Option<LineSpan> {
        let span = chunk
            .span
            .filter(|_| chunk.path.as_ref() == Some(&self.path))?;
        let is_apart = span.end() < self.span.start() || self.span.end() < span.start();
        if is_apart || span.contains(self.span) || self.span.contains(span) {
            return None;
        }
        let is_merged = !self.has_renditions && chunk.renditions.is_empty();
        if is_merged || chunk.wider_text().is_some() {
            return None;
        }
        let own: Vec<&str> = lines(&chunk.content).collect();
        let its: Vec<&str> = lines(&self.text).collect();
        let is_of = |all: &[&str], span: LineSpan| all.len() == span.line_count() as usize;
        if !is_of(&own, span) || !is_of(&its, self.span) {
            return None;
        }
        let (start, end) = (
            span.start().max(self.span.start()),
            span.end().min(self.span.end()),
        );
        let shared =
            |span: LineSpan| (start - span.start()) as usize..=(end - span.start()) as usize;
        if own[shared(span)] != its[shared(self.span)] {
            return None;
        }
        let (mut first, mut last) = if start == span.start() {
            (end + 1, span.end())
        } else {
            (span.start(), start - 1)
        };
        let is_blank = |line: u32| own[(line - span.start()) as usize].trim().is_empty();
        while first <= last && is_blank(first) {
            first += 1;
        }
        while first <= last && is_blank(last) {
            last -= 1;
        }
        LineSpan::new(first, last)
            .or_else(|_| LineSpan::new(start, end))
            .ok()
    }
}

/// The lines of `rendition` within `span`, with the marks between them. `None` if there are none,
/// or it has no line numbers.
fn within(rendition: &Rendition, span: LineSpan) -> Option<Rendition> {
    let is_within = |line: Option<u32>| line.is_none_or(|it| span.contains_line(it));
    let kept = lines(rendition.text()).zip(rendition.lines().iter().copied());
    let mut kept: Vec<(&str, Option<u32>)> = kept.filter(|it| is_within(it.1)).collect();
    kept.dedup_by(|next, last| next.1.is_none() && last.1.is_none());
    kept.iter().find(|it| it.1.is_some())?;
    let text = kept.iter().map(|it| it.0).collect::<Vec<_>>().join("\n");
    let numbers = kept.iter().map(|it| it.1).collect();
    let within = Rendition::new(rendition.kind(), text, rendition.information());
    within.and_then(|it| it.with_lines(numbers)).ok()
}

#[cfg(test)]
mod tests {
    use ctx_model::{Relevance, RenditionKind};

    use super::*;

    /// Some lines of a file. Every tenth line is blank.
    fn chunk(origin: Origin, (start, end): (u32, u32)) -> Chunk {
        let line = |it| {
            if it % 10 == 0 {
                String::new()
            } else {
                format!("line {it}")
            }
        };
        let text = (start..=end).map(line).collect::<Vec<_>>().join("\n");
        let span = LineSpan::new(start, end).unwrap();
        let first = Rendition::new(
            RenditionKind::Excerpt,
            format!("line {start}\n…\nline {end}"),
            0.5,
        );
        let first = first.and_then(|it| it.with_lines(vec![Some(start), None, Some(end)]));
        let mut chunk = Chunk::new(format!("{origin} {span}"), text, Relevance::ZERO)
            .with_path("a.txt")
            .with_span(span)
            .with_renditions(vec![first.unwrap()]);
        chunk.origin = origin;
        chunk
    }

    fn left(named: &[(u32, u32)], found: (u32, u32)) -> (u32, u32) {
        let named = named.iter().map(|it| chunk(Origin::Reference, *it));
        let mut chunks: Vec<Chunk> = named.chain([chunk(Origin::Chunk, found)]).collect();
        let before = chunks.last().cloned();
        let cut = take_out_named(&mut chunks, |_| false);
        let last = chunks.pop().unwrap();
        let span = last.span.unwrap();
        let is_cut = (span.start(), span.end()) != found;
        assert_eq!(cut, Vec::from_iter(before.filter(|_| is_cut)));
        let all = chunk(Origin::Chunk, (span.start(), span.end()));
        assert_eq!(last.content, all.content);
        for it in &last.renditions {
            let numbers = it.lines().iter().flatten();
            assert!(numbers.clone().all(|it| span.contains_line(*it)));
            assert_eq!(lines(it.text()).count(), it.lines().len());
        }
        (span.start(), span.end())
    }

    #[test]
    fn named_lines_are_removed_from_overlapping_parts() {
        assert_eq!(left(&[(1, 15)], (5, 25)), (16, 25));
        assert_eq!(left(&[(15, 29)], (5, 25)), (5, 14));
        // If only blank lines would be left, they are removed: the rest lies within what is named.
        assert_eq!(left(&[(21, 35)], (20, 28)), (21, 28));
        assert_eq!(left(&[(1, 19)], (15, 25)), (21, 25));
        // Chunks that contain one another, or do not overlap, stay.
        for (named, found) in [((5, 25), (8, 12)), ((8, 12), (5, 25)), ((1, 4), (5, 9))] {
            assert_eq!(left(&[named], found), found);
        }
        assert_eq!(left(&[(1, 8), (22, 35)], (5, 25)), (9, 21));
        // The first named part overlaps the end of the chunk only once the second is cut off.
        assert_eq!(left(&[(12, 23), (22, 35)], (5, 25)), (5, 11));
    }

    #[test]
    fn lines_are_lost_that_are_neither_left_nor_shown_elsewhere() {
        let whole = chunk(Origin::Chunk, (5, 25));
        let left = LineSpan::new(16, 25).ok();
        let has_lost =
            |shown: std::ops::Range<u32>| has_lost(&whole, left, |it| shown.contains(&it));
        assert!(!has_lost(1..16));
        assert!(has_lost(1..15));
        assert!(has_lost(6..16));
        // Line 10 is blank.
        let now = LineSpan::new(11, 25).ok();
        assert!(!super::has_lost(&whole, now, |it| it < 10));
    }

    #[test]
    fn parts_with_other_text_stay() {
        for differs in ["text", "path", "lines", "stays", "merged"] {
            let mut chunks = vec![
                chunk(Origin::Reference, (1, 15)),
                chunk(Origin::Chunk, (5, 25)),
            ];
            match differs {
                "text" => chunks[0].content = chunks[0].content.replace("line 7", "line x"),
                "path" => chunks[0].path = Some("b.txt".to_owned()),
                "lines" => chunks[1].content.push_str("\nmore"),
                "merged" => chunks.iter_mut().for_each(|it| it.renditions.clear()),
                _ => {}
            }
            let before = chunks.clone();
            assert_eq!(take_out_named(&mut chunks, |_| differs == "stays"), []);
            assert_eq!(chunks, before, "{differs}");
        }
    }
}
