//! Snippets of `docs/knowledge.md`.

use superstep::nodes::provider::OpenAiEmbedder;
use superstep::nodes::rag::{HashEmbedder, KnowledgeBase, SearchKnowledge};
use superstep::nodes::tool::ToolRegistry;

use superstep::nodes::message::ToolCall;
use superstep::nodes::provider::ProviderError;

#[tokio::test]
async fn documents_are_ingested_and_found() -> super::Result {
    let documents = tempfile::tempdir()?;
    std::fs::write(documents.path().join("light.md"), "# Light\n\nIn the evening the light is soft.")?;
    std::fs::write(documents.path().join("lines.md"), "Leading lines draw the eye.")?;
    let (folder, place) = (documents.path(), tempfile::tempdir()?);
    let file = place.path().join("knowledge.db");

    let base = KnowledgeBase::open(file, "guides", HashEmbedder::default())?;
    let report = base.ingest(folder).progress(|progress| eprintln!("{progress}")).run().await?;
    assert_eq!((report.added, report.chunks), (2, 2));

    let found = base.search("when is the light soft?", 3).await?;
    assert_eq!((found[0].source.as_str(), found[0].chunk.heading.as_str()), ("light.md", "Light"));

    let tools = ToolRegistry::new().with(SearchKnowledge::new(base).limit(3))?;
    let call = ToolCall::new("c1", SearchKnowledge::NAME, serde_json::json!({ "query": "leading lines" }));
    let answer = tools.answer("m1", &call).await;
    assert!(answer.content.to_text().starts_with("[1] lines.md:1-1\n"));
    Ok(())
}

#[test]
fn other_embedders_are_made_like_this() {
    fn embedders() -> Result<[OpenAiEmbedder; 2], ProviderError> {
        let openai = OpenAiEmbedder::from_env("text-embedding-3-small")?;
        let ollama = OpenAiEmbedder::compatible("nomic-embed-text", "http://localhost:11434/v1")?;
        Ok([openai, ollama])
    }
    // Without a key in the environment only the second can be created.
    match embedders() {
        Ok(both) => assert!(format!("{:?}", both[1]).contains("nomic-embed-text")),
        Err(error) => assert!(error.to_string().contains(OpenAiEmbedder::KEY_VARIABLE), "{error}"),
    }
}
