//! The words and signs of a query.

/// Reads the text of a query from its beginning to its end.
pub(crate) struct Scanner<'s> {
    source: &'s str,
    /// The byte that is read next.
    pub(crate) at: usize,
}

impl<'s> Scanner<'s> {
    pub(crate) fn new(source: &'s str) -> Self {
        Scanner { source, at: 0 }
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.at >= self.source.len()
    }

    /// Whether a predicate is next.
    pub(crate) fn is_predicate(&self) -> bool {
        let inner = self.rest().strip_prefix('(');
        inner.is_some_and(|it| it.trim_start().starts_with('#'))
    }

    /// Reads a text in quotes.
    pub(crate) fn string(&mut self) -> Result<String, String> {
        let from = self.at;
        self.take('"');
        let mut text = String::new();
        let mut rest = self.rest().chars();
        while let Some(next) = rest.next() {
            match next {
                '"' => {
                    self.at = self.source.len() - rest.as_str().len();
                    return Ok(text);
                }
                '\n' => break,
                '\\' => text.extend(rest.next().map(|escaped| match escaped {
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    '0' => '\0',
                    other => other,
                })),
                other => text.push(other),
            }
        }
        Err(self.wrong("does not end", from))
    }

    /// Reads a name, which may be empty.
    pub(crate) fn word(&mut self) -> &'s str {
        let rest = self.rest();
        let is_inside = |c: char| c.is_alphanumeric() || "_-".contains(c);
        let end = if rest.starts_with(is_inside) {
            rest.find(|c: char| !is_inside(c) && c != '.')
                .unwrap_or(rest.len())
        } else {
            0
        };
        self.at += end;
        &rest[..end]
    }

    pub(crate) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Passes `sign`, if it is next.
    pub(crate) fn take(&mut self, sign: char) -> bool {
        let is_next = self.peek() == Some(sign);
        self.at += if is_next { sign.len_utf8() } else { 0 };
        is_next
    }

    /// Passes white space and comments.
    pub(crate) fn skip_space(&mut self) {
        loop {
            let rest = self.rest();
            let content = rest.trim_start();
            self.at += rest.len() - content.len();
            if !content.starts_with(';') {
                return;
            }
            self.at += content.find('\n').unwrap_or(content.len());
        }
    }

    /// An error that says `what` is wrong with the text from byte `from` on.
    pub(crate) fn wrong(&self, what: &str, from: usize) -> String {
        let line = self.source[from..].lines().next().unwrap_or_default();
        let shown: String = line.chars().take(60).collect();
        format!("{shown:?} {what}")
    }

    fn rest(&self) -> &'s str {
        &self.source[self.at..]
    }
}
