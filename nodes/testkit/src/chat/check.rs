//! The checks of OpenAI for requests of Chat Completions.

use serde_json::Value;

use super::{messages, options};
use crate::HttpError;
use crate::endpoint::Vendor;
use crate::function;
use crate::request_value::RequestValue;

const KNOWN: [&str; 37] = [
    "audio",
    "frequency_penalty",
    "function_call",
    "functions",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    "messages",
    "metadata",
    "modalities",
    "model",
    "moderation",
    "n",
    "parallel_tool_calls",
    "prediction",
    "presence_penalty",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "reasoning_effort",
    "response_format",
    "safety_identifier",
    "seed",
    "service_tier",
    "stop",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "user",
    "verbosity",
    "web_search_options",
];

const MOST_TOOLS: usize = 128;

/// Checks the body of a request to `/v1/chat/completions`.
///
/// ```
/// use serde_json::json;
/// use superstep_testkit::chat;
///
/// let mut request = json!({
///     "model": "gpt-test",
///     "messages": [{ "role": "user", "content": "Hello" }],
/// });
/// assert!(chat::check(&request).is_ok());
///
/// request["stream_options"] = json!({ "include_usage": true });
/// let error = chat::check(&request).unwrap_err();
/// assert_eq!(error.message(), "The 'stream_options' parameter is only allowed when 'stream' is enabled.");
/// ```
///
/// # Errors
///
/// Fails with the answer of OpenAI if it would not take the request.
pub fn check(body: &Value) -> Result<(), HttpError> {
    let request = RequestValue::body(body, Vendor::OpenAi)?;
    request.only(&KNOWN)?;
    request.need("model")?.text_up_to(256)?;
    tools(&request)?;
    options::check(&request)?;
    messages::check(&request.need("messages")?.items_of_some()?)
}

fn tools(request: &RequestValue<'_>) -> Result<(), HttpError> {
    let mut names = Vec::new();
    if let Some(tools) = request.get_nullable("tools") {
        tools.items_up_to(MOST_TOOLS)?;
        for tool in tools.items_of_some()? {
            let kind = tool.tag(&["function", "custom"])?;
            tool.only(&["type", kind])?;
            let declared = tool.need(kind)?;
            if kind == "function" {
                declared.only(&["description", "name", "parameters", "strict"])?;
            } else {
                declared.only(&["description", "format", "name"])?;
            }
            names.push(function::check(&declared)?);
        }
    }
    function::check_unique(&names)?;
    for key in ["tool_choice", "parallel_tool_calls"] {
        let is_said = request.get_nullable(key).is_some_and(|value| value.value() != "none");
        if is_said && request.get_nullable("tools").is_none() {
            return Err(HttpError::invalid(format!(
                "Invalid value for '{key}': '{key}' is only allowed when 'tools' are specified."
            ))
            .at(key));
        }
    }
    request.get_nullable("parallel_tool_calls").map(|flag| flag.flag()).transpose()?;
    function::check_choice(&names, choice(request)?)
}

/// The function that a request wants called, if it says which.
fn choice<'a>(request: &RequestValue<'a>) -> Result<Option<&'a str>, HttpError> {
    let Some(choice) = request.get_nullable("tool_choice") else {
        return Ok(None);
    };
    if choice.value().is_string() {
        return choice.one_of(&["none", "auto", "required"]).map(|_| None);
    }
    let kind = choice.tag(&["function", "allowed_tools", "custom"])?;
    choice.only(&["type", kind])?;
    let chosen = choice.need(kind)?;
    chosen.members()?;
    if kind == "allowed_tools" {
        return Ok(None);
    }
    chosen.only(&["name"])?;
    chosen.need("name")?.text().map(Some)
}
