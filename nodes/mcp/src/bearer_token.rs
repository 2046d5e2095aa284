//! The bearer token that authorizes a program at a server.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};
use superstep_nodes::__private::redact;

/// The bearer token that lets a program in at a server. Nothing shows it, and its memory is overwritten when it is
/// dropped.
#[derive(Clone)]
pub struct BearerToken(SecretString);

impl BearerToken {
    /// Makes a token of its text; white space at the ends, as of a line read from a file, is left out.
    pub fn new(token: impl AsRef<str>) -> Self {
        Self(token.as_ref().trim().into())
    }

    /// Reads the token from an environment variable; `None` where that is not set or blank.
    pub fn from_env(variable: &str) -> Option<Self> {
        let token = std::env::var(variable).ok()?;
        (!token.trim().is_empty()).then(|| Self::new(token))
    }

    pub(super) fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// The text without the token.
    pub(super) fn redact(&self, text: &str) -> String {
        redact(text, self.expose(), "[token]")
    }
}

impl fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BearerToken(..)")
    }
}
