//! The errors of requests: a status and a text.

use serde_json::{Value, json};

/// An error of a request, as its client gets it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{detail}")]
pub(crate) struct Failure {
    /// The HTTP status.
    pub(crate) status: u16,
    /// The text.
    pub(crate) detail: String,
    /// The time after which the request may be repeated, in seconds.
    pub(crate) retry_after: Option<u32>,
}

impl Failure {
    /// Creates an error with this status.
    pub(crate) fn new(status: u16, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into(), retry_after: None }
    }

    /// Creates the error of a request that cannot be carried out as it is.
    pub(crate) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(400, detail)
    }

    /// Creates the error of a request for something that does not exist.
    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        Self::new(404, detail)
    }

    /// Creates the error of a request that does not fit the present state.
    pub(crate) fn conflict(detail: impl Into<String>) -> Self {
        Self::new(409, detail)
    }

    /// Creates the error of a body or parameter with a wrong form.
    pub(crate) fn invalid(detail: impl Into<String>) -> Self {
        Self::new(422, detail)
    }

    /// Replaces the text of an error about something that does not exist. Another error, such as that of a store that
    /// fails, is kept.
    pub(crate) fn if_missing(self, detail: impl Into<String>) -> Self {
        if self.status == 404 { Self::not_found(detail) } else { self }
    }

    /// Returns the body of the response.
    pub(crate) fn body(&self) -> Value {
        json!({ "detail": self.detail })
    }
}
