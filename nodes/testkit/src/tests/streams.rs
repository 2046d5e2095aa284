//! Replies as streams, put together again as the vendors' documents say.

use crate::{Endpoint, Reply, Stop, Usage};
use serde_json::{Value, json};

use super::client::{Answer, SPEAKING, ask, question, server, streamed};

/// The names of events that are there many times stand once.
fn outline(answer: &Answer) -> Vec<String> {
    let mut names: Vec<String> = answer.events().into_iter().filter_map(|(name, _)| name).collect();
    names.dedup();
    names
}

fn joined(data: &[Value], pointer: &str) -> String {
    data.iter().filter_map(|event| event.pointer(pointer)?.as_str()).collect()
}

#[test]
fn anthropic_streams_blocks() {
    let server = server();
    server.reply(
        Reply::new()
            .signed_thinking("I need the weather and the time.", "c2ln")
            .redacted_thinking("b3BhcXVl")
            .say("Let me check both.")
            .tool_call("call_a", "get_weather", json!({"city": "Paris"}))
            .tool_call("call_b", "now", json!({}))
            .usage(Usage::new(40, 87).cache_read(1200)),
    );
    let answer = ask(&server, Endpoint::Messages, &streamed(Endpoint::Messages));
    assert_eq!(answer.header("content-type"), Some("text/event-stream; charset=utf-8"));
    let block = ["content_block_start", "content_block_delta", "content_block_stop"];
    let whole = ["content_block_start", "content_block_stop"];
    let mut wanted =
        vec!["message_start", "content_block_start", "ping", "content_block_delta", "content_block_stop"];
    wanted.extend(whole);
    wanted.extend(block);
    wanted.extend(block);
    wanted.extend(whole);
    wanted.extend(["message_delta", "message_stop"]);
    assert_eq!(outline(&answer), wanted);
    for (name, data) in answer.events() {
        assert_eq!(data["type"], json!(name), "the name of an event is its type");
    }

    let data = answer.data();
    assert_eq!(data[0]["message"]["content"], json!([]));
    assert_eq!(data[0]["message"]["usage"]["cache_read_input_tokens"], 1200);
    assert_eq!(joined(&data, "/delta/thinking"), "I need the weather and the time.");
    assert_eq!(joined(&data, "/delta/signature"), "c2ln");
    assert_eq!(joined(&data, "/delta/text"), "Let me check both.");
    assert_eq!(joined(&data, "/delta/partial_json"), "{\"city\":\"Paris\"}");
    let starts: Vec<&Value> = data.iter().filter_map(|event| event.get("content_block")).collect();
    assert_eq!(starts[1], &json!({"type": "redacted_thinking", "data": "b3BhcXVl"}));
    assert_eq!(starts[3], &json!({"type": "tool_use", "id": "call_a", "name": "get_weather", "input": {}}));
    let end = &data[data.len() - 2];
    assert_eq!(
        (&end["delta"]["stop_reason"], &end["usage"]["output_tokens"]),
        (&json!("tool_use"), &json!(87))
    );
}

#[test]
fn anthropic_streams_only_the_signature_of_thinking_that_is_not_wanted() {
    let server = server();
    server.reply(Reply::new().signed_thinking("Hm.", "c2ln").say("Yes."));
    let mut request = streamed(Endpoint::Messages);
    request["thinking"] = json!({"type": "adaptive", "display": "omitted"});
    let data = ask(&server, Endpoint::Messages, &request).data();
    assert_eq!(
        (joined(&data, "/delta/thinking"), joined(&data, "/delta/signature")),
        ("".into(), "c2ln".into())
    );
}

#[test]
fn chat_completions_stream_chunks_and_say_when_they_are_done() {
    let server = server();
    server.reply(
        Reply::text("Let me check both.")
            .tool_call("call_a", "get_weather", json!({"city": "Paris"}))
            .tool_call("call_b", "now", json!({})),
    );
    let mut request = streamed(Endpoint::ChatCompletions);
    request["stream_options"] = json!({"include_usage": true});
    let answer = ask(&server, Endpoint::ChatCompletions, &request);
    assert!(outline(&answer).is_empty(), "events of chunks have no names");
    let data = answer.data();
    assert_eq!(data.last(), Some(&json!("[DONE]")));
    assert_eq!(data[0]["choices"][0]["delta"], json!({"role": "assistant", "content": "", "refusal": null}));
    assert_eq!(joined(&data, "/choices/0/delta/content"), "Let me check both.");
    let calls: Vec<&Value> =
        data.iter().filter_map(|chunk| chunk.pointer("/choices/0/delta/tool_calls/0")).collect();
    assert_eq!(
        calls[0],
        &json!({"index": 0, "id": "call_a", "type": "function", "function": {"name": "get_weather", "arguments": ""}})
    );
    let arguments = |index: u64| -> String {
        let of = calls.iter().filter(|call| call["index"] == index);
        of.filter_map(|call| call["function"]["arguments"].as_str()).collect()
    };
    assert_eq!((arguments(0), arguments(1)), ("{\"city\":\"Paris\"}".to_owned(), "{}".to_owned()));
    let [.., finish, usage, _] = &data[..] else { panic!("too few chunks: {data:?}") };
    assert_eq!(finish["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!((&usage["choices"], &usage["usage"]["total_tokens"]), (&json!([]), &json!(25)));
    assert!(data.iter().all(|chunk| chunk == "[DONE]" || chunk["object"] == "chat.completion.chunk"));
}

#[test]
fn chat_completions_tell_the_usage_only_to_who_asks() {
    let server = server();
    server.reply("Hello.");
    let data = ask(&server, Endpoint::ChatCompletions, &streamed(Endpoint::ChatCompletions)).data();
    assert!(data.iter().all(|chunk| chunk.get("usage").is_none()));
    assert_eq!(data[data.len() - 2]["choices"][0]["finish_reason"], "stop");
}

#[test]
fn responses_stream_items_and_count_their_events() {
    let server = server();
    server.reply(Reply::new().thinking("Hm, the weather.").say("Let me check.").tool_call(
        "call_a",
        "get_weather",
        json!({"city": "Paris"}),
    ));
    let answer = ask(&server, Endpoint::Responses, &streamed(Endpoint::Responses));
    assert_eq!(
        outline(&answer),
        [
            "response.created",
            "response.in_progress",
            "response.output_item.added",
            "response.reasoning_summary_part.added",
            "response.reasoning_summary_text.delta",
            "response.reasoning_summary_text.done",
            "response.reasoning_summary_part.done",
            "response.output_item.done",
            "response.output_item.added",
            "response.content_part.added",
            "response.output_text.delta",
            "response.output_text.done",
            "response.content_part.done",
            "response.output_item.done",
            "response.output_item.added",
            "response.function_call_arguments.delta",
            "response.function_call_arguments.done",
            "response.output_item.done",
            "response.completed",
        ]
    );
    let data = answer.data();
    for (number, event) in data.iter().enumerate() {
        assert_eq!(event["sequence_number"], number);
    }
    let of =
        |kind: &str| -> Vec<Value> { data.iter().filter(|event| event["type"] == kind).cloned().collect() };
    assert_eq!(joined(&of("response.output_text.delta"), "/delta"), "Let me check.");
    assert_eq!(joined(&of("response.function_call_arguments.delta"), "/delta"), "{\"city\":\"Paris\"}");
    let added: Vec<Value> =
        of("response.output_item.added").into_iter().map(|event| event["item"].clone()).collect();
    assert_eq!((&added[1]["content"], &added[2]["arguments"]), (&json!([]), &json!("")));
    let done: Vec<Value> =
        of("response.output_item.done").into_iter().map(|event| event["item"].clone()).collect();
    assert_eq!(data.last().unwrap()["response"]["output"], json!(done));
    assert_eq!(data.last().unwrap()["response"]["usage"]["total_tokens"], 25);
}

#[test]
fn a_stream_says_what_a_whole_answer_says() {
    let server = server();
    let reply = Reply::text("Grüße aus Köln, 你好").letters_per_event(1);
    server.reply(reply.clone()).reply(reply.clone()).reply(reply);
    let pointers = ["/delta/text", "/choices/0/delta/content", "/delta"];
    for (endpoint, pointer) in SPEAKING.into_iter().zip(pointers) {
        let data = ask(&server, endpoint, &streamed(endpoint)).data();
        assert_eq!(joined(&data, pointer), "Grüße aus Köln, 你好");
    }
}

#[test]
fn an_input_that_was_cut_off_is_streamed_as_far_as_it_came() {
    let server = server();
    let reply = || Reply::new().tool_call_text("c", "write", r#"{"path": "a.tx"#).stop(Stop::MaxTokens);
    server.reply(reply()).reply(reply()).reply(reply());
    let data = ask(&server, Endpoint::Messages, &streamed(Endpoint::Messages)).data();
    assert_eq!(joined(&data, "/delta/partial_json"), r#"{"path": "a.tx"#);
    assert_eq!(data[data.len() - 2]["delta"]["stop_reason"], "max_tokens");
    let data = ask(&server, Endpoint::Responses, &streamed(Endpoint::Responses)).data();
    let last = data.last().unwrap();
    assert_eq!(
        (&last["type"], &last["response"]["output"][0]["status"]),
        (&json!("response.incomplete"), &json!("incomplete"))
    );
    let whole = ask(&server, Endpoint::Messages, &question(Endpoint::Messages)).json();
    assert_eq!(whole["content"][0]["input"], json!({}));
}

#[test]
fn a_stream_may_end_in_an_error() {
    let server = server();
    for endpoint in SPEAKING {
        server.reply(Reply::text("partial").error_after(2, "overloaded_error", "Overloaded"));
        let answer = ask(&server, endpoint, &streamed(endpoint));
        let data = answer.data();
        assert_eq!((answer.status, answer.is_whole, data.len()), (200, true, 3));
        let error = match endpoint {
            Endpoint::Messages => {
                json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
            }
            Endpoint::Responses => json!({
                "type": "error", "code": "overloaded_error", "message": "Overloaded", "param": null,
                "sequence_number": 2,
            }),
            _ => json!({
                "error": {"type": "overloaded_error", "message": "Overloaded", "param": null, "code": null},
            }),
        };
        assert_eq!(data[2], error);

        server.reply(Reply::new().error_after(0, "overloaded_error", "Overloaded"));
        assert_eq!(ask(&server, endpoint, &streamed(endpoint)).data().len(), 1);
        server.reply(Reply::text("partial").error_after(2, "overloaded_error", "Overloaded"));
        assert_eq!(ask(&server, endpoint, &question(endpoint)).status, 500);
    }
}

#[test]
fn a_failure_ends_a_stream() {
    let server = server();
    let failed = Stop::Failed { code: "server_error".to_owned(), message: "It broke.".to_owned() };
    let [message, chat, response] = SPEAKING.map(|endpoint| {
        server.reply(Reply::text("Well").stop(failed.clone()));
        ask(&server, endpoint, &streamed(endpoint)).data().pop().unwrap()
    });
    assert_eq!((&message["type"], &message["error"]["type"]), (&json!("error"), &json!("server_error")));
    assert_eq!(chat["error"]["message"], "It broke.");
    assert_eq!(response["type"], "response.failed");
    assert_eq!(response["response"]["error"], json!({"code": "server_error", "message": "It broke."}));
}
