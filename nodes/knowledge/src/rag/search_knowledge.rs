//! A knowledge base as a tool.

use async_trait::async_trait;
use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep_nodes::tool::{
    InvalidInput, Permission, Tool, ToolContext, ToolFailure, ToolOutput, ToolResult,
};

use super::{FoundChunk, KnowledgeBase};

/// A tool that searches a [`KnowledgeBase`].
///
/// The content of its output lists what was found, numbered, with where it stands; the data is a list of
/// [`FoundChunk`].
#[derive(Clone, Debug)]
pub struct SearchKnowledge {
    base: KnowledgeBase,
    name: String,
    prompt: String,
    empty: String,
    limit: usize,
}

/// The input of [`SearchKnowledge`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SearchKnowledgeInput {
    /// The query: a sentence, or some words.
    pub query: String,
}

impl SearchKnowledge {
    /// The default name of the tool.
    pub const NAME: &'static str = "search_knowledge";

    /// The default maximum number of chunks that a search returns.
    pub const DEFAULT_LIMIT: usize = 3;

    /// Makes the tool of a knowledge base.
    pub fn new(base: KnowledgeBase) -> Self {
        let prompt = "Searches the knowledge base by words and meaning and returns the pieces that fit best, each with \
            its source. Search again in other words if they do not help, and name the sources of what you use.";
        Self {
            base,
            name: Self::NAME.to_owned(),
            prompt: prompt.to_owned(),
            empty: "Nothing in the knowledge base fits.".to_owned(),
            limit: Self::DEFAULT_LIMIT,
        }
    }

    /// Gives it another name.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Tells the model this of the tool.
    #[must_use]
    pub fn prompt(mut self, prompt: impl Into<String>) -> Self {
        self.prompt = prompt.into();
        self
    }

    /// Says this when nothing is found.
    #[must_use]
    pub fn when_empty(mut self, says: impl Into<String>) -> Self {
        self.empty = says.into();
        self
    }

    /// Returns at most so many chunks for a search.
    #[must_use]
    pub fn limit(mut self, chunks: usize) -> Self {
        self.limit = chunks;
        self
    }
}

#[async_trait]
impl Tool for SearchKnowledge {
    fn name(&self) -> &str {
        &self.name
    }

    fn prompt(&self) -> String {
        self.prompt.clone()
    }

    fn input_schema(&self) -> Value {
        schema_for!(SearchKnowledgeInput).into()
    }

    async fn validate_input(&self, input: &Value, _: &ToolContext) -> Result<(), InvalidInput> {
        let read =
            SearchKnowledgeInput::deserialize(input).map_err(|error| InvalidInput::new(error.to_string()))?;
        match read.query.trim() {
            "" => Err(InvalidInput::new("say what to look for in `query`")),
            _ => Ok(()),
        }
    }

    async fn check_permissions(&self, _: &Value, _: &ToolContext) -> Permission {
        Permission::Allow
    }

    async fn call(&self, input: Value, _: &ToolContext) -> Result<ToolOutput, ToolFailure> {
        let SearchKnowledgeInput { query } = serde_json::from_value(input)?;
        let searched = self.base.search(&query, self.limit).await;
        let found =
            searched.map_err(|error| ToolFailure::new(format!("Error searching knowledge base: {error}")))?;
        let data = serde_json::to_value(&found)?;
        let text = if found.is_empty() { self.empty.clone() } else { listing(&found) };
        Ok(ToolOutput::text(text).with_data(data))
    }

    fn map_result(&self, result: Result<ToolOutput, ToolFailure>) -> ToolResult {
        match result {
            Ok(output) => ToolResult::done(output),
            // It says already what failed.
            Err(reason) => ToolResult::failed(reason.to_string()),
        }
    }

    fn is_read_only(&self, _: &Value) -> bool {
        true
    }

    fn is_concurrency_safe(&self, _: &Value) -> bool {
        true
    }
}

/// Returns the results, for a model to read.
fn listing(found: &[FoundChunk]) -> String {
    let each = (1..).zip(found).map(|(number, FoundChunk { source, chunk, .. })| {
        let heading = if chunk.heading.is_empty() { String::new() } else { format!(" ({})", chunk.heading) };
        format!("[{number}] {source}:{}-{}{heading}\n{}", chunk.line_start, chunk.line_end, chunk.text)
    });
    each.collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests;
