//! The stored files of an owner.

use std::collections::{BTreeMap, BTreeSet};

use ctx_model::UnixSeconds;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::{OwnedStore, StoreError};

/// A file, without its text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredFile {
    /// Its path, with `/` as separator.
    pub path: String,
    /// BLAKE3 of its text.
    pub hash: [u8; 32],
    /// The bytes of its text.
    pub bytes: u64,
    /// When it was last modified.
    pub modified_at: Option<UnixSeconds>,
    /// Its role, worded as by `ctx_rank::Role`.
    pub role: String,
    /// The number of its lines.
    pub lines: u32,
    /// The number of its parts.
    pub parts: u32,
}

/// The text of a file, unless the caller has it already.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredText {
    /// Its path.
    pub path: String,
    /// BLAKE3 of its text.
    pub hash: [u8; 32],
    /// The text; `None` if its hash was among the known ones, or if it is left.
    pub text: Option<String>,
    /// What a grammar read from it, for [`Outline::unseal`](ctx_syntax::Outline::unseal). `None` if
    /// there is none, or if `text` is.
    pub outline: Option<Vec<u8>>,
    /// Whether the text is to be asked for again, as those before it are many.
    pub is_left: bool,
}

/// The bytes of texts and outlines after which no further ones are sent: a statement has little
/// time.
const SENT_BYTES: i64 = 8 << 20;

/// How much an owner has stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Totals {
    /// The number of files.
    pub files: u64,
    /// The bytes of all files together.
    pub bytes: u64,
    /// The number of parts.
    pub parts: u64,
    /// How often files were stored or removed: results of another generation may be stale.
    pub generation: u64,
}

impl OwnedStore {
    /// How much the owner has stored.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn totals(&self) -> Result<Totals, StoreError> {
        let sql = "SELECT files, bytes, parts, generation FROM ctx.owners WHERE owner = $1";
        let rows = self.read("count files", sql, &[&self.owner()]).await?;
        let count = |row: &Row, at: usize| row.get::<_, i64>(at).cast_unsigned();
        Ok(rows.first().map_or_else(Totals::default, |row| Totals {
            files: count(row, 0),
            bytes: count(row, 1),
            parts: count(row, 2),
            generation: count(row, 3),
        }))
    }

    /// The files whose paths sort after `after`, in order, at most `limit`. Begin with an empty
    /// `after`.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn stored_files(
        &self,
        after: &str,
        limit: usize,
    ) -> Result<Vec<StoredFile>, StoreError> {
        let sql = "SELECT path, hash, modified_at, role, lines, parts, octet_length(content) FROM ctx.files
                   WHERE owner = $1 AND path > $2 ORDER BY path LIMIT $3::int";
        // No path contains a NUL, so what follows `a\0b` is what follows `a`.
        let (after, _) = after.split_once('\0').unwrap_or((after, ""));
        let (after, limit) = (after, self.limits().rows(limit));
        let rows = self
            .read("list files", sql, &[&self.owner(), &after, &limit])
            .await?;
        Ok(rows.iter().map(file).collect())
    }

    /// The texts of those of `paths` that exist, ordered by path. Texts whose hash is in `known`
    /// are not sent, and neither are those after the first 8 MiB, which are left. One round trip.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn texts(
        &self,
        paths: &[&str],
        known: &[[u8; 32]],
    ) -> Result<Vec<StoredText>, StoreError> {
        let paths: Vec<&str> = paths
            .iter()
            .copied()
            .filter(|it| !it.contains('\0'))
            .collect();
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let known: Vec<&[u8]> = known.iter().map(<[u8; 32]>::as_slice).collect();
        // How long a text is, is known without it.
        let sql = "SELECT path, hash, CASE WHEN is_sent THEN content END, CASE WHEN is_sent THEN outline END,
                       NOT (is_known OR is_sent)
                   FROM (
                       SELECT *, NOT is_known AND sum(bytes) OVER (ORDER BY path) - bytes < $4 AS is_sent
                       FROM (
                           SELECT path, hash, content, outline, hash = ANY ($3) AS is_known,
                               CASE WHEN hash = ANY ($3) THEN 0
                               ELSE octet_length(content) + coalesce(octet_length(outline), 0) END AS bytes
                           FROM ctx.files WHERE owner = $1 AND path = ANY ($2)
                       ) found
                   ) files ORDER BY path";
        let values: [&(dyn ToSql + Sync); 4] = [&self.owner(), &paths, &known, &SENT_BYTES];
        let rows = self.read("read files", sql, &values).await?;
        let text = |row: &Row| StoredText {
            path: row.get(0),
            hash: row.get::<_, &[u8]>(1).try_into().unwrap_or_default(),
            text: row.get(2),
            outline: row.get(3),
            is_left: row.get(4),
        };
        Ok(rows.iter().map(text).collect())
    }

    /// The hash of each of `paths` that exists.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn hashes(&self, paths: &[&str]) -> Result<BTreeMap<String, [u8; 32]>, StoreError> {
        let paths: Vec<&str> = paths
            .iter()
            .copied()
            .filter(|it| !it.contains('\0'))
            .collect();
        let sql = "SELECT path, hash FROM ctx.files WHERE owner = $1 AND path = ANY ($2)";
        let rows = self
            .read("look at files", sql, &[&self.owner(), &paths])
            .await?;
        let hash = |row: &Row| {
            let hash = row.get::<_, &[u8]>(1).try_into().unwrap_or_default();
            (row.get(0), hash)
        };
        Ok(rows.iter().map(hash).collect())
    }

    /// The paths among `files` (path, text and BLAKE3) that are stored with the same hash but
    /// another text, which a damaged disk causes. The texts are sent to be compared. One round
    /// trip.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn damaged(
        &self,
        files: &[(&str, &str, [u8; 32])],
    ) -> Result<BTreeSet<String>, StoreError> {
        let files = files
            .iter()
            .filter(|(path, text, _)| !path.contains('\0') && !text.contains('\0'));
        let (mut paths, mut texts, mut hashes) = (Vec::new(), Vec::new(), Vec::new());
        for (path, text, hash) in files {
            paths.push(*path);
            texts.push(*text);
            hashes.push(&hash[..]);
        }
        if paths.is_empty() {
            return Ok(BTreeSet::new());
        }
        let sql = "SELECT f.path FROM ctx.files f
                   JOIN unnest($2::text[], $3::text[], $4::bytea[]) AS it (path, content, hash) ON f.path = it.path
                   WHERE f.owner = $1 AND f.hash = it.hash AND f.content <> it.content";
        let values: [&(dyn ToSql + Sync); 4] = [&self.owner(), &paths, &texts, &hashes];
        let rows = self.read("compare files", sql, &values).await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    /// The text of the file at `path`, if it exists.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn text(&self, path: &str) -> Result<Option<String>, StoreError> {
        if path.contains('\0') {
            return Ok(None);
        }
        let sql = "SELECT content FROM ctx.files WHERE owner = $1 AND path = $2";
        let rows = self
            .read("read a file", sql, &[&self.owner(), &path])
            .await?;
        Ok(rows.first().map(|row| row.get(0)))
    }
}

fn file(row: &Row) -> StoredFile {
    StoredFile {
        path: row.get(0),
        hash: row.get::<_, &[u8]>(1).try_into().unwrap_or_default(),
        modified_at: row.get::<_, Option<i64>>(2).map(UnixSeconds::new),
        role: row.get(3),
        lines: row.get::<_, i32>(4).cast_unsigned(),
        parts: row.get::<_, i32>(5).cast_unsigned(),
        bytes: row.get::<_, i32>(6).cast_unsigned().into(),
    }
}
