//! The key of an account with a provider.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};
use superstep_nodes::__private::redact;

/// The key of an account with a provider. Nothing shows it: not its debug form, no error and no checkpoint; and its
/// memory is overwritten when it is dropped.
///
/// Where a provider repeats the key in an error, `[api key]` takes its place. A key is found inside words, too, if it
/// has twelve characters, or eight with letters and digits. A shorter one is found as a word of its own, and one of
/// fewer than four, which keeps no secret, is not looked for.
#[derive(Clone)]
pub struct ApiKey(SecretString);

impl ApiKey {
    /// Makes a key of its text; white space at the ends, as of a line read from a file, is left out.
    pub fn new(key: impl AsRef<str>) -> Self {
        Self(key.as_ref().trim().into())
    }

    /// Reads the key from an environment variable; `None` where that is not set or blank.
    pub fn from_env(variable: &str) -> Option<Self> {
        let key = std::env::var(variable).ok()?;
        (!key.trim().is_empty()).then(|| Self::new(key))
    }

    pub(super) fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// The text without the key: providers are known to say in their errors what they were sent.
    pub(super) fn redact(&self, text: &str) -> String {
        redact(text, self.expose(), "[api key]")
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(..)")
    }
}

impl From<&str> for ApiKey {
    fn from(key: &str) -> Self {
        Self::new(key)
    }
}

impl From<String> for ApiKey {
    fn from(key: String) -> Self {
        Self::new(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_not_shown() {
        let key = ApiKey::new(" sk-secret\n");
        assert_eq!(format!("{key:?}"), "ApiKey(..)");
        assert_eq!(key.redact("wrong key: sk-secret"), "wrong key: [api key]");
        assert_eq!(ApiKey::new("").redact("no key"), "no key");
    }
}
