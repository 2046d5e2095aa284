//! Hooks that are commands.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use superstep_nodes::message::ToolCall;
use superstep_nodes::tool::{Tool, ToolContext, ToolRegistry, ToolSession};

use super::{CallAnswer, CallEvent, CallHook, EndEvent, HookError, StopAnswer, StopHook};
use crate::permission::Verdict;

/// A hook that is a shell command, at both points. A tool runs it, such as `bash`: in its sandbox, within its time
/// limit, and in the workspace.
///
/// The command gets the event as JSON in one line on its standard input, with `"event": "before_call"` or
/// `"event": "stop"`, and the members of [`CallEvent`] or [`EndEvent`]. It answers by its exit code, and if that is 0 it
/// may print one JSON object and nothing else: `{ "decision": "allow", "reason": "…" }`. The decisions are `allow`,
/// `ask`, `deny` and `stop`.
///
/// | exit code | before a call | before a run ends |
/// |---|---|---|
/// | 0 | no opinion, or the decision | the run may end; `ask` and `deny` object, `stop` ends it |
/// | 2 | denies; the output is the reason | objects; the output is the reason |
/// | other | failed: consent is asked for | objects; the output is the reason |
///
/// So a command that checks the work, such as `cargo test`, is a stop hook without any change.
#[derive(Clone)]
pub struct CommandHook {
    name: String,
    command: String,
    shell: Arc<dyn Tool>,
}

/// The maximum size of an event, in bytes. A program's argument has 128 KiB at most.
const MAX_EVENT: usize = 96 << 10;

/// The number of bytes of the output that become a reason. The end counts: there are the errors.
const MAX_REASON: usize = 4_000;

/// The line behind the event. JSON in one line has no such line.
const END: &str = "SUPERSTEP_END_OF_EVENT";

/// The decision that a command prints.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Printed {
    decision: Decision,
    #[serde(default)]
    reason: String,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Decision {
    Allow,
    Ask,
    Deny,
    Stop,
}

/// The end of a command.
struct Ended {
    code: i64,
    output: String,
}

impl CommandHook {
    /// Makes a hook of a command that this tool runs. The input of the tool has the member `command`, and the data of
    /// its output `exit_code`, as with `bash`.
    pub fn new(name: impl Into<String>, command: impl Into<String>, shell: Arc<dyn Tool>) -> Self {
        Self { name: name.into(), command: command.into(), shell }
    }

    async fn run(&self, event: &impl Serialize, workspace: Option<&Path>) -> Result<Ended, HookError> {
        let failed = |reason: String| HookError::Failed { reason };
        let event = serde_json::to_string(event).map_err(|error| failed(error.to_string()))?;
        if event.len() > MAX_EVENT {
            return Err(HookError::TooLong { bytes: event.len(), most: MAX_EVENT });
        }
        let command = format!("(\n{}\n) <<'{END}'\n{event}\n{END}\n", self.command);
        let call = ToolCall::new(&self.name, self.shell.name(), json!({ "command": command }));
        let mut tools = ToolRegistry::new();
        tools.add(Arc::clone(&self.shell)).map_err(|error| failed(error.to_string()))?;
        let session = workspace.map_or_else(ToolSession::new, ToolSession::in_workspace);
        let result = tools.call(&call, &ToolContext::new(&call, session)).await;
        let number = |key: &str| result.data.as_ref().and_then(|data| data.get(key)).and_then(Value::as_i64);
        let output = match number("bytes") {
            Some(0) => String::new(),
            _ => result.content.to_text().trim().to_owned(),
        };
        match number("exit_code") {
            Some(code) => Ok(Ended { code, output }),
            None => Err(failed(end_of(&output).to_owned())),
        }
    }
}

impl Ended {
    /// Returns the decision that the command printed.
    fn printed(&self) -> Result<Option<Printed>, HookError> {
        match serde_json::from_str(&self.output) {
            Ok(printed) => Ok(Some(printed)),
            // A decision among other output is not to be missed.
            Err(error) if self.output.contains("\"decision\"") => {
                let reason = format!("its output is not one JSON object with a decision: {error}");
                Err(HookError::Failed { reason })
            }
            Err(_) => Ok(None),
        }
    }

    fn reason(&self) -> String {
        match end_of(&self.output) {
            "" => format!("it ended with the exit code {}", self.code),
            output => output.to_owned(),
        }
    }
}

#[async_trait]
impl CallHook for CommandHook {
    fn name(&self) -> &str {
        &self.name
    }

    async fn before_call(&self, call: &CallEvent<'_>) -> Result<CallAnswer, HookError> {
        let ended = self.run(&Event { event: "before_call", of: call }, call.workspace).await?;
        match ended.code {
            0 => Ok(match ended.printed()? {
                None => CallAnswer::Pass,
                Some(Printed { decision, reason }) => match decision {
                    Decision::Allow => CallAnswer::Decide(Verdict::Allow, reason),
                    Decision::Ask => CallAnswer::Decide(Verdict::Ask, reason),
                    Decision::Deny => CallAnswer::Decide(Verdict::Deny, reason),
                    Decision::Stop => CallAnswer::End(reason),
                },
            }),
            2 => Ok(CallAnswer::Decide(Verdict::Deny, ended.reason())),
            _ => Err(HookError::Failed { reason: ended.reason() }),
        }
    }
}

#[async_trait]
impl StopHook for CommandHook {
    fn name(&self) -> &str {
        &self.name
    }

    async fn before_end(&self, end: &EndEvent<'_>) -> Result<StopAnswer, HookError> {
        let ended = self.run(&Event { event: "stop", of: end }, end.workspace).await?;
        if ended.code != 0 {
            return Ok(StopAnswer::Object(ended.reason()));
        }
        Ok(match ended.printed()? {
            None | Some(Printed { decision: Decision::Allow, .. }) => StopAnswer::Pass,
            Some(Printed { decision: Decision::Stop, reason }) => StopAnswer::End(reason),
            Some(Printed { decision: Decision::Ask | Decision::Deny, reason }) => StopAnswer::Object(reason),
        })
    }
}

/// An event as a command gets it.
#[derive(Serialize)]
struct Event<'e, E> {
    event: &'static str,
    #[serde(flatten)]
    of: &'e E,
}

/// Returns the end of an output.
fn end_of(output: &str) -> &str {
    &output[output.ceil_char_boundary(output.len().saturating_sub(MAX_REASON))..]
}

impl fmt::Debug for CommandHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandHook")
            .field("name", &self.name)
            .field("command", &self.command)
            .finish_non_exhaustive()
    }
}
