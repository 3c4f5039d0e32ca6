//! The examples that the rules of Kingfisher come with.

use std::path::PathBuf;

use ctx_secrets::find;

use crate::corpus::{PERCENT, registry};

/// Where the rules are, with their examples, beside what is compiled of them.
fn rules() -> Option<String> {
    let folders = std::fs::read_dir(registry()?).ok()?.flatten();
    let path = |it: PathBuf| it.join("secrets_scanner-0.2.3/assets/kingfisher-rules.yml");
    folders
        .map(|it| path(it.path()))
        .find_map(|it| std::fs::read_to_string(it).ok())
}

/// What `rules` call examples, with the rule of each. No more of YAML is understood than is in
/// them.
fn examples(rules: &str) -> Vec<(String, String)> {
    let mut examples: Vec<(String, String)> = Vec::new();
    let (mut id, mut of_examples, mut of_block) = ("", false, false);
    for line in rules.lines() {
        if let Some(next) = line.strip_prefix("    id: ") {
            id = next;
        }
        let in_block = line
            .strip_prefix("        ")
            .or(line.is_empty().then_some(""));
        if let Some(text) = in_block.filter(|_| of_examples && of_block) {
            let (_, example) = examples.last_mut().expect("a block is of one");
            example.push_str(text);
            example.push('\n');
        } else if let Some(example) = line.strip_prefix("      - ").filter(|_| of_examples) {
            of_block = example.starts_with('|');
            let example = if of_block {
                String::new()
            } else {
                scalar(example)
            };
            examples.push((id.to_owned(), example));
        } else {
            of_examples = line == "    examples:";
        }
    }
    examples
}

fn scalar(text: &str) -> String {
    if let Some(quoted) = text.strip_prefix('\'') {
        let end = quoted.rfind('\'').expect("it ends");
        return quoted[..end].replace("''", "'");
    }
    let Some(quoted) = text.strip_prefix('"') else {
        return text.to_owned();
    };
    let end = quoted.rfind('"').expect("it ends");
    let mut plain = String::new();
    let mut left = quoted[..end].chars();
    while let Some(next) = left.next() {
        plain.push(match next {
            '\\' => match left.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                other => other.expect("something is escaped"),
            },
            other => other,
        });
    }
    plain
}

/// Each stands alone: an example has what its rule needs, and mostly not the vendor's name.
#[test]
fn of_the_examples_of_the_rules_nearly_all_are_found() {
    let Some(rules) = rules() else {
        println!("skipped: the rules are not where crates are kept");
        return;
    };
    let bundled = secrets_scanner::rules::BUNDLED_RULES;
    let is_used = |id: &str| {
        let left_out = [
            "generic.",
            "auth.",
            "http.",
            "netrc.",
            "uri.",
            "codecov.",
            "twitter.1",
        ];
        let name = id.strip_prefix("kingfisher.").unwrap_or(id);
        bundled.contains(&format!("\"{id}\"")) && !left_out.iter().any(|it| name.starts_with(it))
    };
    let mut all = examples(&rules);
    assert!(all.len() > 1_700, "{}", all.len());
    all.retain(|(id, _)| is_used(id));
    let missed = all.iter().filter(|(_, it)| find("a.txt", it).is_empty());
    let missed: Vec<_> = missed.collect();
    println!("{} of {} missed", missed.len(), all.len());
    assert!(
        missed.len() * 100 <= all.len() * (100 - PERCENT),
        "{missed:#?}"
    );
}
