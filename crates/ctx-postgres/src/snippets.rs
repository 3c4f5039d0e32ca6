//! What of a part is about a question.

use crate::StoreError;
use crate::store::OwnedStore;

/// A passage about a question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snippet {
    /// Text of the part: its best lines, some words of each, joined by " … ".
    pub text: String,
    /// The bytes of the words in it that the question has too.
    pub matches: Vec<std::ops::Range<usize>>,
}

impl OwnedStore {
    /// What of each of these parts, by path, first and last line, is about `question`, which is free text: words, "phrases", -without. Parts that
    /// are not there have an empty snippet. Matches are by the server's English configuration.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn snippets(
        &self,
        question: &str,
        parts: &[(&str, u32, u32)],
    ) -> Result<Vec<Snippet>, StoreError> {
        let question: String = question
            .chars()
            .filter(|&it| it != '\0')
            .take(self.limits().question)
            .collect();
        let usable: Vec<_> = (1..)
            .zip(parts)
            .filter(|(_, it)| !it.0.contains('\0'))
            .collect();
        let numbers: Vec<i64> = usable.iter().map(|(number, _)| *number).collect();
        let paths: Vec<&str> = usable.iter().map(|(_, it)| it.0).collect();
        let line = |it: u32| i32::try_from(it).unwrap_or(i32::MAX);
        let first: Vec<i32> = usable.iter().map(|(_, it)| line(it.1)).collect();
        let last: Vec<i32> = usable.iter().map(|(_, it)| line(it.2)).collect();
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 6] =
            [&self.owner(), &question, &numbers, &paths, &first, &last];
        let rows = self.read("write snippets", SNIPPETS, &values).await?;
        let mut snippets = vec![Snippet::default(); parts.len()];
        for row in rows {
            let at = usize::try_from(row.get::<_, i64>(0) - 1).unwrap_or(usize::MAX);
            if let Some(snippet) = snippets.get_mut(at) {
                *snippet = marked(row.get(1));
            }
        }
        Ok(snippets)
    }
}

/// Matches stand between two control characters, which are taken out of the text before.
const SNIPPETS: &str = "
    SELECT k.number, ts_headline(
        'english',
        translate(array_to_string((string_to_array(f.content, E'\\n'))[k.first:k.last], E'\\n'), E'\\x01\\x02', ''),
        q,
        E'StartSel=\\x01, StopSel=\\x02, MaxFragments=3, MinWords=5, MaxWords=24, FragmentDelimiter=\" … \"'
    )
    FROM unnest($3::bigint[], $4::text[], $5::int[], $6::int[]) AS k (number, path, first, last)
    JOIN ctx.files f ON f.owner = $1 AND f.path = k.path, websearch_to_tsquery('english', $2) q";

fn marked(headline: &str) -> Snippet {
    let mut snippet = Snippet::default();
    let mut open = None;
    for c in headline.chars() {
        match c {
            '\u{1}' => open = Some(snippet.text.len()),
            '\u{2}' => snippet
                .matches
                .extend(open.take().map(|start| start..snippet.text.len())),
            other => snippet.text.push(other),
        }
    }
    snippet
}
