//! Options of retrieval: strategies, weights and limits.

use std::collections::BTreeSet;
use std::time::Duration;

use ctx_model::{PartKind, Tokens, UnixSeconds};
use ctx_rank::{FileMention, Intent, Profile, Query, Role};

use crate::ports::Field;
use crate::strategies::{Depth, may_name_files};

/// A way to search. Strategies run in parallel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Strategy {
    /// Parts of files by their text.
    Text,
    /// Parts of files by how many of the question's words they have, each counted once.
    Coverage,
    /// Files by their text and path, then their parts.
    Files,
    /// Definitions of the names in the question.
    Names,
    /// Files, lines and stack frames that the question mentions.
    Places,
    /// Names similar to those in the question.
    Similar,
    /// Locations touched by earlier changes whose messages match.
    Changes,
    /// Locations found by a custom search ([`Semantic`](crate::Semantic)), for example by
    /// embeddings.
    Semantic,
    /// Code that uses the best results of the others, or is used by them; or users of the names in
    /// a question that asks for users.
    Relations,
}

ctx_model::words! {
    Strategy, "strategy": Text = "text", Coverage = "coverage", Files = "files", Names = "names", Places = "places",
        Similar = "similar", Changes = "changes", Semantic = "semantic", Relations = "relations";
}

impl Strategy {
    pub(crate) const COUNT: usize = Strategy::ALL.len();

    /// Its index in [`Strategy::ALL`].
    pub(crate) fn index(self) -> usize {
        self as usize
    }
}

/// Weights of ranking. The defaults were chosen by cross-validation over repositories;
/// `docs/record/eval.md` records each step. Weights that are infinite or not above 0 count as 0, and
/// those above 10^30 as that.
///
/// ```
/// use ctx_retrieve::{Options, Role, Strategy, Weights};
///
/// let weights = Weights::default()
///     .with_title(0.5)
///     .with_strategy(Strategy::Changes, 0.0)
///     .with_role(Role::Test, 1.0);
/// let options = Options::default().with_weights(weights);
/// assert_eq!(options.weights.head, Weights::default().head);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Weights {
    /// The weight of each strategy, by its index.
    strategies: [f64; Strategy::COUNT],
    /// The weight of the question's first line, relative to the whole question.
    pub title: f64,
    /// The share of the score of a file's best part that is added to all of its parts.
    pub neighbour: f64,
    /// The share of the score of a file's best part that its head, with the imports, gets at least.
    pub head: f64,
    /// The weights of the fields of parts.
    pub fields: Vec<(Field, f32)>,
    /// The weights of the fields of files.
    pub file_fields: Vec<(Field, f32)>,
    /// The weights of the roles of files, in the order of [`Role::ALL`].
    roles: [f64; ROLES],
    /// The least role weight of the best-matching document of a [typed](Query::typed) question,
    /// which may be answered by documents as well as by sources. The document at rank r (from 0)
    /// gets 1 / (1 + r / 8) of it. Not applied to reports, which are about sources.
    pub documents: f64,
    /// The least score of the best-matching document of a [typed](Query::typed) question, as a
    /// share of the best other part; the document at rank r (from 0) gets 1 / (1 + r / 2) of it, if
    /// it matches at least half as well: readers get one of each kind first. Not applied if the
    /// question is one word, or asks for users of a name or where something is.
    pub first_document: f64,
    /// Whether `documents` and `first_document` apply to changelogs: only if the question asks
    /// about changes.
    pub(crate) changelogs: bool,
}

impl Weights {
    /// The weight of `strategy`. That of names is higher in questions with few names:
    /// [`Weights::of_names`].
    pub fn strategy(&self, strategy: Strategy) -> f64 {
        self.strategies[strategy.index()]
    }

    /// Sets the weight of `strategy`.
    #[must_use]
    pub fn with_strategy(mut self, strategy: Strategy, weight: f64) -> Self {
        *self.strategy_mut(strategy) = heard(weight);
        self
    }

    pub(crate) fn strategy_mut(&mut self, strategy: Strategy) -> &mut f64 {
        &mut self.strategies[strategy.index()]
    }

    /// The weight of files with `role`.
    pub fn role(&self, role: Role) -> f64 {
        self.roles[index_of(role)]
    }

    /// Sets the weight of files with `role`.
    #[must_use]
    pub fn with_role(mut self, role: Role, weight: f64) -> Self {
        *self.role_mut(role) = heard(weight);
        self
    }

    pub(crate) fn role_mut(&mut self, role: Role) -> &mut f64 {
        &mut self.roles[index_of(role)]
    }

    /// The weight of names in a question with `count` names: a question with one name is about its
    /// definition, while a report with twenty is about none of them in particular. The weight in
    /// [`Weights::strategy`], multiplied by 20 divided by the square of `count` if that is more
    /// than 1.
    #[must_use]
    pub fn of_names(&self, count: usize) -> f64 {
        let count = f64::from(u32::try_from(count.max(1)).unwrap_or(u32::MAX));
        let few = (ONE_NAME / (count * count)).max(1.0);
        self.strategy(Strategy::Names) * few
    }

    /// Adjusts the weights of mentions and of similar file names to `query`.
    fn weigh_files(&mut self, query: &Query) {
        if query.typed.is_none() {
            *self.strategy_mut(Strategy::Places) *= of_report(query);
            return;
        }
        let names_one = if query.mentions.files.is_empty() {
            // In a script without spaces, files may have the names of whole sentences.
            query.words().nth(1).is_none() && may_name_files(query)
        } else {
            let is_alone = query.is_one_word();
            *self.strategy_mut(Strategy::Similar) *= if is_alone { ALONE } else { TYPED };
            is_alone
        };
        if names_part(query) {
            *self.strategy_mut(Strategy::Places) *= TYPED_LINE;
        } else if names_one || query.asks_for(Intent::Patterns) {
            *self.strategy_mut(Strategy::Places) *= ALONE_MENTION;
        }
    }

    /// Adjusts the weights of documents to `query`: in reports, documents have the weight of their
    /// role; and no document leads if the question is one word or the message of a program, asks
    /// first for something else or for a place in the code, or names files.
    fn weigh_documents(&mut self, query: &Query) {
        if query.typed.is_none() {
            self.documents = 0.0;
        }
        self.changelogs = query.asks_for(Intent::Changes);
        let is_alone = query.is_one_word();
        let mut others = Role::ALL.iter().filter(|it| **it != Role::Documentation);
        let asks_for_others = others.any(|it| it.is_asked_for_first(query));
        let asks_for_place =
            query.asks_for(Intent::Place) && !Role::Documentation.is_asked_for(query);
        let asks_for_others = asks_for_others
            || asks_for_place
            || query.asks_for(Intent::Users)
            || query.asks_for(Intent::Definition);
        let names_files = query.asks_for(Intent::Patterns) || names_part(query);
        let is_message = query.is_message() || query.quotes_message();
        if query.typed.is_none() || is_message || is_alone || asks_for_others || names_files {
            self.first_document = 0.0;
        }
    }

    /// Lowers the weights of sources and documents for a question that asks for tests alone.
    fn weigh_tests(&mut self) {
        *self.role_mut(Role::Source) *= BESIDE_TESTS;
        self.documents = 0.0;
    }

    /// Raises the weight of relations to that of text for a question that asks for users, and drops
    /// what neighbours of a file's best part get.
    fn weigh_users(&mut self) {
        let text = self.strategy(Strategy::Text);
        let relations = self.strategy_mut(Strategy::Relations);
        *relations = relations.max(text);
        (self.neighbour, self.head) = (0.0, 0.0);
    }

    /// Replaces each weight by what it counts.
    fn settle(&mut self) {
        let public = [
            &mut self.title,
            &mut self.neighbour,
            &mut self.head,
            &mut self.documents,
            &mut self.first_document,
        ];
        let private = self.strategies.iter_mut().chain(&mut self.roles);
        for weight in private.chain(public) {
            *weight = heard(*weight);
        }
        for (_, weight) in self.fields.iter_mut().chain(&mut self.file_fields) {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "it was an f32, or is 10^30"
            )]
            let settled = heard(f64::from(*weight)) as f32;
            *weight = settled;
        }
    }
}

impl Default for Weights {
    fn default() -> Self {
        Weights {
            strategies: [1.0, 0.4, 0.65, 0.05, 0.4, 0.1, 0.4, 0.2, 0.1],
            title: 0.3,
            neighbour: 0.2,
            head: 0.8,
            fields: vec![
                (Field::Name, 2.0),
                (Field::Signature, 1.2),
                (Field::Doc, 0.5),
                (Field::Body, 1.0),
            ],
            file_fields: vec![(Field::Path, 1.0), (Field::Text, 1.0)],
            roles: [1.0, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2],
            documents: 0.99,
            first_document: 1.01,
            changelogs: false,
        }
    }
}

/// The highest weight: products of a few of them are still finite.
const HEAVIEST: f64 = 1e30;

/// What `weight` counts ([`Weights`]).
fn heard(weight: f64) -> f64 {
    if weight.is_finite() && weight > 0.0 {
        weight.min(HEAVIEST)
    } else {
        0.0
    }
}

/// The number of roles.
const ROLES: usize = Role::ALL.len();

fn index_of(role: Role) -> usize {
    let index = Role::ALL.iter().position(|it| *it == role);
    index.expect("all roles are in the list")
}

/// Whether a typed question is a single name that is a stop word or has less than three bytes.
fn is_common_name(query: &Query) -> bool {
    query.is_one_word() && matches!(&query.mentions.names[..], [name] if name.is_common())
}

fn names_part(query: &Query) -> bool {
    query.mentions.files.iter().any(FileMention::is_part)
}

/// The factor for the weight of mentions in a report ([`TERSE`], [`VAGUE`]).
fn of_report(query: &Query) -> f64 {
    if query.mentions.frames.is_empty() && !names_part(query) {
        return if query.mentions.files.is_empty() {
            VAGUE
        } else {
            1.0
        };
    }
    let said: f64 = query.terms.iter().map(|it| it.weight).sum();
    (TERSE / said).clamp(1.0, TYPED_LINE)
}

/// The factor for the weight of names in a question with one name.
const ONE_NAME: f64 = 20.0;

/// A further factor for the weight of names if a name is the whole question and ends in a stop
/// word, as `Session.get` does, or if the question is a definition: otherwise texts about its
/// context would win.
const MEANT_NAME: f64 = 3.0;
/// The factor for the weight of sources if a question asks for their tests alone.
const BESIDE_TESTS: f64 = 0.25;

/// The factor for the weight of similar names in a typed question that has the name of a file: as
/// much as text has. The extension is a word that any text may have, and the only one of a mistyped
/// name that matches.
const TYPED: f64 = 10.0;
/// The factor for the weight of similar names in a typed question that is only the name of a file:
/// more than any text gets for the words in it.
const ALONE: f64 = 20.0;

/// The factor for the weight of mentions in a typed question that is only the name of a file or
/// patterns, so that exact and similar names reach the same weight.
const ALONE_MENTION: f64 = 5.0;
/// The factor for the weight of mentions in a typed question that names a line or a definition:
/// words beside it, such as the message of a compiler, must not put other parts of the file first.
const TYPED_LINE: f64 = 8.0;
/// A report that names a line or a call of a trace multiplies the weight of mentions by this
/// divided by the total weight of its terms (a word of the text weighs a third, one of the title
/// two), at least by 1 and at most by [`TYPED_LINE`]: the less it says, the less other evidence
/// there is.
const TERSE: f64 = 16.0;
/// The factor for the weight of mentions in a report without any: it may name a folder in
/// passing.
const VAGUE: f64 = 0.5;

/// The least probability of a sentence that is worth its tokens, unless set otherwise;
/// `docs/record/passages.md` has the cost and gain.
const MIN_CHANCE: f64 = 0.002;

/// The number of parts found if neither a limit nor a budget is set.
pub const DEFAULT_LIMIT: usize = 100;
/// The most parts requested from one search, however many are wanted.
const DEEPEST: usize = 1_000;
/// One more part is found per this many tokens of a budget.
const TOKENS_OF_A_PART: u32 = 80;

/// The number of parts that may fit a budget.
fn fitting(max_tokens: Tokens) -> usize {
    usize::try_from(max_tokens.get() / TOKENS_OF_A_PART).unwrap_or(usize::MAX)
}

/// Options of one question.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Options {
    /// The strategies that run. One without a weight does not, unless none of them has any: then
    /// all run, with equal weights.
    pub strategies: Vec<Strategy>,
    /// The most parts to return. With a lower limit, searches go less deep, so the result need not
    /// be a prefix of that with a higher one. `None`: as many as the budget may hold
    /// ([`Options::for_budget`]), or 100 without a budget.
    pub limit: Option<usize>,
    /// The least score of a part, as a share of the best score; NaN counts as 0.
    pub min_score: f64,
    /// The least probability of a sentence of prose to be part of the answer; less likely ones are
    /// left out, and so are passages without a likelier one. 0 leaves none out, and fills the
    /// budget.
    pub min_chance: f64,
    /// The kinds of parts to return; all kinds if empty. Parts are found, never whole files. If the
    /// best parts that a search by text finds are mostly of other kinds, it goes deeper, up to
    /// 10,000 parts.
    pub kinds: Vec<PartKind>,
    /// The time limit of each strategy.
    pub deadline: Duration,
    /// The weights of ranking.
    pub weights: Weights,
    /// The weights of signals. That of keywords has no effect here, as the texts of parts are not
    /// read.
    pub profile: Profile,
    /// The present time; if `None`, everything counts as undated.
    pub now: Option<UnixSeconds>,
}

impl Options {
    /// Adapts the options to a context of `max_tokens`: if no limit is set, one part per 80 tokens,
    /// but at least `least_parts`. Most parts have 80 tokens or more, so that there is enough to
    /// fill the budget; `docs/record/eval.md` has the measurements.
    #[must_use]
    pub fn for_budget(mut self, max_tokens: Tokens, least_parts: usize) -> Self {
        self.limit
            .get_or_insert(fitting(max_tokens).max(least_parts));
        self
    }

    /// The largest budget for which [`Options::for_budget`] sets the same limit as for
    /// `max_tokens`: for a larger one, more parts are searched, and a context is chosen from more.
    #[must_use]
    pub fn largest_budget(&self, max_tokens: Tokens, least_parts: usize) -> Tokens {
        if self.limit.is_some() {
            return Tokens::MAX;
        }
        let parts = u32::try_from(fitting(max_tokens).max(least_parts)).unwrap_or(u32::MAX);
        let first = parts.saturating_mul(TOKENS_OF_A_PART);
        Tokens::new(first.saturating_add(TOKENS_OF_A_PART - 1))
    }

    /// The most parts to return.
    pub(crate) fn most(&self) -> usize {
        self.limit.unwrap_or(DEFAULT_LIMIT)
    }

    /// The number of parts requested from each search: more than are usually wanted, since parts
    /// that several searches find should win over the first ones of a single search
    /// (`docs/record/eval.md` shows the effect of fewer), and as many as are wanted, up to
    /// [`DEEPEST`].
    pub(crate) fn depth(&self) -> Depth {
        Depth {
            wide: self
                .most()
                .saturating_mul(6)
                .clamp(300, self.most().clamp(400, DEEPEST)),
            kinds: self.kinds.clone(),
            enough: self.most(),
        }
    }

    /// The options with the weights of names, files, documents and users adjusted to `query`, full
    /// weight for roles that it asks for, less for sources and documents if it asks for tests
    /// alone, and only numbers that can be calculated with.
    pub(crate) fn for_query(&self, query: &Query) -> Options {
        let names: BTreeSet<&str> = query.meant_names().map(|it| it.last.as_str()).collect();
        let mut options = self.clone();
        let of_names = options.weights.strategy_mut(Strategy::Names);
        *of_names = if names.is_empty() && !query.mentions.names.is_empty() {
            self.weights.strategy(Strategy::Names)
        } else {
            self.weights.of_names(names.len())
        };
        if is_common_name(query) || query.asks_for(Intent::Definition) {
            *of_names *= MEANT_NAME;
        }
        options.weights.weigh_files(query);
        options.weights.weigh_documents(query);
        if options.wants(Strategy::Relations) && query.asks_for(Intent::Users) {
            options.weights.weigh_users();
        }
        for role in Role::ALL.iter().filter(|it| it.is_asked_for(query)) {
            let worth = options.weights.role_mut(*role);
            *worth = worth.max(1.0);
        }
        if Role::asks_for_tests_alone(query) {
            options.weights.weigh_tests();
        }
        options.weights.settle();
        if options.min_score.is_nan() {
            options.min_score = 0.0;
        }
        options
    }

    /// Whether no enabled strategy has a weight: then all are shown.
    pub(crate) fn is_mute(&self) -> bool {
        let mut weights = self.strategies.iter().map(|it| self.weights.strategy(*it));
        weights.all(|it| it == 0.0)
    }

    /// Whether `strategy` runs: it is enabled, and has a weight, or none has.
    pub(crate) fn wants(&self, strategy: Strategy) -> bool {
        let is_heard = self.weights.strategy(strategy) != 0.0 || self.is_mute();
        is_heard && self.strategies.contains(&strategy)
    }
}

impl Default for Options {
    /// All strategies, as many parts as the budget may hold, sentences with a probability of at
    /// least 0.2 %, two seconds per strategy.
    fn default() -> Self {
        Options {
            strategies: Strategy::ALL.to_vec(),
            limit: None,
            min_score: 0.0,
            min_chance: MIN_CHANCE,
            kinds: Vec::new(),
            deadline: Duration::from_secs(2),
            weights: Weights::default(),
            profile: search_profile(),
            now: None,
        }
    }
}

ctx_model::setters! {
    for Options;
    /// Sets the strategies that run.
    with_strategies: strategies: Vec<Strategy>;
    /// Sets the most parts to return.
    with_limit: limit: Option<usize>;
    /// Sets the least score, as a share of the best.
    with_min_score: min_score: f64;
    /// Sets the least probability of a sentence of prose.
    with_min_chance: min_chance: f64;
    /// Sets the kinds of parts to return.
    with_kinds: kinds: Vec<PartKind>;
    /// Sets the time limit of each strategy.
    with_deadline: deadline: Duration;
    /// Sets the weights of ranking.
    with_weights: weights: Weights;
    /// Sets the weights of signals.
    with_profile: profile: Profile;
    /// Sets the present time.
    with_now: now: Option<UnixSeconds>;
}

ctx_model::setters! {
    for Weights;
    /// Sets the weight of the question's first line.
    with_title: title: f64;
    /// Sets the share of a file's best part that is added to all of its parts.
    with_neighbour: neighbour: f64;
    /// Sets the share of a file's best part that its head gets at least.
    with_head: head: f64;
    /// Sets the weights of the fields of parts.
    with_fields: fields: Vec<(Field, f32)>;
    /// Sets the weights of the fields of files.
    with_file_fields: file_fields: Vec<(Field, f32)>;
    /// Sets the least role weight of the best-matching document.
    with_documents: documents: f64;
    /// Sets the least score of the best-matching document.
    with_first_document: first_document: f64;
}

/// The weights of signals in a search of files: only similarity to the question counts.
fn search_profile() -> Profile {
    Profile::default()
        .with_text_similarity(1.0)
        .with_keyword_match(0.0)
        .with_recency(0.0)
        .with_source_priority(0.0)
        .with_usage_frequency(0.0)
}
