//! The tools of an agent.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::{Tool, ToolError, ToolOutput, ToolSpec};
use crate::message::{Content, MessageId, ToolCall, ToolMessage, ToolStatus};

/// The tools of an agent, by name.
///
/// They are listed in order of their names, whatever the order they were added in, so two processes with
/// the same tools send the same request.
#[derive(Clone, Default)]
pub struct ToolRegistry {
    tools: BTreeMap<String, Arc<dyn Tool>>,
}

/// Two tools have the same name. Rename one of them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is already a tool named `{name}`")]
pub struct DuplicateTool {
    /// The name both tools have.
    pub name: String,
}

impl ToolRegistry {
    /// Makes a registry without tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool.
    ///
    /// # Errors
    ///
    /// Fails if there is a tool of that name already.
    pub fn with(mut self, tool: impl Tool) -> Result<Self, DuplicateTool> {
        self.add(Arc::new(tool))?;
        Ok(self)
    }

    /// Adds a tool that is shared.
    ///
    /// # Errors
    ///
    /// Fails if there is a tool of that name already; the registry is then as it was.
    pub fn add(&mut self, tool: Arc<dyn Tool>) -> Result<(), DuplicateTool> {
        let name = tool.name().to_owned();
        if self.tools.contains_key(&name) {
            return Err(DuplicateTool { name });
        }
        self.tools.insert(name, tool);
        Ok(())
    }

    /// Returns the tool of that name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.get(name)
    }

    /// Returns what a model is told of the tools, in order of their names.
    pub fn specs(&self) -> Vec<ToolSpec> {
        self.tools.values().map(|tool| tool.spec()).collect()
    }

    /// Tells whether there are no tools.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Runs the tool a call asks for.
    ///
    /// # Errors
    ///
    /// Fails if there is no such tool, the input does not fit or the tool fails. Callers that want a
    /// message for the model in every case use [`answer`](Self::answer).
    pub async fn call(&self, call: &ToolCall) -> Result<ToolOutput, ToolError> {
        match self.tools.get(&call.name) {
            Some(tool) => tool.call(call.input.clone()).await,
            None => Err(ToolError::Unknown {
                name: call.name.clone(),
                known: self.tools.keys().cloned().collect(),
            }),
        }
    }

    /// Runs the tool a call asks for and returns the message that answers it, whatever happened: an error
    /// becomes a message with status `error`, for the model to read.
    pub async fn answer(&self, id: impl Into<MessageId>, call: &ToolCall) -> ToolMessage {
        let id = id.into();
        let (status, content, data) = match self.call(call).await {
            Ok(output) => (ToolStatus::Ok, output.content, output.data),
            Err(error) => (ToolStatus::Error, Content::text(error.to_string()), None),
        };
        ToolMessage { id, tool_call_id: call.id.clone(), name: call.name.clone(), status, content, data }
    }
}

impl fmt::Debug for ToolRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.tools.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::Deserialize;
    use serde_json::{Value, json};

    use super::super::TypedTool;
    use super::*;

    #[derive(Deserialize, JsonSchema)]
    struct Text {
        text: String,
    }

    fn shout(name: &str) -> impl Tool {
        TypedTool::new(name, "Says it louder.", |input: Text| async move {
            if input.text.is_empty() { Err("nothing to shout") } else { Ok(input.text.to_uppercase()) }
        })
    }

    async fn answer(input: Value, name: &str) -> (ToolStatus, String) {
        let tools = ToolRegistry::new().with(shout("shout")).unwrap().with(shout("cry")).unwrap();
        let message = tools.answer("m", &ToolCall::new("c", name, input)).await;
        assert_eq!((message.tool_call_id.as_str(), message.name.as_str()), ("c", name));
        (message.status, message.content.to_text().into_owned())
    }

    #[tokio::test]
    async fn a_call_is_answered_with_the_output() {
        assert_eq!(answer(json!({ "text": "hey" }), "shout").await, (ToolStatus::Ok, "HEY".into()));
    }

    #[tokio::test]
    async fn what_goes_wrong_is_told_to_the_model() {
        let (status, text) = answer(json!({}), "whisper").await;
        assert_eq!(status, ToolStatus::Error);
        assert_eq!(text, "there is no tool named `whisper`; the tools are: cry, shout");

        let (status, text) = answer(json!({ "txet": "hey" }), "shout").await;
        assert_eq!(status, ToolStatus::Error);
        assert!(text.starts_with("the input does not fit the tool `shout`: missing field `text`"), "{text}");

        let (status, text) = answer(json!({ "text": "" }), "shout").await;
        assert_eq!(status, ToolStatus::Error);
        assert_eq!(text, "the tool `shout` failed: nothing to shout");
    }

    #[test]
    fn two_tools_of_one_name_are_refused() {
        let mut tools = ToolRegistry::new().with(shout("a")).unwrap();
        assert_eq!(tools.add(Arc::new(shout("a"))), Err(DuplicateTool { name: "a".into() }));
        assert_eq!(tools.specs().len(), 1);
    }

    #[test]
    fn specs_are_in_order_of_their_names() {
        let tools = ToolRegistry::new().with(shout("b")).unwrap().with(shout("a")).unwrap();
        let names: Vec<_> = tools.specs().into_iter().map(|spec| spec.name).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(tools.specs()[0].input_schema["required"], json!(["text"]));
    }
}
