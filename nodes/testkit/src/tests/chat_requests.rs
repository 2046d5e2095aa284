//! Requests that OpenAI takes at Chat Completions, and its errors for others.

use crate::chat::check;
use serde_json::{Value, json};

use super::requests::{changed, each_is_refused, each_is_taken};

/// A conversation with everything in it.
fn request() -> Value {
    let schema = json!({
        "type": "object", "properties": {"city": {"type": "string"}},
        "required": ["city"], "additionalProperties": false,
    });
    json!({
        "model": "gpt-test",
        "max_completion_tokens": 256,
        "stream": true,
        "stream_options": {"include_usage": true},
        "parallel_tool_calls": true,
        "tool_choice": "auto",
        "reasoning_effort": "low",
        "prompt_cache_key": "thread-1",
        "tools": [{"type": "function", "function": {
            "name": "get_weather", "description": "The weather.", "parameters": schema, "strict": true,
        }}],
        "response_format": {"type": "json_schema", "json_schema": {
            "name": "report", "schema": schema, "strict": true,
        }},
        "messages": [
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": [
                {"type": "text", "text": "What is the weather there?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo=", "detail": "low"}},
            ]},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}},
                {"id": "b", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}},
            ]},
            {"role": "tool", "tool_call_id": "b", "content": "rain"},
            {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "sun"}]},
            {"role": "user", "content": "Go on."},
        ],
    })
}

#[test]
fn a_request_with_everything_in_it_is_taken() {
    assert_eq!(check(&request()), Ok(()));
}

#[test]
fn what_is_wrong_is_reported_with_its_place_and_a_code() {
    for (change, param, code) in [
        (("/model", None), "model", "missing_required_parameter"),
        (("/extra", Some(json!(1))), "extra", "unknown_parameter"),
        (("/messages/0/content", Some(json!(1))), "messages[0].content", "invalid_type"),
        (("/messages/0/role", Some(json!("human"))), "messages[0].role", "invalid_value"),
        (("/messages", Some(json!([]))), "messages", "empty_array"),
        (
            ("/tools/0/function/parameters/required", Some(json!([]))),
            "tools[0].function.parameters",
            "invalid_function_parameters",
        ),
    ] {
        let error = check(&changed(&request(), change)).unwrap_err();
        assert_eq!((error.param(), error.code()), (Some(param), Some(code)), "{error}");
    }
}

#[test]
fn members_are_known_there_and_of_their_type() {
    each_is_refused(
        check,
        &request(),
        [
            (("/model", None), "Missing required parameter: 'model'."),
            (("/messages", None), "Missing required parameter: 'messages'."),
            (
                ("/messages", Some(json!([]))),
                "Invalid 'messages': empty array. Expected an array with minimum length 1,",
            ),
            (("/extra", Some(json!(1))), "Unknown parameter: 'extra'."),
            (("/messages/1/extra", Some(json!(1))), "Unknown parameter: 'messages[1].extra'."),
            (
                ("/messages/2/reasoning_content", Some(json!("Hm."))),
                "Unknown parameter: 'messages[2].reasoning_content'.",
            ),
            (("/messages/3/is_error", Some(json!(true))), "Unknown parameter: 'messages[3].is_error'."),
            (
                ("/messages/0/content", Some(json!(null))),
                "Invalid type for 'messages[0].content': expected one of a string or array of objects, but got null \
             instead.",
            ),
            (
                ("/messages/0/role", Some(json!("human"))),
                "Invalid value: 'human'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and \
             'developer'.",
            ),
            (("/messages/1/content", Some(json!([]))), "Invalid 'messages[1].content': empty array."),
            (
                ("/messages/1/content/0/type", Some(json!("input_text"))),
                "Invalid value: 'input_text'. Supported values are: 'text', 'image_url', 'input_audio', and 'file'.",
            ),
        ],
    );
}

#[test]
fn calls_are_answered_by_the_messages_that_follow() {
    let said = "An assistant message with 'tool_calls' must be followed by tool messages responding to each \
                'tool_call_id'. The following tool_call_ids did not have response messages: ";
    for (change, missing) in [
        (("/messages/3", None), "b"),
        (("/messages/4", Some(json!({"role": "user", "content": "?"}))), "a"),
        (("/messages/3", Some(json!({"role": "user", "content": "?"}))), "a, b"),
    ] {
        let error = check(&changed(&request(), change)).unwrap_err();
        assert_eq!(error.message(), format!("{said}{missing}"));
    }
    let mut last = request();
    last["messages"].as_array_mut().unwrap().truncate(3);
    assert_eq!(check(&last).unwrap_err().message(), format!("{said}a, b"));
}

#[test]
fn a_tool_message_answers_a_call_once() {
    let orphan = "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with \
                  'tool_calls'.";
    each_is_refused(
        check,
        &request(),
        [
            (("/messages/5", Some(json!({"role": "tool", "tool_call_id": "a", "content": "again"}))), orphan),
            (("/messages/0", Some(json!({"role": "tool", "tool_call_id": "c", "content": "?"}))), orphan),
            (("/messages/4/tool_call_id", Some(json!("c"))), orphan),
        ],
    );
}

#[test]
fn an_assistant_says_something_or_calls() {
    each_is_refused(
        check,
        &request(),
        [
            (
                ("/messages/5", Some(json!({"role": "assistant", "content": null}))),
                "Invalid value for 'content': expected a string, got null.",
            ),
            (("/messages/2/tool_calls", Some(json!([]))), "Invalid 'messages[2].tool_calls': empty array."),
            (
                ("/messages/2/tool_calls/0/function/arguments", Some(json!({}))),
                "Invalid type for 'messages[2].tool_calls[0].function.arguments': expected a string, but got an object \
             instead.",
            ),
            (
                ("/messages/2/tool_calls/0/id", Some(json!("x".repeat(41)))),
                "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got \
             a string with length 41 instead.",
            ),
            (
                ("/messages/2/tool_calls/0/id", Some(json!(""))),
                "Invalid 'messages[2].tool_calls[0].id': empty string.",
            ),
        ],
    );
    each_is_taken(
        check,
        &request(),
        [
            ("/messages/5", Some(json!({"role": "assistant", "content": null, "refusal": "No."}))),
            ("/messages/5", Some(json!({"role": "assistant", "content": "Yes."}))),
        ],
    );
}

#[test]
fn only_users_show_images_and_of_four_kinds() {
    let image = |url: &str| Some(json!({"type": "image_url", "image_url": {"url": url}}));
    let place = "/messages/1/content/1";
    each_is_refused(
        check,
        &request(),
        [
            (
                ("/messages/4/content/0", image("https://example.org/a.png")),
                "Invalid 'messages[4]'. Image URLs are only allowed for messages with role 'user', but this message with \
             role 'tool' contains an image URL.",
            ),
            (
                (place, image("data:text/plain;base64,aGk=")),
                "Invalid MIME type. Only image types are supported.",
            ),
            ((place, image("data:image/tiff;base64,aGk=")), "You uploaded an unsupported image."),
            ((place, image("data:image/gif;base64,iVBORw0KGgo=")), "You uploaded an unsupported image."),
            (
                (place, image("a.png")),
                "Invalid 'messages[1].content[1].image_url.url'. Expected a base64-encoded data URL with an image MIME type",
            ),
            ((place, image("data:image/png;base64,@@")), "Invalid 'messages[1].content[1].image_url.url'."),
            (
                ("/messages/1/content/1/image_url", Some(json!("https://example.org/a.png"))),
                "Invalid type for 'messages[1].content[1].image_url': expected an object, but got a string instead.",
            ),
            (
                ("/messages/1/content/1/image_url/detail", Some(json!("middling"))),
                "Invalid value: 'middling'. Supported values are: 'auto', 'low', and 'high'.",
            ),
        ],
    );
    each_is_taken(check, &request(), [(place, image("https://example.org/a.png"))]);
}

#[test]
fn functions_have_names_of_their_own_and_schemas() {
    let function = json!({"type": "function", "function": {"name": "get_weather"}});
    each_is_refused(
        check,
        &request(),
        [
            (
                ("/tools/0/function/name", Some(json!("get.weather"))),
                "Invalid 'tools[0].function.name': string does not match pattern. Expected a string that matches the \
             pattern '^[a-zA-Z0-9_-]+$'.",
            ),
            (
                ("/tools/0/function/name", Some(json!("x".repeat(65)))),
                "Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64,",
            ),
            (("/tools", Some(json!([]))), "Invalid 'tools': empty array."),
            (("/tools/-", Some(function)), "Invalid 'tools': tool names must be unique,"),
            (
                ("/tools/0/function/parameters/additionalProperties", None),
                "Invalid schema for function 'get_weather': In context=(), 'additionalProperties' is required to be \
             supplied and to be false.",
            ),
            (
                ("/tools/0/function/parameters/required", None),
                "Invalid schema for function 'get_weather': In context=(), 'required' is required to be supplied and to be \
             an array including every key in properties. Missing 'city'.",
            ),
            (
                ("/tools/0", Some(json!({"name": "flat", "input_schema": {}}))),
                "Missing required parameter: 'tools[0].type'.",
            ),
        ],
    );
    each_is_taken(check, &request(), [("/tools/0/function/strict", None)]);
}

#[test]
fn a_choice_is_of_tools_that_are_there() {
    let choice = |name: &str| Some(json!({"type": "function", "function": {"name": name}}));
    each_is_refused(
        check,
        &request(),
        [
            (
                ("/tool_choice", Some(json!("any"))),
                "Invalid value: 'any'. Supported values are: 'none', 'auto', and",
            ),
            (("/tool_choice", choice("other")), "Tool choice 'other' not found in 'tools' parameter."),
            (
                ("/tools", None),
                "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.",
            ),
        ],
    );
    each_is_taken(check, &request(), [("/tool_choice", choice("get_weather"))]);
    let parallel = changed(&request(), ("/tool_choice", None));
    each_is_refused(
        check,
        &parallel,
        [(
            ("/tools", None),
            "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when 'tools' are specified.",
        )],
    );
}

#[test]
fn outputs_have_a_strict_schema_or_speak_of_json() {
    each_is_refused(
        check,
        &request(),
        [
            (
                ("/response_format/json_schema/schema/required", Some(json!([]))),
                "Invalid schema for response_format 'report': In context=(), 'required' is required to be supplied",
            ),
            (
                ("/response_format/json_schema/name", None),
                "Missing required parameter: 'response_format.json_schema.name'.",
            ),
            (
                ("/response_format", Some(json!({"type": "json_object"}))),
                "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
            ),
            (
                ("/response_format", Some(json!({"type": "text", "schema": {}}))),
                "Unknown parameter: 'response_format.schema'.",
            ),
        ],
    );
}

#[test]
fn options_have_their_forms() {
    each_is_refused(
        check,
        &request(),
        [
            (("/stream", None), "The 'stream_options' parameter is only allowed when 'stream' is enabled."),
            (
                ("/stream", Some(json!(false))),
                "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
            ),
            (("/stream_options/usage", Some(json!(true))), "Unknown parameter: 'stream_options.usage'."),
            (
                ("/max_tokens", Some(json!(1))),
                "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
            ),
            (
                ("/max_completion_tokens", Some(json!(0))),
                "Invalid 'max_completion_tokens': integer below minimum value. Expected a value >= 1, but got 0 instead.",
            ),
            (
                ("/temperature", Some(json!(2.5))),
                "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 2.5 instead.",
            ),
            (
                ("/stop", Some(json!(["a", "b", "c", "d", "e"]))),
                "Invalid 'stop': array too long. Expected an array with maximum length 4, but got an array with length 5",
            ),
            (("/metadata", Some(json!({"a": 1}))), "Invalid type for 'metadata.a': expected a string,"),
            (("/reasoning_effort", Some(json!("max"))), "Invalid value: 'max'. Supported values are:"),
        ],
    );
    each_is_taken(check, &request(), [("/temperature", Some(json!(null))), ("/stop", Some(json!("END")))]);
}
