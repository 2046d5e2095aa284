//! The checks that decide whether a request reaches a model.

use std::fmt;

use hyper::HeaderMap;
use serde_json::Value;

use super::anthropic::ThinkingForm;
use super::endpoint::{Endpoint, Vendor};
use super::{HttpError, anthropic, chat, embeddings, images, responses};

/// The rules that decide which requests are admitted.
#[derive(Clone, Debug)]
pub(super) struct Admission {
    /// The key that a client must have.
    pub(super) key: Option<Key>,
    /// `true` if the shapes of requests are checked.
    pub(super) is_strict: bool,
    /// The form in which requests must ask the models of Anthropic to think.
    pub(super) thinking: ThinkingForm,
}

/// A key of a client, which is not shown.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Key(pub(super) String);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

impl Admission {
    /// Checks all but the body: path, method, key and version.
    pub(super) fn check_head(
        &self,
        method: &str,
        path: &str,
        headers: &HeaderMap,
    ) -> Result<Endpoint, HttpError> {
        let vendor = Vendor::of(path);
        let endpoint = Endpoint::at(path).ok_or_else(|| not_found(vendor, method, path))?;
        if method != "POST" {
            return Err(wrong_method(vendor, method, path));
        }
        match vendor {
            Vendor::Anthropic => self.check_anthropic_key(headers)?,
            Vendor::OpenAi => self.check_openai_key(headers)?,
        }
        if vendor == Vendor::Anthropic && !headers.contains_key("anthropic-version") {
            return Err(HttpError::invalid("anthropic-version: header is required"));
        }
        Ok(endpoint)
    }

    /// Checks the body.
    pub(super) fn check_body(&self, endpoint: Endpoint, body: &[u8]) -> Result<Value, HttpError> {
        let body: Value = serde_json::from_slice(body).map_err(|error| match endpoint.vendor() {
            Vendor::Anthropic => HttpError::invalid(format!("The request body is not valid JSON: {error}")),
            Vendor::OpenAi => HttpError::invalid(format!(
                "We could not parse the JSON body of your request. The OpenAI API expects a JSON payload, but what \
                 was sent was not valid JSON: {error}."
            )),
        })?;
        if self.is_strict {
            match endpoint {
                Endpoint::Messages => anthropic::check(&body)?,
                Endpoint::CountTokens => anthropic::check_count(&body)?,
                Endpoint::ChatCompletions => chat::check(&body)?,
                Endpoint::Responses => responses::check(&body)?,
                Endpoint::InputTokens => responses::check_count(&body)?,
                Endpoint::Embeddings => embeddings::check(&body)?,
                Endpoint::ImageGenerations => images::check(&body)?,
                Endpoint::ImageEdits => images::check_edit(&body)?,
            }
            if endpoint.vendor() == Vendor::Anthropic {
                self.thinking.check(&body)?;
            }
        }
        Ok(body)
    }

    fn check_anthropic_key(&self, headers: &HeaderMap) -> Result<(), HttpError> {
        let Some(Key(key)) = &self.key else {
            return Ok(());
        };
        match headers.get("x-api-key") {
            None => Err(HttpError::new(401, "authentication_error", "x-api-key header is required")),
            Some(given) if given == key => Ok(()),
            Some(_) => Err(HttpError::new(401, "authentication_error", "invalid x-api-key")),
        }
    }

    fn check_openai_key(&self, headers: &HeaderMap) -> Result<(), HttpError> {
        let Some(Key(key)) = &self.key else {
            return Ok(());
        };
        let given = headers.get("authorization").and_then(|value| value.to_str().ok());
        match given.and_then(|value| value.strip_prefix("Bearer ")) {
            None => Err(HttpError::new(
                401,
                "invalid_request_error",
                "You didn't provide an API key. You need to provide your API key in an Authorization header using \
                 Bearer auth (i.e. Authorization: Bearer YOUR_KEY).",
            )),
            Some(given) if given == key => Ok(()),
            Some(_) => Err(HttpError::new(401, "invalid_request_error", "Incorrect API key provided.")
                .coded("invalid_api_key")),
        }
    }
}

fn not_found(vendor: Vendor, method: &str, path: &str) -> HttpError {
    match vendor {
        Vendor::Anthropic => HttpError::new(404, "not_found_error", "Not Found"),
        Vendor::OpenAi => {
            HttpError::new(404, "invalid_request_error", format!("Invalid URL ({method} {path})"))
        }
    }
}

fn wrong_method(vendor: Vendor, method: &str, path: &str) -> HttpError {
    match vendor {
        Vendor::Anthropic => HttpError::new(405, "invalid_request_error", "Method Not Allowed"),
        Vendor::OpenAi => HttpError::new(
            405,
            "invalid_request_error",
            format!(
                "Not allowed to {method} on {path}. (HINT: Perhaps you meant to use a different HTTP method?)"
            ),
        )
        .coded("method_not_supported"),
    }
}
