use serde_json::json;
use superstep_nodes::message::ToolCall;
use superstep_nodes::model::{ModelError, ModelReply, StreamFault};

use super::*;
use crate::tests::transcripts::outcome;

macro_rules! transcript {
    ($name:literal) => {
        outcome(include_str!(concat!("../../transcripts/anthropic_", $name, ".sse")), || {
            MessageReader::new("claude-asked".into(), Some("req_1".into()))
        })
    };
}

fn texts(reply: &ModelReply) -> (String, StopReason) {
    (reply.text().into_owned(), reply.stop.clone())
}

#[test]
fn a_text() {
    let reply = transcript!("text").unwrap();
    assert_eq!(texts(&reply), ("Hello, wörld".into(), StopReason::EndTurn));
    assert_eq!((reply.model.as_str(), reply.request_id.as_deref()), ("claude-test-1", Some("req_1")));
    assert_eq!(reply.usage, Usage::of(25, 6));
}

#[test]
fn thoughts_and_two_tools() {
    let reply = transcript!("thinking_two_tools").unwrap();
    let city = json!({ "city": "Paris", "unit": "c" });
    let calls = [ToolCall::new("toolu_A", "get_weather", city), ToolCall::new("toolu_B", "now", json!({}))];
    assert_eq!(reply.tool_calls, calls);
    assert_eq!(texts(&reply), ("Let me check.".into(), StopReason::ToolUse));
    let [Part::Thinking(thought), Part::Thinking(hidden), Part::Text { .. }] = reply.content.parts() else {
        panic!("{:?}", reply.content)
    };
    assert_eq!(thought.text, "I need the weather and the time.");
    let raw = json!({ "type": "thinking", "thinking": thought.text, "signature": "c2lnLW9wYXF1ZQ==" });
    assert_eq!(thought.raw, raw);
    assert_eq!(hidden.raw, json!({ "type": "redacted_thinking", "data": "b3BhcXVl" }));
    assert!(thought.origin.is("anthropic", "claude-asked"));
    let usage = Usage { cache_read_tokens: 1_200, cache_write_tokens: 300, ..Usage::of(1_540, 87) };
    assert_eq!(reply.usage, usage, "all input counts, also what was cached");
}

#[test]
fn a_turn_that_pauses_keeps_the_tool_of_the_server() {
    let reply = transcript!("pause_turn").unwrap();
    assert!(reply.is_paused(), "{reply:?}");
    let [Part::Text { .. }, Part::Native(tool)] = reply.content.parts() else {
        panic!("{:?}", reply.content)
    };
    let search = json!({ "type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": { "query": "supersteps" } });
    assert_eq!(tool.raw, search);
}

#[test]
fn a_tool_call_that_the_output_limit_cuts_is_none() {
    let reply = transcript!("max_tokens_cut_tool").unwrap();
    assert_eq!((reply.tool_calls.len(), &reply.stop), (0, &StopReason::MaxTokens));
}

#[test]
fn a_full_window_says_what_it_had_room_for() {
    let reply = transcript!("context_window_exceeded").unwrap();
    assert_eq!(texts(&reply), ("cut he".into(), StopReason::WindowFull));
}

#[test]
fn a_refusal() {
    assert_eq!(texts(&transcript!("refusal").unwrap()), (String::new(), StopReason::Refusal));
}

#[test]
fn an_overloaded_server_says_so_at_the_start_or_later() {
    let busy = |outcome: Result<ModelReply, ModelError>| {
        assert!(matches!(outcome, Err(ModelError::Overloaded { .. })))
    };
    busy(transcript!("overloaded_first_event"));
    busy(transcript!("overloaded_midstream"));
}

#[test]
fn a_stream_that_breaks_off_is_no_reply() {
    assert_eq!(transcript!("truncated_connection"), Err(StreamFault::EndedEarly.into()));
}

#[test]
fn what_is_new_is_passed_over() {
    let reply = transcript!("unknown_event_and_delta").unwrap();
    assert_eq!(texts(&reply), ("ok".into(), StopReason::EndTurn));
}

/// A transcript of these events.
fn events(events: &[Value]) -> Result<ModelReply, ModelError> {
    let text: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    outcome(&text, || MessageReader::new("m".into(), None))
}

#[test]
fn a_block_of_a_new_kind_is_kept_as_it_came_and_shifts_nothing() {
    let block =
        json!({ "type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}, "new": 1 });
    let reply = events(&[
        json!({ "type": "content_block_start", "index": 0, "content_block": block }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "input_json_delta", "partial_json": "{\"query\":" } }),
        json!({ "type": "content_block_start", "index": 1, "content_block": { "type": "tool_use", "id": "t", "name": "n", "input": {} } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "input_json_delta", "partial_json": "\"x\"}" } }),
        json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "input_json_delta", "partial_json": "{\"a\":1}" } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "content_block_stop", "index": 1 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "a_new_reason" }, "usage": { "output_tokens": 3 } }),
        json!({ "type": "message_stop" }),
    ])
    .unwrap();
    assert_eq!(reply.tool_calls, [ToolCall::new("t", "n", json!({ "a": 1 }))]);
    assert_eq!(reply.stop, StopReason::Other("a_new_reason".into()));
    let Some(Part::Native(native)) =
        reply.content.parts().iter().find(|part| matches!(part, Part::Native(_)))
    else {
        panic!("{:?}", reply.content)
    };
    let raw = json!({ "type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": { "query": "x" }, "new": 1 });
    assert_eq!(native.raw, raw);
}

#[test]
fn an_event_that_is_no_json_is_a_failure_of_the_server() {
    let outcome = outcome("data: {\"type\":\n\n", || MessageReader::new("m".into(), None));
    assert!(matches!(outcome, Err(ModelError::ServerFailed { .. })), "{outcome:?}");
}
