//! Removes lines that a named part already has from parts that overlap it.

use ctx_model::{
    Chunk, LineSpan, Omitted, OmittedReason, Origin, Rendition, lines, without_line_end,
};

/// The lines of a named part.
struct Lines {
    id: String,
    path: String,
    span: LineSpan,
    text: String,
    has_renditions: bool,
}

/// Removes from each of `chunks`, except those for which `stays` returns true, the lines at its
/// beginning or end that a named chunk has too, if the texts are equal. Chunks with no other lines
/// are removed and returned. Two chunks without renditions are left to the assembler, which merges
/// them, and so are two of which one contains the other. O(bytes of overlapping chunks, and chunks
/// × named chunks).
pub(crate) fn take_out_named(
    chunks: &mut Vec<Chunk>,
    stays: impl Fn(&Chunk) -> bool,
) -> Vec<Omitted> {
    let named = chunks.iter().filter(|it| it.origin == Origin::Reference);
    let named = named.filter_map(|it| {
        Some(Lines {
            id: it.id.clone(),
            path: it.path.clone()?,
            span: it.span?,
            text: it.content.clone(),
            has_renditions: !it.renditions.is_empty(),
        })
    });
    let named: Vec<Lines> = named.collect();
    let mut omitted = Vec::new();
    if named.is_empty() {
        return omitted;
    }
    chunks.retain_mut(|chunk| {
        if chunk.origin == Origin::Reference || stays(chunk) {
            return true;
        }
        let holder = loop {
            let before = chunk.span;
            let holder = named.iter().find_map(|it| it.cut(chunk));
            // A chunk that contained a named one may no longer do so.
            if holder.is_some() || chunk.span == before {
                break holder;
            }
        };
        let Some(holder) = holder else { return true };
        let merged = Omitted::new(&*chunk.id, OmittedReason::MergedInto);
        omitted.push(merged.with_other(&*holder.id));
        false
    });
    omitted
}

impl Lines {
    /// Removes these lines from `chunk`. Returns `self` if nothing else is left of it.
    fn cut(&self, chunk: &mut Chunk) -> Option<&Self> {
        let rest = self.rest(chunk)?;
        let span = chunk.span?;
        let own: Vec<&str> = chunk.content.split_inclusive('\n').collect();
        let index = |line: u32| (line - span.start()) as usize;
        let past = index(rest.end()) + 1;
        let mut left = index(rest.start())..past;
        let is_blank = |at: usize| own[at].trim().is_empty();
        while !left.is_empty() && is_blank(left.start) {
            left.start += 1;
        }
        while !left.is_empty() && is_blank(left.end - 1) {
            left.end -= 1;
        }
        let number = |at: usize| u32::try_from(at).ok()?.checked_add(span.start());
        let ends = number(left.start).zip(number(left.end.wrapping_sub(1)));
        let Some(rest) = ends.and_then(|(start, end)| LineSpan::new(start, end).ok()) else {
            return Some(self);
        };
        without_line_end(&own[left].concat()).clone_into(&mut chunk.content);
        chunk.span = Some(rest);
        chunk.content_hash = None;
        let renditions = std::mem::take(&mut chunk.renditions).into_iter();
        let within = renditions.filter_map(|it| within(&it, rest));
        let length = chunk.content.len();
        chunk.renditions = within.filter(|it| it.text().len() < length).collect();
        None
    }

    /// The lines of `chunk` before or after these, if these overlap its end or its beginning and
    /// the shared lines are equal.
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
        let rest = if start == span.start() {
            LineSpan::new(end + 1, span.end())
        } else {
            LineSpan::new(span.start(), start - 1)
        };
        rest.ok()
    }
}

/// The lines of `rendition` within `span`, with the marks between them. `None` if there are none,
/// or it has no line numbers.
fn within(rendition: &Rendition, span: LineSpan) -> Option<Rendition> {
    let is_within =
        |line: Option<u32>| line.is_none_or(|it| (span.start()..=span.end()).contains(&it));
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

    fn left(named: &[(u32, u32)], found: (u32, u32)) -> Option<(u32, u32)> {
        let named = named.iter().map(|it| chunk(Origin::Reference, *it));
        let mut chunks: Vec<Chunk> = named.chain([chunk(Origin::Chunk, found)]).collect();
        let omitted = take_out_named(&mut chunks, |_| false);
        let last = chunks.pop().filter(|it| it.origin == Origin::Chunk);
        let Some(last) = last else {
            assert_eq!(omitted[0].reason, OmittedReason::MergedInto);
            return None;
        };
        assert_eq!(omitted, []);
        let span = last.span.unwrap();
        let all = chunk(Origin::Chunk, (span.start(), span.end()));
        assert_eq!(last.content, all.content);
        for it in &last.renditions {
            let numbers = it.lines().iter().flatten();
            assert!(
                numbers
                    .clone()
                    .all(|it| (span.start()..=span.end()).contains(it))
            );
            assert_eq!(lines(it.text()).count(), it.lines().len());
        }
        Some((span.start(), span.end()))
    }

    #[test]
    fn what_is_named_is_taken_out_of_what_is_beside_it() {
        assert_eq!(left(&[(1, 15)], (5, 25)), Some((16, 25)));
        assert_eq!(left(&[(15, 29)], (5, 25)), Some((5, 14)));
        // A chunk with only blank lines left is removed.
        assert_eq!(left(&[(21, 35)], (20, 28)), None);
        assert_eq!(left(&[(1, 19)], (15, 25)), Some((21, 25)));
        // Chunks that contain one another, or do not overlap, stay.
        for (named, found) in [((5, 25), (8, 12)), ((8, 12), (5, 25)), ((1, 4), (5, 9))] {
            assert_eq!(left(&[named], found), Some(found));
        }
        assert_eq!(left(&[(1, 8), (22, 35)], (5, 25)), Some((9, 21)));
        // The first named part overlaps the end of the chunk only once the second is cut off.
        assert_eq!(left(&[(12, 23), (22, 35)], (5, 25)), Some((5, 11)));
    }

    #[test]
    fn what_says_something_else_stays() {
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
