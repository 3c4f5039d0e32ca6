//! The same texts in a plain tantivy index, for comparison: one document per file, words separated
//! by spaces.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use ctx::rank::Role;
use tantivy::schema::{STORED, STRING, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{TextAnalyzer, WhitespaceTokenizer};

/// The memory limit of the writer, the same as ours.
const MEMORY: usize = 96 << 20;

/// Reads the files at `paths` below `root` and indexes them with `threads` threads, in the order of
/// their paths.
pub(super) fn index(root: &Path, paths: &[String], folder: &Path, threads: usize) -> Result<()> {
    let mut schema = Schema::builder();
    let path = schema.add_text_field("path", STRING | STORED);
    let words = TextFieldIndexing::default().set_tokenizer("spaces");
    let text = schema.add_text_field("text", TextOptions::default().set_indexing_options(words));
    fs::create_dir_all(folder)?;
    let index = tantivy::Index::create_in_dir(folder, schema.build())?;
    let spaces = TextAnalyzer::from(WhitespaceTokenizer::default());
    index.tokenizers().register("spaces", spaces);
    let mut writer = index.writer_with_num_threads(threads, MEMORY)?;
    for its in paths {
        let its_text = fs::read_to_string(root.join(its)).with_context(|| its.clone())?;
        writer.add_document(tantivy::doc!(path => its.as_str(), text => its_text))?;
    }
    writer.commit()?;
    writer.wait_merging_threads()?;
    let count = index.reader()?.searcher().num_docs();
    ensure!(
        count == paths.len() as u64,
        "{count} of {} files",
        paths.len()
    );
    Ok(())
}

/// The paths of the files below `root` that our index would contain, in order.
pub(super) fn paths(root: &Path) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    let mut folders: Vec<PathBuf> = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let below = path
                .strip_prefix(root)?
                .to_string_lossy()
                .replace('\\', "/");
            let text = fs::read_to_string(&path)?;
            // Like ctx, leave out files that say they are generated.
            let role = Role::of_text(&below, &text);
            let is_left_out = matches!(role, Role::Generated | Role::Vendored);
            if !is_left_out && !text.trim().is_empty() {
                paths.push(below);
            }
        }
    }
    paths.sort();
    Ok(paths)
}
