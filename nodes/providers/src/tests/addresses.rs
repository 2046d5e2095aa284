//! Addresses that have a query, as those of Azure do.

use crate::{OpenAiChat, OpenAiEmbedder, OpenAiResponses};
use superstep_knowledge::rag::Embedder;
use superstep_nodes::model::ChatModel;
use superstep_testkit::{MockServer, Reply};

use super::clients::question;

/// They were refused, so no deployment of Azure that wants its version could be asked.
#[tokio::test]
async fn the_path_goes_before_the_query_of_the_address() {
    let server = MockServer::start().await.expect("a port on loopback");
    let url = format!("{}/?api-version=2024-10-21", server.openai_url());
    let chat = OpenAiChat::compatible("gpt-test-1", &url).unwrap().key(MockServer::KEY).unwrap();
    let responses = OpenAiResponses::compatible("gpt-test-1", &url).unwrap().key(MockServer::KEY).unwrap();
    let embedder = OpenAiEmbedder::compatible("embed-test-1", &url).unwrap().key(MockServer::KEY).unwrap();
    for model in [&chat as &dyn ChatModel, &responses] {
        server.reply(Reply::text("A round of tasks."));
        assert_eq!(model.complete(question()).await.unwrap().text(), "A round of tasks.");
    }
    responses.count_tokens(&question()).await.unwrap();
    embedder.embed(&["a".to_owned()]).await.unwrap();
    let asked: Vec<_> = server.received().iter().map(|asked| asked.path().to_owned()).collect();
    assert_eq!(
        asked,
        ["/v1/chat/completions", "/v1/responses", "/v1/responses/input_tokens", "/v1/embeddings"]
    );
    assert!(server.received().iter().all(|asked| asked.query() == Some("api-version=2024-10-21")));
}
