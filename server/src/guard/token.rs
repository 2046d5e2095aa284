//! A token that clients have to send.

use std::path::Path;
use std::{fmt, io};

use async_trait::async_trait;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;

use super::auth::{Access, Auth, AuthError, Filter, Identity};

/// A token that all clients of a server share. Only its digest is kept.
///
/// Clients send it as `x-api-key`, as the SDKs of LangGraph do with their option `api_key`, or as
/// `Authorization: Bearer`.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(blake3::Hash);

/// An error of reading a token.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The file cannot be read.
    #[error("the token file {path} cannot be read: {error}")]
    File {
        /// The path.
        path: String,
        /// The error.
        error: io::Error,
    },
    /// The file does not hold a token.
    #[error("the token file {path} must hold one line of visible ASCII characters without spaces")]
    Content {
        /// The path.
        path: String,
    },
    /// The token is empty, or a header cannot carry it. A token has one line of visible ASCII characters.
    #[error("a token is one line of visible ASCII characters without spaces")]
    Form,
}

impl Token {
    /// Creates a token from its text. White space around it is ignored.
    ///
    /// # Errors
    /// Fails if the text is empty, or has characters that a header cannot carry.
    pub fn new(text: impl AsRef<str>) -> Result<Self, TokenError> {
        let text = text.as_ref().trim();
        match !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic()) {
            true => Ok(Self(blake3::hash(text.as_bytes()))),
            false => Err(TokenError::Form),
        }
    }

    /// Reads a token from a file that holds only it.
    ///
    /// # Errors
    /// Fails if the file cannot be read or does not hold a token.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, TokenError> {
        let read = std::fs::read_to_string(&path);
        let path = path.as_ref().display().to_string();
        match read {
            Ok(text) => Self::new(text).map_err(|_| TokenError::Content { path }),
            Err(error) => Err(TokenError::File { path, error }),
        }
    }

    /// Returns `true` if a client sent the token.
    fn is_in(&self, parts: &Parts) -> bool {
        let bearer = parts.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let bearer = bearer.and_then(|value| value.split_once(' '));
        let bearer =
            bearer.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, token)| token);
        let key = parts.headers.get("x-api-key").and_then(|value| value.to_str().ok());
        // Digests are compared in constant time.
        bearer.into_iter().chain(key).any(|sent| blake3::hash(sent.trim().as_bytes()) == self.0)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

#[async_trait]
impl Auth for Token {
    async fn authenticate(&self, parts: &Parts) -> Result<Identity, AuthError> {
        match self.is_in(parts) {
            true => Ok(Identity::shared()),
            false => Err(AuthError::Unauthenticated { reason: "the API key is missing or wrong".into() }),
        }
    }

    async fn filter(&self, _: &Identity, _: Access) -> Result<Filter, AuthError> {
        Ok(Filter::everything())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::Request;

    fn parts(header: &str, value: &str) -> Parts {
        Request::builder().header(header, value).body(()).unwrap().into_parts().0
    }

    #[test]
    fn a_token_is_accepted_in_both_headers_and_nothing_else_is() {
        let token = Token::new(" s3cret\n").unwrap();
        for (header, value) in
            [("x-api-key", "s3cret"), ("authorization", "Bearer s3cret"), ("authorization", "bearer  s3cret")]
        {
            assert!(token.is_in(&parts(header, value)), "{header}: {value}");
        }
        for (header, value) in [
            ("x-api-key", "s3cre"),
            ("x-api-key", ""),
            ("x-api-key", "Bearer s3cret"),
            ("authorization", "s3cret"),
            ("authorization", "Basic s3cret"),
            ("x-token", "s3cret"),
        ] {
            assert!(!token.is_in(&parts(header, value)), "{header}: {value}");
        }
    }

    #[test]
    fn a_token_that_no_header_can_carry_is_rejected_and_none_is_shown() {
        for text in ["", "  \n", "two words", "two\nlines", "schlüssel"] {
            assert!(Token::new(text).is_err(), "{text:?}");
        }
        assert_eq!(format!("{:?}", Token::new("s3cret").unwrap()), "Token(..)");
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = Token::from_file(file.path()).unwrap_err().to_string();
        assert!(error.starts_with(&format!("the token file {} must hold", file.path().display())), "{error}");
    }
}
