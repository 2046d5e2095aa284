//! The requests that a critic sends to providers.

use serde_json::Value;
use superstep::nodes::model::ChatModel;
use superstep::nodes::provider::{Anthropic, OpenAiChat, OpenAiResponses};
use superstep::nodes::testkit::{MockServer, Reply};

use super::*;

/// A server on which a model asks for three searches and then says something.
async fn provider() -> MockServer {
    let server = MockServer::builder().any_key().start().await.unwrap();
    for n in 1..=3 {
        let query = json!({ "query": "leading lines" });
        server.reply(Reply::text("").tool_call(format!("call_{n}"), COMPOSITION_TOOL, query));
    }
    server.reply(Reply::text("Well balanced."));
    server
}

async fn critique(desk: &Desk, model: impl ChatModel) -> Critique {
    let config = CriticConfig::new(model, desk.knowledge.clone());
    critique_image(desk.photo()).with(config).await.unwrap()
}

#[tokio::test]
async fn s3_007_011_and_019_to_021_a_request_has_the_messages_and_nothing_more() {
    let (desk, server) = (Desk::new().await, provider().await);
    let model = OpenAiChat::new("gpt-4.1", MockServer::KEY).unwrap().base_url(server.openai_url()).unwrap();
    let critique = critique(&desk, model).await;
    assert_eq!(critique.output, "Well balanced.");
    assert!(critique.token_usage.total_tokens > 0);

    let received: Vec<Value> = server.received().iter().map(|request| request.json().clone()).collect();
    assert_eq!(received.len(), 4);
    let photo = superstep::nodes::images::ImagePreparation::new().read(desk.photo()).unwrap();
    let url = photo.to_image(superstep::nodes::message::Detail::Low).to_url();
    let asked = json!({ "role": "user", "content": [
        { "type": "text", "text": format!("{CRITIC_INSTRUCTIONS}\n\n{CRITIC_PROMPT}") },
        { "type": "image_url", "image_url": { "url": url, "detail": "low" } },
    ]});
    assert_eq!(received[0]["messages"], json!([asked]));
    let members: Vec<_> = received[0].as_object().unwrap().keys().cloned().collect();
    assert_eq!(members, ["messages", "model", "stream", "stream_options", "tools"]);

    let call = json!({ "id": "call_1", "type": "function", "function": {
        "name": COMPOSITION_TOOL, "arguments": r#"{"query":"leading lines"}"#,
    }});
    let said = json!({ "role": "assistant", "content": null, "tool_calls": [call] });
    let messages = received[1]["messages"].as_array().unwrap();
    assert_eq!(messages[..2], [asked, said]);
    let found = messages[2]["content"].as_str().unwrap();
    assert!(found.starts_with("[1] lines.md:1-1\n"), "{found}");
    assert_eq!((messages.len(), &messages[2]["tool_call_id"]), (3, &json!("call_1")));
}

#[tokio::test]
async fn s3_049_the_request_for_the_last_word_is_one_that_providers_take() {
    let desk = Desk::new().await;
    let key = MockServer::KEY;

    let server = provider().await;
    let model = OpenAiChat::new("gpt-4.1", key).unwrap().base_url(server.openai_url()).unwrap();
    assert_eq!(critique(&desk, model).await.output, "Well balanced.");
    assert_eq!(server.received()[3].json()["tool_choice"], "none");
    assert!(server.errors().is_empty());

    let server = provider().await;
    let model = OpenAiResponses::new("gpt-4.1", key).unwrap().base_url(server.openai_url()).unwrap();
    assert_eq!(critique(&desk, model).await.output, "Well balanced.");
    assert_eq!(server.received()[3].json()["tool_choice"], "none");
    let first = server.received()[0].json().clone();
    let image = &first["input"][0]["content"][1];
    assert_eq!((&image["type"], &image["detail"]), (&json!("input_image"), &json!("low")));
    assert!(server.errors().is_empty());

    let server = provider().await;
    let model = Anthropic::new("claude-sonnet-4-5", key).unwrap().base_url(server.url()).unwrap();
    assert_eq!(critique(&desk, model).await.output, "Well balanced.");
    let last = server.received()[3].json().clone();
    assert_eq!(last["tool_choice"]["type"], "none");
    assert_eq!(last["tools"][0]["name"], COMPOSITION_TOOL);
    assert!(server.errors().is_empty());
}
