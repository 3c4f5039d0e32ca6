//! A cache of the parts and files that were read from the database.
//!
//! Each document has a number that is never reused, and its row does not change while it exists. So
//! a cached document is valid whenever the database returns its number. Lists of numbers do change
//! with files: they are cached for one generation of an owner's files, which every search, or the
//! request it belongs to, reads first. Whatever other processes write, nothing used here is older
//! than that generation.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::sync::Arc;

use ctx_model::UnixSeconds;
use ctx_retrieve::{Hit, Part};
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::StoreError;
use crate::indexed::HashedPart;
use crate::lexemes::{TermQuery, Terms};
use crate::lookup::{hash, part};
use crate::opening::Progress;
use crate::plan::Essential;
use crate::store::{OwnedStore, OwnerKey};

/// The most entries that one statement asks for, which has its time limit for all of them.
pub(crate) const AT_ONCE: usize = 256;
/// The most bytes of terms that one statement reads, beyond those of one document.
const READ_BYTES: i64 = 8 << 20;
/// The most bytes of documents held in memory for a question. If there are more, each is ranked as
/// it is read.
const HELD_BYTES: usize = 32 << 20;
/// A typical size of a document in bytes.
const DOCUMENT_BYTES: u64 = 1 << 10;
/// The share of the bytes that lists of numbers get, as one part in this many; candidates get the
/// same.
const SHARE_OF_LISTS: u64 = 8;
/// About how many lists of candidates are cached. A question uses the same ones for frequency and
/// for presence.
const QUESTIONS: usize = 64;
/// The number of terms whose document counts are cached, some 150 bytes each.
const TERMS: usize = 1 << 15;
/// The number of files whose usage counts are cached, some 200 bytes each.
const USES: usize = 1 << 14;
/// The number of owners whose generation and totals are cached.
const OWNERS: usize = 4_096;
/// The overhead of an entry, in bytes.
const ENTRY_BYTES: usize = 96;

/// The two kinds of documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Of {
    Parts,
    Files,
}

/// A part of a file, or a file.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    pub(crate) part: HashedPart,
    pub(crate) terms: Arc<Terms>,
    /// Its size with its part and terms, stored so that a list of a thousand is weighed without
    /// looking into each.
    bytes: usize,
}

impl Document {
    /// A document of the text with this hash.
    fn new(part: Part, hash: [u8; 32], terms: Terms) -> Self {
        let names = [&part.name, &part.qualified_name, &part.language];
        let names = names.into_iter().flatten().chain(&part.refers_to);
        let texts: usize = names.map(|it| it.len() + size_of::<String>() + 8).sum();
        let own = size_of::<Document>() + size_of::<Part>() + part.path.len();
        Document {
            bytes: own + texts + terms.bytes(),
            part: HashedPart {
                part: Arc::new(part),
                hash,
            },
            terms: Arc::new(terms),
        }
    }
}

/// Lists of numbers, each looked up by a text, many in one statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum List {
    /// The parts that define a name.
    Defining,
    /// The parts that use a name.
    Using,
    /// The parts of the file at a path.
    PartsOf,
    /// The file at a path.
    FileAt,
    /// The documents that hold a term in a field whose label is in the mask.
    Holding(Of, u8),
}

impl List {
    /// The statement. Each row has the generation of the files, the index of the text looked up
    /// (from 1), and the numbers. There is at least one row.
    fn sql(self) -> String {
        let lists = match self {
            List::Defining => "SELECT place, numbers FROM ctx.defining($1, $2)",
            List::Using => "SELECT place, numbers FROM ctx.using_names($1, $2)",
            List::PartsOf => {
                "SELECT q.place, ARRAY(
                     SELECT p.number FROM ctx.parts p WHERE p.owner = $3 AND p.path = q.path COLLATE \"C\"
                     ORDER BY p.first LIMIT $2::int
                 ) AS numbers FROM unnest($1::text[]) WITH ORDINALITY AS q (path, place)"
            }
            List::FileAt => {
                "SELECT q.place, ARRAY(
                     SELECT f.number FROM ctx.files f WHERE f.owner = $3 AND f.path = q.path COLLATE \"C\" LIMIT $2::int
                 ) AS numbers FROM unnest($1::text[]) WITH ORDINALITY AS q (path, place)"
            }
            List::Holding(Of::Parts, _) => {
                "SELECT q.place, ctx.choose_parts(q.term, $2) AS numbers
                 FROM unnest($1::tsquery[]) WITH ORDINALITY AS q (term, place)"
            }
            List::Holding(Of::Files, _) => {
                "SELECT q.place, ctx.choose_files(q.term, $2) AS numbers
                 FROM unnest($1::tsquery[]) WITH ORDINALITY AS q (term, place)"
            }
        };
        format!(
            "SELECT it.place, it.numbers, g.generation
             FROM (SELECT coalesce((SELECT generation FROM ctx.owners WHERE owner = $3), 0) AS generation) g
             LEFT JOIN ({lists}) it ON true"
        )
    }

    fn doing(self) -> &'static str {
        match self {
            List::Defining => "find definitions",
            List::Using => "find users of names",
            List::PartsOf => "list parts of files",
            List::FileAt => "find files",
            List::Holding(..) => "search files",
        }
    }

    /// `texts` as parameters of the statement.
    fn asked<'t>(self, texts: &'t [&'t str]) -> Asked<'t> {
        match self {
            List::Holding(_, mask) => {
                let terms = texts.iter().map(|it| TermQuery::any([*it], mask));
                Asked::Terms(terms.collect())
            }
            _ => Asked::Texts(texts),
        }
    }
}

/// The parameters by which lists are looked up.
enum Asked<'t> {
    Texts(&'t [&'t str]),
    Terms(Vec<TermQuery>),
}

impl Asked<'_> {
    fn value(&self) -> &(dyn ToSql + Sync) {
        match self {
            Asked::Texts(texts) => texts,
            Asked::Terms(terms) => terms,
        }
    }
}

type DocumentKey = (OwnerKey, Of, i64);
type ListKey = (OwnerKey, u64, (List, i32), String);
type ChosenKey = (OwnerKey, u64, Of, Essential);
/// Numbers of documents.
pub(crate) type Numbers = Arc<[i64]>;

/// The candidates for a question.
#[derive(Clone)]
pub(crate) enum Chosen {
    Documents(Arc<[Document]>),
    /// Numbers only, as the documents exceed what is held in memory.
    Numbers(Numbers),
}

/// The cache, shared by all owners. Every key begins with the owner.
pub(crate) struct SharedCache {
    documents: Cache<DocumentKey, Document, Bytes>,
    lists: Cache<ListKey, Numbers, Bytes>,
    /// Candidates with their documents, so that these need not be looked up one by one.
    chosen: Cache<ChosenKey, Chosen, Bytes>,
    /// The latest known generation of each owner's files.
    generations: Cache<OwnerKey, u64>,
    /// The number and total length of an owner's documents at a generation.
    totals: Cache<(OwnerKey, u64), Totals>,
    /// The number of documents that hold a term.
    counts: Cache<(OwnerKey, u64, String), Counts>,
    /// The usage count of a file at a given progress; `None` if the database has none.
    uses: Cache<(OwnerKey, Progress, String), Option<u64>>,
}

/// The number of documents of each kind, and their total length in terms.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) parts: (u64, u64),
    pub(crate) files: (u64, u64),
}

/// The number of documents of each kind that hold a term.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) parts: u64,
    pub(crate) files: u64,
}

impl SharedCache {
    /// A cache of at most `bytes` bytes, besides counts.
    pub(crate) fn new(bytes: u64) -> Self {
        let of_lists = bytes / SHARE_OF_LISTS;
        let of_documents = bytes - 2 * of_lists;
        let options = OptionsBuilder::new()
            .estimated_items_capacity(QUESTIONS)
            .weight_capacity(of_lists)
            // One shard, as entries are large.
            .shards(1)
            .build()
            .expect("both capacities are given");
        let (hasher, lifecycle) = (DefaultHashBuilder::default(), DefaultLifecycle::default());
        let count = |bytes: u64| usize::try_from(bytes / DOCUMENT_BYTES).unwrap_or(usize::MAX);
        SharedCache {
            documents: Cache::with_weighter(count(of_documents), of_documents, Bytes),
            lists: Cache::with_weighter(count(of_lists), of_lists, Bytes),
            chosen: Cache::with_options(options, Bytes, hasher, lifecycle),
            generations: Cache::new(OWNERS),
            totals: Cache::new(OWNERS),
            counts: Cache::new(TERMS),
            uses: Cache::new(USES),
        }
    }
}

#[derive(Clone)]
struct Bytes;

impl Weighter<DocumentKey, Document> for Bytes {
    fn weight(&self, _: &DocumentKey, it: &Document) -> u64 {
        (ENTRY_BYTES + it.bytes) as u64
    }
}

impl Weighter<ListKey, Numbers> for Bytes {
    fn weight(&self, (.., text): &ListKey, numbers: &Numbers) -> u64 {
        (ENTRY_BYTES + size_of::<ListKey>() + text.len() + size_of_val(&**numbers)) as u64
    }
}

impl Weighter<ChosenKey, Chosen> for Bytes {
    /// Includes the documents, which may be cached nowhere else any more.
    fn weight(&self, (.., essential): &ChosenKey, chosen: &Chosen) -> u64 {
        let own = ENTRY_BYTES + size_of::<ChosenKey>() + essential.bytes();
        let chosen = match chosen {
            Chosen::Documents(documents) => documents.iter().map(|it| ENTRY_BYTES + it.bytes).sum(),
            Chosen::Numbers(numbers) => size_of_val(&**numbers),
        };
        (own + chosen) as u64
    }
}

impl OwnedStore {
    /// The documents that match `essential`, at most `most`. Of concurrent equal calls only one
    /// queries the database, and only for terms whose documents are not cached.
    pub(crate) async fn chosen(
        &self,
        of: Of,
        generation: u64,
        essential: &Essential,
        most: i32,
    ) -> Result<Chosen, StoreError> {
        // `most` is not part of the key: it is the same for all of a store.
        let key = (self.owner_key(), generation, of, essential.clone());
        let guard = match self.kept().chosen.get_value_or_guard_async(&key).await {
            Ok(chosen) => return Ok(chosen),
            Err(guard) => guard,
        };
        let numbers = match essential {
            Essential::Any(terms, mask) => self.holding(of, generation, terms, *mask, most).await?,
            Essential::Tiers(tiers) => self.first_of(of, tiers, most).await?,
        };
        let (mut documents, mut bytes) = (Vec::new(), 0);
        let hold = |_, document: Document| {
            bytes += document.bytes;
            documents.push(document);
            if bytes > HELD_BYTES {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        };
        let chosen = match self.each_document(of, &numbers, hold).await? {
            ControlFlow::Continue(()) => Chosen::Documents(documents.into()),
            ControlFlow::Break(()) => Chosen::Numbers(numbers.into()),
        };
        // It may be too large to be cached.
        let _ = guard.insert(chosen.clone());
        Ok(chosen)
    }

    /// The numbers of the documents that meet the first of these conditions, then the next, and so
    /// on; ascending, at most `most`. The last condition that is reached may be met by more of
    /// them: which ones are taken of those is up to the database.
    async fn first_of(
        &self,
        of: Of,
        tiers: &[TermQuery],
        most: i32,
    ) -> Result<Vec<i64>, StoreError> {
        let sql = match of {
            Of::Parts => "SELECT ctx.choose_parts($1, $2)",
            Of::Files => "SELECT ctx.choose_files($1, $2)",
        };
        let all = usize::try_from(most).unwrap_or(0);
        let mut numbers = BTreeSet::new();
        for tier in tiers {
            let rows = self.read("search files", sql, &[tier, &most]).await?;
            let found: Vec<i64> = rows.first().map_or_else(Vec::new, |it| it.get(0));
            let left = all - numbers.len();
            let new: Vec<i64> = found
                .into_iter()
                .filter(|it| !numbers.contains(it))
                .collect();
            numbers.extend(new.into_iter().take(left));
            if numbers.len() >= all {
                break;
            }
        }
        Ok(numbers.into_iter().collect())
    }

    /// The numbers of the documents that hold any of `terms`, ascending, at most `most`.
    async fn holding(
        &self,
        of: Of,
        generation: u64,
        terms: &[String],
        mask: u8,
        most: i32,
    ) -> Result<Vec<i64>, StoreError> {
        let list = List::Holding(of, mask);
        let lists = self.lists(list, Some(generation), terms, most).await?;
        let mut numbers = lists.concat();
        numbers.sort_unstable();
        numbers.dedup();
        numbers.truncate(usize::try_from(most).unwrap_or(0));
        Ok(numbers)
    }

    /// For each of `texts`, its list of at most `most` numbers, at `generation` of the files if
    /// given, or else at that of the request, or else at the current one.
    pub(crate) async fn lists(
        &self,
        list: List,
        generation: Option<u64>,
        texts: &[String],
        most: i32,
    ) -> Result<Vec<Numbers>, StoreError> {
        let kept = self.kept();
        let owner = self.owner_key();
        let known = self.opening().map(|it| it.progress.generation);
        let generation = generation.or(known);
        let mut is_told = generation.is_some();
        let mut generation = generation
            .or_else(|| kept.generations.get(&owner))
            .unwrap_or(0);
        let mut found: HashMap<&str, Numbers> = HashMap::new();
        let mut turn = None;
        loop {
            let key = |text: &str| {
                let list = (list, most);
                (owner, generation, list, text.to_owned())
            };
            let mut unknown = BTreeSet::new();
            for text in texts.iter().map(String::as_str) {
                if !found.contains_key(text) {
                    match kept.lists.get(&key(text)) {
                        Some(numbers) => drop(found.insert(text, numbers)),
                        None => drop(unknown.insert(text)),
                    }
                }
            }
            if is_told && unknown.is_empty() {
                break;
            }
            if let (List::Defining, None, Some(opening)) = (list, &turn, self.opening()) {
                // Of concurrent lookups of definitions in one request only one queries the
                // database; after the wait the names may be cached.
                turn = Some(opening.defining().await);
                continue;
            }
            let asked: Vec<&str> = unknown.into_iter().take(AT_ONCE).collect();
            let (told, read) = self.read_lists(list, &asked, most).await?;
            if !is_told && told != generation {
                // The cached lists are of another generation.
                generation = told;
                self.note_generation(told);
                found.clear();
            }
            is_told = true;
            for (text, numbers) in asked.into_iter().zip(read) {
                self.keep_list(generation, (list, most), text, Arc::clone(&numbers));
                found.insert(text, numbers);
            }
        }
        let of = |text: &String| found.get(text.as_str()).cloned().unwrap_or_default();
        Ok(texts.iter().map(of).collect())
    }

    /// Caches the list of `text` at `generation`; `list` includes the limit that it was read with.
    pub(crate) fn keep_list(
        &self,
        generation: u64,
        list: (List, i32),
        text: &str,
        numbers: Numbers,
    ) {
        let key = (self.owner_key(), generation, list, text.to_owned());
        self.kept().lists.insert(key, numbers);
    }

    /// The totals and the counts of each of `terms` at `generation` from the cache; and the terms
    /// whose counts are not cached.
    pub(crate) fn counted<'t>(
        &self,
        generation: u64,
        terms: &[&'t str],
    ) -> Option<(Totals, BTreeMap<&'t str, Counts>, Vec<&'t str>)> {
        let (kept, owner) = (self.kept(), self.owner_key());
        let totals = kept.totals.get(&(owner, generation))?;
        let (mut known, mut unknown) = (BTreeMap::new(), Vec::new());
        for &term in terms {
            let key = (owner, generation, term.to_owned());
            match kept.counts.get(&key) {
                Some(counts) => drop(known.insert(term, counts)),
                None => unknown.push(term),
            }
        }
        Some((totals, known, unknown))
    }

    /// Caches the counts at `generation`.
    pub(crate) fn keep_counted(&self, generation: u64, totals: Totals, of: &[(&str, Counts)]) {
        let (kept, owner) = (self.kept(), self.owner_key());
        kept.totals.insert((owner, generation), totals);
        for &(term, counts) in of {
            let key = (owner, generation, term.to_owned());
            kept.counts.insert(key, counts);
        }
    }

    /// The cached usage counts of `paths` at `progress`, and the paths whose count is not cached.
    pub(crate) fn used<'p>(
        &self,
        progress: Progress,
        paths: &[&'p str],
    ) -> (BTreeMap<String, Option<u64>>, Vec<&'p str>) {
        let (mut known, mut unknown) = (BTreeMap::new(), Vec::new());
        for &path in paths {
            let key = (self.owner_key(), progress, path.to_owned());
            match self.kept().uses.get(&key) {
                Some(uses) => drop(known.insert(key.2, uses)),
                None => unknown.push(path),
            }
        }
        (known, unknown)
    }

    /// Caches usage counts at `progress`.
    pub(crate) fn keep_used(&self, progress: Progress, uses: &BTreeMap<String, Option<u64>>) {
        for (path, &uses) in uses {
            let key = (self.owner_key(), progress, path.clone());
            self.kept().uses.insert(key, uses);
        }
    }

    /// Records the current generation of the files.
    pub(crate) fn note_generation(&self, generation: u64) {
        let known = &self.kept().generations;
        if known.get(&self.owner_key()) != Some(generation) {
            known.insert(self.owner_key(), generation);
        }
    }

    /// Reads the generation of the files, and the list of each of `asked` at that generation.
    async fn read_lists(
        &self,
        list: List,
        asked: &[&str],
        most: i32,
    ) -> Result<(u64, Vec<Numbers>), StoreError> {
        let mut lists = vec![Numbers::default(); asked.len()];
        let asked = list.asked(asked);
        let values: [&(dyn ToSql + Sync); 3] = [asked.value(), &most, &self.owner()];
        let rows = self.read(list.doing(), &list.sql(), &values).await?;
        let mut generation = 0;
        for row in rows {
            generation = row.get::<_, i64>(2).cast_unsigned();
            // If nothing was asked for, the row holds only the generation.
            let place = row.get::<_, Option<i64>>(0).unwrap_or(0) - 1;
            let place = usize::try_from(place).unwrap_or(usize::MAX);
            if let Some(list) = lists.get_mut(place) {
                *list = row.get::<_, Vec<i64>>(1).into();
            }
        }
        Ok((generation, lists))
    }

    /// Passes the documents with these numbers to `see` until it breaks: first the cached ones,
    /// then the others as they are read. Documents that no longer exist are left out. Returns
    /// whether `see` broke.
    pub(crate) async fn each_document(
        &self,
        of: Of,
        numbers: &[i64],
        mut see: impl FnMut(i64, Document) -> ControlFlow<()> + Send,
    ) -> Result<ControlFlow<()>, StoreError> {
        let owner = self.owner_key();
        let kept = &self.kept().documents;
        let mut unknown = Vec::new();
        for &number in numbers {
            let Some(document) = kept.get(&(owner, of, number)) else {
                unknown.push(number);
                continue;
            };
            if see(number, document).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        let sql = match of {
            Of::Parts => PARTS,
            Of::Files => FILES,
        };
        while !unknown.is_empty() {
            let values: [&(dyn ToSql + Sync); 3] = [&self.owner(), &unknown, &READ_BYTES];
            let rows = self.read("read what was found", sql, &values).await?;
            unknown.clear();
            let mut is_shown = ControlFlow::Continue(());
            for row in rows {
                let number: i64 = row.get(0);
                let Some(terms) = row.get(1) else {
                    unknown.push(number);
                    continue;
                };
                let Some(document) = document(&row, terms) else {
                    continue;
                };
                // Cached whether or not it is passed on.
                kept.insert((owner, of, number), document.clone());
                if is_shown.is_continue() {
                    is_shown = see(number, document);
                }
            }
            if is_shown.is_break() {
                return Ok(is_shown);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The parts of each of `lists`, all with the same score.
    pub(crate) async fn hits(&self, lists: &[&[i64]]) -> Result<Vec<Vec<Hit>>, StoreError> {
        let numbers: BTreeSet<i64> = lists.iter().copied().flatten().copied().collect();
        let numbers: Vec<i64> = numbers.into_iter().collect();
        let mut parts: HashMap<i64, Arc<Part>> = HashMap::new();
        let see = |number, document: Document| {
            parts.insert(number, self.noted(document.part));
            ControlFlow::Continue(())
        };
        let _ = self.each_document(Of::Parts, &numbers, see).await?;
        let hit = |number: &i64| Some(Hit::new(Arc::clone(parts.get(number)?), 1.0));
        let hits = |list: &&[i64]| list.iter().filter_map(hit).collect();
        Ok(lists.iter().map(hits).collect())
    }
}

/// Terms are null in the rows after the limit of bytes is reached.
const PARTS: &str = "
    SELECT p.number, CASE WHEN p.before < $3 THEN p.terms END, p.length, p.path, p.first, p.last, p.kind, p.name,
        p.qualified_name, p.language, p.refers_to, f.modified_at, f.hash
    FROM (
        SELECT *, sum(pg_column_size(terms)) OVER (ROWS UNBOUNDED PRECEDING) - pg_column_size(terms) AS before
        FROM ctx.parts WHERE owner = $1 AND number = ANY ($2)
    ) p
    JOIN ctx.files f ON f.owner = $1 AND f.path = p.path";

const FILES: &str = "
    SELECT number, CASE WHEN before < $3 THEN terms END, length, path, 1, 1, 'file', NULL, NULL, NULL, '{}'::text[],
        NULL::bigint, hash
    FROM (
        SELECT *, sum(pg_column_size(terms)) OVER (ROWS UNBOUNDED PRECEDING) - pg_column_size(terms) AS before
        FROM ctx.files WHERE owner = $1 AND number = ANY ($2)
    ) f";

/// A row with its terms. `None` if its lines are invalid, which cannot have been written.
fn document(row: &Row, mut terms: Terms) -> Option<Document> {
    let mut part = part(row, 3)?;
    part.modified_at = row.get::<_, Option<i64>>(11).map(UnixSeconds::new);
    terms.length = row.get(2);
    Some(Document::new(part, hash(row, 12), terms))
}
