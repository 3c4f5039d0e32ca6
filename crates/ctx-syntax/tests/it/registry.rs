//! Every line shown is the source's, over real files: the sources of the crates that cargo has
//! downloaded, and the grammars' own examples. About a hundred, or `CTX_REAL_FILES` of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ctx_syntax::{Language, Limits, Source};
use ctx_testkit::skip::skipped;

#[test]
fn real_files_are_shown_as_they_are() {
    let most = std::env::var("CTX_REAL_FILES").ok();
    let most: usize = most.and_then(|it| it.parse().ok()).unwrap_or(300);
    let Some(sources) = sources() else {
        return;
    };
    let mut languages: BTreeMap<&str, usize> = BTreeMap::new();
    let mut folders = vec![sources];
    let mut files = 0;
    'all: while let Some(folder) = folders.pop() {
        let mut entries: Vec<PathBuf> = fs::read_dir(&folder)
            .map(|entries| entries.flatten().map(|it| it.path()).collect())
            .unwrap_or_default();
        entries.sort_unstable();
        for path in entries {
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
                continue;
            }
            let name = path.to_string_lossy().into_owned();
            let Some(language) = Language::of(&name, "") else {
                continue;
            };
            let seen = languages.entry(language.name()).or_default();
            let share = most / 6;
            let Ok(text) = fs::read_to_string(&path) else {
                continue;
            };
            if *seen >= share || text.len() > 200_000 {
                continue;
            }
            *seen += 1;
            files += 1;
            check(&name, &text);
            if files >= most {
                break 'all;
            }
        }
    }
    // A long run has met what people write.
    let met = languages.values().filter(|&&seen| seen > 0).count();
    assert!(files < 5000 || met >= 12, "{languages:?}");
}

fn check(path: &str, text: &str) {
    let source = Source::new(path, text, &Limits::default());
    crate::is_nested(text, &source, source.whole(), &[1, 10]);
    let symbols = &source.outline().symbols;
    for symbol in symbols.iter().step_by(symbols.len() / 8 + 1) {
        assert!(
            symbol.span.end() <= source.line_count(),
            "{path}: {symbol:?}"
        );
        crate::is_nested(text, &source, symbol.span_with_doc(), &[]);
    }
}

fn sources() -> Option<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".cargo")))?;
    let folder = home.join("registry/src");
    if folder.exists() {
        return Some(folder);
    }
    skipped(format_args!(
        "there are no downloaded sources in {}",
        folder.display()
    ));
    None
}
