//! Quirks of servers that are only compatible.

use crate::{Endpoint, Quirk, Reply};
use serde_json::{Value, json};

use super::client::{Answer, SPEAKING, ask, question, server, streamed};

fn calls() -> Reply {
    Reply::new().thinking("Hm, both.").tool_call("call_a", "get_weather", json!({"city": "Paris"})).tool_call(
        "call_b",
        "get_weather",
        json!({"city": "Rome"}),
    )
}

fn chat(reply: Reply) -> Answer {
    let server = server();
    server.reply(reply);
    let mut request = streamed(Endpoint::ChatCompletions);
    request["stream_options"] = json!({"include_usage": true});
    ask(&server, Endpoint::ChatCompletions, &request)
}

/// The parts of tool calls in a stream.
fn parts(answer: &Answer) -> Vec<Value> {
    let data = answer.data();
    data.iter().filter_map(|chunk| chunk.pointer("/choices/0/delta/tool_calls/0").cloned()).collect()
}

#[test]
fn parts_of_calls_may_have_no_index() {
    assert!(parts(&chat(calls())).iter().all(|part| part.get("index").is_some()));
    assert!(parts(&chat(calls().quirk(Quirk::MissingIndex))).iter().all(|part| part.get("index").is_none()));
}

#[test]
fn calls_may_come_whole() {
    let parts = parts(&chat(calls().quirk(Quirk::WholeCalls)));
    assert_eq!(parts.len(), 2);
    assert_eq!(parts[1]["function"], json!({"name": "get_weather", "arguments": "{\"city\":\"Rome\"}"}));
}

#[test]
fn parts_of_calls_may_come_in_turn() {
    let order = |reply: Reply| -> Vec<u64> {
        parts(&chat(reply)).iter().map(|part| part["index"].as_u64().unwrap()).collect()
    };
    assert_eq!(order(calls()), [0, 0, 0, 1, 1, 1]);
    assert_eq!(order(calls().quirk(Quirk::InterleavedCalls)), [0, 1, 0, 1, 0, 1]);
}

#[test]
fn ids_of_calls_may_be_empty() {
    assert_eq!(parts(&chat(calls().quirk(Quirk::EmptyIds)))[0]["id"], "");
}

#[test]
fn an_answer_with_calls_may_end_with_stop() {
    let data = chat(calls().quirk(Quirk::StopWithCalls)).data();
    assert_eq!(data[data.len() - 3]["choices"][0]["finish_reason"], "stop");
}

#[test]
fn the_usage_may_be_missing_or_elsewhere_and_the_end_too() {
    let data = chat(calls().quirk(Quirk::NoUsage)).data();
    assert!(data.iter().all(|chunk| chunk.get("usage").is_none()));
    let data = chat(calls().quirk(Quirk::UsageWithChoice)).data();
    let last = &data[data.len() - 2];
    assert_eq!(
        (&last["choices"][0]["finish_reason"], &last["usage"]["total_tokens"]),
        (&json!("tool_calls"), &json!(25))
    );
    let data = chat(calls().quirk(Quirk::NoDone)).data();
    assert_eq!(data.last().unwrap()["usage"]["total_tokens"], 25);
}

#[test]
fn thinking_may_be_told() {
    let reasoning = |reply| -> String {
        let data = chat(reply).data();
        data.iter()
            .filter_map(|chunk| chunk.pointer("/choices/0/delta/reasoning_content")?.as_str())
            .collect()
    };
    assert_eq!(reasoning(calls()), "");
    assert_eq!(reasoning(calls().quirk(Quirk::ReasoningContent)), "Hm, both.");
    let server = server();
    server.reply(calls().quirk(Quirk::ReasoningContent));
    let answer = ask(&server, Endpoint::ChatCompletions, &question(Endpoint::ChatCompletions)).json();
    assert_eq!(answer["choices"][0]["message"]["reasoning_content"], "Hm, both.");
}

#[test]
fn a_stream_may_be_empty() {
    let server = server();
    for endpoint in SPEAKING {
        server.reply(Reply::text("lost").quirk(Quirk::EmptyStream));
        let answer = ask(&server, endpoint, &streamed(endpoint));
        assert_eq!((answer.status, answer.is_whole, answer.body.len()), (200, true, 0));
    }
}

#[test]
fn there_may_be_what_no_document_names() {
    let server = server();
    for endpoint in SPEAKING {
        server.reply(Reply::text("Hello.").quirk(Quirk::UnknownEvents));
        let answer = ask(&server, endpoint, &streamed(endpoint)).text();
        assert!(answer.contains("novelty"), "{answer}");
        server.reply(Reply::text("Hello.").quirk(Quirk::UnknownEvents));
        assert!(ask(&server, endpoint, &question(endpoint)).json().get("novelty").is_some());
    }
}
