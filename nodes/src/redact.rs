//! Secrets taken out of what servers say.

/// The fewest letters of a secret that is redacted. Fewer keep no secret, and are in every other word.
const SHORTEST: usize = 4;

/// The fewest letters of a secret that is redacted wherever it is. Fewer may be a part of another word.
const UNMISTAKABLE: usize = 12;

/// Returns a text with a mark in each place of a secret.
///
/// A long secret is found wherever it is. A short one, such as `local` for a server that wants a key of some kind, is found as
/// a word of its own, so that a request id or another word that has its letters in it stays readable.
pub fn redact(text: &str, secret: &str, mark: &str) -> String {
    match secret.chars().count() {
        0..SHORTEST => text.to_owned(),
        SHORTEST..UNMISTAKABLE => redact_words(text, secret, mark),
        _ => text.replace(secret, mark),
    }
}

fn redact_words(text: &str, secret: &str, mark: &str) -> String {
    let (mut redacted, mut copied, mut from) = (String::with_capacity(text.len()), 0, 0);
    while let Some(at) = text[from..].find(secret).map(|found| from + found) {
        let end = at + secret.len();
        if is_word(&text[..at], &text[end..]) {
            redacted.push_str(&text[copied..at]);
            redacted.push_str(mark);
            (copied, from) = (end, end);
        } else {
            // The next one may begin within this one.
            from = at + text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    redacted + &text[copied..]
}

/// Returns whether what stands between two texts is a word of its own.
fn is_word(before: &str, after: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-');
    !before.ends_with(is_part) && !after.starts_with(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redacted(text: &str, secret: &str) -> String {
        redact(text, secret, "[key]")
    }

    /// A server with the key `Uq5i` was asked, and its request id came out as `req-eShaPAj[api key]zElr`.
    #[test]
    fn a_short_secret_is_redacted_as_a_word_and_leaves_other_words_whole() {
        assert_eq!(redacted("request req-eShaPAjUq5izElr", "Uq5i"), "request req-eShaPAjUq5izElr");
        for (text, expected) in [
            ("local", "[key]"),
            ("the key local, `local` or \"local\"", "the key [key], `[key]` or \"[key]\""),
            ("Bearer local\nx-key:local;key=local&a", "Bearer [key]\nx-key:[key];key=[key]&a"),
            ("local local", "[key] [key]"),
            (
                "locally, nonlocal, local-1, no_local, local_file, élocal",
                "locally, nonlocal, local-1, no_local, local_file, élocal",
            ),
            ("locallocal local", "locallocal [key]"),
        ] {
            assert_eq!(redacted(text, "local"), expected);
        }
        assert_eq!(redacted("abab-abab abab", "abab"), "abab-abab [key]");
        assert_eq!(redacted("ééaa ééaa.", "ééaa"), "[key] [key].");
    }

    #[test]
    fn a_long_secret_is_redacted_wherever_it_is() {
        let secret = "sk-proj-Zx81";
        for text in [
            secret.to_owned(),
            format!("Bearer{secret}"),
            format!("{secret}{secret}"),
            format!("a_{secret}-b"),
        ] {
            assert!(!redacted(&text, secret).contains(secret), "{text}");
        }
        assert_eq!(redacted(&format!("x{secret}y"), secret), "x[key]y");
    }

    #[test]
    fn what_is_no_secret_stays() {
        for secret in ["", "a", "abc", "éé"] {
            assert_eq!(redacted("a abc éé", secret), "a abc éé");
        }
    }
}
