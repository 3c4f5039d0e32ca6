//! Writes a batch to the database by COPY.
//!
//! COPY cannot write to tables with row-level security. So it writes to temporary tables, which are
//! emptied at the end of the transaction, and from these rows are inserted into the permanent ones.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;

use ctx_model::UnixSeconds;
use ctx_rank::Role;
use deadpool_postgres::Transaction;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Row, Statement};

use super::rows::{Batch, FileRow, LONGEST_NAME, PartRow, reversed};
use crate::StoreError;
use crate::transaction::Waiting;

/// A file that was replaced or removed, and the BLAKE3 stored with it.
pub(super) type Gone = (String, [u8; 32]);

type Done<T> = Result<T, StoreError>;

/// A transaction that stores files.
pub(super) struct Writing<'t> {
    pub(super) owner: &'t str,
    pub(super) transaction: &'t Transaction<'t>,
    pub(super) waiting: Waiting,
}

impl Writing<'_> {
    /// Takes a lock so that writers for one owner run one at a time. Then counts of terms cause no
    /// conflicts, and what is checked here holds until the end.
    pub(super) async fn take_turn(&self) -> Done<()> {
        let sql = "SELECT pg_advisory_xact_lock(hashtextextended('ctx.files:' || $1, 0))";
        self.run(sql, &[]).await.map(drop)
    }

    /// Whether all files of `batch` that were unchanged when it was built still are.
    pub(super) async fn is_unchanged(&self, batch: &Batch) -> Done<bool> {
        if batch.unchanged.is_empty() {
            return Ok(true);
        }
        let files = batch.unchanged.iter();
        let (paths, hashes): (Vec<&str>, Vec<&[u8]>) =
            files.map(|(it, hash)| (&*it.path, &hash[..])).unzip();
        let statement = self.prepared(CHANGED).await?;
        let values: [&(dyn ToSql + Sync); 3] = [&self.owner, &paths, &hashes];
        let changed = self.transaction.query_one(&statement, &values);
        let row = self.waiting.of(changed).await?;
        Ok(!row.get::<_, bool>(0))
    }

    /// A new file of `batch` whose path leads through a file, or that would be a folder, with
    /// whether it is the latter. Other files of the batch count as existing.
    pub(super) async fn misplaced(&self, batch: &Batch) -> Done<Option<(String, bool)>> {
        let paths: Vec<&str> = batch.files.iter().map(|it| it.file.path.as_str()).collect();
        if let Some(found) = within_batch(&paths) {
            return Ok(Some(found));
        }
        let above = paths
            .iter()
            .flat_map(|path| above(path).map(|it| (it, *path)));
        let (folders, of): (Vec<&str>, Vec<&str>) = above.unzip();
        let statement = self.prepared(MISPLACED).await?;
        let values: [&(dyn ToSql + Sync); 4] = [&self.owner, &paths, &folders, &of];
        let found = self.transaction.query_opt(&statement, &values);
        let row = self.waiting.of(found).await?;
        Ok(row.map(|row| (row.get(0), row.get(1))))
    }

    /// The number of the owner's files, and their bytes.
    pub(super) async fn totals(&self) -> Done<(u64, u64)> {
        let sql = "SELECT files, bytes FROM ctx.owners WHERE owner = $1";
        let statement = self.prepared(sql).await?;
        let values: [&(dyn ToSql + Sync); 1] = [&self.owner];
        let found = self.transaction.query_opt(&statement, &values);
        let row = self.waiting.of(found).await?;
        let count = |at: usize| {
            row.as_ref()
                .map_or(0, |it| it.get::<_, i64>(at).cast_unsigned())
        };
        Ok((count(0), count(1)))
    }

    /// Stores `batch`, replacing the files at its paths. Returns the files that were replaced or
    /// removed. If none was and none is new, the generation does not change.
    pub(super) async fn all(&self, batch: &Batch) -> Done<Vec<Gone>> {
        let staged = self.transaction.batch_execute(STAGING);
        self.waiting.of(staged).await?;
        let gone = self.forget(&batch.paths).await?;
        let removes = batch.files.is_empty();
        if !removes || !gone.is_empty() {
            self.replace(batch, &gone).await?;
        }
        if removes {
            // The last statement, since whoever uses these files would wait for the others.
            self.run(NOT_USED, &[&batch.paths]).await?;
        }
        Ok(gone)
    }

    /// Stores `batch` in the place of the files that are `gone`.
    async fn replace(&self, batch: &Batch, gone: &[Gone]) -> Done<()> {
        self.copy_files(&batch.files).await?;
        self.copy_parts(&batch.parts).await?;
        self.copy_terms(&batch.terms).await?;
        for sql in FROM_STAGING {
            self.run(sql, &[]).await?;
        }
        if !gone.is_empty() {
            self.run(UNUSED, &[]).await?;
        }
        self.run(COUNT, &[]).await?;
        let settled = self.transaction.batch_execute("SELECT ctx.settle()");
        self.waiting.of(settled).await
    }

    /// Runs a statement whose first parameter is the owner.
    async fn run(&self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Done<u64> {
        let statement = self.prepared(sql).await?;
        let mut all: Vec<&(dyn ToSql + Sync)> = vec![&self.owner];
        all.extend(values);
        let done = self.transaction.execute(&statement, &all);
        self.waiting.of(done).await
    }

    async fn prepared(&self, sql: &str) -> Done<Statement> {
        self.waiting.of(self.transaction.prepare_cached(sql)).await
    }

    async fn forget(&self, paths: &[String]) -> Done<Vec<Gone>> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        for sql in FORGET {
            self.run(sql, &[&paths]).await?;
        }
        let sql = "DELETE FROM ctx.files WHERE owner = $1 AND path = ANY ($2) RETURNING path, hash";
        let statement = self.prepared(sql).await?;
        let values: [&(dyn ToSql + Sync); 2] = [&self.owner, &paths];
        let gone = self.transaction.query(&statement, &values);
        let gone = self.waiting.of(gone).await?;
        // The table holds no hashes of other lengths.
        let hash = |row: &Row| row.get::<_, &[u8]>(1).try_into().unwrap_or_default();
        Ok(gone.iter().map(|row| (row.get(0), hash(row))).collect())
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
            Type::BYTEA,
        ];
        let sink = self.waiting.of(self.transaction.copy_in(sql)).await?;
        let mut rows = pin!(BinaryCopyInWriter::new(sink, &types));
        for row in files {
            let path = &row.file.path;
            let name = path.rsplit('/').next().unwrap_or(path);
            let name = &name[..name.floor_char_boundary(LONGEST_NAME)];
            let reversed = reversed(path);
            let values: [&(dyn ToSql + Sync); 13] = [
                path,
                &reversed,
                &name,
                &&row.hash[..],
                &row.file.modified_at.map(UnixSeconds::get),
                &Role::of(path).as_str(),
                &row.language,
                &row.lines,
                &row.parts,
                &row.terms.length,
                &row.terms,
                &row.file.text,
                &row.outline,
            ];
            self.waiting.of(rows.as_mut().write(&values)).await?;
        }
        self.waiting.of(rows.as_mut().finish()).await.map(drop)
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
        let sink = self.waiting.of(self.transaction.copy_in(sql)).await?;
        let mut rows = pin!(BinaryCopyInWriter::new(sink, &types));
        for row in parts {
            let lines = [row.span.start(), row.span.end()].map(u32::cast_signed);
            let values: [&(dyn ToSql + Sync); 12] = [
                &row.path,
                &lines[0],
                &lines[1],
                &row.kind.as_str(),
                &row.name,
                &row.qualified_name,
                &row.language,
                &row.refers_to,
                &row.terms.length,
                &row.terms,
                &row.defines,
                &row.uses,
            ];
            self.waiting.of(rows.as_mut().write(&values)).await?;
        }
        self.waiting.of(rows.as_mut().finish()).await.map(drop)
    }

    async fn copy_terms(&self, terms: &BTreeMap<String, (i32, i32)>) -> Done<()> {
        let sql = "COPY pg_temp.ctx_terms FROM STDIN (FORMAT binary)";
        let sink = self.waiting.of(self.transaction.copy_in(sql)).await?;
        let types = [Type::TEXT, Type::INT4, Type::INT4];
        let mut rows = pin!(BinaryCopyInWriter::new(sink, &types));
        for (term, (parts, files)) in terms {
            let values: [&(dyn ToSql + Sync); 3] = [term, parts, files];
            self.waiting.of(rows.as_mut().write(&values)).await?;
        }
        self.waiting.of(rows.as_mut().finish()).await.map(drop)
    }
}

/// The folders above `path`: `a` and `a/b` for `a/b/c`.
fn above(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

/// The first of `paths` that leads through another one.
fn within_batch(paths: &[&str]) -> Option<(String, bool)> {
    let all: BTreeSet<&str> = paths.iter().copied().collect();
    let leads = |path: &&&str| above(path).any(|it| all.contains(it));
    paths.iter().find(leads).map(|it| ((*it).to_owned(), false))
}

const CHANGED: &str = "
    SELECT EXISTS (
        SELECT FROM unnest($2::text[], $3::bytea[]) AS it (path, hash)
        LEFT JOIN ctx.files f ON f.owner = $1 AND f.path = it.path
        WHERE f.hash IS DISTINCT FROM it.hash
    )";

/// Only for new files. The character after `/` is `0`, which bounds the range of paths in a folder.
const MISPLACED: &str = "
    WITH new AS (
        SELECT it.path FROM unnest($2::text[]) AS it (path)
        WHERE NOT EXISTS (SELECT FROM ctx.files f WHERE f.owner = $1 AND f.path = it.path)
    )
    SELECT new.path, true FROM new WHERE EXISTS (
        SELECT FROM ctx.files f WHERE f.owner = $1 AND f.path > new.path || '/' AND f.path < new.path || '0'
    )
    UNION ALL
    SELECT new.path, false FROM new JOIN unnest($3::text[], $4::text[]) AS above (folder, path) USING (path)
    WHERE EXISTS (SELECT FROM ctx.files f WHERE f.owner = $1 AND f.path = above.folder)
    LIMIT 1";

/// The temporary tables that COPY writes to, empty at the beginning of each transaction. They live
/// as long as the connection, so that the catalogue does not grow with each batch. Values
/// compressed there stay compressed when they are inserted into the permanent tables.
const STAGING: &str = "
    DO $$ BEGIN
        IF to_regclass('pg_temp.ctx_files') IS NULL THEN
            CREATE TEMP TABLE ctx_files (
                path text, reversed text, name text, hash bytea, modified_at bigint, role text, language text,
                lines integer, parts integer, length integer, terms tsvector, content text, outline bytea
            ) ON COMMIT DELETE ROWS;
            CREATE TEMP TABLE ctx_parts (
                path text, first integer, last integer, kind text, name text, qualified_name text, language text,
                refers_to text[], length integer, terms tsvector, defines text[], uses text[]
            ) ON COMMIT DELETE ROWS;
            CREATE TEMP TABLE ctx_terms (term text COLLATE \"C\", parts integer, files integer)
                ON COMMIT DELETE ROWS;
            ALTER TABLE pg_temp.ctx_files ALTER COLUMN terms SET STORAGE EXTERNAL;
            ALTER TABLE pg_temp.ctx_parts ALTER COLUMN terms SET STORAGE EXTERNAL;
        END IF;
    END $$";

/// Removes the files at these paths, and subtracts them from the counts. Counts of removed terms
/// are netted with those of added ones: most terms of a replaced file stay as they are.
const FORGET: [&str; 3] = [
    "INSERT INTO pg_temp.ctx_terms (term, parts, files)
     SELECT lexeme, -count(*)::int, 0
     FROM ctx.parts p, unnest(tsvector_to_array(p.terms)) lexeme
     WHERE p.owner = $1 AND p.path = ANY ($2) GROUP BY 1
     UNION ALL
     SELECT lexeme, 0, -count(*)::int
     FROM ctx.files f, unnest(tsvector_to_array(f.terms)) lexeme
     WHERE f.owner = $1 AND f.path = ANY ($2) GROUP BY 1",
    "UPDATE ctx.owners o SET files = o.files - gone.files, parts = o.parts - gone.parts,
         part_terms = o.part_terms - gone.part_terms, file_terms = o.file_terms - gone.file_terms,
         bytes = o.bytes - gone.bytes
     FROM (
         SELECT count(*) AS files, coalesce(sum(f.parts), 0)::bigint AS parts,
             coalesce(sum(octet_length(f.content)), 0)::bigint AS bytes,
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
         terms, content, outline)
     SELECT $1, path, reversed, name, hash, modified_at, role, language, lines, parts, length, terms, content, outline
     FROM pg_temp.ctx_files",
    "INSERT INTO ctx.parts (owner, path, first, last, kind, name, qualified_name, language, refers_to, length,
         terms, defines, uses)
     SELECT $1, path, first, last, kind, name, qualified_name, language, refers_to, length, terms, defines, uses
     FROM pg_temp.ctx_parts",
    "INSERT INTO ctx.terms AS t (owner, term, parts, files)
     SELECT $1, term, sum(parts)::int, sum(files)::int FROM pg_temp.ctx_terms
     GROUP BY term HAVING sum(parts) <> 0 OR sum(files) <> 0 ORDER BY term
     ON CONFLICT (owner, term) DO UPDATE SET parts = t.parts + excluded.parts, files = t.files + excluded.files",
];

/// Removes the times when the files were shown; usage counts above 0 stay. Rows are locked in the
/// order that all writers use.
const NOT_USED: &str = "
    WITH it AS MATERIALIZED (
        SELECT path, uses FROM ctx.usage WHERE owner = $1 AND path = ANY ($2) AND (shown_at > 0 OR uses = 0)
        ORDER BY path FOR UPDATE
    ), gone AS (
        DELETE FROM ctx.usage u USING it WHERE u.owner = $1 AND u.path = it.path AND it.uses = 0
    )
    UPDATE ctx.usage u SET shown_at = 0 FROM it WHERE u.owner = $1 AND u.path = it.path AND it.uses > 0";

/// Removes terms that no document holds any more, among those whose counts fell. Uses the key,
/// however many terms the owner has.
const UNUSED: &str = "
    DELETE FROM ctx.terms WHERE owner = $1 AND parts <= 0 AND files <= 0 AND term = ANY (ARRAY(
        SELECT term FROM pg_temp.ctx_terms GROUP BY term HAVING sum(parts) < 0 OR sum(files) < 0
    ))";

/// Every batch increments the generation.
const COUNT: &str = "
    INSERT INTO ctx.owners AS o (owner, generation, bytes, files, parts, part_terms, file_terms)
    SELECT $1, 1, coalesce(sum(octet_length(f.content)), 0)::bigint, count(*), coalesce(sum(f.parts), 0)::bigint,
        (SELECT coalesce(sum(length), 0)::bigint FROM pg_temp.ctx_parts), coalesce(sum(f.length), 0)::bigint
    FROM pg_temp.ctx_files f
    ON CONFLICT (owner) DO UPDATE SET generation = o.generation + 1, bytes = o.bytes + excluded.bytes,
        files = o.files + excluded.files, parts = o.parts + excluded.parts,
        part_terms = o.part_terms + excluded.part_terms, file_terms = o.file_terms + excluded.file_terms";
