//! Questions in German, French and Spanish about code in English: the stop words of these
//! languages.

use crate::words::{MAX_TERM_BYTES, composed, says_nothing};

/// The function words of a language.
struct Language {
    /// Words that hardly occur in English or in code. Sorted.
    clear: &'static [&'static str],
    /// Words that do occur there: they are stop words only if clear ones show that the text is in
    /// this language. Sorted.
    others: &'static [&'static str],
}

const LANGUAGES: [Language; 3] = [
    // German
    Language {
        clear: &[
            "aber", "auch", "auf", "aus", "bei", "beim", "damit", "dann", "dass", "dem", "den",
            "diese", "dieser", "dieses", "durch", "ein", "eine", "einem", "einen", "einer",
            "eines", "für", "gibt", "haben", "ich", "im", "ist", "kann", "kein", "keine", "nach",
            "nicht", "noch", "nur", "oder", "sich", "sie", "sind", "und", "unter", "vom", "von",
            "wann", "warum", "welche", "welcher", "welches", "wenn", "werden", "wie", "wieso",
            "wird", "wo", "wofür", "woher", "wurde", "zu", "zum", "zur", "zwischen", "über",
        ],
        others: &[
            "als", "am", "an", "das", "der", "des", "die", "er", "es", "hat", "hier", "in", "man",
            "mit", "so", "um", "uns", "vor", "war", "was", "wer",
        ],
    },
    // French
    Language {
        clear: &[
            "aux", "avec", "cette", "chez", "dans", "donc", "du", "elle", "est", "et", "faut",
            "ils", "je", "la", "le", "les", "leur", "mais", "nous", "ont", "où", "peut", "pour",
            "pourquoi", "qu", "quand", "quel", "quelle", "quelles", "quels", "quoi", "sont",
            "sous", "sur", "une", "vous", "à", "être",
        ],
        others: &[
            "au", "ce", "ces", "comme", "comment", "de", "des", "en", "entre", "il", "ne", "on",
            "ou", "par", "pas", "plus", "que", "qui", "sans", "se", "ses", "si", "son", "un", "y",
        ],
    },
    // Spanish
    Language {
        clear: &[
            "cuando", "cuál", "cuáles", "cuándo", "cómo", "desde", "donde", "dónde", "el", "ella",
            "esta", "este", "esto", "está", "están", "hace", "hasta", "hay", "la", "las", "los",
            "más", "pero", "por", "porque", "puede", "quién", "qué", "según", "sus", "también",
            "tiene", "una",
        ],
        others: &[
            "a", "al", "como", "con", "de", "del", "en", "entre", "es", "ha", "lo", "no", "o",
            "para", "que", "se", "ser", "si", "sin", "sobre", "son", "su", "todo", "un", "y",
        ],
    },
];

/// The number of leading words by which the language is decided.
const MOST: usize = 2_000;
/// At least one in this many words of a text is a function word of its language.
const SHARE: usize = 4;

/// The stop words of a text in a language other than English; none for English.
#[derive(Clone, Copy, Default)]
pub(crate) struct Foreign(Option<&'static Language>);

impl Foreign {
    /// Decides the language of the `lines` of a text: at least one word in four is one of its
    /// function words; at least two words are so that are no English stop words, and more than
    /// there are English stop words that are not; and at least one is a clear one. `die` and `con`
    /// alone may be names, and `a`, `in` and `was` prove nothing. O(bytes of the first 2,000
    /// words).
    pub(crate) fn of<'t>(lines: impl Iterator<Item = &'t str>) -> Self {
        let is_around = |c: char| !c.is_alphanumeric() && c != '_';
        // Quoted text may be in any language.
        let pieces = lines.flat_map(|line| line.split(['"', '`']).step_by(2));
        let words = pieces.flat_map(|it| it.split(is_around));
        let words = words.filter(|it| it.contains(char::is_alphabetic));
        let words: Vec<String> = words.take(MOST).map(str::to_lowercase).collect();
        let mut best = (0, None);
        for language in &LANGUAGES {
            let (mut all, mut clear, mut others, mut both, mut english) = (0, 0, 0, 0, 0);
            for word in &words {
                all += 1;
                match language.has(word) {
                    Some(true) => clear += 1,
                    Some(false) if says_nothing(word) => both += 1,
                    Some(false) => others += 1,
                    None => english += usize::from(says_nothing(word)),
                }
            }
            let own = clear + others;
            let is_it = clear > 0 && own > 1 && own > english && (own + both) * SHARE >= all;
            // A question that consists of function words alone asks about one of them.
            if is_it && own + both + english < all && own > best.0 {
                best = (own, Some(language));
            }
        }
        Foreign(best.1)
    }

    /// Whether `word` is a stop word of the language, ignoring case.
    pub(crate) fn says_nothing(self, word: &str) -> bool {
        let has = |it: &Language| it.has(&composed(word).to_lowercase()).is_some();
        self.0
            .is_some_and(|it| word.len() <= MAX_TERM_BYTES && has(it))
    }
}

impl std::fmt::Debug for Foreign {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Foreign").field(&self.0.is_some()).finish()
    }
}

impl Language {
    /// Whether `word`, in lower case, is a clear one; `None` if it is no function word.
    fn has(&self, word: &str) -> Option<bool> {
        let is_in = |list: &[&str]| list.binary_search(&word).is_ok();
        is_in(self.clear)
            .then_some(true)
            .or_else(|| is_in(self.others).then_some(false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_sorted_and_stand_in_one_list() {
        for Language { clear, others } in LANGUAGES {
            assert!(clear.is_sorted() && others.is_sorted(), "{clear:?}");
            assert!(clear.iter().all(|it| !others.contains(it)));
            assert!(clear.iter().all(|it| !says_nothing(it)), "{clear:?}");
        }
    }
}
