//! The errors of vendors.

use std::fmt;

use serde_json::{Value, json};

use super::endpoint::Vendor;

/// The error of a request that is not taken: the status and the error of the answer, in the words of the vendor.
///
/// Its display form is the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpError {
    status: u16,
    kind: String,
    message: String,
    param: Option<String>,
    code: Option<String>,
}

impl HttpError {
    /// A request that is wrong: status 400, `invalid_request_error`.
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(400, "invalid_request_error", message)
    }

    pub(super) fn new(status: u16, kind: impl Into<String>, message: impl Into<String>) -> Self {
        Self { status, kind: kind.into(), message: message.into(), param: None, code: None }
    }

    pub(super) fn at(mut self, param: impl Into<String>) -> Self {
        self.param = Some(param.into());
        self
    }

    pub(super) fn coded(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }

    /// Returns the HTTP status.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Returns the error's type, as `invalid_request_error`.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Returns the error's message.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns what of the request is wrong, as `messages[0].role`. Only OpenAI tells.
    pub fn param(&self) -> Option<&str> {
        self.param.as_deref()
    }

    /// Returns the error's code, as `unknown_parameter`. Only OpenAI tells.
    pub fn code(&self) -> Option<&str> {
        self.code.as_deref()
    }

    /// The body of the answer.
    pub(super) fn envelope(&self, vendor: Vendor, request_id: &str) -> Value {
        let Self { kind, message, param, code, .. } = self;
        match vendor {
            Vendor::Anthropic => json!({
                "type": "error",
                "error": { "type": kind, "message": message },
                "request_id": request_id,
            }),
            Vendor::OpenAi => json!({
                "error": { "message": message, "type": kind, "param": param, "code": code },
            }),
        }
    }
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for HttpError {}
