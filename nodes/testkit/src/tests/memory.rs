//! Thinking comes back as it was sent, whatever it was sent as.

use crate::{Endpoint, MockServer, Reply};
use serde_json::{Value, json};

use super::client::{ask, question, server, streamed};

const TRANSCRIPT: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","content":[]}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"I need "}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"the weather."}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"look","input":{}}}

"#;

/// The status and the message of the answer to a history that has these blocks in its last turn.
fn after(server: &MockServer, blocks: &Value) -> (u16, Value) {
    let request = json!({
        "model": "claude-test-1",
        "max_tokens": 64,
        "thinking": {"type": "adaptive"},
        "tools": [{"name": "look", "input_schema": {"type": "object"}}],
        "messages": [
            {"role": "user", "content": "?"},
            {"role": "assistant", "content": blocks},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "it"}]},
        ],
    });
    let answer = ask(server, Endpoint::Messages, &request);
    (answer.status, answer.json()["error"]["message"].clone())
}

fn blocks(text: &str) -> Value {
    json!([
        {"type": "thinking", "thinking": text, "signature": "c2ln"},
        {"type": "tool_use", "id": "a", "name": "look", "input": {}},
    ])
}

#[test]
fn anthropic_knows_its_thinking_from_answers_streams_and_transcripts() {
    let reply =
        || Reply::new().signed_thinking("I need the weather.", "c2ln").tool_call("a", "look", json!({}));
    let bytes = json!({"type": "message", "content": blocks("I need the weather.")}).to_string();
    for (reply, request) in [
        (reply(), question(Endpoint::Messages)),
        (reply(), streamed(Endpoint::Messages)),
        (Reply::sse(TRANSCRIPT), streamed(Endpoint::Messages)),
        (Reply::bytes(200, "application/json", bytes), question(Endpoint::Messages)),
    ] {
        let server = server();
        server.reply(reply).answer_with(|_| Reply::text("It."));
        assert_eq!(
            after(&server, &blocks("I need the weather.")),
            (400, json!("messages.1.content.0: Invalid `signature` in `thinking` block"))
        );
        ask(&server, Endpoint::Messages, &request);
        assert_eq!(after(&server, &blocks("I need the weather.")).0, 200);
        let (status, said) = after(&server, &blocks("I need the time."));
        assert_eq!(status, 400);
        assert!(
            said.as_str().unwrap().ends_with(
                "cannot be modified. These blocks must remain as they were in the original response."
            ),
            "{said}"
        );
        let without = json!([{"type": "tool_use", "id": "a", "name": "look", "input": {}}]);
        assert_eq!(after(&server, &without).0, 400);
    }
}

#[test]
fn a_conversation_may_have_begun_elsewhere() {
    let server = server();
    server.remember(blocks("I need the weather.").as_array().unwrap()).answer_with(|_| Reply::text("It."));
    assert_eq!(after(&server, &blocks("I need the weather.")).0, 200);
}

#[test]
fn openai_knows_its_reasoning_from_answers_and_streams() {
    for mut request in [question(Endpoint::Responses), streamed(Endpoint::Responses)] {
        let server = server();
        server
            .reply(Reply::new().thinking("Hm.").tool_call("a", "look", json!({})))
            .answer_with(|_| Reply::text("It."));
        request["include"] = json!(["reasoning.encrypted_content"]);
        let answer = ask(&server, Endpoint::Responses, &request);
        let output = match request.get("stream") {
            None => answer.json()["output"].clone(),
            Some(_) => answer.data().last().unwrap()["response"]["output"].clone(),
        };
        let mut items = output.as_array().unwrap().clone();
        items.push(json!({"type": "function_call_output", "call_id": "a", "output": "it"}));
        let mut next = json!({"model": "gpt-test", "store": false, "input": items});
        assert_eq!(ask(&server, Endpoint::Responses, &next).status, 200);
        next["input"][0]["encrypted_content"] = json!("other");
        let refused = ask(&server, Endpoint::Responses, &next);
        assert_eq!(
            (refused.status, &refused.json()["error"]["code"]),
            (400, &json!("invalid_encrypted_content"))
        );
    }
}

#[test]
fn openai_knows_its_responses() {
    let server = server();
    server.reply(Reply::new().tool_call("a", "look", json!({}))).reply("It.");
    let first = ask(&server, Endpoint::Responses, &question(Endpoint::Responses)).json();
    let mut next = json!({
        "model": "gpt-test",
        "previous_response_id": first["id"],
        "input": [{"type": "function_call_output", "call_id": "b", "output": "it"}],
    });
    let said = ask(&server, Endpoint::Responses, &next).json()["error"]["message"].clone();
    assert_eq!(said, "No tool output found for function call a.");
    next["input"][0]["call_id"] = json!("a");
    assert_eq!(ask(&server, Endpoint::Responses, &next).status, 200);
}
