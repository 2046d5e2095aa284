use async_trait::async_trait;
use serde_json::json;
use superstep_nodes::message::{ToolCall, ToolMessage, ToolStatus};
use superstep_nodes::model::ModelError;
use superstep_nodes::tool::ToolRegistry;

use super::*;
use crate::rag::{Chunker, EmbedError, Embedder, Embedding, HashEmbedder};

async fn base(texts: &[(&str, &str)]) -> (tempfile::TempDir, KnowledgeBase) {
    let folder = tempfile::tempdir().unwrap();
    let base = KnowledgeBase::open(folder.path().join("k.db"), "guides", HashEmbedder::default()).unwrap();
    for (source, text) in texts {
        base.add(source, &Chunker::default().split_markdown(text)).await.unwrap();
    }
    (folder, base)
}

async fn answer(tool: SearchKnowledge, input: Value) -> ToolMessage {
    let call = ToolCall::new("c", tool.name.clone(), input);
    ToolRegistry::new().with(tool).unwrap().answer("m", &call).await
}

#[tokio::test]
async fn s3_039_what_is_found_is_numbered_and_has_its_source() {
    let (_folder, base) =
        base(&[("a.md", "# Lines\n\nLeading lines guide the eye."), ("b.md", "Lines of a poem.")]).await;
    let tool = SearchKnowledge::new(base).named("composition_rag_tool").limit(2);
    let found = answer(tool, json!({ "query": "leading lines" })).await;
    let text = found.content.to_text();
    assert!(
        text.starts_with("[1] a.md:1-3 (Lines)\n# Lines\n\nLeading lines guide the eye.\n\n[2] b.md:1-1\n"),
        "{text}"
    );
    let data: Vec<FoundChunk> = serde_json::from_value(found.data.unwrap()).unwrap();
    assert_eq!(data[1].chunk.text, "Lines of a poem.");
}

#[tokio::test]
async fn s3_038_three_pieces_are_returned_by_default() {
    let texts: Vec<_> = (0..5).map(|n| (format!("{n}.md"), "Light.")).collect();
    let texts: Vec<_> = texts.iter().map(|(source, text)| (source.as_str(), *text)).collect();
    let (_folder, base) = base(&texts).await;
    let count = async |tool| {
        let found = answer(tool, json!({ "query": "light" })).await.data.unwrap();
        serde_json::from_value::<Vec<FoundChunk>>(found).unwrap().len()
    };
    assert_eq!(count(SearchKnowledge::new(base.clone())).await, 3);
    assert_eq!(count(SearchKnowledge::new(base).limit(4)).await, 4);
}

#[tokio::test]
async fn s3_040_that_nothing_fits_is_said() {
    let (_folder, base) = base(&[]).await;
    let tool = SearchKnowledge::new(base).when_empty("No relevant advice found in the knowledge base.");
    let found = answer(tool, json!({ "query": "light" })).await;
    assert_eq!(found.content.to_text(), "No relevant advice found in the knowledge base.");
    assert_eq!(found.status, ToolStatus::Ok);
}

#[tokio::test]
async fn an_input_that_says_nothing_is_refused() {
    let (_folder, base) = base(&[]).await;
    let found = answer(SearchKnowledge::new(base), json!({ "query": " " })).await;
    assert!(found.content.to_text().contains("say what to look for"), "{}", found.content.to_text());
}

/// An embedder that is not there.
struct Away;

#[async_trait]
impl Embedder for Away {
    fn name(&self) -> &str {
        "away"
    }

    async fn embed(&self, _: &[String]) -> Result<Vec<Embedding>, EmbedError> {
        Err(ModelError::Unreachable { reason: "no route".into() }.into())
    }
}

#[tokio::test]
async fn s3_041_an_error_is_reported_to_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let base = KnowledgeBase::open(folder.path().join("k.db"), "guides", Away).unwrap();
    let found = answer(SearchKnowledge::new(base), json!({ "query": "light" })).await;
    let text = found.content.to_text();
    assert!(
        text.starts_with("Error searching knowledge base: could not embed:") && text.contains("no route"),
        "{text}"
    );
    assert_eq!(found.status, ToolStatus::Error);
}
