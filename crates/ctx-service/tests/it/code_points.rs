//! Every character in a file: cited lines are those of the file, and the text shown is that of the
//! lines. Of planes with only ideographs, private and unassigned characters one in sixteen is
//! tested, and all of them with `CTX_THOROUGH=1`.

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use ctx_assemble::{Control, assemble};
use ctx_format::{Slot, neutralise, parse};
use ctx_model::{BuildOptions, Chunk, Format, LineSpan, Relevance, Tokens};
use ctx_resolve::Resolver;
use ctx_source::{Limits, Root, Sources};

/// Characters of one file.
const FILE: usize = 4096;

/// Lines of one chunk, of which every second run is left out: runs that meet would be merged.
const RUN: u32 = 128;

#[test]
fn citations_are_exact_whatever_character_a_file_holds() {
    let is_thorough = std::env::var_os("CTX_THOROUGH").is_some();
    let is_tried = |it: &char| {
        let (plane, offset) = (*it as u32 >> 16, *it as u32 & 0xffff);
        is_thorough || matches!(plane, 0 | 1 | 14) || offset % 16 == 0 || offset >= 0xfff0
    };
    // A file with a NUL in it holds no text.
    let all: Vec<char> = ('\u{1}'..=char::MAX).filter(is_tried).collect();
    let folder = tempfile::tempdir().unwrap();
    for (number, some) in all.chunks(FILE).enumerate() {
        // Alone, between letters, and before a line end of each kind.
        let line = |c: &char| format!("x{c}y{c}\n{c}\r\n");
        let text: String = some.iter().map(line).collect();
        fs::write(folder.path().join(format!("{number}.txt")), text).unwrap();
    }
    let open = || Sources::new(Root::open(folder.path()).unwrap(), Limits::default());
    let (sources, resolver) = (open(), Resolver::new(open(), ctx_syntax::Limits::default()));
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= all.len().div_ceil(FILE) {
                break;
            }
            are_exact(&sources, &resolver, &format!("{number}.txt"));
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
}

fn are_exact(sources: &Sources, resolver: &Resolver, path: &str) {
    let text = sources.text(path).unwrap();
    let count = text.lines().count();
    for first in [1, 1 + RUN] {
        let starts = (first..=count).step_by(2 * RUN as usize);
        let span = |start: u32| LineSpan::new(start, count.min(start + RUN - 1)).unwrap();
        let hits = starts.map(|start| {
            Chunk::new(start.to_string(), "", Relevance::ONE)
                .with_path(path)
                .with_span(span(start))
        });
        let found = resolver.resolve(hits.collect());
        assert!(found.omitted.is_empty(), "{path}: {:?}", found.omitted);
        for format in Format::ALL {
            let options = BuildOptions::default()
                .with_format(format)
                .with_counter("characterBased".to_owned().into())
                .with_max_tokens(Tokens::new(10_000_000));
            let control = Control::default();
            let counter = ctx_tokens::counter(&options.counter).unwrap();
            let built = assemble(&found.chunks, &options, &*counter, &control).unwrap();
            assert_eq!(built.included.len(), found.chunks.len());
            let blocks = parse(format, &built.context).unwrap().blocks;
            let shown: BTreeSet<&str> = blocks.iter().map(|it| without_end(&it.body)).collect();
            for cited in &built.citations {
                let span = (cited.start_line.unwrap(), cited.end_line.unwrap());
                let span = LineSpan::new(span.0, span.1).unwrap();
                let lines = neutralise(text.slice(span).unwrap(), Slot::Text);
                assert!(
                    shown.contains(without_end(&lines)),
                    "{format} {path}:{span}"
                );
                // Each line of the file begins behind a line feed.
                let begun = lines.matches('\n').count();
                assert_eq!(begun + 1, span.line_count() as usize, "{path}:{span}");
            }
        }
    }
}

fn without_end(text: &str) -> &str {
    text.trim_end_matches(['\r', '\n'])
}
