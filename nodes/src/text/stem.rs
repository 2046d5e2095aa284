//! Porter's stemming algorithm for English ("An algorithm for suffix stripping", 1980), as SQLite's
//! `porter` tokenizer has it.

/// Returns the stem of a word in lower case. Words that are short or not of the letters a to z are their
/// own stem.
pub fn stem(word: &str) -> String {
    if word.len() <= 2 || !word.bytes().all(|letter| letter.is_ascii_lowercase()) {
        return word.to_owned();
    }
    let mut word = Stem(word.to_owned());
    word.plurals();
    word.past_and_progressive();
    word.final_y();
    word.replace_first(DOUBLE_SUFFIXES);
    word.replace_first(SIMPLE_SUFFIXES);
    word.last_suffix();
    word.final_e();
    word.final_double_l();
    word.0
}

/// A suffix and what takes its place.
type Rule = (&'static str, &'static str);

const DOUBLE_SUFFIXES: &[Rule] = &[
    ("ational", "ate"),
    ("ization", "ize"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("tional", "tion"),
    ("biliti", "ble"),
    ("entli", "ent"),
    ("ousli", "ous"),
    ("ation", "ate"),
    ("alism", "al"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("alli", "al"),
    ("ator", "ate"),
    ("logi", "log"),
    ("bli", "ble"),
    ("eli", "e"),
];

const SIMPLE_SUFFIXES: &[Rule] = &[
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ness", ""),
    ("ful", ""),
];

const LAST_SUFFIXES: &[&str] = &[
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous", "ive", "ize",
    "ion", "al", "er", "ic", "ou",
];

/// A word of the letters a to z on its way to its stem.
struct Stem(String);

impl Stem {
    fn plurals(&mut self) {
        let rest = |suffix| self.0.strip_suffix(suffix).is_some_and(|rest: &str| !rest.is_empty());
        if rest("sses") || rest("ies") {
            self.cut(2);
        } else if self.0.ends_with('s') && !self.0.ends_with("ss") {
            self.cut(1);
        }
    }

    fn past_and_progressive(&mut self) {
        if let Some(before) = self.0.strip_suffix("eed").filter(|before| !before.is_empty()) {
            if measure(before) > 0 {
                self.cut(1);
            }
            return;
        }
        let Some(before) = ["ed", "ing"].iter().find_map(|suffix| self.0.strip_suffix(suffix)) else {
            return;
        };
        if !has_vowel(before) {
            return;
        }
        self.0.truncate(before.len());
        if ["at", "bl", "iz"].iter().any(|end| self.0.ends_with(end)) {
            self.0.push('e');
        } else if ends_in_double_consonant(&self.0) && !self.0.ends_with(['l', 's', 'z']) {
            self.cut(1);
        } else if measure(&self.0) == 1 && ends_in_short_syllable(&self.0) {
            self.0.push('e');
        }
    }

    fn final_y(&mut self) {
        if self.0.strip_suffix('y').is_some_and(has_vowel) {
            self.cut(1);
            self.0.push('i');
        }
    }

    /// Applies the first rule whose suffix the word has, if something is left before it.
    fn replace_first(&mut self, rules: &[Rule]) {
        for (suffix, replacement) in rules {
            if let Some(before) = self.0.strip_suffix(suffix) {
                if measure(before) > 0 {
                    self.cut(suffix.len());
                    self.0.push_str(replacement);
                }
                return;
            }
        }
    }

    fn last_suffix(&mut self) {
        let Some((suffix, before)) =
            LAST_SUFFIXES.iter().find_map(|suffix| Some((suffix, self.0.strip_suffix(suffix)?)))
        else {
            return;
        };
        if measure(before) > 1 && (*suffix != "ion" || before.ends_with(['s', 't'])) {
            self.cut(suffix.len());
        }
    }

    fn final_e(&mut self) {
        let Some(before) = self.0.strip_suffix('e') else {
            return;
        };
        let left = measure(before);
        if left > 1 || left == 1 && !ends_in_short_syllable(before) {
            self.cut(1);
        }
    }

    fn final_double_l(&mut self) {
        if self.0.ends_with("ll") && measure(&self.0) > 1 {
            self.cut(1);
        }
    }

    fn cut(&mut self, letters: usize) {
        self.0.truncate(self.0.len() - letters);
    }
}

/// Returns for each letter true if it is a consonant: `y` is one unless it follows another.
fn consonants(word: &str) -> impl Iterator<Item = bool> {
    word.bytes().scan(false, |after_consonant, letter| {
        let consonant = match letter {
            b'a' | b'e' | b'i' | b'o' | b'u' => false,
            b'y' => !*after_consonant,
            _ => true,
        };
        *after_consonant = consonant;
        Some(consonant)
    })
}

/// Counts the times a consonant follows a vowel: the number of syllables, nearly.
fn measure(word: &str) -> usize {
    let mut after_vowel = false;
    let mut count = 0;
    for consonant in consonants(word) {
        count += usize::from(consonant && after_vowel);
        after_vowel = !consonant;
    }
    count
}

fn has_vowel(word: &str) -> bool {
    consonants(word).any(|consonant| !consonant)
}

fn ends_in_double_consonant(word: &str) -> bool {
    matches!(word.as_bytes(), [.., a, b] if a == b && !b"aeiou".contains(b))
}

/// Tells whether the word ends in consonant, vowel, consonant, the last not being `w`, `x` or `y`.
fn ends_in_short_syllable(word: &str) -> bool {
    let kinds: Vec<bool> = consonants(word).collect();
    kinds.ends_with(&[true, false, true]) && !word.ends_with(['w', 'x', 'y'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_have_one_stem() {
        for forms in [
            &["checkpoint", "checkpoints", "checkpointer", "checkpointing", "checkpointed"][..],
            &["retry", "retries", "retried", "retrying"],
            &["configure", "configured", "configuring"],
            &["relational", "relate", "related"],
            &["hop", "hopping", "hops"],
        ] {
            let stems: Vec<_> = forms.iter().map(|word| stem(word)).collect();
            assert!(stems.iter().all(|other| *other == stems[0]), "{stems:?}");
        }
    }

    #[test]
    fn words_of_other_alphabets_and_numbers_are_left_alone() {
        for word in ["größen", "v2s", "123", "as"] {
            assert_eq!(stem(word), word);
        }
    }

    #[test]
    fn a_word_that_is_nothing_but_an_ending_loses_its_s() {
        assert_eq!([stem("ies"), stem("sses"), stem("ties")], ["ie", "sse", "ti"]);
    }
}
