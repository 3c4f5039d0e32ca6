//! Lookups of names, paths and places: many in one transaction, each answered as if it were the
//! only one.

use std::collections::BTreeMap;

use ctx_model::{LineSpan, PartKind, UnixSeconds};
use ctx_retrieve::{Hit, Part, PartQuery};
use tokio_postgres::Row;

use crate::StoreError;
use crate::documents::{AT_ONCE, List};
use crate::ingest::{LONGEST_NAME, reversed};
use crate::store::OwnedStore;

/// The columns of a hit, for parts `p` of files `f`.
const COLUMNS: &str = "p.path, p.first, p.last, p.kind, p.name, p.qualified_name, p.language, p.refers_to, f.modified_at";

/// A hit from a row of [`COLUMNS`] and a score. `None` if its lines are invalid, which cannot have
/// been written.
pub(crate) fn hit(row: &Row) -> Option<Hit> {
    let mut part = part(row, 0)?;
    part.modified_at = row.get::<_, Option<i64>>(8).map(UnixSeconds::new);
    Some(Hit::new(part, row.get(9)))
}

/// The hash of a text in column `at`. The tables hold no hashes of other lengths.
pub(crate) fn hash(row: &Row, at: usize) -> [u8; 32] {
    row.get::<_, &[u8]>(at).try_into().unwrap_or_default()
}

/// The part in eight columns of `row`, of which the path is column `at`; `None` if its lines are
/// invalid. A kind that only a later version knows counts as lines.
pub(crate) fn part(row: &Row, at: usize) -> Option<Part> {
    let line = |place: usize| row.get::<_, i32>(at + place).cast_unsigned();
    let span = LineSpan::new(line(1), line(2)).ok()?;
    let mut part = Part::new(row.get::<_, String>(at), span);
    part.kind = row
        .get::<_, &str>(at + 3)
        .parse()
        .unwrap_or(PartKind::Lines);
    part.name = row.get(at + 4);
    part.qualified_name = row.get(at + 5);
    part.language = row.get(at + 6);
    part.refers_to = row.get(at + 7);
    Some(part)
}

/// `name` in the form in which it is looked up, if it is a possible name.
fn lower(name: &str) -> Option<String> {
    let fits = !name.is_empty() && name.len() <= LONGEST_NAME && !name.contains('\0');
    fits.then(|| name.to_lowercase())
}

/// `names` in the form in which they are looked up, for one list of results.
pub(crate) fn lower_all(names: &[String]) -> Vec<String> {
    names
        .iter()
        .filter_map(|it| lower(it))
        .take(AT_ONCE)
        .collect()
}

/// The number of definitions of a name that are read, if fewer are asked for.
const MOST_DEFINITIONS: usize = 64;

const ENDING: &str = "
    SELECT it.path, e.number
    FROM unnest($2::text[]) WITH ORDINALITY AS e (reversed, number)
    CROSS JOIN LATERAL (
        SELECT path FROM ctx.files WHERE owner = $1 AND reversed = e.reversed COLLATE \"C\"
        -- What comes after a slash, and before the character that follows it.
        UNION ALL
        SELECT path FROM ctx.files
        WHERE owner = $1 AND reversed > (e.reversed || '/') COLLATE \"C\" AND reversed < (e.reversed || '0') COLLATE \"C\"
        ORDER BY path LIMIT $3::int
    ) it
    ORDER BY e.number, it.path";

const BELOW: &str =
    "SELECT path, place FROM ctx.files_below($1, $2) ORDER BY place, path COLLATE \"C\"";

impl OwnedStore {
    /// For each of `names`, its parts in `list`.
    pub(crate) async fn parts_by_name(
        &self,
        list: List,
        names: &[String],
        limit: usize,
    ) -> Result<Vec<Vec<Hit>>, StoreError> {
        let names: Vec<Option<String>> = names.iter().map(|it| lower(it)).collect();
        let asked: Vec<String> = names.iter().flatten().cloned().collect();
        if asked.is_empty() {
            return Ok(vec![Vec::new(); names.len()]);
        }
        let mut answers = self.parts_in(list, &asked, limit).await?.into_iter();
        let answer = |it: &Option<String>| it.as_ref().and_then(|_| answers.next());
        Ok(names
            .iter()
            .map(answer)
            .map(Option::unwrap_or_default)
            .collect())
    }

    /// For each of `texts`, its parts in `list`.
    async fn parts_in(
        &self,
        list: List,
        texts: &[String],
        limit: usize,
    ) -> Result<Vec<Vec<Hit>>, StoreError> {
        let limit = self.limits().rows(limit);
        let most = match list {
            // Reading at least this many lets calls with smaller limits share a cached list.
            List::Defining => limit.max(self.limits().rows(MOST_DEFINITIONS)),
            _ => limit,
        };
        let lists = self.lists(list, None, texts, most).await?;
        let most = usize::try_from(limit).unwrap_or(0);
        let lists: Vec<&[i64]> = lists.iter().map(|it| &it[..it.len().min(most)]).collect();
        self.hits(&lists).await
    }

    /// For each of `ends`, the paths that equal it or end with it after a slash.
    pub(crate) async fn paths_by_end(
        &self,
        ends: &[String],
        limit: usize,
    ) -> Result<Vec<Vec<String>>, StoreError> {
        let limit = self.limits().rows(limit);
        let end = |it: &String| (!it.is_empty() && !it.contains('\0')).then(|| reversed(it));
        let mut each = Each::new(ends.iter().map(end));
        for ends in each.batches() {
            let rows = self
                .read("find paths", ENDING, &[&self.owner(), &ends, &limit])
                .await?;
            each.take(&rows, 1, |row| Some(row.get(0)));
        }
        Ok(each.answers())
    }

    /// For each of `folders`, the paths below folders whose paths equal it or end with it.
    pub(crate) async fn paths_below(
        &self,
        folders: &[String],
        limit: usize,
    ) -> Result<Vec<Vec<String>>, StoreError> {
        let limit = self.limits().rows(limit);
        let folder = |it: &String| {
            let folder = it.trim_matches('/').to_lowercase();
            (!folder.is_empty() && !folder.contains('\0')).then_some(folder)
        };
        let mut each = Each::new(folders.iter().map(folder));
        for folders in each.batches() {
            let rows = self
                .read("find files below folders", BELOW, &[&folders, &limit])
                .await?;
            each.take(&rows, 1, |row| Some(row.get(0)));
        }
        Ok(each.answers())
    }

    /// For each of `wanted`, its parts in order.
    pub(crate) async fn parts_by_place(
        &self,
        wanted: &[PartQuery],
        limit: usize,
    ) -> Result<Vec<Vec<Hit>>, StoreError> {
        let is_whole = |it: &PartQuery| *it == PartQuery::new(&it.path);
        if wanted
            .iter()
            .all(|it| is_whole(it) && !it.path.contains('\0'))
        {
            let paths: Vec<String> = wanted.iter().map(|it| it.path.clone()).collect();
            return self.parts_in(List::PartsOf, &paths, limit).await;
        }
        let sql = format!(
            "SELECT {COLUMNS}, 1::double precision, q.number, f.hash
             FROM unnest($2::text[], $3::int[], $4::int[], $5::int[], $6::text[]) WITH ORDINALITY
                 AS q (path, line, since, until, name, number)
             CROSS JOIN LATERAL (
                 SELECT * FROM ctx.parts WHERE owner = $1 AND path = q.path COLLATE \"C\"
                     AND (q.line IS NULL OR (first <= q.line AND q.line <= last))
                     AND (q.since IS NULL OR (first <= q.until AND q.since <= last))
                     AND (q.name IS NULL OR name = q.name)
                 ORDER BY first LIMIT $7::int
             ) p
             JOIN ctx.files f ON f.owner = $1 AND f.path = p.path
             ORDER BY q.number, p.first"
        );
        let limit = self.limits().rows(limit);
        let usable = |it: &PartQuery| {
            let is_text = !it.path.contains('\0');
            let is_name = it.name.as_ref().is_none_or(|name| !name.contains('\0'));
            (is_text && is_name).then(|| it.clone())
        };
        let mut each = Each::new(wanted.iter().map(usable));
        for wanted in each.batches() {
            let paths: Vec<&str> = wanted.iter().map(|it| it.path.as_str()).collect();
            let names: Vec<Option<&str>> = wanted.iter().map(|it| it.name.as_deref()).collect();
            let line = |it: u32| i32::try_from(it).unwrap_or(i32::MAX);
            let numbers = |of: fn(&PartQuery) -> Option<u32>| -> Vec<Option<i32>> {
                wanted.iter().map(|it| of(it).map(line)).collect()
            };
            let lines = numbers(|it| it.line);
            let since = numbers(|it| it.span.map(LineSpan::start));
            let until = numbers(|it| it.span.map(LineSpan::end));
            let values: [&(dyn tokio_postgres::types::ToSql + Sync); 7] = [
                &self.owner(),
                &paths,
                &lines,
                &since,
                &until,
                &names,
                &limit,
            ];
            let rows = self.read("read parts of files", &sql, &values).await?;
            let noted = |row: &Row| Some(self.noted_hit(hit(row)?, hash(row, 11)));
            each.take(&rows, 10, noted);
        }
        Ok(each.answers())
    }
}

/// Questions without duplicates, and the answers to each.
struct Each<Q, A> {
    asked: Vec<Q>,
    /// For each original question, its index in `asked`; `None` if it need not be asked.
    places: Vec<Option<usize>>,
    answers: Vec<Vec<A>>,
    /// The number of `asked` that were answered.
    done: usize,
}

impl<Q: Ord + Clone, A: Clone> Each<Q, A> {
    fn new(questions: impl Iterator<Item = Option<Q>>) -> Self {
        let (mut asked, mut known) = (Vec::new(), BTreeMap::new());
        let mut place = |question: Q| {
            *known.entry(question.clone()).or_insert_with(|| {
                asked.push(question);
                asked.len() - 1
            })
        };
        let places = questions.map(|it| it.map(&mut place)).collect();
        let answers = vec![Vec::new(); asked.len()];
        Each {
            asked,
            places,
            answers,
            done: 0,
        }
    }

    /// The questions for one statement after the other.
    fn batches(&self) -> Vec<Vec<Q>> {
        self.asked.chunks(AT_ONCE).map(<[Q]>::to_vec).collect()
    }

    /// Adds the answers to the next batch. The column `number` has the index of the question, from
    /// 1.
    fn take(&mut self, rows: &[Row], number: usize, answer: impl Fn(&Row) -> Option<A>) {
        for row in rows {
            let at = usize::try_from(row.get::<_, i64>(number) - 1).unwrap_or(usize::MAX);
            if let Some(answers) = self.answers.get_mut(self.done.saturating_add(at)) {
                answers.extend(answer(row));
            }
        }
        self.done += AT_ONCE;
    }

    /// The answers to each of the original questions.
    fn answers(self) -> Vec<Vec<A>> {
        let of = |place: &Option<usize>| place.map_or(Vec::new(), |at| self.answers[at].clone());
        self.places.iter().map(of).collect()
    }
}
