//! Embeddings of a server.

use crate::OpenAiEmbedder;
use superstep_knowledge::rag::{Chunker, EmbedError, Embedder, KnowledgeBase, SearchBy};
use superstep_testkit::{MockServer, Reply};

fn embedder(server: &MockServer) -> OpenAiEmbedder {
    let embedder = OpenAiEmbedder::compatible("text-embedding-test", server.openai_url());
    embedder.and_then(|embedder| embedder.key(MockServer::KEY)).expect("a client of a server on loopback")
}

fn texts(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("{n} text")).collect()
}

#[tokio::test]
async fn texts_are_embedded_in_batches_and_come_in_their_order() {
    let server = MockServer::start().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("k.db");
    let base = KnowledgeBase::open(file, "guides", embedder(&server).max_batch(2)).unwrap();
    base.add("many.txt", &Chunker::new(6, 0).split(&texts(5).join(" "))).await.unwrap();
    assert_eq!(server.received().len(), 3);
    for text in texts(5) {
        let found = base.search_by(SearchBy::Meaning, &text, 1).await.unwrap();
        assert_eq!(found[0].chunk.text, text);
    }
    assert_eq!(server.errors(), []);
}

#[tokio::test]
async fn a_text_without_words_is_embedded_too() {
    let server = MockServer::start().await.unwrap();
    let embedded = embedder(&server).embed(&["".into(), "word".into()]).await.unwrap();
    assert_eq!(embedded.len(), 2);
    assert_eq!(server.errors(), []);
}

#[tokio::test]
async fn fewer_dimensions_are_asked_for_and_are_another_embedder() {
    let server = MockServer::start().await.unwrap();
    let short = embedder(&server).dimensions(3);
    assert_eq!(short.embed(&texts(1)).await.unwrap()[0].dimensions(), 3);
    assert_eq!((short.name(), embedder(&server).name()), ("text-embedding-test/3", "text-embedding-test"));
}

#[tokio::test]
async fn the_error_of_the_server_says_whether_to_try_again_and_hides_the_key() {
    let server = MockServer::start().await.unwrap();
    let embedder = embedder(&server).key("sk-very-secret").unwrap();
    let error = embedder.embed(&texts(1)).await.unwrap_err();
    let EmbedError::Model(refused) = &error else { panic!("{error}") };
    assert!(
        !refused.is_retryable() && !format!("{error:?} {embedder:?}").contains("sk-very-secret"),
        "{error:?}"
    );

    let server = MockServer::builder().any_key().start().await.unwrap();
    server.reply_at(
        superstep_testkit::Endpoint::Embeddings,
        Reply::error(429, "rate_limit_error", "slow down"),
    );
    let error = self::embedder(&server).embed(&texts(1)).await.unwrap_err();
    assert!(matches!(&error, EmbedError::Model(error) if error.is_retryable()), "{error}");
}
