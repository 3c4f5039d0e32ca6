//! Questions about a corpus, made from its content: names, sentences of its documentation, and
//! reports with code and stack traces. The same corpus and seed give the same questions. They do
//! not depend on what is found.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};
use ctx::rank::Query;
use serde::{Deserialize, Serialize};

/// A kind of question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Kind {
    /// One or two names.
    Name,
    /// A sentence of the documentation.
    Sentence,
    /// An issue report: sentences, names, and a block of code.
    Report,
    /// A panic with its stack, and a sentence.
    Trace,
}

impl Kind {
    pub(crate) const ALL: [Kind; 4] = [Kind::Name, Kind::Sentence, Kind::Report, Kind::Trace];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Kind::Name => "names",
            Kind::Sentence => "a sentence",
            Kind::Report => "a report with code",
            Kind::Trace => "a report with a trace",
        }
    }
}

/// The material for questions.
pub(super) struct Material {
    /// Functions, with their path and line.
    functions: Vec<(String, String, usize)>,
    sentences: Vec<String>,
    /// Runs of lines of code.
    blocks: Vec<String>,
}

impl Material {
    /// Reads the files at `paths` below `root`.
    pub(super) fn read(root: &Path, paths: &[String]) -> Result<Self> {
        let mut material = Material {
            functions: Vec::new(),
            sentences: Vec::new(),
            blocks: Vec::new(),
        };
        let is_rust = |it: &&String| Path::new(it).extension().is_some_and(|it| it == "rs");
        let sources = paths.iter().filter(is_rust);
        for path in sources {
            material.take(path, &fs::read_to_string(root.join(path))?);
        }
        let has = |count: usize| count >= 100;
        ensure!(
            has(material.functions.len()) && has(material.sentences.len()),
            "the corpus is too small to ask about"
        );
        Ok(material)
    }

    fn take(&mut self, path: &str, text: &str) {
        let lines: Vec<&str> = text.lines().collect();
        for (index, line) in lines.iter().enumerate() {
            let trimmed = line.trim();
            if let Some(said) = trimmed.strip_prefix("/// ") {
                if said.split_whitespace().count() > 5 {
                    self.sentences.push(said.to_owned());
                }
            } else if let Some(name) = function(trimmed)
                && !Query::analyse(name).is_empty()
            {
                // A name like `from` alone is refused as a question.
                self.functions
                    .push((name.to_owned(), path.to_owned(), index + 1));
                if index % 7 == 0 {
                    let end = (index + 12).min(lines.len());
                    self.blocks.push(lines[index..end].join("\n"));
                }
            }
        }
    }

    /// Question `number` of the series with `seed`; kinds alternate.
    pub(super) fn question(&self, seed: u64, number: usize) -> (Kind, String) {
        let mut dice = Dice::of_question(seed, number);
        let kind = Kind::ALL[number % Kind::ALL.len()];
        let text = match kind {
            Kind::Name => self.names(&mut dice),
            Kind::Sentence => dice.of(&self.sentences).clone(),
            Kind::Report => self.report(&mut dice),
            Kind::Trace => self.trace(&mut dice),
        };
        (kind, text)
    }

    fn names(&self, dice: &mut Dice) -> String {
        let (a, b) = (&dice.of(&self.functions).0, &dice.of(&self.functions).0);
        match dice.below(4) {
            0 => a.clone(),
            1 => format!("where is {a} defined and who calls it?"),
            2 => format!("How does `{a}` work?"),
            _ => format!("difference between {a} and {b}"),
        }
    }

    fn report(&self, dice: &mut Dice) -> String {
        let mut text = format!("{}\n\n", dice.of(&self.sentences));
        for _ in 0..2 + dice.below(6) {
            let (sentence, name) = (dice.of(&self.sentences), &dice.of(&self.functions).0);
            let _ = writeln!(text, "{sentence} With `{name}` it does not.");
        }
        let code = dice.of(&self.blocks);
        let _ = write!(
            text,
            "\n```rust\n{code}\n```\n\n### Expected\n\n{}\n",
            dice.of(&self.sentences)
        );
        text
    }

    fn trace(&self, dice: &mut Dice) -> String {
        let (_, path, line) = dice.of(&self.functions);
        let mut text = format!(
            "Panic: {}\n\n```\nthread 'main' panicked at /home/me/src/{path}:{line}:9:\nindex out of bounds\n\
             stack backtrace:\n",
            dice.of(&self.sentences)
        );
        for frame in 0..6 + dice.below(14) {
            let (name, path, line) = dice.of(&self.functions);
            let _ = writeln!(
                text,
                "  {frame}: krate::{name}\n             at ./{path}:{line}:5"
            );
        }
        let _ = write!(
            text,
            "```\n\n{}\n\n## Environment\n\nrustc 1.90, Linux\n",
            dice.of(&self.sentences)
        );
        text
    }
}

/// The name of the function that begins in `line`.
fn function(line: &str) -> Option<&str> {
    let rest = line
        .strip_prefix("pub ")
        .unwrap_or(line)
        .strip_prefix("fn ")?;
    let end = rest.find(|c: char| c != '_' && !c.is_alphanumeric())?;
    (end > 3).then(|| &rest[..end])
}

/// Pseudo-random numbers: splitmix64.
struct Dice(u64);

impl Dice {
    /// The dice of question `number` of the series with `seed`. They begin in a mixed state: from
    /// states that are a step apart, two questions would draw the same numbers, one draw later.
    fn of_question(seed: u64, number: usize) -> Self {
        let series = Dice(seed).draw();
        Dice(Dice(series ^ number as u64).draw())
    }

    fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, most: usize) -> usize {
        usize::try_from(self.draw() % most as u64).unwrap_or_default()
    }

    fn of<'t, T>(&mut self, all: &'t [T]) -> &'t T {
        &all[self.below(all.len())]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn functions_are_found_by_their_lines() {
        assert_eq!(function("pub fn render_all(x: u32) {"), Some("render_all"));
        assert_eq!(function("fn go() {"), None, "a short name is everybody's");
        assert_eq!(function("let a = 1;"), None);
    }

    #[test]
    fn no_two_questions_share_a_draw() {
        let mut drawn = BTreeSet::new();
        for number in 0..400 {
            let mut dice = Dice::of_question(1, number);
            for _ in 0..50 {
                assert!(drawn.insert(dice.draw()), "of question {number}");
            }
        }
    }

    #[test]
    fn the_same_seed_asks_the_same() {
        let mut text = String::new();
        for n in 0..200 {
            let _ = writeln!(
                text,
                "/// Number {n} says what it is worth.\nfn number_{n}() {{\n}}"
            );
        }
        let mut material = Material {
            functions: Vec::new(),
            sentences: Vec::new(),
            blocks: Vec::new(),
        };
        material.take("src/lib.rs", &text);
        let asked = |seed| -> Vec<_> { (0..40).map(|n| material.question(seed, n)).collect() };
        assert_eq!(asked(1), asked(1));
        assert_ne!(asked(1), asked(2));
        assert!(asked(1)[3].1.contains("at ./src/lib.rs:"));
    }
}
