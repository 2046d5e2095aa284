//! Words that say little.

use std::collections::HashSet;
use std::sync::LazyLock;

/// Tells whether a word (in lower case) only holds a sentence together.
pub(crate) fn is_stop_word(word: &str) -> bool {
    static WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| STOP_WORDS.split(' ').collect());
    let letter = word.chars().count() == 1 && !word.chars().all(char::is_numeric);
    letter || WORDS.contains(word)
}

/// Tells whether a word (in lower case) is common in questions about anything, so that finding it in a
/// text proves little.
pub(crate) fn is_filler_word(word: &str) -> bool {
    static WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| FILLER_WORDS.split(' ').collect());
    WORDS.contains(word)
}

const STOP_WORDS: &str = "able about across after again against all already also always am an and another any anybody anyone \
    anything are aren around as at be because been before being between both but by can cannot could \
    couldn did didn do does doesn doing don during each else ever every for from had hadn has hasn have \
    haven having he her here hers him his how however i if in indeed into is isn it its itself just let \
    ll may maybe me might more most must my never no nor not now of off often on one ones only or other \
    our out over own please rather re same shall she should shouldn since so some somebody someone \
    something still such than that the their them then there these they this those though through thus \
    to too under until up upon us ve very via was wasn we were weren what whatever when whenever where \
    whether which while who whom whose why will with within without won would wouldn yes yet you your \
    yours";

const FILLER_WORDS: &str = "allow allowed allows best call called come contain contains describe differ difference exactly \
    example explain find first found founded get gets give given gives go goes good happen happens help \
    instead keep keeps kind kinds know like list long look made make makes many mean meaning means much \
    name named names need needed needs new possible project provide provides put really require required \
    requires say says see set show start stop support supported supports take takes tell thing things \
    time two type use used user users uses using value want way ways well work working works";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_letters_are_stop_words_and_digits_are_not() {
        assert!(is_stop_word("s"));
        assert!(is_stop_word("which"));
        assert!(!is_stop_word("5"));
        assert!(!is_stop_word("graph"));
    }

    #[test]
    fn a_filler_says_more_than_a_stop_word() {
        for word in FILLER_WORDS.split(' ') {
            assert!(is_filler_word(word) && !is_stop_word(word), "{word}");
        }
        assert!(!is_filler_word("graph"));
    }
}
