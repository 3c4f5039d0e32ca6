#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::cast_precision_loss, reason = "tests count few")]

use std::collections::{BTreeMap, BTreeSet};

use ctx_testkit::few;
use proptest::prelude::*;
use tantivy::collector::TopDocs;
use tantivy::query::{
    Bm25StatisticsProvider, BooleanQuery, BoostQuery, ConstScoreQuery, Query, TermQuery,
    TermSetQuery,
};
use tantivy::schema::{Field, IndexRecordOption, STRING, Schema, TEXT};
use tantivy::{Index, TantivyDocument};

use super::*;
use crate::statistics::Statistics;

/// More than there can be documents.
const MOST: usize = 2_000;
const WORDS: usize = 6;

/// The texts of the two fields, as numbers of words.
type Document = [Vec<usize>; 2];

/// Terms are given as the number of a field and that of a word.
#[derive(Clone, Debug)]
enum Wanted {
    Bm25(usize, usize, f32, bool),
    Any(Vec<(usize, usize)>, f32),
}

fn document() -> impl Strategy<Value = Document> {
    let text = || prop::collection::vec(0..WORDS, 0..12);
    [text(), text()]
}

fn wanted() -> impl Strategy<Value = Wanted> {
    let term = || (0..2_usize, 0..WORDS + 1);
    let bm25 = (term(), 0.1..3.0_f32, any::<bool>());
    prop_oneof![
        bm25.prop_map(|((field, word), boost, counts)| Wanted::Bm25(field, word, boost, counts)),
        (prop::collection::vec(term(), 1..4), 0.1..3.0_f32)
            .prop_map(|(terms, worth)| Wanted::Any(terms, worth)),
    ]
}

struct Fixture {
    searcher: Searcher,
    fields: [Field; 2],
    id: Field,
}

impl Fixture {
    /// A segment for each of `segments` with its documents repeated `times` times, without the
    /// documents whose numbers are in `gone`.
    fn new(segments: &[Vec<Document>], times: usize, gone: &[usize]) -> Self {
        let mut schema = Schema::builder();
        let fields = ["a", "b"].map(|name| schema.add_text_field(name, TEXT));
        let id = schema.add_text_field("id", STRING);
        let index = Index::create_in_ram(schema.build());
        let mut writer = index.writer_with_num_threads(1, 15_000_000).unwrap();
        writer.set_merge_policy(Box::new(tantivy::merge_policy::NoMergePolicy));
        let mut number = 0;
        for documents in segments {
            let all = documents.len() * times;
            for texts in documents.iter().cycle().take(all) {
                let mut document = TantivyDocument::new();
                for (field, words) in fields.iter().zip(texts) {
                    let words: Vec<String> = words.iter().map(|it| format!("w{it}")).collect();
                    document.add_text(*field, words.join(" "));
                }
                document.add_text(id, number.to_string());
                number += 1;
                writer.add_document(document).unwrap();
            }
            writer.commit().unwrap();
        }
        for number in gone {
            writer.delete_term(Term::from_field_text(id, &number.to_string()));
        }
        writer.commit().unwrap();
        let searcher = index.reader().unwrap().searcher();
        Fixture {
            searcher,
            fields,
            id,
        }
    }

    fn term(&self, (field, word): (usize, usize)) -> Term {
        Term::from_field_text(self.fields[field], &format!("w{word}"))
    }

    fn clause(&self, live: &Live<'_>, wanted: &Wanted) -> Clause {
        let lists = |term| live.lists(&self.term(term)).unwrap();
        match wanted {
            Wanted::Bm25(field, word, boost, counts) => Clause::Bm25 {
                lists: lists((*field, *word)),
                boost: *boost,
                counting: counting(*counts),
            },
            Wanted::Any(terms, worth) => Clause::Any {
                lists: terms.iter().map(|it| lists(*it)).collect(),
                worth: *worth,
            },
        }
    }

    /// The same as a query of the text index.
    fn query(&self, wanted: &Wanted) -> Box<dyn Query> {
        match wanted {
            Wanted::Bm25(field, word, boost, counts) => {
                let term = TermQuery::new(self.term((*field, *word)), counting(*counts));
                Box::new(BoostQuery::new(Box::new(term), *boost))
            }
            Wanted::Any(terms, worth) => {
                let basic = |it: &(usize, usize)| -> Box<dyn Query> {
                    Box::new(TermQuery::new(self.term(*it), IndexRecordOption::Basic))
                };
                let any = BooleanQuery::union(terms.iter().map(basic).collect());
                Box::new(ConstScoreQuery::new(Box::new(any), *worth))
            }
        }
    }
}

/// Counts as the text index does: deleted documents that hold a term are included.
impl Collection for Searcher {
    fn documents(&self) -> u64 {
        self.total_num_docs().unwrap()
    }

    fn tokens(&self, field: Field) -> tantivy::Result<u64> {
        self.total_num_tokens(field)
    }

    fn holding(&self, lists: &Lists) -> u64 {
        let lists = lists.of_segments.iter().flatten();
        lists.map(|it| u64::from(it.doc_freq)).sum()
    }
}

fn counting(counts: bool) -> IndexRecordOption {
    if counts {
        IndexRecordOption::WithFreqs
    } else {
        IndexRecordOption::Basic
    }
}

fn by_address(found: Vec<Scored>) -> BTreeMap<DocAddress, Score> {
    found.into_iter().map(|(score, at)| (at, score)).collect()
}

#[test]
fn sums_are_those_of_the_text_index() {
    let strategy = (
        prop::collection::vec(prop::collection::vec(document(), 1..20), 1..4),
        prop::collection::vec(0..60_usize, 0..10),
        prop_oneof![Just(1), 2..30_usize],
        prop::collection::vec(wanted(), 1..8),
        prop::option::of(prop::collection::vec(0..60_usize, 1..10)),
    );
    few::run(
        few::cases(64),
        &strategy,
        |(segments, gone, times, wanted, within)| {
            let fixture = Fixture::new(&segments, times, &gone);
            let searcher = &fixture.searcher;
            let statistics = Statistics::default();
            let live = statistics.of(searcher);
            let clauses: Vec<Clause> = (wanted.iter())
                .map(|it| fixture.clause(&live, it))
                .collect();
            let paths = within.map(|ids| {
                let terms = ids
                    .iter()
                    .map(|it| Term::from_field_text(fixture.id, &it.to_string()));
                terms.collect::<Vec<Term>>()
            });
            let within: Option<Vec<Lists>> = (paths.as_ref()).map(|paths| {
                paths
                    .iter()
                    .map(|it| live.lists_once(it).unwrap())
                    .collect()
            });
            let scores = Scores::of(&live, &clauses, within.as_deref(), searcher).unwrap();
            let found = scores.best(Best::new(MOST));
            prop_assert!(found.is_sorted_by(|a, b| a.0 >= b.0));

            let any = BooleanQuery::union(wanted.iter().map(|it| fixture.query(it)).collect());
            let mut query: Box<dyn Query> = Box::new(any);
            if let Some(terms) = paths {
                let within = ConstScoreQuery::new(Box::new(TermSetQuery::new(terms)), 0.0);
                query = Box::new(BooleanQuery::intersection(vec![query, Box::new(within)]));
            }
            let collector = TopDocs::with_limit(MOST).order_by_score();
            let expected = by_address(searcher.search(&*query, &collector).unwrap());
            let best: Vec<Score> = found.iter().map(|it| it.0).collect();
            let found = by_address(found);
            prop_assert_eq!(
                found.keys().collect::<Vec<_>>(),
                expected.keys().collect::<Vec<_>>()
            );
            for (at, score) in &found {
                // The same numbers were added in another order.
                prop_assert!(
                    (score - expected[at]).abs() <= 8.0 * f32::EPSILON * score,
                    "{at:?}"
                );
            }

            // A smaller limit returns the best of them.
            for count in [1, 3, 10] {
                let few = scores.best(Best::new(count));
                let few: Vec<Score> = few.into_iter().map(|it| it.0).collect();
                prop_assert_eq!(&few[..], &best[..count.min(best.len())]);
            }
            Ok(())
        },
    );
}

#[test]
fn alike_is_what_both_have_of_what_either_has() {
    let strategy = (
        prop::collection::vec(prop::collection::vec(document(), 1..20), 1..4),
        prop::collection::vec(0..60_usize, 0..10),
        prop_oneof![Just(1), 2..30_usize],
        prop::collection::vec(prop::collection::btree_set(0..WORDS + 1, 1..6), 0..4),
    );
    few::run(
        few::cases(64),
        &strategy,
        |(segments, gone, times, texts)| {
            let mut segments = segments;
            for texts in segments.iter_mut().flatten() {
                for words in texts {
                    words.sort_unstable();
                    words.dedup();
                }
            }
            let fixture = Fixture::new(&segments, times, &gone);
            let tokens = texts
                .iter()
                .map(|it| it.iter().map(|word| format!("w{word}")).collect());
            let tokens: Vec<Vec<String>> = tokens.collect();
            let scores = Scores::alike(&fixture.searcher, fixture.fields[0], &tokens).unwrap();
            let mut found: Vec<Score> = by_address(scores.best(Best::new(MOST)))
                .into_values()
                .collect();

            let share = |of_document: &BTreeSet<usize>, text: &BTreeSet<usize>| {
                let both = of_document.intersection(text).count();
                both as Score / of_document.union(text).count() as Score
            };
            let mut expected = Vec::new();
            let all = segments.iter();
            let all = all.flat_map(|it| it.iter().cycle().take(it.len() * times));
            for (number, [words, _]) in all.enumerate() {
                let words = words.iter().copied().collect();
                let best = texts
                    .iter()
                    .map(|it| share(&words, it))
                    .fold(0.0, Score::max);
                if best > 0.0 && !gone.contains(&number) {
                    expected.push(best);
                }
            }
            found.sort_by(Score::total_cmp);
            expected.sort_by(Score::total_cmp);
            prop_assert_eq!(found, expected);
            Ok(())
        },
    );
}

/// With lengths that are stored rounded, such as 41 tokens.
#[test]
fn no_text_is_more_alike_than_the_same() {
    for (both, one, other) in [(41, 41, 40), (3, 3, 3), (255, 255, 248)] {
        let share = share(both, one, other);
        assert!((share - 1.0).abs() < Score::EPSILON, "{share}");
    }
}
