//! Questions in German, French and Spanish about code in English: which words of theirs say nothing.

use crate::words::says_nothing;

/// The function words of a language.
struct Language {
    /// Words that hardly stand in English or in code. Sorted.
    clear: &'static [&'static str],
    /// Others, which do: they say nothing where the clear ones tell that it is this language. Sorted.
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

/// So many words tell the language, the first.
const MOST: usize = 2_000;
/// Of so many words of a text one is a function word of its language, at least.
const SHARE: usize = 4;

/// The words that say nothing in a text of another language than English; of one in English there are none.
#[derive(Clone, Copy, Default)]
pub(crate) struct Foreign(Option<&'static Language>);

impl Foreign {
    /// Those of the language that the `lines` of a text are evidently in: one word in four at least is one of its function words, two at
    /// least and more than are of English are of no other, and one of them is hardly anything else. `die` and `con` alone may be
    /// names, and `a`, `in` and `was` tell nothing. O(bytes of the first 2,000 words).
    pub(crate) fn of<'t>(lines: impl Iterator<Item = &'t str>) -> Self {
        let is_around = |c: char| !c.is_alphanumeric() && c != '_';
        // What is quoted may be in any language.
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
            // What is made of function words alone asks for one of them.
            if is_it && own + both + english < all && own > best.0 {
                best = (own, Some(language));
            }
        }
        Foreign(best.1)
    }

    /// Whether `word` says nothing, in any case.
    pub(crate) fn says_nothing(self, word: &str) -> bool {
        self.0
            .is_some_and(|it| it.has(&word.to_lowercase()).is_some())
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
