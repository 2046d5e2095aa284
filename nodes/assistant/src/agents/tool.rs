//! The tool that starts sub-agents.

use std::fmt::Write;
use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use superstep_nodes::message::ToolCall;
use superstep_nodes::tool::{
    InvalidInput, Pattern, Permission, PermissionMatcher, PermissionParts, Tool, ToolContext, ToolEffect,
    ToolFailure, ToolOutput, ToolResult, Touch, TypedTool,
};

use super::delegation::{Delegation, Handover};
use super::kind::{Access, AgentKind};
use crate::budget::Limits;

/// The tool `agent`, which starts a sub-agent. The patterns of permission rules are names of kinds: `agent(explore)`.
///
/// Its calls are not run like those of other tools: the node `delegate` answers them.
#[derive(Clone, Debug)]
pub struct AgentTool {
    kinds: Arc<[AgentKind]>,
    background: Background,
}

/// The ways in which agents may be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Background {
    /// Also in the background.
    Offered,
    /// Only as a part of the turn.
    Absent,
}

/// The input of a call.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    kind: String,
    task: String,
    #[serde(default)]
    background: bool,
}

impl AgentTool {
    /// The name of the tool.
    pub const NAME: &'static str = "agent";

    pub(crate) fn new(kinds: &[AgentKind], background: Background) -> Self {
        Self { kinds: kinds.into(), background }
    }

    /// Reads the input of a call.
    fn read(&self, input: &Value) -> Result<(Input, &AgentKind), InvalidInput> {
        let input = Input::deserialize(input).map_err(|error| InvalidInput::new(error.to_string()))?;
        let Some(kind) = self.kinds.iter().find(|kind| kind.name == input.kind) else {
            let known: Vec<_> = self.kinds.iter().map(AgentKind::name).collect();
            let reason = format!("there is no kind `{}`, only {}", input.kind, known.join(", "));
            return Err(InvalidInput::new(reason));
        };
        if input.task.trim().is_empty() {
            return Err(InvalidInput::new("the task is empty"));
        }
        if input.background && self.background == Background::Absent {
            return Err(InvalidInput::new("sub-agents start no agents in the background"));
        }
        Ok((input, kind))
    }

    /// Makes the delegation of a call that was found valid; `None` for calls of other tools than this one and `send`.
    pub(crate) fn delegation(&self, position: usize, call: &ToolCall) -> Option<Delegation> {
        let (agent, task, handover) = if call.name == Self::NAME {
            let (input, kind) = self.read(&call.input).ok()?;
            let handover = if input.background { Handover::Background } else { Handover::Awaited };
            (kind.name.clone(), input.task, handover)
        } else if call.name == SEND && self.background == Background::Offered {
            let input = Letter::deserialize(&call.input).ok()?;
            (input.to, input.message, Handover::Message)
        } else {
            return None;
        };
        let call = u32::try_from(position).unwrap_or(u32::MAX);
        Some(Delegation { call, agent, task, handover, limits: Limits::default() })
    }

    /// Returns the tool `send`, if agents work in the background.
    pub(crate) fn send(&self) -> Option<TypedTool<Letter>> {
        let description = "Sends a message to an agent that you started in the background, by the name that you were \
            given. It reads the message before its next step. Use it to correct or to complete its task.";
        let run = |_: Letter| async { Err::<ToolOutput, _>(ToolFailure::new(NOT_RUN)) };
        // What the agent makes of a message may be a change, so it is none that mode `plan` allows.
        let send = || TypedTool::new(SEND, description, run).with_permissions(|_| Permission::Allow);
        (self.background == Background::Offered).then(send)
    }
}

/// The name of the tool that sends a message to an agent in the background.
pub const SEND: &str = "send";

/// The error of a call that does not come from the loop of an assistant.
const NOT_RUN: &str = "calls for agents are answered by the loop of an assistant, and not run";

/// The input of a call of the tool `send`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Letter {
    /// The name of the agent.
    to: String,
    /// The message.
    message: String,
}

/// A call that starts an agent of this kind, for permission rules.
struct OfKind(String);

impl PermissionParts for OfKind {
    fn count(&self) -> usize {
        1
    }

    fn fits(&self, _: usize, pattern: &Pattern) -> bool {
        pattern.as_str() == self.0
    }

    fn touches(&self, pattern: &Pattern) -> Touch {
        if self.fits(0, pattern) { Touch::Yes } else { Touch::No }
    }

    fn offer(&self, _: usize) -> Option<String> {
        Some(self.0.clone())
    }
}

#[async_trait]
impl Tool for AgentTool {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn input_schema(&self) -> Value {
        let kinds: Vec<_> = self.kinds.iter().map(AgentKind::name).collect();
        let mut properties = json!({
            "kind": { "type": "string", "enum": kinds },
            "task": { "type": "string", "description": "All that the agent needs to know, and what it is to answer." },
        });
        if self.background == Background::Offered {
            properties["background"] = json!({
                "type": "boolean",
                "description": "Do not wait: the answer comes later, as a message.",
            });
        }
        json!({
            "type": "object",
            "properties": properties,
            "required": ["kind", "task"],
            "additionalProperties": false,
        })
    }

    fn prompt(&self) -> String {
        let mut prompt = "Starts an agent for a part of the work and returns its answer. The agent sees nothing of this \
            conversation, so give it everything in the task. Agents that only read run at the same time if you ask for \
            several in one message. The kinds:"
            .to_owned();
        for kind in &*self.kinds {
            let access = match kind.access {
                Access::ReadOnly => "only reads",
                Access::Writes => "makes changes",
            };
            let _ = write!(prompt, "\n- {} ({access}): {}", kind.name, kind.description);
        }
        prompt
    }

    async fn validate_input(&self, input: &Value, _: &ToolContext) -> Result<(), InvalidInput> {
        self.read(input).map(drop)
    }

    async fn check_permissions(&self, _: &Value, _: &ToolContext) -> Permission {
        Permission::Passthrough
    }

    fn is_read_only(&self, input: &Value) -> bool {
        self.read(input).is_ok_and(|(_, kind)| kind.access == Access::ReadOnly)
    }

    fn effect(&self, _: &Value) -> ToolEffect {
        // Also an agent that only reads is not to begin before its call is authorized.
        ToolEffect::Changes
    }

    fn permission_matcher(&self, input: &Value) -> Option<PermissionMatcher> {
        input["kind"].as_str().map(|kind| PermissionMatcher::of(OfKind(kind.to_owned())))
    }

    fn classifier_input(&self, input: &Value) -> Option<String> {
        let (input, kind) = self.read(input).ok()?;
        Some(format!("Start an agent of kind {} ({}). Its task: {}", kind.name, kind.description, input.task))
    }

    async fn call(&self, _: Value, _: &ToolContext) -> Result<ToolOutput, ToolFailure> {
        Err(ToolFailure::new(NOT_RUN))
    }

    fn map_result(&self, result: Result<ToolOutput, ToolFailure>) -> ToolResult {
        ToolResult::of(Self::NAME, result)
    }
}
