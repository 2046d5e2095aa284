use serde_json::json;
use superstep_nodes::message::ToolCall;
use superstep_nodes::model::{ModelError, ModelReply, StreamFault};

use super::*;
use crate::tests::transcripts::outcome;

macro_rules! transcript {
    ($name:literal) => {
        outcome(include_str!(concat!("../../transcripts/openai_responses_", $name, ".sse")), || {
            ItemReader::new("gpt-asked".into(), Some("req_1".into()))
        })
    };
}

fn texts(reply: &ModelReply) -> (String, StopReason) {
    (reply.text().into_owned(), reply.stop.clone())
}

#[test]
fn a_text() {
    let reply = transcript!("text").unwrap();
    assert_eq!(texts(&reply), ("Hello".into(), StopReason::EndTurn));
    assert_eq!((reply.model.as_str(), reply.request_id.as_deref()), ("gpt-test", Some("req_1")));
    assert_eq!(reply.usage, Usage::of(20, 5));
}

#[test]
fn a_thought_and_a_tool() {
    let reply = transcript!("tool").unwrap();
    assert_eq!(reply.tool_calls, [ToolCall::new("call_a", "get_weather", json!({ "city": "Paris" }))]);
    assert_eq!(reply.stop, StopReason::ToolUse);
    let [Part::Thinking(thought)] = reply.content.parts() else { panic!("{:?}", reply.content) };
    let raw = json!({ "id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "b3BhcXVl" });
    assert_eq!(thought.raw, raw);
    assert!(thought.origin.is("openai-responses", "gpt-asked"));
}

/// llama.cpp names items by `item_id` alone, and a tool call by the id of the call: its streams were failures of the
/// server.
#[test]
fn items_without_an_index_are_distinguished_by_their_ids() {
    let reply = transcript!("without_output_index").unwrap();
    assert_eq!(texts(&reply), ("Let me check.".into(), StopReason::ToolUse));
    let calls = ["Paris", "Rome"]
        .map(|city| ToolCall::new(format!("fc_{}", &city[..1]), "get_weather", json!({ "city": city })));
    assert_eq!(reply.tool_calls, calls);
    let [
        Part::Text { .. },
        Part::ToolCall { index: 0 },
        Part::ToolCall { index: 1 },
        Part::Thinking(thought),
    ] = reply.content.parts()
    else {
        panic!("{:?}", reply.content)
    };
    assert_eq!(thought.text, "Two cities.");
    assert_eq!(reply.usage, Usage { cache_read_tokens: 4, ..Usage::of(20, 30) });
}

#[test]
fn a_text_that_the_output_limit_cuts() {
    assert_eq!(texts(&transcript!("incomplete").unwrap()), ("cut".into(), StopReason::MaxTokens));
}

#[test]
fn a_response_that_fails_and_one_that_is_too_long() {
    assert!(matches!(transcript!("failed"), Err(ModelError::ServerFailed { .. })));
    assert!(matches!(transcript!("error_event"), Err(ModelError::RequestTooLong { .. })));
}

/// A transcript of these events.
fn events(events: &[Value]) -> Result<ModelReply, ModelError> {
    let text: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    outcome(&text, || ItemReader::new("m".into(), None))
}

fn added(at: u64, item: Value) -> Value {
    json!({ "type": "response.output_item.added", "output_index": at, "item": item })
}

fn done(at: u64, item: Value) -> Value {
    json!({ "type": "response.output_item.done", "output_index": at, "item": item })
}

fn ended(how: &str, response: Value) -> Value {
    json!({ "type": format!("response.{how}"), "response": response })
}

fn call(arguments: &str) -> Value {
    json!({ "type": "function_call", "call_id": "c", "name": "n", "arguments": arguments })
}

fn input(at: u64, delta: &str) -> Value {
    json!({ "type": "response.function_call_arguments.delta", "output_index": at, "delta": delta })
}

#[test]
fn a_stream_without_a_last_event_has_broken_off() {
    let half = [added(0, call("")), input(0, "{}"), done(0, call("{}"))];
    assert_eq!(events(&half), Err(StreamFault::EndedEarly.into()));
    assert_eq!(events(&[]), Err(StreamFault::EndedEarly.into()));
}

#[test]
fn what_has_not_come_in_pieces_is_taken_from_the_whole() {
    let message = json!({ "type": "message", "content": [{ "type": "output_text", "text": "Hello" }] });
    let half = json!({ "type": "response.output_text.delta", "output_index": 0, "delta": "He" });
    let reply = events(&[
        half,
        done(0, message.clone()),
        added(1, call("")),
        input(1, "{\"a\":"),
        done(1, call("{\"a\":1}")),
        ended("completed", json!({ "output": [message, call("{\"a\":1}"), call("{}")] })),
    ])
    .unwrap();
    assert_eq!(reply.text(), "Hello");
    let calls = [ToolCall::new("c", "n", json!({ "a": 1 })), ToolCall::new("c", "n", json!({}))];
    assert_eq!(reply.tool_calls, calls);
}

/// The text of such a stream was said twice: its pieces were taken for those of another item.
#[test]
fn an_item_is_known_by_its_id_where_some_of_its_events_have_no_index() {
    let message =
        json!({ "type": "message", "id": "m1", "content": [{ "type": "output_text", "text": "Hello" }] });
    let piece = json!({ "type": "response.output_text.delta", "item_id": "m1", "delta": "Hel" });
    let other = json!({ "type": "response.output_text.delta", "item_id": "m2", "delta": " you" });
    let reply = events(&[
        done(0, json!({ "type": "reasoning", "id": "r1", "summary": [] })),
        added(1, json!({ "type": "message", "id": "m1", "content": [] })),
        piece,
        done(1, message),
        other,
        ended("completed", json!({})),
    ]);
    assert_eq!(reply.unwrap().text(), "Hello you");
}

#[test]
fn a_call_that_no_item_ends_ends_with_the_response() {
    let reply = events(&[added(0, call("")), input(0, "{\"a\":1}"), ended("completed", json!({}))]).unwrap();
    assert_eq!(reply.tool_calls, [ToolCall::new("c", "n", json!({ "a": 1 }))]);
}

#[test]
fn a_call_that_the_output_limit_cuts_is_none() {
    let mut cut = call("");
    cut["status"] = "incomplete".into();
    let response = json!({ "incomplete_details": { "reason": "max_output_tokens" }, "output": [cut] });
    let reply = events(&[added(0, call("")), ended("incomplete", response)]).unwrap();
    assert_eq!((reply.tool_calls.len(), reply.stop), (0, StopReason::MaxTokens));
}

#[test]
fn a_model_or_its_provider_may_decline() {
    let refusal = json!({ "type": "response.refusal.delta", "output_index": 0, "delta": "No." });
    let reply = events(&[refusal, ended("completed", json!({}))]).unwrap();
    assert_eq!(texts(&reply), ("No.".into(), StopReason::Refusal));
    let message = json!({ "type": "message", "content": [{ "type": "refusal", "refusal": "No." }] });
    let reply = events(&[ended("completed", json!({ "output": [message] }))]).unwrap();
    assert_eq!(texts(&reply), ("No.".into(), StopReason::Refusal));
    let filtered = json!({ "incomplete_details": { "reason": "content_filter" } });
    assert_eq!(events(&[ended("incomplete", filtered)]).unwrap().stop, StopReason::Refusal);
    let new = json!({ "incomplete_details": { "reason": "new" } });
    assert_eq!(events(&[ended("incomplete", new)]).unwrap().stop, StopReason::Other("new".into()));
}

#[test]
fn a_summary_is_the_text_of_a_thought() {
    let part = |text: &str| json!({ "type": "summary_text", "text": text });
    let item = json!({ "type": "reasoning", "id": "rs_1", "summary": [part("One."), part("Two.")] });
    let reply = events(&[done(0, item.clone()), ended("completed", json!({}))]).unwrap();
    let [Part::Thinking(thought)] = reply.content.parts() else { panic!("{:?}", reply.content) };
    assert_eq!((thought.text.as_str(), &thought.raw), ("One.\n\nTwo.", &item));
}

#[test]
fn an_item_of_a_new_kind_is_kept_as_it_came_and_new_events_are_passed_over() {
    let item = json!({ "type": "web_search_call", "id": "ws_1", "status": "completed", "new": 1 });
    let reply = events(&[
        json!({ "type": "response.new", "sequence_number": 0 }),
        done(0, item.clone()),
        added(1, call("")),
        done(1, call("{}")),
        ended("completed", json!({ "usage": { "input_tokens": 9, "input_tokens_details": { "cached_tokens": 4, "cache_write_tokens": 2 },
            "output_tokens": 5, "output_tokens_details": { "reasoning_tokens": 3 } } })),
    ])
    .unwrap();
    let [Part::Native(native)] = reply.content.parts() else { panic!("{:?}", reply.content) };
    assert_eq!(native.raw, item);
    let usage = Usage { cache_read_tokens: 4, cache_write_tokens: 2, reasoning_tokens: 3, ..Usage::of(9, 5) };
    assert_eq!(reply.usage, usage);
}

#[test]
fn an_item_with_neither_an_index_nor_an_id_is_a_failure_of_the_server() {
    let outcome = events(&[json!({ "type": "response.output_text.delta", "delta": "x" })]);
    assert!(matches!(outcome, Err(ModelError::ServerFailed { .. })), "{outcome:?}");
}
