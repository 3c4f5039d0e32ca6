//! How something is looked for.

use std::collections::BTreeSet;
use std::time::Duration;

use ctx_rank::{Place, Profile, Query, Role};

use crate::ports::Field;
use crate::strategies::may_name_files;

/// A way to find something. They run side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Strategy {
    /// Parts of files by their text.
    Text,
    /// Parts of files by how many of the question's words they hold, however often.
    Coverage,
    /// Files by their text and path, then their parts.
    Files,
    /// Definitions of the names in the question.
    Names,
    /// Files, lines and stack frames that the question names.
    Places,
    /// Names that are nearly those in the question.
    Similar,
    /// What earlier changes touched whose messages fit.
    Changes,
    /// Places that a search of somebody's own finds, by embeddings say ([`Semantic`](crate::Semantic)).
    Semantic,
    /// What uses, and what is used by, the best of the others; or what uses the names in a question that asks for that.
    Relations,
}

impl Strategy {
    /// How many there are.
    pub const COUNT: usize = 9;

    /// All of them, in the order of their contributions.
    pub const ALL: [Strategy; Strategy::COUNT] = [
        Strategy::Text,
        Strategy::Coverage,
        Strategy::Files,
        Strategy::Names,
        Strategy::Places,
        Strategy::Similar,
        Strategy::Changes,
        Strategy::Semantic,
        Strategy::Relations,
    ];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Strategy::Text => "text",
            Strategy::Coverage => "coverage",
            Strategy::Files => "files",
            Strategy::Names => "names",
            Strategy::Places => "places",
            Strategy::Similar => "similar",
            Strategy::Changes => "changes",
            Strategy::Semantic => "semantic",
            Strategy::Relations => "relations",
        }
    }

    /// The strategy of this word.
    pub fn of(word: &str) -> Option<Strategy> {
        Self::ALL.into_iter().find(|it| it.as_str() == word)
    }

    /// Its place among all.
    pub fn index(self) -> usize {
        self as usize
    }
}

/// What is worth what. The defaults were chosen by cross-validation over repositories; `docs/record/eval.md`
/// has each step.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Weights {
    /// Of each strategy, in the order of [`Strategy::ALL`]. That of names is more in questions that have few of them:
    /// [`Weights::of_names`].
    pub strategies: [f64; Strategy::COUNT],
    /// Of a question's first line, against all of it.
    pub title: f64,
    /// Of the best part of a file, for the others in it.
    pub neighbour: f64,
    /// Of the best part of a file, for its imports.
    pub head: f64,
    /// Of the fields of parts.
    pub fields: Vec<(Field, f32)>,
    /// Of the fields of files.
    pub file_fields: Vec<(Field, f32)>,
    /// Of the roles of files, in the order of [`Weights::ROLES`].
    pub roles: [f64; 7],
    /// Of the document that fits a [typed](Query::typed) question best, where its role is worth less: what is asked so may be
    /// answered by what was written of the sources, as well as by them. Of those after it the one of rank r, from 0, is worth
    /// 1 / (1 + r / 8) of that, if that is more than its role. Reports are about the sources.
    pub documents: f64,
    /// What that document is worth at least, against the best of all else, and the one of rank r 1 / (1 + r / 2) of that, where
    /// they fit half as well: who asks has one of either to begin with. Not where the question is one word, or asks what uses
    /// something.
    pub first_document: f64,
    /// Whether changelogs are among these documents: where what became of something is asked for.
    pub(crate) changelogs: bool,
}

impl Weights {
    /// The roles, in the order of their weights.
    pub const ROLES: [Role; 7] = [
        Role::Source,
        Role::Test,
        Role::Example,
        Role::Documentation,
        Role::Configuration,
        Role::Generated,
        Role::Vendored,
    ];

    /// What names are worth in a question with so many: a question about one name is about what bears it, and a report that
    /// has twenty is about none of them more than about its words. That of [`Weights::strategies`], and 20 times it by the
    /// square of their number where that is more.
    #[must_use]
    pub fn of_names(&self, count: usize) -> f64 {
        let count = f64::from(u32::try_from(count.max(1)).unwrap_or(u32::MAX));
        let few = (ONE_NAME / (count * count)).max(1.0);
        self.strategies[Strategy::Names.index()] * few
    }

    /// Gives places, and what is nearly the name of a file, the weights that they have in `query`.
    fn weigh_files(&mut self, query: &Query) {
        let [places, similar] = [Strategy::Places, Strategy::Similar].map(Strategy::index);
        if query.typed.is_none() {
            self.strategies[places] *= of_report(query);
            return;
        }
        let is_alone = query.words().nth(1).is_none();
        if !query.places.is_empty() {
            self.strategies[similar] *= if is_alone { ALONE } else { TYPED };
        }
        let names_one = is_alone && (!query.places.is_empty() || may_name_files(query));
        if names_part(query) {
            self.strategies[places] *= TYPED_LINE;
        } else if names_one || query.is_of_patterns_alone() {
            self.strategies[places] *= ALONE_PLACE;
        }
    }

    /// Has documents of a report be worth what their role is, and come behind the source that one word is the name of, and
    /// behind what else a question asks for first.
    fn weigh_documents(&mut self, query: &Query) {
        if query.typed.is_none() {
            self.documents = 0.0;
        }
        self.changelogs = query.asks_of_changes();
        let is_alone = query.words().nth(1).is_none();
        let mut others = Self::ROLES.iter().filter(|it| **it != Role::Documentation);
        let asks_for_others = others.any(|it| it.is_asked_for_first(query));
        let asks_for_others =
            asks_for_others || query.asks_for_users() || query.asks_for_definition();
        let names_files = query.is_of_patterns_alone() || names_part(query);
        if query.typed.is_none() || is_alone || asks_for_others || names_files {
            self.first_document = 0.0;
        }
    }

    /// Gives what uses something the weight of text, as a question has it that asks for that, and what stands beside the best of a file none.
    fn weigh_users(&mut self) {
        let [text, relations] = [Strategy::Text, Strategy::Relations].map(Strategy::index);
        self.strategies[relations] = f64::max(self.strategies[relations], self.strategies[text]);
        (self.neighbour, self.head) = (0.0, 0.0);
    }

    /// What a file of this role is worth.
    pub fn of_role(&self, role: Role) -> f64 {
        let at = Self::ROLES.into_iter().position(|it| it == role);
        at.map_or(1.0, |at| self.roles[at])
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

/// Whether a typed question is one name, whose last is a stop word or has two letters.
fn is_common_name(query: &Query) -> bool {
    let is_alone = query.typed.is_some() && query.words().nth(1).is_none();
    is_alone && matches!(&query.names[..], [name] if name.is_common())
}

fn names_part(query: &Query) -> bool {
    query.places.iter().any(Place::is_part)
}

/// A report gives places so many times the weight ([`TERSE`], [`VAGUE`]).
fn of_report(query: &Query) -> f64 {
    if query.frames.is_empty() && !names_part(query) {
        return if query.places.is_empty() { VAGUE } else { 1.0 };
    }
    let said: f64 = query.terms.iter().map(|it| it.weight).sum();
    (TERSE / said).clamp(1.0, TYPED_LINE)
}

/// A question with one name, and no other, gives it so many times the weight.
const ONE_NAME: f64 = 20.0;

/// One that is all of a question and says nothing to text, as `get` of `Session.get`, has so many times that, and so has one whose definition
/// is typed: texts speak of what it is of.
const MEANT_NAME: f64 = 3.0;

/// A typed question that has the name of a file gives names that are nearly it so many times the weight: as much as text has. Its
/// extension is a word that any text may have, and of a mistyped name it is the only one.
const TYPED: f64 = 10.0;
/// One that has nothing else gives them so many times: more than any text has of the words in it.
const ALONE: f64 = 20.0;

/// The same of a place, so that both come to as much.
const ALONE_PLACE: f64 = 5.0;
/// One that names a line or a definition gives places so many times the weight: what is said beside it, as a message of a compiler is, does not put what
/// else is in the file before it.
const TYPED_LINE: f64 = 8.0;
/// A report that names a line or a call of a trace, and whose terms weigh less than this together (a word of its text weighs a third, one
/// of its title two), gives places this by their weight times the weight, up to what a typed question does: the less it says, the less
/// that tells of what it is about.
const TERSE: f64 = 16.0;
/// A report without a place, which may name a folder in passing, gives files of it this share of the weight of places.
const VAGUE: f64 = 0.5;

/// Below this chance a sentence costs a reader more than it is worth, unless asked otherwise;
/// `docs/record/passages.md` has what it costs and gains.
const MIN_CHANCE: f64 = 0.002;

/// So many parts are found where nothing says how many.
pub const PARTS: usize = 100;
/// For so many tokens of a budget one more part is found.
const TOKENS_OF_A_PART: u32 = 80;

/// So many parts may fit a budget.
fn fitting(max_tokens: u32) -> usize {
    usize::try_from(max_tokens / TOKENS_OF_A_PART).unwrap_or(usize::MAX)
}

/// How a question is answered.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Options {
    /// Which strategies look. One without a weight does not, unless none of them has any: then all do, with the same.
    pub strategies: Vec<Strategy>,
    /// So many parts at most, of which fewer need not be the first of more: searches then look less far. `None`: as
    /// many as the budget may hold ([`Options::for_budget`]), or 100 where there is none.
    pub limit: Option<usize>,
    /// Parts below this share of the best score are left out.
    pub min_score: f64,
    /// Sentences of prose that are less likely part of the answer are left out, and so are passages without
    /// one that is likelier: 0 leaves none out, and fills the budget.
    pub min_chance: f64,
    /// Only parts of these kinds (`function`, `class`, …), if there are any.
    pub kinds: Vec<String>,
    /// How long each strategy may take.
    pub deadline: Duration,
    /// What is worth what.
    pub weights: Weights,
    /// What each signal is worth. That of keywords counts for nothing here, as the texts of parts are not read.
    pub profile: Profile,
    /// Now, in seconds since 1970; where it is not known, everything counts as undated.
    pub now: Option<i64>,
}

impl Options {
    /// These for a context of `max_tokens`: where no limit is set, a part for every 80 tokens, and no fewer than
    /// `least`. Parts are some 80 tokens and more, so that what there is fills the budget; `docs/record/eval.md`
    /// has what that shows.
    #[must_use]
    pub fn for_budget(mut self, max_tokens: u32, least: usize) -> Self {
        self.limit.get_or_insert(fitting(max_tokens).max(least));
        self
    }

    /// The largest budget that [these are for](Options::for_budget) as for `max_tokens`: for one beyond it more is looked for, and what
    /// a context of it shows is chosen from more.
    #[must_use]
    pub fn largest_budget(&self, max_tokens: u32, least: usize) -> u32 {
        if self.limit.is_some() {
            return u32::MAX;
        }
        let parts = u32::try_from(fitting(max_tokens).max(least)).unwrap_or(u32::MAX);
        let first = parts.saturating_mul(TOKENS_OF_A_PART);
        first.saturating_add(TOKENS_OF_A_PART - 1)
    }

    /// So many parts at most.
    pub(crate) fn most(&self) -> usize {
        self.limit.unwrap_or(PARTS)
    }

    /// So many parts each search is asked for: more than are mostly wanted, as what several find is worth more than what
    /// one puts first. `docs/record/eval.md` has what fewer show.
    pub(crate) fn wide(&self) -> usize {
        self.most().saturating_mul(6).clamp(300, 400)
    }

    /// With the weight that names, names of files and what uses something have in `query`, and all of theirs for roles that it asks for.
    pub(crate) fn for_query(&self, query: &Query) -> Options {
        let names: BTreeSet<&str> = query.names.iter().map(|it| it.last.as_str()).collect();
        let mut options = self.clone();
        let of_names = &mut options.weights.strategies[Strategy::Names.index()];
        *of_names = self.weights.of_names(names.len());
        if is_common_name(query) || query.asks_for_definition() {
            *of_names *= MEANT_NAME;
        }
        options.weights.weigh_files(query);
        options.weights.weigh_documents(query);
        if options.wants(Strategy::Relations) && query.asks_for_users() {
            options.weights.weigh_users();
        }
        let roles = Weights::ROLES.iter().zip(&mut options.weights.roles);
        for (_, worth) in roles.filter(|(role, _)| role.is_asked_for(query)) {
            *worth = worth.max(1.0);
        }
        options
    }

    /// Whether no strategy that is to look has a weight: who asks for that wants to see what they find.
    pub(crate) fn is_mute(&self) -> bool {
        let weight = |it: &Strategy| self.weights.strategies[it.index()];
        self.strategies.iter().all(|it| weight(it) == 0.0)
    }

    /// Whether `strategy` is to look: what it finds without a weight is of no account.
    pub(crate) fn wants(&self, strategy: Strategy) -> bool {
        let is_heard = self.weights.strategies[strategy.index()] != 0.0 || self.is_mute();
        is_heard && self.strategies.contains(&strategy)
    }
}

impl Default for Options {
    /// All strategies, as many parts as the budget may hold, sentences with a chance of 0.2 %, two seconds each.
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
    /// Sets which strategies look.
    with_strategies: strategies: Vec<Strategy>;
    /// Sets how many parts there are at most.
    with_limit: limit: Option<usize>;
    /// Sets the least share of the best score.
    with_min_score: min_score: f64;
    /// Sets the least chance of a sentence of prose.
    with_min_chance: min_chance: f64;
    /// Sets of which kinds parts are.
    with_kinds: kinds: Vec<String>;
    /// Sets how long each strategy may take.
    with_deadline: deadline: Duration;
    /// Sets what is worth what.
    with_weights: weights: Weights;
    /// Sets what each signal is worth.
    with_profile: profile: Profile;
    /// Sets the time, in seconds since 1970.
    with_now: now: Option<i64>;
}

/// What the signals are worth in a search through files: what the question says, and little else.
fn search_profile() -> Profile {
    let mut profile = Profile::default();
    profile.text_similarity = 1.0;
    profile.keyword_match = 0.0;
    profile.recency = 0.0;
    profile.source_priority = 0.0;
    profile.usage_frequency = 0.0;
    profile
}
