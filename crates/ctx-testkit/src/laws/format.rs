//! Laws of `ctx_format::Formatter`.

use ctx_format::{Block, Formatter, Group, Notice, Slot, count_neutralised, joins_safely};
use ctx_model::Category;
use ctx_tokens::is_safe_joint;
use proptest::prelude::*;

use super::run::run;
use crate::generate;

/// The least number of documents; `PROPTEST_CASES` may ask for more.
const CASES: u32 = 256;

/// Checks that `formatter` keeps the promises of [`Formatter`], on the same blocks each time: every
/// piece is appended to the existing text, depends only on its arguments, has no character that
/// should be neutralised, and joins the pieces before and after it without changing the number of
/// tokens.
///
/// # Panics
/// If a promise is broken, with the counter-example.
pub fn formatter<F: Formatter + ?Sized>(formatter: &F) {
    let strategy = (
        generate::chunks(1..4),
        generate::any_text(),
        generate::any_text(),
    );
    run(CASES, &strategy, |(chunks, header, footer)| {
        let blocks: Vec<Block<'_>> = chunks.iter().map(Block::full).collect();
        let mut pieces = Pieces::default();
        pieces.take(|out| formatter.open(Some(&header), out))?;
        for block in &blocks {
            let groups = [Group::File(block.title()), Group::Category(Category::Code)];
            for group in groups {
                pieces.take(|out| formatter.open_group(&group, out))?;
                pieces.take(|out| formatter.block(block, out))?;
                pieces.take(|out| formatter.separator(out))?;
                pieces.take(|out| formatter.block(block, out))?;
                pieces.take(|out| formatter.close_group(&group, out))?;
            }
        }
        pieces.take(|out| formatter.close_chunks(out))?;
        pieces.take(|out| formatter.open_sources(out))?;
        for block in &blocks {
            pieces.take(|out| formatter.source(block, out))?;
            pieces.take(|out| formatter.source_separator(out))?;
        }
        pieces.take(|out| formatter.close_sources(out))?;
        let notice = Notice {
            omitted: 3,
            total: 10,
        };
        pieces.take(|out| formatter.notice(&notice, out))?;
        pieces.take(|out| formatter.close(Some(&footer), out))?;
        for block in &blocks {
            is_appended(&|out| formatter.fragment(block, out))?;
        }
        if formatter.joins_safely(Some(&footer)) {
            pieces.join_safely()?;
        }
        Ok(())
    });
}

#[derive(Default)]
struct Pieces(Vec<String>);

impl Pieces {
    fn take(&mut self, write: impl Fn(&mut String)) -> Result<(), TestCaseError> {
        let piece = is_appended(&write)?;
        self.0.push(piece);
        Ok(())
    }

    fn join_safely(&self) -> Result<(), TestCaseError> {
        let pieces: Vec<&str> = self
            .0
            .iter()
            .map(String::as_str)
            .filter(|p| !p.is_empty())
            .collect();
        for (index, piece) in pieces.iter().enumerate() {
            // Nothing precedes the first piece, so it may begin with anything.
            if index > 0 {
                prop_assert!(joins_safely(piece), "piece {piece:?}");
                let before = pieces[index - 1];
                prop_assert!(
                    is_safe_joint(before, piece),
                    "joint of {before:?} and {piece:?}"
                );
            }
        }
        Ok(())
    }
}

/// The piece that `write` appends. Checks that it does not depend on the existing text, which stays
/// unchanged.
fn is_appended(write: &dyn Fn(&mut String)) -> Result<String, TestCaseError> {
    let mut alone = String::new();
    write(&mut alone);
    prop_assert_eq!(count_neutralised(&alone, Slot::Text), 0, "in {:?}", &alone);
    for before in ["```\n", "<![CDATA[", "\"", "  "] {
        let mut after = before.to_owned();
        write(&mut after);
        prop_assert_eq!(after.strip_prefix(before), Some(&*alone));
    }
    Ok(alone)
}
