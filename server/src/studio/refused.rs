//! The errors of the studio's routes.

use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value};
use superstep_cli::{Refusal, RefusalKind};

use crate::guard;
use crate::wire::Failure;

/// An error of a request, with further members for the page.
#[derive(Debug)]
pub(super) struct Refused {
    failure: Failure,
    more: Map<String, Value>,
}

impl Refused {
    /// Creates the error of something that should not happen.
    pub(super) fn of(error: impl std::fmt::Display) -> Self {
        tracing::error!(%error, "a request of the studio failed");
        Failure::new(500, "the program failed; its log has the error").into()
    }

    /// Adds a member to the body.
    pub(super) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.more.insert(name.to_owned(), value.into());
        self
    }

    /// Names the part of the request's body to which the text refers.
    pub(super) fn at(self, path: impl Into<String>) -> Self {
        self.with("path", path.into())
    }

    /// Replaces the text of an error with this status.
    pub(super) fn told(mut self, status: u16, text: impl FnOnce() -> String) -> Self {
        if self.failure.status == status {
            self.failure.detail = text();
        }
        self
    }
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self { failure, more: Map::new() }
    }
}

impl From<Refusal> for Refused {
    fn from(Refusal { kind, text }: Refusal) -> Self {
        let status = match kind {
            RefusalKind::Nothing => 404,
            RefusalKind::Overtaken => 409,
            _ => 422,
        };
        let refused = Self::from(Failure::new(status, text));
        match kind {
            RefusalKind::Unforced => refused.at("force"),
            _ => refused,
        }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let Self { failure, more } = self;
        if more.is_empty() {
            return failure.into_response();
        }
        let mut body = failure.body();
        body.as_object_mut().into_iter().for_each(|members| members.extend(more.clone()));
        guard::json(failure.status, &body)
    }
}
