//! The decision on a call that is not made.

use serde_json::Value;
use superstep_nodes::message::ToolCall;
use superstep_nodes::tool::{ToolContext, ToolSession};

use super::AssistantConfig;
use crate::permission::{CallView, Decision, Grant, PermissionMode};

impl AssistantConfig {
    /// Decides on a call as far as rules, grants, the tool and the mode do: hooks, a classifier and a person are not asked,
    /// and the call is not made. Returns `None` if there is no such tool.
    pub async fn decide(&self, call: &ToolCall, mode: PermissionMode, grants: &[Grant]) -> Option<Decision> {
        // With the tools that a rule hides: the rule is then the reason.
        let tools = self.all_tools();
        let tool = tools.get(&call.name)?;
        let session = self.workspace.clone().map_or_else(ToolSession::new, ToolSession::in_workspace);
        let check = tool.check_permissions(&call.input, &ToolContext::new(call, session)).await;
        let matcher = tool.permission_matcher(&call.input);
        let call = CallView {
            call,
            is_read_only: tool.is_read_only(&call.input),
            matcher: matcher.as_ref(),
            check: &check,
            hooks: &[],
        };
        Some(self.permissions.decide(&call, mode, grants))
    }

    /// Returns the names of the tools, with those that rules hide.
    pub fn tool_names(&self) -> Vec<String> {
        self.all_tools().specs().into_iter().map(|spec| spec.name).collect()
    }

    /// Returns the input of a call that a text stands for: the value of the first text that the tool requires, such as the
    /// command or the path. `None` if there is no such tool, or it requires no text.
    pub fn input_of(&self, tool: &str, text: &str) -> Option<Value> {
        let tools = self.all_tools();
        let schema = tools.specs().into_iter().find(|spec| spec.name == tool)?.input_schema;
        let required = schema["required"].as_array()?.iter().filter_map(Value::as_str);
        let texts: Vec<&str> =
            required.filter(|name| schema["properties"][name]["type"] == "string").collect();
        let first = *texts.first()?;
        let value = |name: &str| Value::from(if name == first { text } else { "" });
        Some(texts.into_iter().map(|name| (name.to_owned(), value(name))).collect())
    }
}
