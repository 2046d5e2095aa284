use superstep_nodes::message::ToolCall;
use superstep_nodes::model::{ModelError, ModelReply, StreamFault};

use super::*;
use crate::tests::transcripts::outcome;

macro_rules! transcript {
    ($name:literal) => {
        outcome(include_str!(concat!("../../transcripts/openai_chat_", $name, ".sse")), || {
            ChunkReader::new("gpt-asked".into(), Some("req_1".into()))
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
    assert_eq!(reply.usage, Usage::of(9, 2));
}

#[test]
fn tools_whose_deltas_are_mixed() {
    let reply = transcript!("parallel_tools").unwrap();
    let calls = [
        ToolCall::new("call_a", "get_weather", json!({ "city": "Paris" })),
        ToolCall::new("call_b", "now", json!({})),
    ];
    assert_eq!((reply.tool_calls.as_slice(), &reply.stop), (&calls[..], &StopReason::ToolUse));
    assert_eq!(reply.usage, Usage { cache_read_tokens: 32, ..Usage::of(50, 30) });
}

#[test]
fn a_text_that_the_output_limit_cuts() {
    assert_eq!(texts(&transcript!("length").unwrap()), ("cut of".into(), StopReason::MaxTokens));
}

#[test]
fn a_refusal_in_words() {
    let reply = transcript!("content_filter_refusal").unwrap();
    assert_eq!(texts(&reply), ("I can't help.".into(), StopReason::Refusal));
}

#[test]
fn an_error_in_the_middle() {
    let outcome = transcript!("error_midstream");
    assert!(matches!(outcome, Err(ModelError::ServerFailed { .. })), "{outcome:?}");
}

#[test]
fn neither_usage_nor_an_end_mark() {
    let reply = transcript!("no_usage_no_done").unwrap();
    assert_eq!((texts(&reply), reply.usage), (("ok".into(), StopReason::EndTurn), Usage::default()));
}

fn read(transcript: &str) -> Result<ModelReply, ModelError> {
    outcome(transcript, || ChunkReader::new("m".into(), None))
}

/// A transcript of these chunks.
fn chunks(chunks: &[Value]) -> Result<ModelReply, ModelError> {
    let text: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    read(&(text + "data: [DONE]\n\n"))
}

/// A transcript of these deltas and an end for this reason.
fn deltas(deltas: &[Value], reason: &str) -> ModelReply {
    let chunk = |delta: &Value| json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] });
    let mut all: Vec<Value> = deltas.iter().map(chunk).collect();
    all.push(json!({ "choices": [{ "delta": {}, "finish_reason": reason }] }));
    chunks(&all).unwrap()
}

#[test]
fn a_stream_that_says_nothing_has_broken_off() {
    let text = json!({ "choices": [{ "index": 0, "delta": { "content": "half" }, "finish_reason": "" }] });
    for transcript in ["", ": ping\n\n", "data: [DONE]\n\n", &format!("data: {text}\n\ndata: [DONE]\n\n")] {
        assert_eq!(read(transcript), Err(StreamFault::EndedEarly.into()), "{transcript}");
    }
}

#[test]
fn thoughts_are_kept_as_they_came() {
    for member in ["reasoning_content", "reasoning"] {
        let said = [
            json!({ "role": "assistant", "content": "", member: "I " }),
            json!({ "content": null, member: "think." }),
            json!({ "content": "So." }),
        ];
        let reply = deltas(&said, "stop");
        let [Part::Thinking(thought), Part::Text { text }] = reply.content.parts() else {
            panic!("{:?}", reply.content)
        };
        assert_eq!((thought.text.as_str(), text.as_str()), ("I think.", "So."));
        assert_eq!(thought.raw, json!({ member: "I think." }));
        assert!(thought.origin.is("openai-chat", "m"));
    }
}

#[test]
fn thoughts_alone_are_kept() {
    let reply = deltas(&[json!({ "reasoning_content": "Hm." })], "length");
    assert!(matches!(reply.content.parts(), [Part::Thinking(_)]), "{:?}", reply.content);
}

#[test]
fn why_a_reply_ends() {
    let said = |delta: Value, reason| deltas(&[delta], reason).stop;
    let text = || json!({ "content": "x" });
    let call = || json!({ "tool_calls": [{ "id": "c", "function": { "name": "n", "arguments": "{}" } }] });
    assert_eq!(said(text(), "stop"), StopReason::EndTurn);
    assert_eq!(said(text(), "tool_calls"), StopReason::EndTurn, "there are none");
    assert_eq!(said(text(), "content_filter"), StopReason::Refusal);
    assert_eq!(said(text(), "a_new_reason"), StopReason::Other("a_new_reason".into()));
    assert_eq!(said(call(), "stop"), StopReason::ToolUse);
    assert_eq!(said(call(), "tool_calls"), StopReason::ToolUse);
    assert_eq!(said(call(), "length"), StopReason::MaxTokens);
}

#[test]
fn a_call_that_the_output_limit_cuts_is_none() {
    let call = |id: &str, arguments: &str| json!({ "tool_calls": [{ "id": id, "function": { "name": "n", "arguments": arguments } }] });
    for cut in ["", "{\"path\": \"a."] {
        let reply = deltas(&[call("a", "{}"), call("b", cut)], "length");
        assert_eq!(reply.tool_calls, [ToolCall::new("a", "n", json!({}))], "{cut}");
    }
}

#[test]
fn the_older_form_of_a_call() {
    let said = [
        json!({ "function_call": { "name": "n", "arguments": "" } }),
        json!({ "function_call": { "arguments": "{\"a\":1}" } }),
    ];
    let reply = deltas(&said, "function_call");
    assert_eq!(reply.tool_calls, [ToolCall::new("", "n", json!({ "a": 1 }))]);
    assert_eq!(reply.stop, StopReason::ToolUse);
}

#[test]
fn usage_may_come_with_the_last_choice_and_what_comes_after_the_end_is_passed_over() {
    let reply = chunks(&[
        json!({ "id": "", "model": "", "choices": [], "prompt_filter_results": [] }),
        json!({ "id": "chat_1", "choices": [{ "index": 1, "delta": { "content": "another" } }] }),
        json!({ "choices": [{ "delta": { "content": [{ "type": "text", "text": "one" }] } }] }),
        json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }],
            "usage": { "prompt_tokens": 3, "completion_tokens": 2, "prompt_cache_hit_tokens": 1,
                "completion_tokens_details": { "reasoning_tokens": 1 } } }),
        json!({ "choices": [{ "delta": { "content": "late" }, "finish_reason": "stop" }], "usage": null }),
        json!({ "new": true }),
    ]);
    let reply = reply.unwrap();
    assert_eq!(texts(&reply), ("one".into(), StopReason::EndTurn));
    assert_eq!(reply.usage, Usage { cache_read_tokens: 1, reasoning_tokens: 1, ..Usage::of(3, 2) });
    assert_eq!(reply.model, "m");
}

#[test]
fn errors_come_in_several_forms() {
    let long = json!({ "error": { "message": "too many", "type": "invalid_request_error", "code": "context_length_exceeded" } });
    assert!(matches!(chunks(&[long]), Err(ModelError::RequestTooLong { .. })));
    let plain = json!({ "object": "error", "message": "bad", "type": "BadRequestError", "code": 400 });
    assert!(matches!(chunks(&[plain]), Err(ModelError::ServerFailed { .. })));
    assert!(matches!(read("data: {\"choices\":\n\n"), Err(ModelError::ServerFailed { .. })));
}
