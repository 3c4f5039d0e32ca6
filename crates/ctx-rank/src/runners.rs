//! Tests that failed, as runners of tests print them: with the file, the suites and the title.

use crate::mentions::mention_of;

/// The mark of a test that failed, as Jest prints it above the failure.
const BULLET: &str = "\u{25cf}";
/// Marks of a test that failed, as Jest, Vitest and Bun print them with the time that it took.
const MARKS: [&str; 5] = ["\u{d7}", "\u{2715}", "\u{2717}", "\u{2716}", "(fail)"];
/// The most bytes of a line that is examined.
const MOST_BYTES: usize = 1000;

/// What a line says of a test that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failed<'t> {
    /// The tests on the lines below are in this file: `FAIL src/a.test.ts`.
    File(String),
    /// A test: `FAIL src/a.test.ts > suite > title`, `● suite › title`.
    Test {
        /// The file, if the line names it.
        path: Option<String>,
        /// The titles of its suites, and its own.
        titles: Vec<&'t str>,
    },
}

/// Parses `line` of the output of a runner. O(bytes).
pub(crate) fn failed(line: &str) -> Option<Failed<'_>> {
    let text = line.trim();
    if text.len() > MOST_BYTES {
        return None;
    }
    if let Some(rest) = text.strip_prefix("FAIL ") {
        let rest = without_project(rest.trim_start());
        let mut titles = titles(rest);
        let file = titles.remove(0).split(' ').next().unwrap_or_default();
        let path = mention_of(file)?.path;
        return Some(if titles.is_empty() {
            Failed::File(path)
        } else {
            let path = Some(path);
            Failed::Test { path, titles }
        });
    }
    let timed = || MARKS.iter().find_map(|it| text.strip_prefix(it));
    let bullet = text.strip_prefix(BULLET);
    let rest = bullet.or_else(|| timed().map(without_time))?;
    let mut titles = titles(rest.strip_prefix(' ')?.trim_start());
    // Jest names no file behind its bullet, and others only before a title.
    let may_be_file = bullet.is_none() && titles.len() > 1 && !titles[0].contains(' ');
    let path = mention_of(titles[0]).filter(|_| may_be_file);
    let path = path.map(|it| it.path);
    if path.is_some() {
        titles.remove(0);
    }
    let is_title = |it: &&str| !it.is_empty();
    (!titles.is_empty() && titles.iter().all(is_title)).then_some(Failed::Test { path, titles })
}

/// The titles of `text`, which arrows separate. Never empty.
fn titles(text: &str) -> Vec<&str> {
    let arrow = [" \u{203a} ", " > "];
    let arrow = arrow.into_iter().find(|it| text.contains(it));
    arrow.map_or(vec![text], |it| text.split(it).map(str::trim).collect())
}

/// Removes the name of a project that Vitest prints before the file: `|unit| src/a.test.ts`.
fn without_project(text: &str) -> &str {
    let named = text.strip_prefix('|').and_then(|it| it.split_once("| "));
    named.map_or(text, |(_, rest)| rest.trim_start())
}

/// Removes the time at the end: `5ms`, `(5 ms)`, `[1.20ms]`.
fn without_time(text: &str) -> &str {
    let time = text.trim_end_matches([')', ']']);
    let Some(rest) = time.strip_suffix("ms").or_else(|| time.strip_suffix('s')) else {
        return text;
    };
    let rest = rest.trim_end();
    let number = rest.trim_end_matches(|it: char| it.is_ascii_digit() || it == '.');
    let is_time = number.len() < rest.len() && number.ends_with([' ', '(', '[']);
    if is_time {
        number.trim_end_matches(['(', '[']).trim_end()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, path: Option<&str>, titles: &[&str]) {
        let expected = match (path, titles) {
            (Some(path), []) => Some(Failed::File(path.to_owned())),
            (None, []) => None,
            (path, titles) => Some(Failed::Test {
                path: path.map(str::to_owned),
                titles: titles.to_vec(),
            }),
        };
        assert_eq!(failed(line), expected, "{line}");
    }

    #[test]
    fn tests_that_failed_are_known_by_their_titles() {
        let path = Some("src/a.test.ts");
        check("FAIL src/a.test.ts", path, &[]);
        check(" FAIL  src/a.test.ts (5.2 s)", path, &[]);
        check(
            " FAIL  src/a.test.ts > suite > does x",
            path,
            &["suite", "does x"],
        );
        check("FAIL |unit| src/a.test.ts > waits 5s", path, &["waits 5s"]);
        check(
            "  \u{25cf} suite \u{203a} when a > b \u{203a} does x",
            None,
            &["suite", "when a > b", "does x"],
        );
        check("\u{2715} does x in 3 s (5 ms)", None, &["does x in 3 s"]);
        check("(fail) suite > adds 2 [1.20ms]", None, &["suite", "adds 2"]);
        check("\u{d7} src/a.test.ts > does x 5ms", path, &["does x"]);
        check(
            "\u{25cf} utils.ts \u{203a} formats dates",
            None,
            &["utils.ts", "formats dates"],
        );
        check(
            "\u{2715} reads package.json (5 ms)",
            None,
            &["reads package.json"],
        );
    }

    #[test]
    fn other_lines_name_no_test() {
        for line in [
            "FAIL",
            "FAIL to read > write",
            "FAILED tests/a.py::test_b",
            "a \u{25cf} b",
            "\u{25cf}",
            "\u{25cf}x \u{203a} y",
            "suite > does x",
            "",
        ] {
            check(line, None, &[]);
        }
    }
}
