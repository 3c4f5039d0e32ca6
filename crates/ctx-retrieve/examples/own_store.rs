//! A custom store: notes in a map, a part per paragraph, found by their words and by the names of
//! their files.
//!
//! `cargo run -p ctx-retrieve --example own_store`

#![allow(clippy::print_stdout, reason = "it shows what is found")]

use std::collections::HashMap;
use std::sync::Arc;

use ctx_rank::Analyzer;
use ctx_retrieve::{
    FileSearch, Hit, LineSpan, Options, Part, PartQuery, PortResult, Query, Retriever, TextQuery,
    async_trait,
};

/// The number of occurrences of each term in a paragraph.
type Terms = HashMap<String, f64>;

#[derive(Default)]
struct Notes {
    files: HashMap<String, Vec<(Arc<Part>, Terms)>>,
}

impl Notes {
    fn add(&mut self, path: &str, text: &str) {
        let mut analyzer = Analyzer::default();
        let parts = self.files.entry(path.to_owned()).or_default();
        let mut line_number = 1;
        for paragraph in text.split("\n\n") {
            let lines = u32::try_from(paragraph.lines().count().max(1)).unwrap_or(u32::MAX);
            let span = LineSpan::new(line_number, line_number + lines - 1);
            line_number += lines + 1;
            let mut terms = Terms::new();
            for term in analyzer.terms(paragraph) {
                *terms.entry(term).or_default() += 1.0;
            }
            parts.extend(span.map(|span| (Arc::new(Part::new(path, span)), terms)));
        }
    }

    /// The value of a term: the fewer parts have it, the higher.
    fn rarity(&self, term: &str) -> f64 {
        let (mut all, mut with) = (0.0, 0.0);
        for (_, terms) in self.files.values().flatten() {
            all += 1.0;
            with += if terms.contains_key(term) { 1.0 } else { 0.0 };
        }
        f64::ln(1.0 + all / (1.0 + with))
    }
}

#[async_trait]
impl FileSearch for Notes {
    async fn passages(&self, wanted: &TextQuery) -> PortResult<Vec<Hit>> {
        let rarities: Vec<f64> = wanted.terms.iter().map(|(it, _)| self.rarity(it)).collect();
        let mut hits = Vec::new();
        for (part, terms) in self.files.values().flatten() {
            let score: f64 = wanted
                .terms
                .iter()
                .zip(&rarities)
                .filter_map(|((term, weight), rarity)| {
                    let count = terms.get(term)?;
                    Some(f64::from(*weight) * rarity * count / (count + 1.0))
                })
                .sum();
            if score > 0.0 {
                hits.push(Hit::new(Arc::clone(part), score));
            }
        }
        // The best first, ties by key: the order of a map is arbitrary.
        hits.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.key().cmp(&b.key())));
        hits.truncate(wanted.limit);
        Ok(hits)
    }

    async fn ending_with(&self, ends: &[String], limit: usize) -> PortResult<Vec<Vec<String>>> {
        let with = |end: &String| {
            let is_it = |path: &&String| *path == end || path.ends_with(&format!("/{end}"));
            let mut paths: Vec<String> = self.files.keys().filter(is_it).cloned().collect();
            paths.sort();
            paths.truncate(limit);
            paths
        };
        Ok(ends.iter().map(with).collect())
    }

    async fn parts_of(&self, wanted: &[PartQuery], limit: usize) -> PortResult<Vec<Vec<Hit>>> {
        let of = |wanted: &PartQuery| {
            let parts = self.files.get(&wanted.path).into_iter().flatten();
            let parts = parts.map(|(part, _)| part);
            let parts = parts.filter(|part| wanted.is_met_by(part));
            let hits = parts.map(|part| Hit::new(Arc::clone(part), 1.0));
            hits.take(limit).collect()
        };
        Ok(wanted.iter().map(of).collect())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut notes = Notes::default();
    notes.add(
        "sea/tides.md",
        "# Tides\n\nThe tide follows the moon\nwith a lag of some hours.\n\nSpring tides come at new moon.",
    );
    notes.add("sea/waves.md", "# Waves\n\nWaves follow the wind.");

    let retriever = Retriever::new(Arc::new(notes));
    for question in [
        "what does the tide follow?",
        "what does tides.md say of new moon?",
    ] {
        let query = Arc::new(Query::analyse(question));
        let options = Options::default().with_limit(Some(3));
        let answer = retriever.retrieve(&query, &options).await;
        println!("{question}");
        for found in &answer.found {
            println!(
                "  {:.3} {}:{}",
                found.score, found.part.path, found.part.span
            );
        }
        for report in answer.reports {
            if let Some(why) = report.failure {
                println!(
                    "  {} failed: {}",
                    report.strategy.as_str(),
                    why.on_one_line()
                );
            }
        }
    }
}
