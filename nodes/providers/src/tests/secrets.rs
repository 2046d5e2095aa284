//! The places where keys appear, and those where they must not.

use crate::{Anthropic, OpenAiChat, OpenAiResponses, TransportOptions};
use superstep_nodes::model::ChatModel;
use superstep_testkit::{MockServer, Reply};

use super::clients::{Way, question};

const KEY: &str = "sk-very-secret";

#[tokio::test]
async fn a_key_is_in_no_error() {
    for way in Way::ALL {
        let server = MockServer::builder().key(KEY).start().await.unwrap();
        let client = way.client_of(&server, KEY, &TransportOptions::default());
        let said = format!("Incorrect API key provided: {KEY}.");
        for reply in [
            Reply::error(401, "authentication_error", said.as_str()),
            Reply::bytes(502, "text/plain", said.as_str()),
            Reply::text("half").error_after(2, "server_error", said.as_str()),
        ] {
            server.reply(reply);
            let error = client.complete(question()).await.unwrap_err();
            let shown = format!("{error} {error:?} {}", serde_json::to_string(&error).unwrap());
            assert!(!shown.contains(KEY) && shown.contains("[api key]"), "{way:?}: {shown}");
        }
        assert_eq!(server.errors(), [], "{way:?}: the key was sent");
        let wrong = way.client_of(&server, "sk-wrong", &TransportOptions::default());
        let error = wrong.complete(question()).await.unwrap_err();
        assert!(error.to_string().contains("refused the credentials"), "{way:?}: {error}");
    }
}

#[test]
fn a_key_is_not_shown() {
    let shown = [
        format!("{:?}", Anthropic::new("m", KEY).unwrap()),
        format!("{:?}", OpenAiChat::new("m", KEY).unwrap()),
        format!("{:?}", OpenAiChat::compatible("m", "http://me:sk-very-secret@127.0.0.1/v1").unwrap()),
        format!("{:?}", OpenAiResponses::new("m", KEY).unwrap().header("x-key", KEY).unwrap()),
    ];
    for shown in shown {
        assert!(!shown.contains(KEY) && shown.contains("base_url"), "{shown}");
    }
}

#[tokio::test]
async fn a_proxy_is_used() {
    for way in Way::ALL {
        let proxy = MockServer::start().await.unwrap();
        proxy.reply("Through the proxy.");
        let options = TransportOptions::default().proxy(proxy.url());
        let client = way.client_at("http://models.invalid", MockServer::KEY, &options);
        let reply = client.complete(question()).await.unwrap();
        assert_eq!(reply.text(), "Through the proxy.", "{way:?}");
        assert_eq!(proxy.received()[0].header("host"), Some("models.invalid"), "{way:?}");
    }
}

#[tokio::test]
async fn a_server_without_keys_is_sent_none() {
    let server = MockServer::builder().any_key().start().await.unwrap();
    server.reply("Hello.");
    let client = OpenAiChat::compatible("open-test-1", server.openai_url()).unwrap();
    assert_eq!(client.complete(question()).await.unwrap().text(), "Hello.");
    assert_eq!(server.received()[0].header("authorization"), None);
}
