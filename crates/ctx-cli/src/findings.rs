//! How an answer was found: the question, the results of each strategy, and the score of each part
//! of a file.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use ctx::model::{BuiltContext, Chunk, LineSpan};
use ctx::rank::{Analyzer, Query, Snippets, keyword_match};
use ctx::retrieve::{Found, Part, PortError, Report, Strategy};
use ctx::service::{Answer, Raised};
use serde::Serialize;

use crate::emit::{self, grouped};
use crate::explain::{aligned, location, together};
use crate::report::clean;
use crate::settings::AppliedSetting;
use crate::visible::Visible;

/// The most terms of a question that are listed for people; the JSON has all of them.
const TERMS: usize = 16;

/// The signal that can only be computed from the text of a part.
const KEYWORD_MATCH: &str = "keywordMatch";

/// How `score` comes of `for`, `worth` of `score`, and `value` of `worth`.
const WORTH: &str = "  \
  score: the sum of `for`, each but `names` times the weight of the role, plus a share of the best score of its
         file; raised at the head of a file and for leading documents; divided by the best score
  worth: 0.4 × score ÷ rank^0.9 × (lines ÷ 25)^0.45; for prose, by its sentences; raised for what is quoted
  value: worth to the power --relevance-power, times the share of the part that is shown
";

/// A receipt, and how its parts were found.
#[derive(Serialize)]
pub(crate) struct Whole<'a> {
    #[serde(flatten)]
    pub(crate) built: &'a BuiltContext,
    pub(crate) retrieval: &'a Findings<'a>,
}

/// The JSON under `retrieval`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Findings<'a> {
    query: Asked<'a>,
    settings: Vec<Setting<'a>>,
    strategies: Vec<Fared>,
    /// The best parts that were found, best first.
    items: Vec<Item<'a>>,
    /// The number of parts that were found and are not among the items: beyond the limit, below the
    /// least score, or of another type.
    left_out: usize,
    took_ms: Took,
    /// The documents that were requested as a whole: in the tables for people each has one row.
    #[serde(skip)]
    documents: &'a BTreeSet<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Asked<'a> {
    terms: Vec<Weighed<'a>>,
    names: Vec<&'a str>,
    places: Vec<FileMentionJson<'a>>,
    frames: Vec<Frame<'a>>,
    /// Words that may name folders, files without a known extension, or patterns; some may just be
    /// words.
    folders: &'a [String],
    file_names: &'a [String],
    patterns: &'a [String],
    phrases: &'a [String],
    options: &'a [String],
    terms_left_out: usize,
    frames_left_out: usize,
    bytes_left_out: usize,
}

#[derive(Serialize)]
struct Weighed<'a> {
    text: &'a str,
    weight: f64,
}

#[derive(Serialize)]
struct FileMentionJson<'a> {
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    /// The last line, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<u32>,
    /// The name defined there.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
}

/// A call of a stack trace, and the parts that it was taken for; empty if it was not found.
#[derive(Serialize)]
struct Frame<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function: Option<&'a str>,
    found: Vec<Where<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Where<'a> {
    path: &'a str,
    start_line: u32,
    end_line: u32,
}

#[derive(Serialize)]
struct Setting<'a> {
    key: &'a str,
    value: &'a str,
    origin: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Fared {
    name: &'static str,
    found: usize,
    took_ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Item<'a> {
    path: &'a str,
    start_line: u32,
    end_line: u32,
    kind: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    role: &'static str,
    score: f64,
    /// What all of it is worth in the context, from 0 to 1: where it was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    worth: Option<f64>,
    /// What it says that makes it worth more.
    #[serde(skip_serializing_if = "Option::is_none")]
    raised: Option<Raise>,
    /// What each strategy said for it; those that said nothing are left out.
    contributions: Vec<Share>,
    signals: Vec<Signal>,
    /// Whether it is in the context.
    shown: bool,
    /// The line of its text that answers the question best.
    #[serde(skip_serializing_if = "Option::is_none")]
    snippet: Option<Snippet>,
    /// Whether its text was read.
    #[serde(skip)]
    is_read: bool,
}

/// What raises a part, and from which worth to which.
#[derive(Serialize)]
struct Raise {
    by: &'static str,
    from: f64,
    to: f64,
}

#[derive(Serialize)]
struct Snippet {
    /// The line number in its file, from 1.
    line: u32,
    /// Whether the line is in the context.
    shown: bool,
    text: String,
    /// Byte ranges of `text`.
    matches: Vec<Range<usize>>,
}

#[derive(Serialize)]
struct Share {
    strategy: &'static str,
    amount: f64,
}

#[derive(Serialize)]
struct Signal {
    name: &'static str,
    /// `None` if it was not looked up.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<f64>,
    weight: f64,
}

#[derive(Serialize)]
struct Took {
    analyse: f64,
    retrieve: f64,
    resolve: f64,
    assemble: f64,
}

impl<'a> Findings<'a> {
    pub(crate) fn of(answer: &'a Answer, settings: &'a [AppliedSetting]) -> Self {
        let (retrieved, timings) = (&answer.material.retrieved, &answer.material.timings);
        Findings {
            query: Asked::of(&answer.material.query, &retrieved.traced),
            settings: settings.iter().map(Setting::of).collect(),
            strategies: retrieved.reports.iter().map(Fared::of).collect(),
            items: retrieved.found.iter().map(Item::of).collect(),
            left_out: retrieved.left_out,
            took_ms: Took {
                analyse: milliseconds(timings.analyse),
                retrieve: milliseconds(timings.retrieve),
                resolve: milliseconds(timings.resolve),
                assemble: milliseconds(timings.assemble),
            },
            documents: &retrieved.whole,
        }
    }

    /// Adds to each item the line that answers the question best, and the share of its keywords, as
    /// far as its text was read. O(bytes of what was found).
    pub(crate) fn with_snippets(mut self, answer: &Answer) -> Self {
        let shown = emit::shown(&answer.built);
        let material = &answer.material;
        let chunks = material.chunks.iter().chain(&material.unlikely);
        let chunks: BTreeMap<&str, &Chunk> = chunks.map(|it| (it.id.as_str(), it)).collect();
        let mut snippets = Snippets::new(&material.query);
        let mut matched = Matched::of(&material.query);
        let visible = Visible::of(&answer.built, &material.chunks);
        let raised: BTreeMap<&str, &Raised> =
            material.raised.iter().map(|it| (&*it.id, it)).collect();
        for item in &mut self.items {
            let id = format!("{}:{}-{}", item.path, item.start_line, item.end_line);
            item.shown = shown.contains(id.as_str());
            let chunk = chunks.get(id.as_str());
            item.is_read = chunk.is_some();
            item.worth = chunk.map(|it| it.relevance.get());
            item.raised = raised.get(id.as_str()).map(|it| Raise {
                by: it.by.as_str(),
                from: it.from.get(),
                to: it.to.get(),
            });
            item.snippet = chunk.and_then(|chunk| Snippet::of(chunk, &mut snippets, &visible));
            let signals = item.signals.iter_mut();
            for signal in signals.filter(|it| it.name == KEYWORD_MATCH) {
                signal.value = chunk.map(|chunk| matched.in_text(&chunk.content));
            }
        }
        self
    }
}

/// Finds which of a question's keywords a text contains.
struct Matched<'q> {
    keywords: BTreeSet<&'q str>,
    analyzer: Analyzer,
}

impl<'q> Matched<'q> {
    fn of(query: &'q Query) -> Self {
        Matched {
            keywords: query.keywords().collect(),
            analyzer: Analyzer::default(),
        }
    }

    /// The share of the keywords that `text` contains. O(bytes of `text`).
    fn in_text(&mut self, text: &str) -> f64 {
        let mut has: BTreeSet<&str> = BTreeSet::new();
        self.analyzer.words(text, &mut |term, _, _| {
            has.extend(self.keywords.get(term).copied());
        });
        keyword_match(self.keywords.iter().copied(), |it| has.contains(it))
    }
}

impl Snippet {
    fn of(chunk: &Chunk, snippets: &mut Snippets, visible: &Visible<'_>) -> Option<Self> {
        let mut found = snippets.of(&chunk.content)?;
        let first = chunk.span.map_or(1, LineSpan::start);
        let index = u32::try_from(found.line_index).unwrap_or(u32::MAX);
        let line = first.saturating_add(index);
        Some(Snippet {
            line,
            shown: visible.has_line(&chunk.id, line),
            text: neutralised(&found.text, &mut found.matches),
            matches: found.matches,
        })
    }
}

/// Neutralises `text` as contexts show it, and maps `places` in it, which are ascending and
/// disjoint, to the result.
fn neutralised(text: &str, places: &mut [Range<usize>]) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut at = 0;
    for place in places {
        shown.push_str(&clean(&text[at..place.start]));
        let start = shown.len();
        shown.push_str(&clean(&text[place.clone()]));
        at = place.end;
        *place = start..shown.len();
    }
    shown.push_str(&clean(&text[at..]));
    shown
}

impl<'a> Asked<'a> {
    fn of(query: &'a Query, traced: &'a [Vec<Arc<Part>>]) -> Self {
        let weighed = |it: &'a ctx::rank::Term| Weighed {
            text: &it.text,
            weight: it.weight,
        };
        let file = |it: &'a ctx::rank::FileMention| FileMentionJson {
            path: &it.path,
            line: it.line,
            end: it.end,
            name: it.name.as_ref().map(|it| it.text.as_str()),
        };
        Asked {
            terms: query.terms.iter().map(weighed).collect(),
            names: query
                .mentions
                .names
                .iter()
                .map(|it| it.text.as_str())
                .collect(),
            places: query.mentions.files.iter().map(file).collect(),
            frames: frames(query, traced).collect(),
            folders: &query.mentions.folders,
            file_names: &query.mentions.file_names,
            patterns: &query.mentions.patterns,
            phrases: &query.mentions.phrases,
            options: &query.mentions.options,
            terms_left_out: query.terms_left_out,
            frames_left_out: query.frames_left_out,
            bytes_left_out: query.bytes_left_out,
        }
    }
}

fn frames<'a>(query: &'a Query, traced: &'a [Vec<Arc<Part>>]) -> impl Iterator<Item = Frame<'a>> {
    let location = |it: &'a Arc<Part>| Where {
        path: &it.path,
        start_line: it.span.start(),
        end_line: it.span.end(),
    };
    let frames = query.mentions.frames.iter().enumerate();
    frames.map(move |(at, frame)| Frame {
        path: frame.path.as_deref(),
        line: frame.line,
        function: frame.function.as_deref(),
        found: traced.get(at).into_iter().flatten().map(location).collect(),
    })
}

impl<'a> Setting<'a> {
    fn of(told: &'a AppliedSetting) -> Self {
        Setting {
            key: told.key,
            value: &told.value,
            origin: &told.origin,
        }
    }
}

impl Fared {
    fn of(report: &Report) -> Self {
        Fared {
            name: report.strategy.as_str(),
            found: report.found,
            took_ms: milliseconds(report.took),
            failure: report.failure.as_ref().map(PortError::on_one_line),
        }
    }
}

impl<'a> Item<'a> {
    fn of(found: &'a Found) -> Self {
        let part = &found.part;
        let shares = Strategy::ALL.iter().map(|&it| (it, found.contribution(it)));
        let signals = found.signals.iter();
        Item {
            path: &part.path,
            start_line: part.span.start(),
            end_line: part.span.end(),
            kind: part.kind.as_str(),
            name: part.qualified_name.as_deref().or(part.name.as_deref()),
            role: found.role.as_str(),
            score: found.score,
            worth: None,
            raised: None,
            contributions: shares
                .filter(|(_, amount)| *amount > 0.0)
                .map(|(strategy, amount)| Share {
                    strategy: strategy.as_str(),
                    amount,
                })
                .collect(),
            signals: signals
                .map(|it| Signal {
                    name: it.name,
                    value: it.value,
                    weight: it.weight,
                })
                .collect(),
            shown: false,
            snippet: None,
            is_read: false,
        }
    }
}

fn milliseconds(took: Duration) -> f64 {
    took.as_secs_f64() * 1e3
}

/// The findings as text, in time linear in its length.
pub(crate) fn table(findings: &Findings<'_>) -> String {
    let mut out = String::new();
    out.push_str("question\n");
    aligned(&mut out, ["", ""], asked(&findings.query).into_iter());
    if !findings.query.frames.is_empty() {
        out.push_str("trace\n");
        let rows = findings.query.frames.iter().map(frame);
        aligned(&mut out, ["at", "function", "found"], rows);
    }
    out.push_str("settings\n");
    let rows = findings.settings.iter().map(setting);
    aligned(&mut out, ["", "", ""], rows);
    out.push_str("strategies\n");
    let rows = findings.strategies.iter().map(fared);
    aligned(&mut out, ["found", "name", "ms", "failed"], rows);
    if !findings.items.is_empty() {
        out.push_str("found\n");
        let titles = ["score", "worth", "where", "what", "role", "for", "signals"];
        let groups = together(&findings.items, findings.documents, |it| Some(it.path));
        aligned(&mut out, titles, groups.iter().map(|it| item(it)));
        out.push_str(WORTH);
        out.push_str("lines\n");
        let titles = ["shown", "where", "best line"];
        aligned(&mut out, titles, groups.iter().map(|it| line(it)));
    }
    let left_out = grouped(findings.left_out as u64);
    let _ = writeln!(
        out,
        "  {left_out} more matched: beyond --limit, below --min-score, or not of --types"
    );
    let took = &findings.took_ms;
    let _ = writeln!(
        out,
        "took {:.1} ms: question {:.1}, search {:.1}, reading {:.1}, choosing {:.1}",
        took.analyse + took.retrieve + took.resolve + took.assemble,
        took.analyse,
        took.retrieve,
        took.resolve,
        took.assemble,
    );
    out
}

fn asked(query: &Asked<'_>) -> Vec<[String; 2]> {
    let mut terms: Vec<String> = query
        .terms
        .iter()
        .take(TERMS)
        .map(|it| format!("{} {:.2}", clean(it.text), it.weight))
        .collect();
    let more = query.terms.len().saturating_sub(TERMS) + query.terms_left_out;
    if more > 0 {
        terms.push(format!("and {more} more"));
    }
    let file = |it: &FileMentionJson<'_>| {
        let mut file = at(it.path, it.line);
        file.extend(it.end.map(|end| format!("-{end}")));
        file.extend(it.name.map(|name| format!("#{}", clean(name))));
        file
    };
    let rows = [
        ("terms", terms),
        (
            "names",
            some(query.names.iter(), |it| clean(it).into_owned()),
        ),
        ("places", some(query.places.iter(), file)),
        (
            "folders",
            some(query.folders.iter(), |it| clean(it).into_owned()),
        ),
        (
            "file names",
            some(query.file_names.iter(), |it| clean(it).into_owned()),
        ),
        (
            "patterns",
            some(query.patterns.iter(), |it| clean(it).into_owned()),
        ),
        (
            "phrases",
            some(query.phrases.iter(), |it| clean(it).into_owned()),
        ),
        (
            "options",
            some(query.options.iter(), |it| clean(it).into_owned()),
        ),
    ];
    let told = rows.into_iter().filter(|(_, items)| !items.is_empty());
    told.map(|(what, items)| [what.to_owned(), items.join(", ")])
        .collect()
}

/// The row of a call of a stack trace.
fn frame(frame: &Frame<'_>) -> [String; 3] {
    let at_lines = |it: &Where<'_>| {
        let lines = (it.start_line, it.end_line);
        location(&clean(it.path), [lines].into_iter())
    };
    let found = match &frame.found[..] {
        [] => "(nothing)".to_owned(),
        found => some(found.iter(), at_lines).join(", "),
    };
    [
        frame.path.map_or_else(String::new, |it| at(it, frame.line)),
        clean(frame.function.unwrap_or_default()).into_owned(),
        found,
    ]
}

/// A file, with a line if there is one.
fn at(path: &str, line: Option<u32>) -> String {
    match line {
        Some(line) => format!("{}:{line}", clean(path)),
        None => clean(path).into_owned(),
    }
}

fn some<T>(items: impl ExactSizeIterator<Item = T>, tell: impl Fn(T) -> String) -> Vec<String> {
    let more = items.len().saturating_sub(TERMS);
    let mut told: Vec<String> = items.take(TERMS).map(tell).collect();
    if more > 0 {
        told.push(format!("and {more} more"));
    }
    told
}

fn setting(setting: &Setting<'_>) -> [String; 3] {
    [
        setting.key.to_owned(),
        clean(setting.value).into_owned(),
        clean(setting.origin).into_owned(),
    ]
}

fn fared(strategy: &Fared) -> [String; 4] {
    [
        grouped(strategy.found as u64),
        strategy.name.to_owned(),
        format!("{:.1}", strategy.took_ms),
        clean(strategy.failure.as_deref().unwrap_or_default()).into_owned(),
    ]
}

/// The row of a part, or of all parts of a document that are asked for together: what was said for
/// the best of them.
fn item(items: &[&Item<'_>]) -> [String; 7] {
    let item = items[0];
    let amount = |strategy: &str| {
        let shares = items.iter().flat_map(|it| &it.contributions);
        let shares = shares.filter(|it| it.strategy == strategy);
        shares.map(|it| it.amount).fold(0.0, f64::max)
    };
    let mut shares: Vec<_> = Strategy::ALL
        .iter()
        .map(|it| (it.as_str(), amount(it.as_str())))
        .filter(|(_, amount)| *amount > 0.0)
        .map(|(strategy, amount)| format!("{strategy} {amount:.3}"))
        .collect();
    let raised = item.raised.as_ref();
    shares.extend(raised.map(|it| format!("{} {:.4}, not {:.4}", it.by, it.to, it.from)));
    let worth = items.iter().filter_map(|it| it.worth).reduce(f64::max);
    let signals: Vec<_> = (item.signals.iter())
        .filter_map(|it| Some((it, it.value.filter(|value| *value > 0.0)?)))
        .map(|(it, value)| format!("{} {value:.2}×{:.2}", it.name, it.weight))
        .collect();
    let what = match (items.len(), item.name) {
        (1, Some(name)) => format!("{} {}", item.kind, clean(name)),
        (1, None) => item.kind.to_owned(),
        (parts, _) => format!("all of it, {parts} parts"),
    };
    let lines = items.iter().map(|it| (it.start_line, it.end_line));
    [
        format!("{:.4}", item.score),
        worth.map_or_else(|| "-".to_owned(), |it| format!("{it:.4}")),
        location(&clean(item.path), lines),
        what,
        item.role.to_owned(),
        shares.join(", "),
        signals.join(", "),
    ]
}

/// What of a part answers best, and whether that is in the context, something else of the part, or
/// nothing of it; a document that is asked for as a whole is an answer from its first line on.
fn line(items: &[&Item<'_>]) -> [String; 3] {
    let item = items[0];
    let shown = items.iter().filter(|it| it.shown).count();
    let shown = match shown {
        0 => "no".to_owned(),
        _ if items.len() > 1 && shown < items.len() => format!("{shown} of {}", items.len()),
        _ if items.len() == 1 && item.snippet.as_ref().is_some_and(|it| !it.shown) => {
            "part".to_owned()
        }
        _ => "yes".to_owned(),
    };
    let (number, what) = match &item.snippet {
        _ if items.len() > 1 => {
            let first = items.iter().map(|it| it.start_line).min();
            let first = first.unwrap_or(item.start_line);
            (first, "(requested as a whole)".to_owned())
        }
        Some(snippet) => (snippet.line, clean(&snippet.text).into_owned()),
        None if item.is_read => (item.start_line, "(has no word of the question)".to_owned()),
        None => (item.start_line, "(not read)".to_owned()),
    };
    [shown, format!("{}:{number}", clean(item.path)), what]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_a_document_are_those_of_all_its_parts_in_any_order() {
        let part = |(start_line, end_line)| Item {
            path: "README.md",
            start_line,
            end_line,
            kind: "section",
            name: None,
            role: "document",
            score: 0.5,
            worth: Some(0.1),
            raised: None,
            contributions: Vec::new(),
            signals: Vec::new(),
            shown: true,
            snippet: None,
            is_read: true,
        };
        for lines in [[(1, 40), (41, 200)], [(41, 200), (1, 40)]] {
            let parts = lines.map(part);
            let parts: Vec<_> = parts.iter().collect();
            assert_eq!(item(&parts)[2], "README.md:1-200", "{lines:?}");
            assert_eq!(line(&parts)[1], "README.md:1", "{lines:?}");
        }
    }
}
