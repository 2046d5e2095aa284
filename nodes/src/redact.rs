//! Redacts secrets in the texts of servers.

/// The minimum length of a secret that is redacted. A shorter one keeps no secret, and is in every other word.
const SHORTEST: usize = 4;

/// The minimum length of a secret with letters and digits that is redacted inside words, too. No word contains it by
/// chance.
const RANDOM: usize = 8;

/// The minimum length of any secret that is redacted inside words, too. A shorter one may be a part of another word.
const LONG: usize = 12;

/// Replaces a secret in a text by a mark.
///
/// A secret of 12 characters is replaced wherever it is, and so is one of 8 characters that has letters and digits. A
/// shorter one, such as `local` for a server that wants a key of some kind, is replaced as a word of its own, so that a
/// request id or another word that contains it stays readable. One of fewer than 4 characters is not replaced.
pub fn redact(text: &str, secret: &str, mark: &str) -> String {
    let length = secret.chars().count();
    let is_random = secret.contains(char::is_alphabetic) && secret.contains(char::is_numeric);
    match length {
        0..SHORTEST => text.to_owned(),
        _ if length >= LONG || (length >= RANDOM && is_random) => text.replace(secret, mark),
        _ => redact_words(text, secret, mark),
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

    /// No word contains such a key by chance, so it is a key there, too.
    #[test]
    fn a_secret_of_eight_letters_and_digits_is_redacted_beside_a_letter() {
        assert_eq!(redacted("keyk3y9x2ab is wrong", "k3y9x2ab"), "key[key] is wrong");
        assert_eq!(redacted("keyk3y9x2a is wrong", "k3y9x2a"), "keyk3y9x2a is wrong");
        assert_eq!(redacted("passwords", "password"), "passwords");
    }

    #[test]
    fn what_is_no_secret_stays() {
        for secret in ["", "a", "abc", "éé"] {
            assert_eq!(redacted("a abc éé", secret), "a abc éé");
        }
    }
}
