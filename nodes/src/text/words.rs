//! Cutting text into words.

/// Returns the words of a text in lower case: runs of letters and digits.
///
/// Apostrophes separate, as in the full-text index; what stands after one (`s`, `t`) is a stop word.
pub fn words(text: &str) -> impl Iterator<Item = String> {
    raw_words(text).map(str::to_lowercase)
}

/// Names with inner capitals whose parts mean something else: JavaScript is no Java.
const NAMES: [&str; 2] = ["JavaScript", "TypeScript"];

/// Returns the parts of the words that are written together with capitals, in lower case: `sqlite` and
/// `saver` of `SqliteSaver`. Words that have one part are left out, and so are names such as `JavaScript`.
pub fn parts(text: &str) -> impl Iterator<Item = String> {
    raw_words(text).filter(|word| !NAMES.contains(word)).flat_map(|word| {
        let mut borders = vec![0];
        let mut previous_lower = false;
        for (place, letter) in word.char_indices() {
            if previous_lower && letter.is_uppercase() {
                borders.push(place);
            }
            previous_lower = letter.is_lowercase() || letter.is_numeric();
        }
        borders.push(word.len());
        let count = if borders.len() > 2 { borders.len() - 1 } else { 0 };
        (0..count).map(move |part| word[borders[part]..borders[part + 1]].to_lowercase())
    })
}

/// Returns the names of code that are written with underscores, in lower case and without these.
pub fn identifiers(text: &str) -> impl Iterator<Item = String> {
    let names = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let names = names.map(|name| name.trim_matches('_')).filter(|name| name.contains('_'));
    names.map(|name| name.replace('_', "").to_lowercase())
}

fn raw_words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_runs_of_letters_and_digits_in_lower_case() {
        let found: Vec<_> = words("Don't `run_until` Ärger-v2, please!").collect();
        assert_eq!(found, ["don", "t", "run", "until", "ärger", "v2", "please"]);
    }

    #[test]
    fn parts_are_of_words_with_inner_capitals_only() {
        let found: Vec<_> = parts("a SqliteSaver, HTTP and ModelReplyId in JavaScript").collect();
        assert_eq!(found, ["sqlite", "saver", "model", "reply", "id"]);
    }

    #[test]
    fn identifiers_have_underscores_inside() {
        let found: Vec<_> = identifiers("`update_state(x)`, _private, __add_edge__ and Plain").collect();
        assert_eq!(found, ["updatestate", "addedge"]);
    }
}
