//! Replies, in the words of each protocol.

use std::time::Duration;

use crate::{Endpoint, Received, Reply, Stop, Usage};
use serde_json::{Value, json};

use super::client::{SPEAKING, ask, question, server, streamed};

fn everything() -> Reply {
    Reply::new()
        .signed_thinking("I need the weather.", "c2ln")
        .redacted_thinking("b3BhcXVl")
        .say("Let me check.")
        .tool_call("call_a", "get_weather", json!({"city": "Paris"}))
        .usage(Usage::new(40, 87).cache_read(1200).cache_written(300).reasoning(50))
        .model("test-2")
}

#[test]
fn anthropic_has_blocks() {
    let server = server();
    server.reply(everything());
    let answer = ask(&server, Endpoint::Messages, &question(Endpoint::Messages)).json();
    assert_eq!(
        answer,
        json!({
            "id": "msg_mock0001",
            "type": "message",
            "role": "assistant",
            "model": "test-2",
            "content": [
                {"type": "thinking", "thinking": "I need the weather.", "signature": "c2ln"},
                {"type": "redacted_thinking", "data": "b3BhcXVl"},
                {"type": "text", "text": "Let me check."},
                {"type": "tool_use", "id": "call_a", "name": "get_weather", "input": {"city": "Paris"}},
            ],
            "stop_reason": "tool_use",
            "stop_sequence": null,
            "usage": {
                "input_tokens": 40,
                "cache_creation_input_tokens": 300,
                "cache_read_input_tokens": 1200,
                "cache_creation": {"ephemeral_5m_input_tokens": 300, "ephemeral_1h_input_tokens": 0},
                "output_tokens": 87,
                "service_tier": "standard",
            },
        })
    );
}

#[test]
fn chat_completions_have_a_message_without_its_thinking() {
    let server = server();
    server.reply(everything());
    let answer = ask(&server, Endpoint::ChatCompletions, &question(Endpoint::ChatCompletions)).json();
    assert_eq!(
        answer["choices"],
        json!([{
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "Let me check.",
                "refusal": null,
                "annotations": [],
                "tool_calls": [{
                    "id": "call_a",
                    "type": "function",
                    "function": {"name": "get_weather", "arguments": "{\"city\":\"Paris\"}"},
                }],
            },
            "finish_reason": "tool_calls",
            "logprobs": null,
        }])
    );
    assert_eq!((&answer["object"], &answer["model"]), (&json!("chat.completion"), &json!("test-2")));
    assert_eq!(
        answer["usage"],
        json!({
            "prompt_tokens": 1540,
            "completion_tokens": 87,
            "total_tokens": 1627,
            "prompt_tokens_details": {"cached_tokens": 1200, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 50, "audio_tokens": 0},
        })
    );
}

#[test]
fn responses_have_items() {
    let server = server();
    server.reply(everything());
    let mut request = question(Endpoint::Responses);
    request["include"] = json!(["reasoning.encrypted_content"]);
    let answer = ask(&server, Endpoint::Responses, &request).json();
    assert_eq!(
        answer["output"],
        json!([
            {
                "id": "rs_mock000100",
                "type": "reasoning",
                "summary": [{"type": "summary_text", "text": "I need the weather."}],
                "encrypted_content": "c2ln",
            },
            {"id": "rs_mock000101", "type": "reasoning", "summary": [], "encrypted_content": "b3BhcXVl"},
            {
                "id": "msg_mock000102",
                "type": "message",
                "status": "completed",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "Let me check.", "annotations": [], "logprobs": []}],
            },
            {
                "id": "fc_mock000103",
                "type": "function_call",
                "status": "completed",
                "call_id": "call_a",
                "name": "get_weather",
                "arguments": "{\"city\":\"Paris\"}",
            },
        ])
    );
    assert_eq!((&answer["object"], &answer["status"]), (&json!("response"), &json!("completed")));
    assert_eq!(
        answer["usage"],
        json!({
            "input_tokens": 1540,
            "input_tokens_details": {"cached_tokens": 1200, "cache_write_tokens": 300},
            "output_tokens": 87,
            "output_tokens_details": {"reasoning_tokens": 50},
            "total_tokens": 1627,
        })
    );
}

#[test]
fn reasoning_is_encrypted_only_for_who_asks() {
    let server = server();
    server.reply(everything());
    let answer = ask(&server, Endpoint::Responses, &question(Endpoint::Responses)).json();
    assert_eq!(answer["output"][0].get("encrypted_content"), None);
}

/// Each stop reason: of Anthropic, in Chat Completions, and in Responses as its status and the reason.
#[test]
fn every_stop_has_its_words() {
    let server = server();
    for (stop, anthropic, chat, status, reason) in [
        (Stop::EndTurn, "end_turn", "stop", "completed", Value::Null),
        (Stop::ToolUse, "tool_use", "tool_calls", "completed", Value::Null),
        (Stop::MaxTokens, "max_tokens", "length", "incomplete", json!({"reason": "max_output_tokens"})),
        (Stop::StopSequence("END".to_owned()), "stop_sequence", "stop", "completed", Value::Null),
        (Stop::Pause, "pause_turn", "stop", "completed", Value::Null),
        (Stop::Refusal, "refusal", "content_filter", "incomplete", json!({"reason": "content_filter"})),
        (
            Stop::ContextWindow,
            "model_context_window_exceeded",
            "length",
            "incomplete",
            json!({"reason": "max_output_tokens"}),
        ),
    ] {
        let [message, completion, response] = SPEAKING.map(|endpoint| {
            server.reply(Reply::text("Well").stop(stop.clone()));
            ask(&server, endpoint, &question(endpoint)).json()
        });
        assert_eq!(message["stop_reason"], anthropic);
        assert_eq!(completion["choices"][0]["finish_reason"], chat);
        assert_eq!((&response["status"], &response["incomplete_details"]), (&json!(status), &reason));
    }
}

#[test]
fn a_stop_sequence_is_reported_and_a_refusal_has_details() {
    let server = server();
    server.reply(Reply::text("Well").stop(Stop::StopSequence("END".to_owned())));
    let answer = ask(&server, Endpoint::Messages, &question(Endpoint::Messages)).json();
    assert_eq!(answer["stop_sequence"], "END");
    server.reply(Reply::new().stop(Stop::Refusal));
    let answer = ask(&server, Endpoint::Messages, &question(Endpoint::Messages)).json();
    assert_eq!(answer["stop_details"], json!({"type": "refusal", "category": null, "explanation": null}));
}

#[test]
fn who_declines_says_so() {
    let server = server();
    let [message, completion, response] = SPEAKING.map(|endpoint| {
        server.reply(Reply::new().decline("I can't."));
        ask(&server, endpoint, &question(endpoint)).json()
    });
    assert_eq!(
        (&message["stop_reason"], &message["content"][0]["text"]),
        (&json!("refusal"), &json!("I can't."))
    );
    let choice = &completion["choices"][0];
    assert_eq!(
        (&choice["finish_reason"], &choice["message"]["refusal"]),
        (&json!("stop"), &json!("I can't."))
    );
    assert_eq!(response["status"], "completed");
    assert_eq!(response["output"][0]["content"], json!([{"type": "refusal", "refusal": "I can't."}]));
}

#[test]
fn a_failure_is_an_error_and_a_response_that_failed() {
    let server = server();
    let failed = Stop::Failed { code: "server_error".to_owned(), message: "It broke.".to_owned() };
    for (endpoint, status) in SPEAKING.into_iter().zip([500, 500, 200]) {
        server.reply(Reply::new().stop(failed.clone()));
        let answer = ask(&server, endpoint, &question(endpoint));
        assert_eq!((answer.status, &answer.json()["error"]["message"]), (status, &json!("It broke.")));
    }
}

#[test]
fn errors_are_reported_in_the_envelope_of_each_vendor() {
    let server = server();
    for endpoint in SPEAKING {
        server.reply(
            Reply::error(429, "rate_limit_error", "Slow down.")
                .code("slow_down")
                .header("x-should-retry", "false"),
        );
        let answer = ask(&server, endpoint, &question(endpoint));
        let error = &answer.json()["error"];
        assert_eq!((answer.status, &error["type"]), (429, &json!("rate_limit_error")));
        assert_eq!(error["message"], "Slow down.");
        assert_eq!(error.get("code").is_some(), endpoint != Endpoint::Messages);
        assert_eq!(answer.header("x-should-retry"), Some("false"));
    }
}

#[test]
fn common_faults_have_the_words_of_each_vendor() {
    let server = server();
    for (fault, anthropic, chat) in [
        (Reply::overloaded(), (529, "Overloaded"), (503, "The engine is currently overloaded")),
        (Reply::server_error(), (500, "Internal server error"), (500, "The server had an error")),
        (Reply::out_of_credit(), (402, "Your credit balance"), (429, "You exceeded your current quota")),
        (Reply::too_large(), (413, "Request exceeds"), (413, "The request is too large")),
        (
            Reply::context_overflow(8312, 8192),
            (400, "prompt is too long: 8312 tokens > 8192 maximum"),
            (
                400,
                "This model's maximum context length is 8192 tokens. However, your messages resulted in 8312 tokens.",
            ),
        ),
        (
            Reply::llama_context_overflow(18098, 4096),
            (
                400,
                "request (18098 tokens) exceeds the available context size (4096 tokens), try increasing it",
            ),
            (
                400,
                "request (18098 tokens) exceeds the available context size (4096 tokens), try increasing it",
            ),
        ),
    ] {
        for (endpoint, (status, said)) in [(Endpoint::Messages, anthropic), (Endpoint::ChatCompletions, chat)]
        {
            server.reply(fault.clone());
            let answer = ask(&server, endpoint, &question(endpoint));
            assert_eq!(answer.status, status);
            assert!(
                answer.json()["error"]["message"].as_str().unwrap().starts_with(said),
                "{}",
                answer.text()
            );
        }
    }
    server.reply(Reply::rate_limited(Duration::from_millis(1500)));
    let answer = ask(&server, Endpoint::Messages, &question(Endpoint::Messages));
    assert_eq!((answer.status, answer.header("retry-after")), (429, Some("1.5")));
}

#[test]
fn bytes_are_sent_as_they_are() {
    let server = server();
    server.reply(Reply::bytes(502, "text/html", "<h1>Bad gateway</h1>").header("request-id", "other"));
    let answer = ask(&server, Endpoint::Messages, &question(Endpoint::Messages));
    assert_eq!((answer.status, answer.header("content-type")), (502, Some("text/html")));
    assert_eq!(
        (answer.text().as_str(), answer.header("request-id")),
        ("<h1>Bad gateway</h1>", Some("other"))
    );
    let transcript = "event: ping\r\ndata: {}\r\n\r\n: a comment\ndata:x";
    server.reply(Reply::sse(transcript));
    let answer = ask(&server, Endpoint::Messages, &streamed(Endpoint::Messages));
    assert_eq!(answer.header("content-type"), Some("text/event-stream; charset=utf-8"));
    assert_eq!((answer.text().as_str(), answer.chunks.len()), (transcript, 2));
}

#[test]
fn an_empty_queue_says_that_it_is_empty() {
    let server = server();
    for endpoint in SPEAKING {
        let answer = ask(&server, endpoint, &question(endpoint));
        assert_eq!((answer.status, answer.header("x-should-retry")), (500, Some("false")));
        let said = answer.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(said.starts_with("the mock server's queue of replies is empty"), "{said}");
    }
}

#[test]
fn the_queue_comes_before_the_function_and_an_endpoints_own_replies_before_both() {
    let server = server();
    let repeat = |received: &Received| {
        Reply::text(received.json()["messages"][0]["content"].as_str().unwrap_or_default().to_uppercase())
    };
    server.answer_with(repeat).reply("first").reply_at(Endpoint::Messages, "own");
    let said = || {
        ask(&server, Endpoint::Messages, &question(Endpoint::Messages)).json()["content"][0]["text"].clone()
    };
    assert_eq!([said(), said(), said(), said()], ["own", "first", "HELLO", "HELLO"]);
}

#[test]
fn tokens_are_counted_and_texts_embedded_by_the_server_itself() {
    let server = server();
    let mut counted = question(Endpoint::Messages);
    counted.as_object_mut().unwrap().remove("max_tokens");
    let count = ask(&server, Endpoint::CountTokens, &counted).json();
    assert!(count["input_tokens"].as_u64().is_some_and(|tokens| tokens > 10), "{count}");
    let count = ask(&server, Endpoint::InputTokens, &question(Endpoint::Responses)).json();
    assert_eq!(count["object"], "response.input_tokens");
    let texts = json!({"model": "embed", "input": ["a", "b"]});
    assert_eq!(ask(&server, Endpoint::Embeddings, &texts).json()["data"].as_array().unwrap().len(), 2);

    server.reply_at(Endpoint::Embeddings, Reply::rate_limited(Duration::from_secs(1)));
    assert_eq!(ask(&server, Endpoint::Embeddings, &texts).status, 429);
    server.reply_at(Endpoint::Embeddings, "not JSON");
    assert_eq!(ask(&server, Endpoint::Embeddings, &texts).status, 500);
}

#[test]
#[should_panic(expected = "an error and bytes are not what a model says")]
fn an_error_says_nothing_more() {
    let _ = Reply::overloaded().say("But");
}

#[test]
#[should_panic(expected = "42 is no status of an answer: those are from 200 to 599")]
fn an_error_has_a_status() {
    let _ = Reply::error(42, "api_error", "It broke.");
}
