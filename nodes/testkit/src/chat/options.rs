//! The members of a request that control the answer.

use serde_json::Value;

use crate::HttpError;
use crate::function::{check_format, check_metadata};
use crate::request_value::RequestValue;

const MOST_STOPS: usize = 4;

/// Checks the members that are neither messages nor tools.
pub(super) fn check(request: &RequestValue<'_>) -> Result<(), HttpError> {
    numbers(request)?;
    for flag in ["logprobs", "store", "stream"] {
        request.get_nullable(flag).map(|flag| flag.flag()).transpose()?;
    }
    for (key, known) in [
        ("prompt_cache_retention", &["in_memory", "24h"][..]),
        ("reasoning_effort", &["none", "minimal", "low", "medium", "high", "xhigh"]),
        ("service_tier", &["auto", "default", "flex", "priority"]),
        ("verbosity", &["low", "medium", "high"]),
    ] {
        request.get_nullable(key).map(|value| value.one_of(known)).transpose()?;
    }
    for key in ["prompt_cache_key", "safety_identifier", "user"] {
        request.get_nullable(key).map(|text| text.text()).transpose()?;
    }
    stream_options(request)?;
    check_metadata(request)?;
    if let Some(stop) = request.get_nullable("stop").filter(|stop| !stop.value().is_string()) {
        for text in stop.items_up_to(MOST_STOPS)? {
            text.text()?;
        }
    }
    request.get_nullable("response_format").map_or(Ok(()), |format| response_format(&format, request))
}

fn numbers(request: &RequestValue<'_>) -> Result<(), HttpError> {
    for (key, least, most) in [
        ("frequency_penalty", -2.0, 2.0),
        ("presence_penalty", -2.0, 2.0),
        ("temperature", 0.0, 2.0),
        ("top_p", 0.0, 1.0),
    ] {
        request.get_nullable(key).map(|number| number.number(least, most)).transpose()?;
    }
    for key in ["max_completion_tokens", "max_tokens", "n"] {
        request.get_nullable(key).map(|number| number.whole(1)).transpose()?;
    }
    let both = ["max_completion_tokens", "max_tokens"].map(|key| request.get_nullable(key).is_some());
    if both == [true, true] {
        return Err(HttpError::invalid(
            "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
        )
        .at("max_tokens")
        .coded("invalid_parameter_combination"));
    }
    Ok(())
}

fn stream_options(request: &RequestValue<'_>) -> Result<(), HttpError> {
    let Some(options) = request.get_nullable("stream_options") else {
        return Ok(());
    };
    if !request.is_set("stream") {
        return Err(
            options.refuse("The 'stream_options' parameter is only allowed when 'stream' is enabled.")
        );
    }
    options.only(&["include_obfuscation", "include_usage"])?;
    for flag in ["include_obfuscation", "include_usage"] {
        options.get(flag).map(|flag| flag.flag()).transpose()?;
    }
    Ok(())
}

fn response_format(format: &RequestValue<'_>, request: &RequestValue<'_>) -> Result<(), HttpError> {
    match format.tag(&["json_object", "json_schema", "text"])? {
        "json_schema" => {
            format.only(&["type", "json_schema"])?;
            let wanted = format.need("json_schema")?;
            wanted.only(&["description", "name", "schema", "strict"])?;
            check_format(&wanted, "response_format")
        }
        "json_object" if !speaks_of_json(request.value()) => Err(HttpError::invalid(
            "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
        )
        .at("messages")),
        _ => format.only(&["type"]),
    }
}

fn speaks_of_json(request: &Value) -> bool {
    let messages = request.get("messages").map(Value::to_string).unwrap_or_default();
    messages.to_lowercase().contains("json")
}
