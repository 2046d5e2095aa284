//! Requests that Anthropic takes, and its errors for others.

use crate::anthropic::check;
use serde_json::{Value, json};

use super::requests::{changed, each_is_refused, each_is_taken};

const PNG: &str = "iVBORw0KGgo=";

/// A conversation with everything in it.
pub(crate) fn request() -> Value {
    json!({
        "model": "claude-test-1",
        "max_tokens": 4096,
        "stream": true,
        "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral", "ttl": "1h"}}],
        "tools": [{
            "name": "get_weather",
            "description": "The weather of a city.",
            "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
            "cache_control": {"type": "ephemeral", "ttl": "1h"},
        }],
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": false},
        "thinking": {"type": "enabled", "budget_tokens": 1024},
        "output_config": {"effort": "low"},
        "stop_sequences": ["END"],
        "metadata": {"user_id": "u1"},
        "messages": [
            {"role": "user", "content": [
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
                {"type": "text", "text": "What is the weather there?"},
            ]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "Two cities.", "signature": "s"},
                {"type": "text", "text": "Let me look."},
                {"type": "tool_use", "id": "a", "name": "get_weather", "input": {"city": "Paris"}},
                {"type": "tool_use", "id": "b", "name": "get_weather", "input": {"city": "Rome"}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "rain"},
                {"type": "tool_result", "tool_use_id": "b", "is_error": true, "content": [
                    {"type": "text", "text": "no such city", "cache_control": {"type": "ephemeral"}},
                ]},
                {"type": "text", "text": "Go on."},
            ]},
        ],
    })
}

#[test]
fn a_request_with_everything_in_it_is_taken() {
    assert_eq!(check(&request()), Ok(()));
}

#[test]
fn what_a_request_must_have_is_asked_for() {
    each_is_refused(
        check,
        &request(),
        [
            (("/max_tokens", None), "max_tokens: Field required"),
            (("/max_tokens", Some(json!("many"))), "max_tokens: Input should be a valid integer"),
            (("/max_tokens", Some(json!(0))), "max_tokens: Input should be greater than or equal to 1"),
            (("/model", None), "model: Field required"),
            (("/messages", None), "messages: Field required"),
            (("/messages", Some(json!([]))), "messages: at least one message is required"),
            (("/messages/0/role", None), "messages.0.role: Field required"),
            (
                ("/messages/0/role", Some(json!("system"))),
                "messages.0.role: Input should be 'user' or 'assistant'",
            ),
            (("/messages/0/content", None), "messages.0.content: Field required"),
        ],
    );
}

#[test]
fn unknown_members_are_not_permitted() {
    let said = "Extra inputs are not permitted";
    let request = request();
    for (pointer, path) in [
        ("/extra", "extra"),
        ("/messages/0/extra", "messages.0.extra"),
        ("/messages/0/content/1/extra", "messages.0.content.1.text.extra"),
        ("/messages/1/content/2/extra", "messages.1.content.2.tool_use.extra"),
        ("/messages/1/content/0/cache_control", "messages.1.content.0.thinking.cache_control"),
        ("/tools/0/extra", "tools.0.custom.extra"),
        ("/thinking/extra", "thinking.enabled.extra"),
        ("/metadata/extra", "metadata.extra"),
    ] {
        let error = check(&changed(&request, (pointer, Some(json!({}))))).unwrap_err();
        assert_eq!(error.message(), format!("{path}: {said}"));
    }
}

#[test]
fn content_is_never_empty() {
    let empty = "messages.0: all messages must have non-empty content except for the optional final assistant message";
    each_is_refused(
        check,
        &request(),
        [
            (("/messages/0/content", Some(json!([]))), empty),
            (("/messages/0/content", Some(json!(""))), empty),
            (
                ("/messages/0/content/1/text", Some(json!(""))),
                "messages: text content blocks must be non-empty",
            ),
            (
                ("/messages/0/content/1/text", Some(json!(" \n"))),
                "messages: text content blocks must contain non-whitespace text",
            ),
            (
                ("/messages/2/content/1/content/0/text", Some(json!(""))),
                "messages: text content blocks must be non-empty",
            ),
            (("/system/0/text", Some(json!(""))), "system: text content blocks must be non-empty"),
        ],
    );
    each_is_taken(
        check,
        &request(),
        [
            ("/messages/2/content/0/content", None),
            ("/messages/2/content/0/content", Some(json!(""))),
            ("/system", Some(json!("Be brief."))),
        ],
    );
}

#[test]
fn a_call_has_its_result_in_the_next_message() {
    let missing = "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: ";
    each_is_refused(
        check,
        &request(),
        [
            (("/messages/2/content", Some(json!("Never mind."))), missing),
            (
                ("/messages/2/content/1", None),
                "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: b. Each `tool_use` \
             block must have a corresponding `tool_result` block in the next message.",
            ),
            (("/messages/2", None), missing),
        ],
    );
}

#[test]
fn results_come_before_what_else_a_message_says() {
    let mut request = request();
    request["messages"][2]["content"].as_array_mut().unwrap().rotate_right(1);
    assert_eq!(
        check(&request).unwrap_err().message(),
        "messages.2: Did not find 2 tool_result block(s) at the beginning of this message. Messages following tool_use \
         blocks must begin with a matching number of tool_result blocks."
    );
}

#[test]
fn a_result_has_its_call_in_the_message_before() {
    let orphan = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": "?"});
    each_is_refused(
        check,
        &request(),
        [
            (
                ("/messages/2/content/-", Some(orphan("c"))),
                "messages.2.content.3: unexpected `tool_use_id` found in `tool_result` blocks: c. Each `tool_result` block \
             must have a corresponding `tool_use` block in the previous message.",
            ),
            (
                ("/messages/0/content/0", Some(orphan("a"))),
                "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: a.",
            ),
            (
                ("/messages/2/content/-", Some(orphan("a"))),
                "messages.2.content.3: each tool_use must have a single result. Found multiple `tool_result` blocks with \
             id: a",
            ),
            (("/messages/1/content/3/id", Some(json!("a"))), "messages: `tool_use` ids must be unique"),
        ],
    );
}

#[test]
fn a_history_with_tools_declares_them() {
    let mut request = request();
    request.as_object_mut().unwrap().remove("tool_choice");
    each_is_refused(
        check,
        &request,
        [(("/tools", None), "Requests which include `tool_use` or `tool_result` blocks must define tools")],
    );
}

#[test]
fn turns_alternate_from_a_user_to_a_user() {
    let says = |role: &str| Some(json!({"role": role, "content": "Hello"}));
    each_is_refused(
        check,
        &request(),
        [
            (
                ("/messages/-", says("user")),
                "messages: roles must alternate between \"user\" and \"assistant\", but found multiple \"user\" roles in a \
             row",
            ),
            (
                ("/messages/-", says("assistant")),
                "This model does not support assistant message prefill. The conversation must end with a user message.",
            ),
            (("/messages/0", None), "messages: first message must use the \"user\" role"),
        ],
    );
}

#[test]
fn blocks_are_of_a_known_type_and_of_the_right_role() {
    each_is_refused(
        check,
        &request(),
        [
            (
                ("/messages/0/content/1/type", Some(json!("words"))),
                "messages.0.content.1: Input tag 'words' found using 'type' does not match any of the expected tags: \
             'document', 'image',",
            ),
            (("/messages/0/content/1/type", None), "messages.0.content.1.type: Field required"),
            (
                (
                    "/messages/0/content/1",
                    Some(json!({"type": "tool_use", "id": "x", "name": "x", "input": {}})),
                ),
                "messages.0.content.1: `tool_use` blocks can only be in `assistant` messages",
            ),
            (
                ("/messages/1/content/1", Some(json!({"type": "tool_result", "tool_use_id": "x"}))),
                "messages.1.content.1: `tool_result` blocks can only be in `user` messages",
            ),
            (
                ("/messages/1/content/2/id", Some(json!("call|1"))),
                "messages.1.content.2.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
            ),
            (
                ("/messages/1/content/2/input", Some(json!("{}"))),
                "messages.1.content.2.tool_use.input: Input should be an object",
            ),
            (
                ("/messages/2/content/1/content/0", Some(json!({"type": "image", "source": {}}))),
                "messages.2.content.1.tool_result: all content must be type \"text\" if \"is_error\" is true",
            ),
        ],
    );
}

#[test]
fn images_are_of_four_kinds_and_what_they_say_they_are() {
    let source = "/messages/0/content/0/source";
    each_is_refused(
        check,
        &request(),
        [
            (
                ("/messages/0/content/0/source/media_type", Some(json!("image/tiff"))),
                "messages.0.content.0.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', \
             'image/gif' or 'image/webp'",
            ),
            (
                ("/messages/0/content/0/source/media_type", Some(json!("image/jpeg"))),
                "messages.0.content.0.image.source.base64.data: The image was specified using the image/jpeg media type, \
             but the image appears to be a image/png image",
            ),
            (
                ("/messages/0/content/0/source/data", Some(json!("not base64"))),
                "messages.0.content.0.image.source.base64.data: Input should be valid base64",
            ),
            (
                (source, Some(json!({"type": "url", "url": "http://example.org/a.png"}))),
                "messages.0.content.0.image.source.url.url: Only HTTPS URLs are supported.",
            ),
            (
                (source, Some(json!({"type": "path", "path": "a.png"}))),
                "messages.0.content.0.image.source: Input tag 'path' found using 'type' does not match any of the expected \
             tags: 'base64', 'url', 'file'",
            ),
        ],
    );
    each_is_taken(
        check,
        &request(),
        [(source, Some(json!({"type": "url", "url": "https://example.org/a.png"})))],
    );
}
