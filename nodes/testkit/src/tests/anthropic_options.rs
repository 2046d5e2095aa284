//! The options of Anthropic's requests: tools, thinking, caches, outputs.

use crate::anthropic::{check, check_count};
use serde_json::{Value, json};

use super::anthropic_requests::request;
use super::requests::{changed, each_is_refused, each_is_taken};

#[test]
fn tools_have_names_of_their_own_and_schemas_of_objects() {
    let tool = json!({"name": "get_weather", "input_schema": {"type": "object"}});
    let strict = json!({
        "name": "strict", "strict": true,
        "input_schema": {"type": "object", "properties": {}},
    });
    let name = "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'";
    each_is_refused(
        check,
        &request(),
        [
            (("/tools/0/name", Some(json!("get weather"))), name),
            (("/tools/0/name", Some(json!(""))), name),
            (("/tools/0/name", Some(json!("x".repeat(65)))), name),
            (("/tools/-", Some(tool)), "tools: Tool names must be unique."),
            (("/tools/0/input_schema", None), "tools.0.custom.input_schema: Field required"),
            (
                ("/tools/0/input_schema/type", Some(json!("string"))),
                "tools.0.custom.input_schema.type: Input should be 'object'",
            ),
            (
                ("/tools/0/input_schema/oneOf", Some(json!([]))),
                "tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level",
            ),
            (
                ("/tools/0", Some(strict)),
                "tools.0.custom.input_schema: For 'object' type, 'additionalProperties' must be explicitly set to false",
            ),
        ],
    );
    each_is_taken(check, &request(), [("/tools/-", Some(json!({"type": "bash_20250124", "name": "bash"})))]);
}

#[test]
fn a_choice_of_tools_is_one_of_four() {
    let mut request = request();
    request.as_object_mut().unwrap().remove("thinking");
    each_is_refused(
        check,
        &request,
        [
            (("/tool_choice", Some(json!("auto"))), "tool_choice: Input should be an object"),
            (
                ("/tool_choice/type", Some(json!("required"))),
                "tool_choice: Input tag 'required' found using 'type' does not match any of the expected tags: 'any', \
             'auto', 'none', 'tool'",
            ),
            (("/tool_choice", Some(json!({"type": "tool"}))), "tool_choice.tool.name: Field required"),
            (
                ("/tool_choice", Some(json!({"type": "tool", "name": "other"}))),
                "Tool 'other' not found in provided tools",
            ),
            (
                ("/tool_choice", Some(json!({"type": "none", "disable_parallel_tool_use": true}))),
                "tool_choice.none.disable_parallel_tool_use: Extra inputs are not permitted",
            ),
        ],
    );
    each_is_taken(
        check,
        &request,
        [
            ("/tool_choice", Some(json!({"type": "any", "disable_parallel_tool_use": true}))),
            ("/tool_choice", Some(json!({"type": "tool", "name": "get_weather"}))),
            ("/tool_choice", Some(json!({"type": "none"}))),
        ],
    );
    let bare = json!({
        "model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "?"}],
        "tool_choice": {"type": "auto"},
    });
    assert_eq!(
        check(&bare).unwrap_err().message(),
        "tool_choice: tool_choice may only be specified while providing tools."
    );
}

#[test]
fn thinking_has_a_budget_below_all_tokens_and_leaves_the_choice_of_tools() {
    each_is_refused(
        check,
        &request(),
        [
            (
                ("/thinking/budget_tokens", Some(json!(1000))),
                "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
            ),
            (
                ("/thinking/budget_tokens", Some(json!(4096))),
                "`max_tokens` must be greater than `thinking.budget_tokens`.",
            ),
            (
                ("/thinking", Some(json!({"type": "adaptive", "budget_tokens": 2000}))),
                "thinking.adaptive.budget_tokens: Extra inputs are not permitted",
            ),
            (
                ("/thinking/type", Some(json!("on"))),
                "thinking: Input tag 'on' found using 'type' does not match any of the expected tags:",
            ),
            (
                ("/tool_choice", Some(json!({"type": "any"}))),
                "Thinking may not be enabled when tool_choice forces tool use.",
            ),
            (
                ("/temperature", Some(json!(0.5))),
                "`temperature` may only be set to 1 when thinking is enabled.",
            ),
            (("/top_k", Some(json!(3))), "`top_k` must be unset when thinking is enabled."),
        ],
    );
    each_is_taken(
        check,
        &request(),
        [
            ("/thinking", Some(json!({"type": "adaptive", "display": "omitted"}))),
            ("/thinking", Some(json!({"type": "between_tools"}))),
            ("/thinking", Some(json!({"type": "disabled"}))),
        ],
    );
}

#[test]
fn a_turn_with_tools_begins_with_its_thinking_and_no_message_ends_with_some() {
    each_is_refused(
        check,
        &request(),
        [
            (
                ("/messages/1/content/0", None),
                "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`.",
            ),
            (
                ("/messages/1/content/-", Some(json!({"type": "redacted_thinking", "data": "x"}))),
                "messages.1: The final block in an assistant message cannot be `thinking`.",
            ),
            (
                ("/messages/1/content/0/signature", None),
                "messages.1.content.0.thinking.signature: Field required",
            ),
        ],
    );
    let mut adaptive = request();
    adaptive["thinking"] = json!({"type": "adaptive"});
    each_is_taken(check, &adaptive, [("/messages/1/content/0", None)]);
}

#[test]
fn there_are_four_cache_breakpoints_at_most_and_the_long_ones_come_first() {
    let mark = |ttl: &str| Some(json!({"type": "ephemeral", "ttl": ttl}));
    each_is_refused(
        check,
        &request(),
        [
            (
                ("/messages/0/content/1/cache_control", Some(json!({"type": "forever"}))),
                "messages.0.content.1.text.cache_control: Input tag 'forever' found using 'type'",
            ),
            (
                ("/messages/0/content/1/cache_control", mark("2h")),
                "messages.0.content.1.text.cache_control.ttl: Input should be '5m' or '1h'",
            ),
            (
                ("/messages/2/content/2/cache_control", mark("1h")),
                "messages.2.content.2.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' \
             cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`.",
            ),
        ],
    );
    let four = changed(&request(), ("/messages/2/content/2/cache_control", mark("5m")));
    each_is_refused(
        check,
        &four,
        [(
            ("/cache_control", Some(json!({"type": "ephemeral"}))),
            "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        )],
    );
}

#[test]
fn outputs_have_a_closed_schema() {
    let format = |schema: Value| Some(json!({"format": {"type": "json_schema", "schema": schema}}));
    each_is_refused(
        check,
        &request(),
        [
            (
                ("/output_config", format(json!({"type": "object", "properties": {}}))),
                "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false",
            ),
            (
                ("/output_config/effort", Some(json!("minimal"))),
                "output_config.effort: Input should be 'low', 'medium',",
            ),
            (
                ("/output_config/format", Some(json!({"type": "json_schema"}))),
                "output_config.format.schema: Field required",
            ),
            (
                ("/output_config/format", Some(json!({"type": "json_object"}))),
                "output_config.format: Input tag 'json_object' found using 'type'",
            ),
        ],
    );
    let closed = json!({"type": "object", "properties": {}, "additionalProperties": false});
    each_is_taken(check, &request(), [("/output_config", format(closed))]);
}

#[test]
fn numbers_and_texts_have_their_bounds() {
    let mut plain = request();
    plain.as_object_mut().unwrap().remove("thinking");
    each_is_refused(
        check,
        &plain,
        [
            (("/temperature", Some(json!(1.5))), "temperature: Input should be less than or equal to 1"),
            (("/top_p", Some(json!(-0.1))), "top_p: Input should be greater than or equal to 0"),
            (("/stream", Some(json!("yes"))), "stream: Input should be a valid boolean"),
            (
                ("/stop_sequences/0", Some(json!(" "))),
                "stop_sequences: each stop sequence must contain non-whitespace",
            ),
            (
                ("/service_tier", Some(json!("flex"))),
                "service_tier: Input should be 'auto' or 'standard_only'",
            ),
        ],
    );
}

#[test]
fn counting_takes_no_member_that_only_answers_need() {
    let mut request = request();
    for key in ["max_tokens", "stream", "stop_sequences", "metadata"] {
        request.as_object_mut().unwrap().remove(key);
    }
    each_is_refused(
        check_count,
        &request,
        [
            (("/max_tokens", Some(json!(1))), "max_tokens: Extra inputs are not permitted"),
            (("/messages/2", None), "messages.1: `tool_use` ids were found without"),
        ],
    );
}
