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
    /// Returns the stems of the words of a text in order, and those of the parts of words that are written together.
    /// Stop words are left out.
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
    use proptest::prelude::*;
    use rusqlite::Connection;

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

    /// Returns SQLite's stems of the words, in order.
    fn sqlite_stems(words: &[String]) -> Vec<String> {
        let db = Connection::open_in_memory().unwrap();
        db.execute_batch(
            "create virtual table t using fts5(w, tokenize = 'porter unicode61');
             create virtual table v using fts5vocab(t, instance);",
        )
        .unwrap();
        for word in words {
            db.execute("insert into t(w) values (?1)", [word]).unwrap();
        }
        let mut rows = db.prepare("select term from v order by doc").unwrap();
        let stems = rows.query_map([], |row| row.get(0)).unwrap();
        stems.map(Result::unwrap).collect()
    }

    proptest! {
        #[test]
        fn stems_are_those_of_the_full_text_index(
            words in prop::collection::vec(
                (
                    "[a-z]{3,8}",
                    prop::sample::select(vec![
                        "", "s", "es", "ies", "sses", "ed", "eed", "ing", "y", "ational", "ization", "iveness",
                        "ably", "bly", "ality", "ically", "ence", "ency", "ment", "ement", "ation", "sion",
                        "fulness", "ators", "izer", "ology", "ousli", "ll", "e", "ated", "icity", "ives", "ous",
                    ]),
                )
                    .prop_map(|(start, end)| start + end),
                1..30,
            )
        ) {
            let ours: Vec<_> = words.iter().map(|word| stem(word)).collect();
            prop_assert_eq!(ours, sqlite_stems(&words), "{:?}", words);
        }
    }
}
