//! Errors that every vendor has, each in words of its own.

use std::time::Duration;

use serde_json::json;

use super::endpoint::{Endpoint, Vendor};
use super::reply::What;
use super::{HttpError, Reply};

/// An error that every vendor has.
#[derive(Clone, Debug)]
pub(super) enum VendorError {
    Overloaded,
    RateLimited,
    OutOfCredit,
    ServerError,
    TooLarge,
    ContextOverflow { tokens: u64, limit: u64 },
}

impl Reply {
    /// The vendor has no room for the request: 529 of Anthropic, 503 of OpenAI.
    pub fn overloaded() -> Self {
        Self::of(What::VendorError(VendorError::Overloaded))
    }

    /// There were too many requests: 429 with `retry-after`.
    pub fn rate_limited(retry_after: Duration) -> Self {
        Self::of(What::VendorError(VendorError::RateLimited)).retry_after(retry_after)
    }

    /// The money ran out, which waiting does not help: 402 of Anthropic, 429 of OpenAI.
    pub fn out_of_credit() -> Self {
        Self::of(What::VendorError(VendorError::OutOfCredit))
    }

    /// The vendor's own fault: 500.
    pub fn server_error() -> Self {
        Self::of(What::VendorError(VendorError::ServerError))
    }

    /// The request has too many bytes: 413.
    pub fn too_large() -> Self {
        Self::of(What::VendorError(VendorError::TooLarge))
    }

    /// The request has more tokens than the model's context window: 400.
    pub fn context_overflow(tokens: u64, limit: u64) -> Self {
        Self::of(What::VendorError(VendorError::ContextOverflow { tokens, limit }))
    }

    /// The same as the server of llama.cpp says it, whatever protocol is asked.
    pub fn llama_context_overflow(tokens: u64, limit: u64) -> Self {
        let message = format!(
            "request ({tokens} tokens) exceeds the available context size ({limit} tokens), try increasing it"
        );
        let body = json!({"error": {
            "code": 400,
            "message": message,
            "type": "exceed_context_size_error",
            "n_prompt_tokens": tokens,
            "n_ctx": limit,
        }});
        Self::bytes(400, "application/json; charset=utf-8", body.to_string())
    }
}

impl VendorError {
    /// Returns the error as the vendor words it at an endpoint.
    pub(super) fn at(&self, endpoint: Endpoint) -> HttpError {
        match endpoint.vendor() {
            Vendor::Anthropic => self.of_anthropic(),
            Vendor::OpenAi => self.of_openai(endpoint),
        }
    }

    fn of_anthropic(&self) -> HttpError {
        match self {
            Self::Overloaded => HttpError::new(529, "overloaded_error", "Overloaded"),
            Self::RateLimited => HttpError::new(
                429,
                "rate_limit_error",
                "This request would exceed your account's rate limit. Please try again later.",
            ),
            Self::OutOfCredit => HttpError::new(402, "billing_error", "Your credit balance is too low."),
            Self::ServerError => HttpError::new(500, "api_error", "Internal server error"),
            Self::TooLarge => HttpError::new(
                413,
                "request_too_large",
                "Request exceeds the maximum allowed number of bytes.",
            ),
            Self::ContextOverflow { tokens, limit } => {
                HttpError::invalid(format!("prompt is too long: {tokens} tokens > {limit} maximum"))
            }
        }
    }

    fn of_openai(&self, endpoint: Endpoint) -> HttpError {
        match self {
            Self::Overloaded => {
                let message = "The engine is currently overloaded, please try again later";
                HttpError::new(503, "server_error", message).coded("server_is_overloaded")
            }
            Self::RateLimited => {
                let message = "Rate limit reached. Please try again later.";
                HttpError::new(429, "requests", message).coded("rate_limit_exceeded")
            }
            Self::OutOfCredit => {
                let message = "You exceeded your current quota, please check your plan and billing details.";
                HttpError::new(429, "insufficient_quota", message).coded("insufficient_quota")
            }
            Self::ServerError => {
                HttpError::new(500, "server_error", "The server had an error while processing your request.")
            }
            Self::TooLarge => HttpError::new(413, "invalid_request_error", "The request is too large."),
            Self::ContextOverflow { .. } if endpoint == Endpoint::Responses => {
                let message = "Your input exceeds the context window of this model. Please adjust your input and try \
                               again.";
                HttpError::invalid(message).at("input").coded("context_length_exceeded")
            }
            Self::ContextOverflow { tokens, limit } => HttpError::invalid(format!(
                "This model's maximum context length is {limit} tokens. However, your messages resulted in {tokens} \
                 tokens. Please reduce the length of the messages."
            ))
            .at("messages")
            .coded("context_length_exceeded"),
        }
    }
}
