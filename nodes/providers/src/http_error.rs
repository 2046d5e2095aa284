//! The error responses of providers, and their conversion into model errors.

use std::time::{Duration, SystemTime};

use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use serde_json::Value;
use superstep_nodes::model::ModelError;

use super::ApiKey;
use super::overflow::Overflow;

/// The error response of a provider that refuses a call, or that fails in the middle of its stream.
///
/// Providers and the servers compatible with them share error codes, so one table serves all.
#[derive(Clone, Debug, Default)]
pub(super) struct HttpError {
    status: Option<u16>,
    /// The type of the error, such as `rate_limit_error`.
    kind: String,
    /// Its code, such as `context_length_exceeded`.
    code: String,
    message: String,
    retry_after: Option<Duration>,
    /// The provider's own advice on a retry.
    should_retry: Option<bool>,
    request_id: Option<String>,
    /// The sizes that it names beside the message.
    sizes: Overflow,
}

/// The length at which messages are cut: a page of HTML does not help.
const MOST_CHARS: usize = 600;

/// Parts of messages that refuse a picture, in lower case: of Anthropic, of OpenAI, and of servers that run models without
/// vision.
const IMAGE_REFUSALS: [&str; 7] = [
    "could not process image",
    "image exceeds",
    "image dimensions exceed",
    "unsupported image",
    "invalid image",
    "does not support image",
    "image input is not supported",
];

impl HttpError {
    /// Reads an answer that is no success.
    pub(super) fn of_answer(status: StatusCode, headers: &HeaderMap, body: &str) -> Self {
        let mut error = serde_json::from_str(body).map(|json| Self::of_json(&json)).unwrap_or_default();
        if error.message.is_empty() {
            error.message = body.trim().to_owned();
        }
        if error.message.is_empty() {
            error.message = status.canonical_reason().unwrap_or("no reason given").to_owned();
        }
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        error.status = Some(status.as_u16());
        error.retry_after = wait(text("retry-after-ms"), text("retry-after"));
        error.should_retry = text("x-should-retry").and_then(|said| said.parse().ok());
        error.request_id = request_id(headers).or(error.request_id);
        error
    }

    /// Reads an error of any of the forms that are in use: an object `error`, a text `error`, `message` or `detail`,
    /// and a list of them, of which the first counts.
    pub(super) fn of_json(json: &Value) -> Self {
        let json = json.get(0).unwrap_or(json);
        let error = json.get("error").or_else(|| json.pointer("/response/error")).unwrap_or(json);
        let error = error.get(0).unwrap_or(error);
        let word = |name: &str| match &error[name] {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => String::new(),
        };
        Self {
            kind: word("type"),
            code: word("code"),
            message: message(error),
            request_id: json["request_id"].as_str().map(str::to_owned),
            sizes: Overflow { tokens: error["n_prompt_tokens"].as_u64(), limit: error["n_ctx"].as_u64() },
            ..Self::default()
        }
    }

    /// Reads what came with a success; `None` if it is no error.
    pub(super) fn of_success(json: &Value) -> Option<Self> {
        let is_error = json.get(0).unwrap_or(json).get("error").is_some_and(|error| !error.is_null());
        is_error.then(|| Self::of_json(json))
    }

    /// The error that this is. The key, should the provider have said it, is not in it.
    pub(super) fn into_error(self, key: Option<&ApiKey>) -> ModelError {
        let reason = self.reason(key);
        let error = self.error(reason.clone());
        match self.should_retry {
            Some(false) if error.is_retryable() => ModelError::NotRetryable { reason },
            // The same request is as long when it is sent again.
            Some(true) if !error.is_retryable() && !matches!(error, ModelError::RequestTooLong { .. }) => {
                ModelError::ServerFailed { reason }
            }
            _ => error,
        }
    }

    /// The error by the status and by what is said.
    fn error(&self, reason: String) -> ModelError {
        let retry_after = self.retry_after;
        if let Some(Overflow { tokens, limit }) = self.overflow() {
            return ModelError::RequestTooLong { reason, tokens, limit };
        }
        if self.is_image_refused() {
            return ModelError::ImageRefused { reason };
        }
        if self.is_out_of_credit() {
            return ModelError::OutOfCredit { reason };
        }
        if self.says(&["authentication_error", "permission_error", "invalid_api_key"]) {
            return ModelError::Unauthorized { reason };
        }
        if self.is_overloaded() {
            return ModelError::Overloaded { reason, retry_after };
        }
        if self.says(&["rate_limit_error", "rate_limit_exceeded", "slow_down"]) {
            return ModelError::RateLimited { reason, retry_after };
        }
        if self.says(&["api_error", "timeout_error", "conflict_error", "server_error"]) {
            return ModelError::ServerFailed { reason };
        }
        match self.status.unwrap_or(0) {
            401 | 403 => ModelError::Unauthorized { reason },
            429 => ModelError::RateLimited { reason, retry_after },
            408 | 409 | 500.. => ModelError::ServerFailed { reason },
            // In the middle of a stream there is no status, and what began well was no wrong request.
            0 => ModelError::ServerFailed { reason },
            _ => ModelError::InvalidRequest { reason },
        }
    }

    /// Tells whether its type or code is one of these words: servers put them in either place.
    fn says(&self, words: &[&str]) -> bool {
        words.contains(&self.kind.as_str()) || words.contains(&self.code.as_str())
    }

    /// The sizes of a request that is too long; `None` if it is not.
    fn overflow(&self) -> Option<Overflow> {
        let said = Overflow::of_message(&self.message);
        let is_too_long = said.is_some()
            || self.status == Some(413)
            || self.says(&["request_too_large", "exceed_context_size_error", "context_length_exceeded"]);
        let said = said.unwrap_or_default();
        is_too_long.then(|| Overflow {
            tokens: self.sizes.tokens.or(said.tokens),
            limit: self.sizes.limit.or(said.limit),
        })
    }

    /// Returns `true` if a picture is refused: by the code (`invalid_image`, `image_too_large`), or by the message.
    fn is_image_refused(&self) -> bool {
        let is_image_code = |code: &str| code.split('_').any(|word| word == "image");
        let says = |text: &str| IMAGE_REFUSALS.iter().any(|refusal| text.contains(refusal));
        matches!(self.status, None | Some(400 | 415 | 422))
            && (is_image_code(&self.code) || says(&self.message.to_lowercase()))
    }

    /// Tells whether waiting helps: the provider says so, or names a time with a 503.
    fn is_overloaded(&self) -> bool {
        let may_be = matches!(self.status, None | Some(429 | 500..));
        self.says(&["overloaded_error", "server_is_overloaded"])
            || self.status == Some(529)
            || (self.status == Some(503) && self.retry_after.is_some())
            || (may_be && self.message.to_lowercase().contains("overloaded"))
    }

    /// Returns `true` if waiting does not help, because money or a quota is used up.
    fn is_out_of_credit(&self) -> bool {
        let words = [self.kind.as_str(), self.code.as_str()];
        let said = |word: &&str| {
            matches!(*word, "billing_error" | "insufficient_quota" | "credit_balance_exhausted")
                || word.ends_with("_spend_limit_exceeded")
                || word.ends_with("_usage_limit_exceeded")
        };
        self.status == Some(402)
            || words.iter().any(said)
            || self.message.to_lowercase().contains("credit balance is too low")
            || (self.status == Some(429) && self.should_retry == Some(false))
    }

    fn reason(&self, key: Option<&ApiKey>) -> String {
        let redacted = |text: &str| key.map_or_else(|| text.to_owned(), |key| key.redact(text));
        // A key that the cut goes through would not be found after it.
        let message: String = redacted(&self.message).chars().take(MOST_CHARS).collect();
        let named = [&self.kind, &self.code].into_iter().filter(|word| !word.is_empty()).cloned();
        let status = self.status.map(|status| format!("status {status}"));
        let request = self.request_id.as_ref().map(|id| format!("request {id}"));
        let about: Vec<String> = named.chain(status).chain(request).map(|text| redacted(&text)).collect();
        match (message.is_empty(), about.is_empty()) {
            (true, true) => "no reason given".to_owned(),
            (true, false) => about.join(", "),
            (false, true) => message,
            (false, false) => format!("{} ({})", message.trim_end(), about.join(", ")),
        }
    }
}

/// By what the provider knows a call.
pub(super) fn request_id(headers: &HeaderMap) -> Option<String> {
    let id = headers.get("request-id").or_else(|| headers.get("x-request-id"))?;
    id.to_str().ok().map(str::to_owned)
}

/// Returns the time that a provider asks to wait: in milliseconds, or in seconds or as a date.
fn wait(millis: Option<&str>, seconds: Option<&str>) -> Option<Duration> {
    let positive = |seconds: f64| Duration::try_from_secs_f64(seconds).ok().filter(|wait| !wait.is_zero());
    if let Some(wait) =
        millis.and_then(|text| text.parse::<f64>().ok()).and_then(|millis| positive(millis / 1_000.0))
    {
        return Some(wait);
    }
    let text = seconds?;
    match text.parse::<f64>() {
        Ok(seconds) => positive(seconds),
        Err(_) => httpdate::parse_http_date(text).ok()?.duration_since(SystemTime::now()).ok(),
    }
}

/// The text of an error: a text, a member that holds one, or the texts of a list.
fn message(error: &Value) -> String {
    match error {
        Value::String(text) => text.clone(),
        Value::Array(errors) => {
            let texts: Vec<_> = errors.iter().map(message).filter(|text| !text.is_empty()).collect();
            texts.join("; ")
        }
        Value::Object(members) => {
            let texts =
                ["message", "detail", "msg"].iter().filter_map(|name| members.get(*name)).map(message);
            texts.into_iter().find(|text| !text.is_empty()).unwrap_or_default()
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests;
