//! The checks of OpenAI for requests of the Responses protocol.

use serde_json::Value;

use super::{items, pairing};
use crate::HttpError;
use crate::endpoint::Vendor;
use crate::function;
use crate::request_value::RequestValue;

/// The members that every request may have. `GENERATING` lists those that only a generating request may have.
const COUNTED: [&str; 12] = [
    "conversation",
    "input",
    "instructions",
    "model",
    "parallel_tool_calls",
    "personality",
    "previous_response_id",
    "reasoning",
    "text",
    "tool_choice",
    "tools",
    "truncation",
];

/// The members that only a generating request may have.
const GENERATING: [&str; 20] = [
    "background",
    "context_management",
    "include",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "moderation",
    "prompt",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "safety_identifier",
    "service_tier",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "top_logprobs",
    "top_p",
    "user",
];

/// The members that have another name in Chat Completions, with their name there first.
const MOVED: [(&str, &str); 5] = [
    ("max_completion_tokens", "max_output_tokens"),
    ("max_tokens", "max_output_tokens"),
    ("messages", "input"),
    ("reasoning_effort", "reasoning.effort"),
    ("response_format", "text.format"),
];

const INCLUDES: [&str; 8] = [
    "code_interpreter_call.outputs",
    "computer_call_output.output.image_url",
    "file_search_call.results",
    "message.input_image.image_url",
    "message.output_text.logprobs",
    "reasoning.encrypted_content",
    "web_search_call.action.sources",
    "web_search_call.results",
];

/// Checks the body of a request to `/v1/responses`.
///
/// ```
/// use serde_json::json;
/// use superstep_testkit::responses;
///
/// let mut request = json!({ "model": "gpt-test", "input": "Hello" });
/// assert!(responses::check(&request).is_ok());
///
/// request["input"] = json!([{ "type": "function_call_output", "call_id": "call_1", "output": "3" }]);
/// let error = responses::check(&request).unwrap_err();
/// assert_eq!(error.message(), "No tool call found for function call output with call_id call_1.");
/// ```
///
/// # Errors
///
/// Fails with the answer of OpenAI if it would not take the request. Whether reasoning is what was sent, and
/// what an earlier response called, is not seen here: the server remembers them.
pub fn check(body: &Value) -> Result<(), HttpError> {
    let request = RequestValue::body(body, Vendor::OpenAi)?;
    if let Some((old, new)) = MOVED.into_iter().find(|(old, _)| request.get(old).is_some()) {
        return Err(HttpError::invalid(format!(
            "Unsupported parameter: '{old}'. In the Responses API, this parameter has moved to '{new}'. Try again \
             with the new parameter. See the API documentation for more information: \
             https://platform.openai.com/docs/api-reference/responses/create."
        ))
        .at(old)
        .coded("unsupported_parameter"));
    }
    request.only(&[&COUNTED[..], &GENERATING[..]].concat())?;
    options(&request)?;
    shared(&request)
}

/// Checks the body of a request to `/v1/responses/input_tokens`.
///
/// # Errors
///
/// As [`check`].
pub fn check_count(body: &Value) -> Result<(), HttpError> {
    let request = RequestValue::body(body, Vendor::OpenAi)?;
    request.only(&COUNTED)?;
    shared(&request)
}

fn shared(request: &RequestValue<'_>) -> Result<(), HttpError> {
    request.need("model")?.text_up_to(256)?;
    request.get_nullable("instructions").map(|text| text.text()).transpose()?;
    request.get_nullable("previous_response_id").map(|id| id.text()).transpose()?;
    request.get_nullable("truncation").map(|how| how.one_of(&["auto", "disabled"])).transpose()?;
    tools(request)?;
    reasoning(request)?;
    text_format(request)?;
    let input = request.need("input")?;
    if input.value().is_string() {
        return Ok(());
    }
    if !input.value().is_array() {
        return Err(input.wrong_type("one of a string or array of input items"));
    }
    let continues =
        ["previous_response_id", "conversation"].iter().any(|key| request.get_nullable(key).is_some());
    let all = if continues { input.items()? } else { input.items_of_some()? };
    items::check(&all, request.value().get("store") == Some(&Value::Bool(false)))?;
    pairing::check(&all, continues)
}

fn options(request: &RequestValue<'_>) -> Result<(), HttpError> {
    request.get_nullable("max_output_tokens").map(|most| most.whole(16)).transpose()?;
    request.get_nullable("max_tool_calls").map(|most| most.whole(1)).transpose()?;
    request.get_nullable("temperature").map(|heat| heat.number(0.0, 2.0)).transpose()?;
    request.get_nullable("top_p").map(|share| share.number(0.0, 1.0)).transpose()?;
    for flag in ["background", "store", "stream"] {
        request.get_nullable(flag).map(|flag| flag.flag()).transpose()?;
    }
    for included in request.get_nullable("include").map(|all| all.items()).transpose()?.into_iter().flatten()
    {
        included.one_of(&INCLUDES)?;
    }
    if let Some(kept) = request.get_nullable("prompt_cache_retention") {
        kept.one_of(&["in_memory", "24h"])?;
    }
    if let Some(options) = request.get_nullable("stream_options") {
        if !request.is_set("stream") {
            return Err(
                options.refuse("The 'stream_options' parameter is only allowed when 'stream' is enabled.")
            );
        }
        options.only(&["include_obfuscation"])?;
    }
    function::check_metadata(request)
}

fn reasoning(request: &RequestValue<'_>) -> Result<(), HttpError> {
    let Some(reasoning) = request.get_nullable("reasoning") else {
        return Ok(());
    };
    reasoning.only(&["context", "effort", "generate_summary", "mode", "summary"])?;
    let efforts = ["none", "minimal", "low", "medium", "high", "xhigh"];
    reasoning.get_nullable("effort").map(|effort| effort.one_of(&efforts)).transpose()?;
    let summaries = ["auto", "concise", "detailed"];
    reasoning.get_nullable("summary").map(|summary| summary.one_of(&summaries)).transpose()?;
    Ok(())
}

fn text_format(request: &RequestValue<'_>) -> Result<(), HttpError> {
    let Some(text) = request.get_nullable("text") else {
        return Ok(());
    };
    text.only(&["format", "verbosity"])?;
    text.get_nullable("verbosity").map(|how| how.one_of(&["low", "medium", "high"])).transpose()?;
    let Some(format) = text.get_nullable("format") else {
        return Ok(());
    };
    if format.tag(&["json_object", "json_schema", "text"])? != "json_schema" {
        return format.only(&["type"]);
    }
    format.only(&["description", "name", "schema", "strict", "type"])?;
    function::check_format(&format, "text.format.schema")
}

fn tools(request: &RequestValue<'_>) -> Result<(), HttpError> {
    let mut names = Vec::new();
    let tools = request.get_nullable("tools").map(|tools| tools.items()).transpose()?;
    for tool in tools.into_iter().flatten() {
        tool.members()?;
        if tool.need("type")?.text()? == "function" {
            // A tool in the form of Chat Completions has no name here.
            names.push(function::check(&tool)?);
            tool.only(&["defer_loading", "description", "name", "parameters", "strict", "type"])?;
        }
    }
    function::check_unique(&names)?;
    request.get_nullable("parallel_tool_calls").map(|flag| flag.flag()).transpose()?;
    let chosen = choice(request)?;
    let has_tools =
        request.value().get("tools").and_then(Value::as_array).is_some_and(|tools| !tools.is_empty());
    let is_required = request.value().get("tool_choice").is_some_and(|choice| choice == "required");
    if is_required && !has_tools {
        return Err(HttpError::invalid("Tool choice 'required' must be specified with 'tools' parameter.")
            .at("tool_choice"));
    }
    function::check_choice(&names, chosen)
}

/// The function that a request wants called, if it says which.
fn choice<'a>(request: &RequestValue<'a>) -> Result<Option<&'a str>, HttpError> {
    let Some(choice) = request.get_nullable("tool_choice") else {
        return Ok(None);
    };
    if choice.value().is_string() {
        return choice.one_of(&["none", "auto", "required"]).map(|_| None);
    }
    choice.members()?;
    if choice.need("type")?.text()? != "function" {
        return Ok(None);
    }
    choice.only(&["name", "type"])?;
    choice.need("name")?.text().map(Some)
}
