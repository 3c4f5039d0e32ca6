//! Files in, by COPY.
//!
//! COPY does not go into tables with row-level security. So it goes into temporary ones, which end with the
//! transaction, and from there into those that stay.

use std::collections::BTreeMap;
use std::pin::pin;

use ctx_model::LineSpan;
use ctx_rank::{Analyzer, Role};
use ctx_syntax::{Language, Limits as SyntaxLimits, Outline, Piece, language_name, lines, pieces};
use deadpool_postgres::Transaction;
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{ToSql, Type};

use crate::lexemes::{Label, Vector};
use crate::store::{Mode, OwnedStore};
use crate::{Limits, StoreError};

/// No path is longer, in bytes: it is in keys.
const LONGEST_PATH: usize = 1024;
/// Longer names are in no index, in bytes: they are encoded data.
const LONGEST_NAME: usize = 256;
/// So many bytes of text are one transaction, about.
const BATCH_BYTES: usize = 32 << 20;
/// So many files are one transaction.
const BATCH_FILES: usize = 1024;
/// No part has more of its bytes indexed.
const PART_BYTES: usize = 256 << 10;

/// A file that is to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileText {
    /// Where it is, with `/` between its parts: relative, without `.` or `..`.
    pub path: String,
    /// All of it.
    pub text: String,
    /// When it was last changed, in seconds since 1970.
    pub modified_at: Option<i64>,
}

impl FileText {
    /// The file at `path`.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        FileText {
            path: path.into(),
            text: text.into(),
            modified_at: None,
        }
    }

    /// Last changed then, in seconds since 1970.
    #[must_use]
    pub fn with_modified_at(mut self, at: i64) -> Self {
        self.modified_at = Some(at);
        self
    }
}

/// What came of files that were to be stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ingested {
    /// Files that are stored now and were not, or were different.
    pub stored: usize,
    /// Parts that they were cut into.
    pub parts: usize,
    /// Files that were stored already as they are.
    pub unchanged: usize,
    /// Files that cannot be stored, in their order, and why.
    pub skipped: Vec<(String, &'static str)>,
}

impl OwnedStore {
    /// Stores `files`, in place of what was at their paths. Each batch of about 32 MiB is stored whole or not at all;
    /// of files with the same path the last counts. Files that cannot be stored are passed over and named.
    ///
    /// # Errors
    /// Those of the database. Batches before the one that failed stay.
    pub async fn ingest(&self, files: Vec<FileText>) -> Result<Ingested, StoreError> {
        let mut ingested = Ingested::default();
        let mut last: BTreeMap<String, FileText> = BTreeMap::new();
        for file in files {
            match refusal(&file, self.limits()) {
                Some(why) => ingested.skipped.push((file.path, why)),
                None => drop(last.insert(file.path.clone(), file)),
            }
        }
        let mut batch = Vec::new();
        let mut bytes = 0;
        for file in last.into_values() {
            bytes += file.text.len();
            batch.push(file);
            if bytes >= BATCH_BYTES || batch.len() >= BATCH_FILES {
                self.ingest_batch(std::mem::take(&mut batch), &mut ingested)
                    .await?;
                bytes = 0;
            }
        }
        self.ingest_batch(batch, &mut ingested).await?;
        Ok(ingested)
    }

    /// Forgets the files at `paths`; their usage stays. Returns how many there were.
    pub async fn remove(&self, paths: &[String]) -> Result<usize, StoreError> {
        let mut paths: Vec<String> = paths.to_vec();
        paths.retain(|it| !it.contains('\0'));
        let batch = Batch {
            paths,
            ..Batch::default()
        };
        self.retried(|| self.write(&batch)).await
    }

    async fn ingest_batch(
        &self,
        files: Vec<FileText>,
        ingested: &mut Ingested,
    ) -> Result<(), StoreError> {
        if files.is_empty() {
            return Ok(());
        }
        let known = self.hashes(&files).await?;
        let batch = tokio::task::spawn_blocking(move || Batch::of(files, &known)).await?;
        if !batch.is_empty() {
            self.retried(|| self.write(&batch)).await?;
        }
        ingested.stored += batch.files.len();
        ingested.unchanged += batch.unchanged;
        ingested.parts += batch.parts.len();
        Ok(())
    }

    async fn hashes(
        &self,
        files: &[FileText],
    ) -> Result<BTreeMap<String, (Vec<u8>, Option<i64>)>, StoreError> {
        let paths: Vec<&str> = files.iter().map(|it| it.path.as_str()).collect();
        let sql =
            "SELECT path, hash, modified_at FROM ctx.files WHERE owner = $1 AND path = ANY ($2)";
        let rows = self
            .read("read the hashes of files", sql, &[&self.owner(), &paths])
            .await?;
        let of = |row: &tokio_postgres::Row| (row.get(0), (row.get(1), row.get(2)));
        Ok(rows.iter().map(of).collect())
    }

    /// Stores a batch in place of what is at its paths. Returns how many files went.
    async fn write(&self, batch: &Batch) -> Result<usize, StoreError> {
        let failed = |error| StoreError::of("store files", self.limits().writing, error);
        let mut client = self.client().await?;
        let transaction = self.begin(&mut client, Mode::Writes).await?;
        let writing = Writing {
            owner: self.owner(),
            transaction: &transaction,
        };
        let gone = writing.all(batch).await.map_err(failed)?;
        transaction.commit().await.map_err(failed)?;
        Ok(gone)
    }
}

/// Why a file cannot be stored.
fn refusal(file: &FileText, limits: &Limits) -> Option<&'static str> {
    let path = file.path.as_str();
    let is_odd = |part: &str| matches!(part, "" | "." | "..");
    if path.is_empty() || path.split('/').any(is_odd) {
        Some("its path is not a relative one in its plainest form")
    } else if path.len() > LONGEST_PATH {
        Some("its path is longer than 1024 bytes")
    } else if path.contains('\0') || file.text.contains('\0') {
        Some("it holds a NUL character, which PostgreSQL does not store in texts")
    } else if file.text.len() > limits.file_bytes {
        Some("it is over the limit of bytes")
    } else {
        None
    }
}

/// What is written in one transaction.
#[derive(Debug, Default)]
struct Batch {
    /// What is replaced or removed.
    paths: Vec<String>,
    files: Vec<FileRow>,
    parts: Vec<PartRow>,
    /// In how many of these parts and files each term is.
    terms: BTreeMap<String, (i32, i32)>,
    /// Files whose text is the same and whose time is another.
    touched: Vec<(String, Option<i64>)>,
    unchanged: usize,
}

#[derive(Debug)]
struct FileRow {
    file: FileText,
    hash: [u8; 32],
    language: Option<&'static str>,
    lines: i32,
    parts: i32,
    terms: Vector,
}

#[derive(Debug)]
struct PartRow {
    path: String,
    span: LineSpan,
    kind: &'static str,
    name: Option<String>,
    qualified_name: Option<String>,
    language: Option<&'static str>,
    refers_to: Vec<String>,
    terms: Vector,
    defines: Vec<String>,
    uses: Vec<String>,
}

impl Batch {
    /// Takes `files` apart, on all cores.
    fn of(files: Vec<FileText>, known: &BTreeMap<String, (Vec<u8>, Option<i64>)>) -> Self {
        let mut batch = Batch::default();
        let mut changed = Vec::new();
        for file in files {
            let hash = *blake3::hash(file.text.as_bytes()).as_bytes();
            match known.get(&file.path) {
                Some((before, at)) if *before == hash => {
                    batch.unchanged += 1;
                    if *at != file.modified_at {
                        batch.touched.push((file.path, file.modified_at));
                    }
                }
                _ => changed.push((file, hash)),
            }
        }
        let rows: Vec<(FileRow, Vec<PartRow>)> = changed
            .into_par_iter()
            .map_init(Analyzer::default, |analyzer, (file, hash)| {
                rows(analyzer, file, hash)
            })
            .collect();
        for (file, parts) in rows {
            for term in file.terms.terms() {
                batch.terms.entry(term.to_owned()).or_default().1 += 1;
            }
            for term in parts.iter().flat_map(|it| it.terms.terms()) {
                batch.terms.entry(term.to_owned()).or_default().0 += 1;
            }
            batch.paths.push(file.file.path.clone());
            batch.files.push(file);
            batch.parts.extend(parts);
        }
        batch
    }

    fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.touched.is_empty()
    }
}

fn rows(analyzer: &mut Analyzer, file: FileText, hash: [u8; 32]) -> (FileRow, Vec<PartRow>) {
    let limits = SyntaxLimits::default();
    let language = Language::of(&file.path, &file.text);
    let outline = Outline::of(&file.text, language, &limits);
    let language = language_name(&file.path, &file.text);
    let lines = lines(&file.text);
    let parts: Vec<PartRow> = pieces(&lines, &outline)
        .into_iter()
        .map(|piece| part(analyzer, &file.path, &lines, piece, language))
        .collect();
    let mut terms = Vector::default();
    terms.add(analyzer, &file.path, Label::A);
    terms.add(analyzer, &file.text, Label::D);
    let row = FileRow {
        hash,
        language,
        lines: i32::try_from(file.text.lines().count()).unwrap_or(i32::MAX),
        parts: i32::try_from(parts.len()).unwrap_or(i32::MAX),
        terms,
        file,
    };
    (row, parts)
}

fn part(
    analyzer: &mut Analyzer,
    path: &str,
    lines: &[&str],
    piece: Piece,
    language: Option<&'static str>,
) -> PartRow {
    let mut terms = Vector::default();
    if let Some(name) = &piece.qualified_name {
        terms.add(analyzer, name, Label::A);
    }
    let mut left = PART_BYTES;
    for (text, label) in piece
        .texts(lines)
        .iter()
        .zip([Label::B, Label::C, Label::D])
    {
        let text = &text[..text.floor_char_boundary(left)];
        left -= text.len();
        terms.add(analyzer, text, label);
    }
    let own = piece.name.iter().chain(&piece.defines);
    PartRow {
        path: path.to_owned(),
        span: piece.span,
        kind: piece.kind,
        defines: in_lower_case(own),
        uses: in_lower_case(&piece.refers_to),
        name: piece.name.filter(|it| it.len() <= LONGEST_NAME),
        qualified_name: piece.qualified_name,
        language,
        refers_to: piece.refers_to,
        terms,
    }
}

fn in_lower_case<'n>(names: impl IntoIterator<Item = &'n String>) -> Vec<String> {
    let names = names.into_iter().filter(|it| it.len() <= LONGEST_NAME);
    let mut names: Vec<String> = names.map(|it| it.to_lowercase()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// `path` in lower case, its last character first.
pub(crate) fn reversed(path: &str) -> String {
    path.to_lowercase().chars().rev().collect()
}

type Done<T> = Result<T, tokio_postgres::Error>;

/// One transaction that stores files.
struct Writing<'t> {
    owner: &'t str,
    transaction: &'t Transaction<'t>,
}

impl Writing<'_> {
    async fn all(&self, batch: &Batch) -> Done<usize> {
        // Those who write for one owner take turns, so that counts of terms are no reason to give way.
        self.run(
            "SELECT pg_advisory_xact_lock(hashtextextended('ctx.files:' || $1, 0))",
            &[],
        )
        .await?;
        self.transaction.batch_execute(STAGING).await?;
        let gone = self.forget(&batch.paths).await?;
        self.copy_files(&batch.files).await?;
        self.copy_parts(&batch.parts).await?;
        self.copy_terms(&batch.terms).await?;
        for sql in FROM_STAGING {
            self.run(sql, &[]).await?;
        }
        for (path, at) in &batch.touched {
            let sql = "UPDATE ctx.files SET modified_at = $3 WHERE owner = $1 AND path = $2";
            self.run(sql, &[path, at]).await?;
        }
        self.run(COUNT, &[]).await?;
        self.transaction
            .batch_execute("SELECT ctx.settle()")
            .await?;
        usize::try_from(gone).map_or(Ok(usize::MAX), Ok)
    }

    /// Runs a statement whose first value is the owner.
    async fn run(&self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Done<u64> {
        let statement = self.transaction.prepare_cached(sql).await?;
        let mut all: Vec<&(dyn ToSql + Sync)> = vec![&self.owner];
        all.extend(values);
        self.transaction.execute(&statement, &all).await
    }

    async fn forget(&self, paths: &[String]) -> Done<u64> {
        if paths.is_empty() {
            return Ok(0);
        }
        for sql in FORGET {
            self.run(sql, &[&paths]).await?;
        }
        self.run(
            "DELETE FROM ctx.files WHERE owner = $1 AND path = ANY ($2)",
            &[&paths],
        )
        .await
    }

    async fn copy_files(&self, files: &[FileRow]) -> Done<()> {
        let sql = "COPY pg_temp.ctx_files FROM STDIN (FORMAT binary)";
        let types = [
            Type::TEXT,
            Type::TEXT,
            Type::TEXT,
            Type::BYTEA,
            Type::INT8,
            Type::TEXT,
            Type::TEXT,
            Type::INT4,
            Type::INT4,
            Type::INT4,
            Type::TS_VECTOR,
            Type::TEXT,
        ];
        let sink = self.transaction.copy_in(sql).await?;
        let mut rows = pin!(BinaryCopyInWriter::new(sink, &types));
        for row in files {
            let path = &row.file.path;
            let name = path.rsplit('/').next().unwrap_or(path);
            let name = &name[..name.floor_char_boundary(LONGEST_NAME)];
            rows.as_mut()
                .write(&[
                    path,
                    &reversed(path),
                    &name,
                    &&row.hash[..],
                    &row.file.modified_at,
                    &Role::of(path).as_str(),
                    &row.language,
                    &row.lines,
                    &row.parts,
                    &row.terms.length,
                    &row.terms,
                    &row.file.text,
                ])
                .await?;
        }
        rows.as_mut().finish().await.map(drop)
    }

    async fn copy_parts(&self, parts: &[PartRow]) -> Done<()> {
        let sql = "COPY pg_temp.ctx_parts FROM STDIN (FORMAT binary)";
        let types = [
            Type::TEXT,
            Type::INT4,
            Type::INT4,
            Type::TEXT,
            Type::TEXT,
            Type::TEXT,
            Type::TEXT,
            Type::TEXT_ARRAY,
            Type::INT4,
            Type::TS_VECTOR,
            Type::TEXT_ARRAY,
            Type::TEXT_ARRAY,
        ];
        let sink = self.transaction.copy_in(sql).await?;
        let mut rows = pin!(BinaryCopyInWriter::new(sink, &types));
        for row in parts {
            rows.as_mut()
                .write(&[
                    &row.path,
                    &row.span.start().cast_signed(),
                    &row.span.end().cast_signed(),
                    &row.kind,
                    &row.name,
                    &row.qualified_name,
                    &row.language,
                    &row.refers_to,
                    &row.terms.length,
                    &row.terms,
                    &row.defines,
                    &row.uses,
                ])
                .await?;
        }
        rows.as_mut().finish().await.map(drop)
    }

    async fn copy_terms(&self, terms: &BTreeMap<String, (i32, i32)>) -> Done<()> {
        let sql = "COPY pg_temp.ctx_terms FROM STDIN (FORMAT binary)";
        let sink = self.transaction.copy_in(sql).await?;
        let types = [Type::TEXT, Type::INT4, Type::INT4];
        let mut rows = pin!(BinaryCopyInWriter::new(sink, &types));
        for (term, (parts, files)) in terms {
            rows.as_mut().write(&[term, parts, files]).await?;
        }
        rows.as_mut().finish().await.map(drop)
    }
}

/// Where COPY goes: empty at the beginning of each transaction. The tables stay with the connection, so that the
/// catalogue does not grow with each batch.
const STAGING: &str = "
    SET LOCAL client_min_messages = warning;
    CREATE TEMP TABLE IF NOT EXISTS ctx_files (
        path text, reversed text, name text, hash bytea, modified_at bigint, role text, language text,
        lines integer, parts integer, length integer, terms tsvector, content text
    ) ON COMMIT DELETE ROWS;
    CREATE TEMP TABLE IF NOT EXISTS ctx_parts (
        path text, first integer, last integer, kind text, name text, qualified_name text, language text,
        refers_to text[], length integer, terms tsvector, defines text[], uses text[]
    ) ON COMMIT DELETE ROWS;
    CREATE TEMP TABLE IF NOT EXISTS ctx_terms (term text COLLATE \"C\", parts integer, files integer)
        ON COMMIT DELETE ROWS;";

/// Takes what is at these paths out of the counts, and away.
const FORGET: [&str; 4] = [
    "UPDATE ctx.terms t SET parts = t.parts - gone.count
     FROM (
         SELECT lexeme, count(*)::int AS count
         FROM ctx.parts p, unnest(tsvector_to_array(p.terms)) lexeme
         WHERE p.owner = $1 AND p.path = ANY ($2) GROUP BY 1
     ) gone
     WHERE t.owner = $1 AND t.term = gone.lexeme",
    "UPDATE ctx.terms t SET files = t.files - gone.count
     FROM (
         SELECT lexeme, count(*)::int AS count
         FROM ctx.files f, unnest(tsvector_to_array(f.terms)) lexeme
         WHERE f.owner = $1 AND f.path = ANY ($2) GROUP BY 1
     ) gone
     WHERE t.owner = $1 AND t.term = gone.lexeme",
    "UPDATE ctx.owners o SET files = o.files - gone.files, parts = o.parts - gone.parts,
         part_terms = o.part_terms - gone.part_terms, file_terms = o.file_terms - gone.file_terms
     FROM (
         SELECT count(*) AS files, coalesce(sum(f.parts), 0)::bigint AS parts,
             coalesce(sum(f.length), 0)::bigint AS file_terms,
             (SELECT coalesce(sum(p.length), 0)::bigint FROM ctx.parts p
              WHERE p.owner = $1 AND p.path = ANY ($2)) AS part_terms
         FROM ctx.files f WHERE f.owner = $1 AND f.path = ANY ($2)
     ) gone
     WHERE o.owner = $1",
    "DELETE FROM ctx.parts WHERE owner = $1 AND path = ANY ($2)",
];

const FROM_STAGING: [&str; 3] = [
    "INSERT INTO ctx.files (owner, path, reversed, name, hash, modified_at, role, language, lines, parts, length,
         terms, content)
     SELECT $1, path, reversed, name, hash, modified_at, role, language, lines, parts, length, terms, content
     FROM pg_temp.ctx_files",
    "INSERT INTO ctx.parts (owner, path, first, last, kind, name, qualified_name, language, refers_to, length,
         terms, defines, uses)
     SELECT $1, path, first, last, kind, name, qualified_name, language, refers_to, length, terms, defines, uses
     FROM pg_temp.ctx_parts",
    "INSERT INTO ctx.terms AS t (owner, term, parts, files)
     SELECT $1, term, parts, files FROM pg_temp.ctx_terms
     ON CONFLICT (owner, term) DO UPDATE SET parts = t.parts + excluded.parts, files = t.files + excluded.files",
];

/// Each batch is a generation.
const COUNT: &str = "
    INSERT INTO ctx.owners AS o (owner, generation, files, parts, part_terms, file_terms)
    SELECT $1, 1, count(*), coalesce(sum(f.parts), 0)::bigint,
        (SELECT coalesce(sum(length), 0)::bigint FROM pg_temp.ctx_parts), coalesce(sum(f.length), 0)::bigint
    FROM pg_temp.ctx_files f
    ON CONFLICT (owner) DO UPDATE SET generation = o.generation + 1,
        files = o.files + excluded.files, parts = o.parts + excluded.parts,
        part_terms = o.part_terms + excluded.part_terms, file_terms = o.file_terms + excluded.file_terms";
