//! The document index as a tool.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep_nodes::tool::{
    InvalidInput, Permission, Tool, ToolContext, ToolFailure, ToolOutput, ToolResult,
};

use super::{DocIndex, Passage, SearchHits};

/// The tool `search_docs`: finds passages of documents.
///
/// The content of its output lists the passages for a model to read, each with its file and lines; the
/// data is a [`SearchHits`].
#[derive(Clone, Debug)]
pub struct SearchDocs {
    index: Arc<DocIndex>,
}

/// The input of [`SearchDocs`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchDocsInput {
    /// The query: a question, or some words.
    pub query: String,
    /// The maximum number of passages to return.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 50))]
    pub limit: u32,
}

const fn default_limit() -> u32 {
    SearchDocs::DEFAULT_LIMIT
}

impl SearchDocs {
    /// The name of the tool.
    pub const NAME: &'static str = "search_docs";

    /// The default number of passages that are returned.
    pub const DEFAULT_LIMIT: u32 = 12;

    const MAX_LIMIT: u32 = 50;

    /// Makes the tool of an index.
    pub fn new(index: Arc<DocIndex>) -> Self {
        Self { index }
    }

    fn search(&self, input: SearchDocsInput) -> Result<ToolOutput, ToolFailure> {
        let limit = input.limit.clamp(1, Self::MAX_LIMIT) as usize;
        let hits = self.index.lookup(&input.query, limit);
        let data = serde_json::to_value(&hits)?;
        Ok(ToolOutput::text(listing(&hits)).with_data(data))
    }
}

#[async_trait]
impl Tool for SearchDocs {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn prompt(&self) -> String {
        "Searches the documents by words and returns the passages that fit best, each with its file, lines \
         and headings. Cite the file and lines of what you use."
            .to_owned()
    }

    fn input_schema(&self) -> Value {
        schema_for!(SearchDocsInput).into()
    }

    async fn validate_input(&self, input: &Value, _: &ToolContext) -> Result<(), InvalidInput> {
        let fits = SearchDocsInput::deserialize(input).map(drop);
        fits.map_err(|error| InvalidInput::new(error.to_string()))
    }

    async fn check_permissions(&self, _: &Value, _: &ToolContext) -> Permission {
        Permission::Allow
    }

    async fn call(&self, input: Value, _: &ToolContext) -> Result<ToolOutput, ToolFailure> {
        self.search(serde_json::from_value(input)?)
    }

    fn map_result(&self, result: Result<ToolOutput, ToolFailure>) -> ToolResult {
        ToolResult::of(Self::NAME, result)
    }

    fn is_read_only(&self, _: &Value) -> bool {
        true
    }

    fn is_concurrency_safe(&self, _: &Value) -> bool {
        true
    }
}

fn listing(hits: &SearchHits) -> String {
    if hits.passages.is_empty() {
        return "No passage of the documents has any of these words, or one that is related.".to_owned();
    }
    let mut text = String::new();
    for (number, passage) in (1..).zip(&hits.passages) {
        let Passage { path, line_start, line_end, heading, text: body, .. } = passage;
        let heading = if heading.is_empty() { String::new() } else { format!(" ({heading})") };
        text.push_str(&format!("[{number}] {path}:{line_start}-{line_end}{heading}\n{body}\n\n"));
    }
    text.truncate(text.trim_end().len());
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use superstep_nodes::message::{ToolCall, ToolStatus};
    use superstep_nodes::tool::ToolRegistry;

    use super::super::IndexOptions;
    use super::*;

    fn tool() -> SearchDocs {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.md"), "# Forks\n\nA fork copies nothing.\n\nA fork is cheap.\n")
            .unwrap();
        SearchDocs::new(Arc::new(DocIndex::build(folder.path(), &IndexOptions::default()).unwrap()))
    }

    #[tokio::test]
    async fn the_output_is_for_models_and_for_programs() {
        let call = ToolCall::new("c", SearchDocs::NAME, json!({ "query": "fork", "limit": 1 }));
        let output = ToolRegistry::new().with(tool()).unwrap().answer("m", &call).await;
        assert_eq!(output.status, ToolStatus::Ok);
        let hits: SearchHits = serde_json::from_value(output.data.unwrap()).unwrap();
        assert_eq!(hits.passages.len(), 1);
        let text = output.content.to_text();
        assert!(text.starts_with("[1] a.md:") && text.contains("(Forks)\nA fork"), "{text}");
    }

    #[tokio::test]
    async fn a_wrong_input_is_reported_to_the_model() {
        let tools = ToolRegistry::new().with(tool()).unwrap();
        let message = tools.answer("m", &ToolCall::new("c", SearchDocs::NAME, json!({ "q": 1 }))).await;
        assert_eq!(message.status, ToolStatus::Error);
        assert!(message.content.to_text().contains(r#""query" is missing"#));
    }
}
