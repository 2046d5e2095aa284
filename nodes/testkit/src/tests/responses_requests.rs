//! Requests that OpenAI takes at Responses, and its errors for others.

use crate::responses::{check, check_count};
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
        "instructions": "Be brief.",
        "stream": true,
        "store": false,
        "max_output_tokens": 256,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "low", "summary": "auto"},
        "parallel_tool_calls": false,
        "tool_choice": {"type": "function", "name": "get_weather"},
        "tools": [{
            "type": "function", "name": "get_weather", "description": "The weather.",
            "parameters": schema, "strict": true,
        }],
        "text": {"format": {"type": "json_schema", "name": "report", "schema": schema, "strict": true}},
        "input": [
            {"role": "user", "content": [
                {"type": "input_text", "text": "What is the weather there?"},
                {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "low"},
            ]},
            {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}],
             "encrypted_content": "x"},
            {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "get_weather", "arguments": "{}"},
            {"type": "function_call", "call_id": "b", "name": "get_weather", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "b", "output": "rain"},
            {"type": "function_call_output", "call_id": "a", "output": [{"type": "input_text", "text": "sun"}]},
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [
                {"type": "output_text", "text": "It rains.", "annotations": []},
            ]},
            {"role": "user", "content": "Go on."},
        ],
    })
}

#[test]
fn a_request_with_everything_in_it_is_taken() {
    assert_eq!(check(&request()), Ok(()));
    assert_eq!(check(&json!({"model": "gpt-test", "input": "Hello"})), Ok(()));
}

#[test]
fn parameters_of_chat_completions_are_sent_to_their_new_places() {
    for (old, new) in [
        ("messages", "input"),
        ("response_format", "text.format"),
        ("max_tokens", "max_output_tokens"),
        ("reasoning_effort", "reasoning.effort"),
    ] {
        let mut request = request();
        request[old] = json!(1);
        let error = check(&request).unwrap_err();
        let said = format!(
            "Unsupported parameter: '{old}'. In the Responses API, this parameter has moved to '{new}'."
        );
        assert!(error.message().starts_with(&said), "{error}");
        assert_eq!(error.code(), Some("unsupported_parameter"));
    }
    each_is_refused(
        check,
        &request(),
        [(
            ("/tools/0", Some(json!({"type": "function", "function": {"name": "get_weather"}}))),
            "Missing required parameter: 'tools[0].name'.",
        )],
    );
}

#[test]
fn members_are_known_there_and_of_their_type() {
    each_is_refused(
        check,
        &request(),
        [
            (("/model", None), "Missing required parameter: 'model'."),
            (("/input", None), "Missing required parameter: 'input'."),
            (("/input", Some(json!([]))), "Invalid 'input': empty array."),
            (("/extra", Some(json!(1))), "Unknown parameter: 'extra'."),
            (("/input/0/extra", Some(json!(1))), "Unknown parameter: 'input[0].extra'."),
            (("/input/2/extra", Some(json!(1))), "Unknown parameter: 'input[2].extra'."),
            (
                ("/input/0/role", Some(json!("tool"))),
                "Invalid value: 'tool'. Supported values are: 'assistant', 'system',",
            ),
            (
                ("/input/0/content/0/type", Some(json!("text"))),
                "Invalid value: 'text'. Supported values are: 'input_text', 'input_image', and 'input_file'.",
            ),
            (
                ("/input/6/content/0/type", Some(json!("input_text"))),
                "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.",
            ),
            (
                ("/input/2/arguments", Some(json!({}))),
                "Invalid type for 'input[2].arguments': expected a string, but got an object instead.",
            ),
            (
                ("/input/4/output", Some(json!(null))),
                "Invalid type for 'input[4].output': expected one of a string or array of objects, but got null instead.",
            ),
        ],
    );
}

#[test]
fn calls_and_outputs_are_pairs() {
    let output = |id: &str| Some(json!({"type": "function_call_output", "call_id": id, "output": "1"}));
    each_is_refused(
        check,
        &request(),
        [
            (("/input/4", None), "No tool output found for function call b."),
            (("/input/5", output("c")), "No tool output found for function call a."),
            (("/input/-", output("c")), "No tool call found for function call output with call_id c."),
            (("/input/-", output("a")), "No tool call found for function call output with call_id a."),
            (("/input/2", None), "No tool call found for function call output with call_id a."),
            (
                ("/input/4/call_id", Some(json!(""))),
                "Invalid 'input[4].call_id': empty string. Expected a string with minimum length 1,",
            ),
            (
                ("/input/4/call_id", Some(json!("x".repeat(65)))),
                "Invalid 'input[4].call_id': string too long. Expected a string with maximum length 64,",
            ),
        ],
    );
    let first = changed(&request(), ("/input/0", output("a")));
    assert_eq!(
        check(&first).unwrap_err().message(),
        "No tool call found for function call output with call_id a."
    );
}

#[test]
fn what_follows_an_earlier_response_has_outputs_of_its_calls() {
    let follows = json!({
        "model": "gpt-test", "previous_response_id": "resp_1",
        "input": [{"type": "function_call_output", "call_id": "a", "output": "1"}],
    });
    assert_eq!(check(&follows), Ok(()));
}

#[test]
fn reasoning_stands_before_what_came_of_it() {
    let missing = "Item 'rs_9' of type 'reasoning' was provided without its required following item.";
    let reasoning =
        || Some(json!({"type": "reasoning", "id": "rs_9", "summary": [], "encrypted_content": "y"}));
    each_is_refused(
        check,
        &request(),
        [
            (("/input/-", reasoning()), missing),
            (("/input/6", reasoning()), missing),
            (("/input/1/summary", None), "Missing required parameter: 'input[1].summary'."),
        ],
    );
    let error = check(&changed(&request(), ("/input/1/encrypted_content", None))).unwrap_err();
    assert_eq!(error.status(), 404);
    assert!(
        error.message().starts_with("Item with id 'rs_1' not found. Items are not persisted when `store` is")
    );
    let stored = changed(&request(), ("/store", Some(json!(true))));
    each_is_taken(check, &stored, [("/input/1/encrypted_content", None)]);
}

#[test]
fn ids_say_what_they_are_of_and_are_there_once() {
    each_is_refused(
        check,
        &request(),
        [
            (
                ("/input/2/id", Some(json!("call_1"))),
                "Invalid 'input[2].id': 'call_1'. Expected an ID that begins with 'fc'.",
            ),
            (
                ("/input/1/id", Some(json!("r1"))),
                "Invalid 'input[1].id': 'r1'. Expected an ID that begins with 'rs'.",
            ),
            (
                ("/input/6/id", Some(json!("m1"))),
                "Invalid 'input[6].id': 'm1'. Expected an ID that begins with 'msg'.",
            ),
            (
                ("/input/3/id", Some(json!("fc_1"))),
                "Duplicate item found with id fc_1. Remove duplicate items from your input and try again.",
            ),
        ],
    );
    each_is_taken(check, &request(), [("/input/2/id", None)]);
}

#[test]
fn images_are_urls() {
    let place = "/input/0/content/1/image_url";
    each_is_refused(
        check,
        &request(),
        [
            (
                (place, Some(json!({"url": "https://example.org/a.png"}))),
                "Invalid type for 'input[0].content[1].image_url': expected an image URL, but got an object instead.",
            ),
            (
                (place, Some(json!("data:text/plain;base64,aGk="))),
                "Invalid MIME type. Only image types are supported.",
            ),
        ],
    );
    each_is_taken(check, &request(), [(place, Some(json!("https://example.org/a.png")))]);
}

#[test]
fn tools_and_formats_have_strict_schemas() {
    each_is_refused(
        check,
        &request(),
        [
            (
                ("/tools/0/parameters/required", None),
                "Invalid schema for function 'get_weather': In context=(), 'required' is required to be supplied",
            ),
            (
                ("/text/format/schema/additionalProperties", None),
                "Invalid schema for response_format 'report': In context=(), 'additionalProperties' is required to be",
            ),
            (
                ("/tool_choice/name", Some(json!("other"))),
                "Tool choice 'other' not found in 'tools' parameter.",
            ),
            (
                ("/tool_choice", Some(json!({"type": "function", "function": {"name": "get_weather"}}))),
                "Unknown parameter: 'tool_choice.function'.",
            ),
            (
                ("/text/format", Some(json!({"type": "json_schema"}))),
                "Missing required parameter: 'text.format.name'.",
            ),
        ],
    );
}

#[test]
fn who_wants_a_tool_called_has_some() {
    let mut request = request();
    request["tool_choice"] = json!("required");
    each_is_refused(
        check,
        &request,
        [
            (("/tools", None), "Tool choice 'required' must be specified with 'tools' parameter."),
            (("/tools", Some(json!([]))), "Tool choice 'required' must be specified with 'tools' parameter."),
            (
                ("/tool_choice", Some(json!("any"))),
                "Invalid value: 'any'. Supported values are: 'none', 'auto', and",
            ),
        ],
    );
    request["tool_choice"] = json!("auto");
    each_is_taken(check, &request, [("/tools", None)]);
}

#[test]
fn options_have_their_forms() {
    each_is_refused(
        check,
        &request(),
        [
            (
                ("/max_output_tokens", Some(json!(5))),
                "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 5 instead.",
            ),
            (("/include/0", Some(json!("usage"))), "Invalid value: 'usage'. Supported values are:"),
            (("/reasoning/effort", Some(json!("max"))), "Invalid value: 'max'. Supported values are:"),
            (
                ("/truncation", Some(json!("on"))),
                "Invalid value: 'on'. Supported values are: 'auto' and 'disabled'.",
            ),
            (
                ("/stream_options", Some(json!({"include_usage": true}))),
                "Unknown parameter: 'stream_options.include_usage'.",
            ),
        ],
    );
}

#[test]
fn counting_takes_no_member_that_only_answers_need() {
    let mut request = request();
    for key in ["stream", "store", "max_output_tokens", "include"] {
        request.as_object_mut().unwrap().remove(key);
    }
    each_is_refused(
        check_count,
        &request,
        [
            (("/stream", Some(json!(true))), "Unknown parameter: 'stream'."),
            (("/input/4", None), "No tool output found for function call b."),
        ],
    );
}
