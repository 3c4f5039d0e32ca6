//! Uses the messages that programs raise as questions, with other values in them: the line that
//! raises one is the answer.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use anyhow::{Context, Result, ensure};
use regex::Regex;

use super::code::{Instance, git_folder};
use super::history::{ask, is_source};

/// How many words a message has at least, values aside.
const FEW_WORDS: usize = 4;
/// The most bytes of a message.
const LONGEST: usize = 160;

/// What stands in place of placeholders.
const VALUES: [&str; 8] = [
    "alpha",
    "config.toml",
    "my-app",
    "42",
    "user_id",
    "/srv/data/in.txt",
    "Widget",
    "v1.2.3",
];

/// What raises an error with a message in many languages, as `git grep` finds it and as it is read.
const RAISES: &str = r"(raise|throw|panic!|bail!|anyhow!|Errorf|errors\.New|fatalError)";
static MESSAGE: LazyLock<Regex> = LazyLock::new(|| {
    let raises = [
        r"\braise\s+[\w.:]*\s*[(,]?\s*",
        r"\bthrow\s+(?:new\s+)?[\w.:\\]*\(\s*",
        r"\b(?:panic|bail|anyhow)!\(\s*",
        r"\b(?:fmt\.Errorf|errors\.New|fatalError)\(\s*",
    ];
    let texts = [
        r#""((?:[^"\\]|\\\(|\\")*)""#,
        r"'([^'\\]*)'",
        r"`([^`\\]*)`",
    ];
    let pattern = format!("(?:{})[fF]?(?:{})", raises.join("|"), texts.join("|"));
    Regex::new(&pattern).expect("it is a pattern")
});
/// Placeholders of many languages.
static PLACEHOLDER: LazyLock<Regex> = LazyLock::new(|| {
    let all = [
        r"[$#]\{[^{}]*\}",
        r"%\([a-z_]+\)[a-z]",
        r"%[-+#0-9.]*[a-z]\b",
        r"\\\([^()]*\)",
        r"\$[a-z_]\w*",
        r"\{[^{}]*\}",
    ];
    Regex::new(&all.join("|")).expect("it is a pattern")
});

/// Up to `each` messages of the last commit, each raised in one place: as they are, with a label,
/// and quoted in a question, in turns. Which ones depends on their words alone.
pub(super) fn of_repository(repos: &Path, name: &str, each: usize) -> Result<Vec<Instance>> {
    let git = git_folder(repos, name)?;
    let commit = ask(&git, &["rev-parse", "HEAD"])?.trim().to_owned();
    let mut places: BTreeMap<String, Vec<(String, u32)>> = BTreeMap::new();
    for (path, line, text) in raised(&git)? {
        if let Some(message) = message(&text).filter(|_| is_source(&path)) {
            places.entry(message).or_default().push((path, line));
        }
    }
    let of_one = places.into_iter().filter_map(|(message, mut places)| {
        let place = places.pop()?;
        places.is_empty().then_some((message, place))
    });
    let mut all: Vec<(String, (String, u32))> = of_one.collect();
    all.sort_by_cached_key(|(message, _)| {
        let mut hasher = DefaultHasher::new();
        message.hash(&mut hasher);
        hasher.finish()
    });
    let all = all.into_iter().take(each).enumerate();
    let instance = |(number, (message, (path, line))): (usize, (String, (String, u32)))| Instance {
        id: format!("{name}-{}-{number}", &commit[..commit.len().min(10)]),
        repo: name.to_owned(),
        base_commit: commit.clone(),
        query: match number % 3 {
            0 => message,
            1 => format!("error: {message}"),
            _ => format!("why do I get \"{message}\""),
        },
        gold_lines: BTreeMap::from([(path, vec![line])]),
        near: Vec::new(),
    };
    Ok(all.map(instance).collect())
}

/// The lines that may raise a message: path, number and text.
fn raised(git: &Path) -> Result<Vec<(String, u32, String)>> {
    let output = Command::new("git")
        .arg("--git-dir")
        .arg(git)
        .args(["grep", "-z", "-n", "-I", "-E", RAISES, "HEAD"])
        .output()
        .context("failed to run git")?;
    // With 1, it found nothing.
    ensure!(
        matches!(output.status.code(), Some(0 | 1)),
        "git grep failed in {}: {}",
        git.display(),
        String::from_utf8_lossy(&output.stderr).trim()
    );
    let lines = String::from_utf8_lossy(&output.stdout);
    let line = |it: &str| {
        let mut parts = it.strip_prefix("HEAD:")?.splitn(3, '\0');
        let (path, number) = (parts.next()?, parts.next()?.parse().ok()?);
        Some((path.to_owned(), number, parts.next()?.to_owned()))
    };
    Ok(lines.lines().filter_map(line).collect())
}

/// The message that `line` raises, with values in place of its placeholders, if it says enough.
fn message(line: &str) -> Option<String> {
    let found = MESSAGE.captures(line)?;
    let text = (1..=3).find_map(|it| found.get(it))?.as_str();
    let plain = PLACEHOLDER.replace_all(text, " ");
    let is_word = |it: &&str| it.len() > 1 && it.chars().all(char::is_alphabetic);
    let words = plain
        .split(|it: char| !it.is_alphanumeric())
        .filter(is_word);
    if words.count() < FEW_WORDS {
        return None;
    }
    // Of equal messages all have the same values.
    let mut next = text.len();
    let said = PLACEHOLDER.replace_all(text, |_: &regex::Captures<'_>| {
        next += 1;
        VALUES[next % VALUES.len()]
    });
    let said = said.replace("\\\"", "\"");
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    (said.len() <= LONGEST).then_some(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_in_many_languages() {
        for line in [
            "raise ValueError(f\"no such file in {self.name}\")",
            "raise ArgumentError, \"no such file in #{name}\"",
            "raise Error, 'no such file in %s'",
            "throw new IOException(\"no such file in ${name}\")",
            "throw new \\Acme\\Error('no such file in %d', $a)",
            "panic!(\"no such file in {}\", name)",
            "return fmt.Errorf(\"no such file in %q\", name)",
            "fatalError(\"no such file in \\(name)\")",
        ] {
            let found = message(line).unwrap();
            let value = found.strip_prefix("no such file in ").unwrap();
            assert!(VALUES.contains(&value), "{found}");
        }
        assert_eq!(
            message("errors.New(\"no \\\"such\\\" file  here\")").unwrap(),
            "no \"such\" file here"
        );
        for line in [
            "raise ValueError(\"too short\")",
            "raise NotImplementedError",
            "return \"no such file in here\"",
        ] {
            assert_eq!(message(line), None, "{line}");
        }
    }
}
