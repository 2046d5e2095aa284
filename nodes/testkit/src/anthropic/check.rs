//! The checks of Anthropic for requests.

use serde_json::Value;

use super::{cache, content, pairing, thinking, tools};
use crate::HttpError;
use crate::endpoint::Vendor;
use crate::request_value::RequestValue;
use crate::schema;

/// The members that every request may have. `GENERATING` lists those that only a generating request may have.
const COUNTED: [&str; 10] = [
    "cache_control",
    "context_management",
    "mcp_servers",
    "messages",
    "model",
    "output_config",
    "system",
    "thinking",
    "tool_choice",
    "tools",
];

/// The members that only a generating request may have.
const GENERATING: [&str; 12] = [
    "container",
    "diagnostics",
    "inference_geo",
    "max_tokens",
    "metadata",
    "service_tier",
    "speed",
    "stop_sequences",
    "stream",
    "temperature",
    "top_k",
    "top_p",
];

const MOST_MESSAGES: usize = 100_000;

/// Checks the body of a request to `/v1/messages`, as Anthropic does for a model that takes no prefill.
///
/// ```
/// use serde_json::json;
/// use superstep_testkit::anthropic;
///
/// let mut request = json!({
///     "model": "claude-test-1",
///     "max_tokens": 1024,
///     "messages": [{ "role": "user", "content": "Hello" }],
/// });
/// assert!(anthropic::check(&request).is_ok());
///
/// request["messages"][0]["content"] = json!([{ "type": "text", "text": "" }]);
/// let error = anthropic::check(&request).unwrap_err();
/// assert_eq!(error.message(), "messages: text content blocks must be non-empty");
/// ```
///
/// # Errors
///
/// Fails with the answer of Anthropic if it would not take the request. Whether thinking blocks are those
/// that were sent is not seen here: the server remembers them.
pub fn check(body: &Value) -> Result<(), HttpError> {
    let request = RequestValue::body(body, Vendor::Anthropic)?;
    request.only(&[&COUNTED[..], &GENERATING[..]].concat())?;
    request.need("max_tokens")?.whole(1)?;
    shared(&request)?;
    sampling(&request)
}

/// Checks the body of a request to `/v1/messages/count_tokens`.
///
/// # Errors
///
/// As [`check`].
pub fn check_count(body: &Value) -> Result<(), HttpError> {
    let request = RequestValue::body(body, Vendor::Anthropic)?;
    request.only(&COUNTED)?;
    shared(&request)
}

/// The checks of what both have. Forms come first, then how they fit each other.
fn shared(request: &RequestValue<'_>) -> Result<(), HttpError> {
    request.need("model")?.text_up_to(256)?;
    let messages = content::messages(&request.need("messages")?.items_up_to(MOST_MESSAGES)?)?;
    if let Some(system) = request.get("system") {
        content::system(&system)?;
    }
    tools::check(request)?;
    thinking::check(request)?;
    if let Some(config) = request.get("output_config") {
        output_config(&config)?;
    }
    cache::check(request)?;
    pairing::check(&messages, request.get("tools").is_some())?;
    thinking::check_last_turn(request, &messages)
}

fn sampling(request: &RequestValue<'_>) -> Result<(), HttpError> {
    if let Some(stream) = request.get("stream") {
        stream.flag()?;
    }
    for sequence in request.get("stop_sequences").map(|all| all.items()).transpose()?.into_iter().flatten() {
        if sequence.text()?.trim().is_empty() {
            return Err(HttpError::invalid("stop_sequences: each stop sequence must contain non-whitespace"));
        }
    }
    for share in ["temperature", "top_p"] {
        request.get(share).map(|share| share.number(0.0, 1.0)).transpose()?;
    }
    request.get("top_k").map(|top| top.whole(0)).transpose()?;
    request.get("service_tier").map(|tier| tier.one_of(&["auto", "standard_only"])).transpose()?;
    if let Some(metadata) = request.get("metadata") {
        metadata.only(&["user_id"])?;
        metadata.get_nullable("user_id").map(|user| user.text_up_to(256)).transpose()?;
    }
    Ok(())
}

fn output_config(config: &RequestValue<'_>) -> Result<(), HttpError> {
    config.only(&["effort", "format", "task_budget"])?;
    if let Some(effort) = config.get("effort") {
        effort.one_of(&["low", "medium", "high", "xhigh", "max"])?;
    }
    let Some(format) = config.get("format") else {
        return Ok(());
    };
    format.tag(&["json_schema"])?;
    format.only(&["type", "schema"])?;
    let wanted = format.need("schema")?;
    wanted.members()?;
    schema::anthropic_fault(wanted.value()).map_or(Ok(()), |fault| Err(wanted.refuse(fault)))
}
