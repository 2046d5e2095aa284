//! Stemming many texts.

use std::collections::HashMap;
use std::sync::Arc;

use super::{identifiers, is_stop_word, parts, stem, words};

/// Reads many texts, and stems each different word once.
#[derive(Default)]
pub(crate) struct Stemmer {
    /// By word in lower case; stop words have none.
    known: HashMap<String, Option<Arc<str>>>,
}

impl Stemmer {
    /// Returns the stems of the words of a text in order, and those of the parts of words that are written together. Stop words are
    /// left out.
    pub(crate) fn stems(&mut self, text: &str) -> Vec<Arc<str>> {
        let all = words(text).chain(parts(text)).chain(identifiers(text));
        all.filter_map(|word| self.stem_of(word)).collect()
    }

    fn stem_of(&mut self, word: String) -> Option<Arc<str>> {
        if let Some(known) = self.known.get(&word) {
            return known.clone();
        }
        let stem = (!is_stop_word(&word)).then(|| Arc::from(stem(&word)));
        self.known.insert(word, stem.clone());
        stem
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_their_parts_have_stems_and_stop_words_have_none() {
        let mut stemmer = Stemmer::default();
        for _ in 0..2 {
            let stems = stemmer.stems("The forks of a SqliteSaver, `fork_at`");
            assert_eq!(
                stems.iter().map(|stem| &**stem).collect::<Vec<_>>(),
                ["fork", "sqlitesav", "fork", "sqlite", "saver", "forkat"]
            );
        }
    }
}
