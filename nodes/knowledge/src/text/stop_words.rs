//! Words that say little.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::stem;

/// Tells whether a word (in lower case) only holds a sentence together.
pub(crate) fn is_stop_word(word: &str) -> bool {
    static WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| STOP_WORDS.split(' ').collect());
    let letter = word.chars().count() == 1 && !word.chars().all(char::is_numeric);
    letter || WORDS.contains(word)
}

/// Tells whether a word (in lower case) is common in questions about anything, so that finding it in a
/// text proves little.
pub(crate) fn is_filler_word(word: &str) -> bool {
    static STEMS: LazyLock<HashSet<String>> = LazyLock::new(|| FILLER_WORDS.split(' ').map(stem).collect());
    STEMS.contains(&stem(word))
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

const FILLER_WORDS: &str = "actually allow allowed allows available best call called certain come common contain contains currently \
    differ difference different easily easy enough everything exact exactly example explain find fine first \
    following found founded full general get gets give given gives go goes good handle happen happens help \
    idea instance instead keep keeps kind kinds know later like likely list little long look lot made main \
    make makes many matter mean meaning means much name named names need needed needs new next nothing object \
    okay ordinary part particular perhaps plain possible possibly project proper provide provides put quite \
    real really recommended regular require required requires right say says second see set several show \
    similar simple simply special start stop support supported supports sure take takes tell thing things \
    think third time together two type typical use used user users uses using usual value want way ways well \
    whole work working works";

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
        assert!(is_filler_word("happened"), "forms of a filler are fillers");
        assert!(!is_filler_word("graph"));
    }
}
