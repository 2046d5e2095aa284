//! Hooks: code of the program, and commands, that are asked before a call of a tool is made and before a run ends.
//!
//! | point | hook | may |
//! |---|---|---|
//! | before a call | [`CallHook`] | allow, ask or deny it, as layer 3 of [permissions](crate::permission); end the run |
//! | before a run ends with a response | [`StopHook`] | object, so that the work continues; end the run |
//!
//! ```text
//! authorize ──▶ CallHook ── denies ──▶ answer with the reason        finish ──▶ StopHook ── objects ──▶ gate
//!                  │ allows, asks                                                 │ passes          the reason is a
//!                  └──▶ the other layers, tools                                   └──▶ END          message
//! ```
//!
//! The answer of a hook is recorded as an effect: a resumed run asks no hook again that has answered, and a replay asks
//! none. A hook that was cut off by a crash is asked again. A [`CommandHook`] is a command that a tool such as `bash`
//! runs, in its sandbox and within its time limit.

mod command;

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep_nodes::message::{Message, ToolCall};
use superstep_nodes::tool::{PermissionMatcher, Touch};

use crate::permission::{PermissionMode, Rule, Verdict};

pub use command::CommandHook;

/// A hook that is asked before a call of a tool.
#[async_trait]
pub trait CallHook: Send + Sync + 'static {
    /// Returns the name of the hook, which decisions name.
    fn name(&self) -> &str;

    /// Decides on a call. It may be dropped at any await, when the user stops the turn.
    ///
    /// # Errors
    /// If the hook fails, consent is asked for.
    async fn before_call(&self, call: &CallEvent<'_>) -> Result<CallAnswer, HookError>;
}

/// A hook that is asked before a run ends with a response, such as a check of success.
///
/// Model calls of a hook are neither counted nor limited by the budget of the session.
#[async_trait]
pub trait StopHook: Send + Sync + 'static {
    /// Returns the name of the hook, which its objections name.
    fn name(&self) -> &str;

    /// Decides on the end of a run. It may be dropped at any await, when the user stops the turn.
    ///
    /// # Errors
    /// If the hook fails, it counts as an objection with the error as the reason.
    async fn before_end(&self, end: &EndEvent<'_>) -> Result<StopAnswer, HookError>;
}

/// A call that a hook decides on.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CallEvent<'a> {
    /// The last message of the user.
    pub task: &'a str,
    /// The name of the tool.
    pub tool: &'a str,
    /// The input, which the tool found valid.
    pub input: &'a Value,
    /// `true` if the call changes nothing.
    pub is_read_only: bool,
    /// The permission mode.
    pub mode: PermissionMode,
    /// The folder that the tools work in.
    #[serde(skip)]
    pub workspace: Option<&'a Path>,
}

/// The end of a run that a hook decides on.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct EndEvent<'a> {
    /// The last message of the user.
    pub task: &'a str,
    /// The response of the model.
    pub response: &'a str,
    /// The messages since the message of the user. Commands do not get them.
    #[serde(skip)]
    pub messages: &'a [Message],
    /// `true` if a stop hook has objected to an earlier response to this message of the user. A hook that objects to
    /// one response only lets the others pass.
    pub stop_hook_active: bool,
    /// The folder that the tools work in.
    #[serde(skip)]
    pub workspace: Option<&'a Path>,
}

/// The answer of a hook about a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallAnswer {
    /// The hook has no opinion.
    Pass,
    /// The verdict of the hook, with its reason. An allow lifts no deny of another layer.
    Decide(Verdict, String),
    /// The call is denied, and the run ends with [`Exit::HookStopped`](crate::exit::Exit::HookStopped), for this
    /// reason.
    End(String),
}

/// The answer of a hook about the end of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopAnswer {
    /// The run may end.
    Pass,
    /// The work continues; the model reads this reason.
    Object(String),
    /// The run ends with [`Exit::HookStopped`](crate::exit::Exit::HookStopped), for this reason.
    End(String),
}

/// An error of a hook.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HookError {
    /// The hook did not answer. Its output says why.
    #[error("it failed: {reason}")]
    Failed {
        /// The reason.
        reason: String,
    },
    /// The event is too long for the hook's input. A hook that sees a part of a call cannot decide on it.
    #[error("the event has {bytes} bytes, and more than {most} are not given to a command")]
    TooLong {
        /// The size of the event, in bytes.
        bytes: usize,
        /// The maximum size, in bytes.
        most: usize,
    },
}

/// The hooks of an assistant, in the order in which they are asked.
///
/// ```
/// use async_trait::async_trait;
/// use superstep_assistant::hook::{EndEvent, HookError, Hooks, StopAnswer, StopHook};
///
/// struct Sources;
///
/// #[async_trait]
/// impl StopHook for Sources {
///     fn name(&self) -> &str {
///         "sources"
///     }
///
///     async fn before_end(&self, end: &EndEvent<'_>) -> Result<StopAnswer, HookError> {
///         Ok(match end.response.contains("http") {
///             true => StopAnswer::Pass,
///             false => StopAnswer::Object("name your sources".to_owned()),
///         })
///     }
/// }
///
/// let hooks = Hooks::new().before_end(Sources);
/// ```
#[derive(Clone)]
pub struct Hooks {
    calls: Vec<(Option<Rule>, Arc<dyn CallHook>)>,
    ends: Vec<Arc<dyn StopHook>>,
    max_objections: u32,
}

/// The default for the number of responses to which stop hooks may object.
const MAX_OBJECTIONS: u32 = 3;

impl Default for Hooks {
    /// The same as [`Hooks::new`].
    fn default() -> Self {
        Self::new()
    }
}

impl Hooks {
    /// Makes a list without hooks. Stop hooks may object to three responses to a message of the user.
    pub fn new() -> Self {
        Self { calls: Vec::new(), ends: Vec::new(), max_objections: MAX_OBJECTIONS }
    }

    /// Asks a hook before each call of a tool.
    #[must_use]
    pub fn before_call(mut self, hook: impl CallHook) -> Self {
        self.calls.push((None, Arc::new(hook)));
        self
    }

    /// Asks a hook before each call that a rule is about, or may be.
    #[must_use]
    pub fn before_call_of(mut self, rule: Rule, hook: impl CallHook) -> Self {
        self.calls.push((Some(rule), Arc::new(hook)));
        self
    }

    /// Asks a hook before a run ends with a response.
    #[must_use]
    pub fn before_end(mut self, hook: impl StopHook) -> Self {
        self.ends.push(Arc::new(hook));
        self
    }

    /// Sets the number of responses to a message of the user to which stop hooks may object. The objection after them
    /// ends the run with [`Exit::StopHookPrevented`](crate::exit::Exit::StopHookPrevented).
    #[must_use]
    pub const fn max_objections(mut self, most: u32) -> Self {
        self.max_objections = most;
        self
    }

    /// Adds the hooks of another list behind these.
    #[must_use]
    pub fn and(mut self, others: Self) -> Self {
        self.calls.extend(others.calls);
        self.ends.extend(others.ends);
        self
    }

    /// Returns the hooks of a sub-agent. Its calls are asked about like any, and its end is not that of the work.
    pub(crate) fn of_agent(&self) -> Self {
        Self { ends: Vec::new(), ..self.clone() }
    }

    /// Returns the maximum number of objections.
    pub(crate) const fn most_objections(&self) -> u32 {
        self.max_objections
    }

    /// Returns the hooks that decide on a call.
    pub(crate) fn of_call<'h>(
        &'h self,
        call: &'h ToolCall,
        matcher: Option<&'h PermissionMatcher>,
    ) -> impl Iterator<Item = &'h dyn CallHook> {
        let is_about = move |rule: &Rule| {
            let touches = |pattern| matcher.is_none_or(|matcher| matcher.touches(pattern) != Touch::No);
            rule.tool() == call.name && rule.parsed_pattern().is_none_or(touches)
        };
        let asked = self.calls.iter().filter(move |(rule, _)| rule.as_ref().is_none_or(is_about));
        asked.map(|(_, hook)| &**hook)
    }

    /// Returns the hooks that decide on the end of a run.
    pub(crate) fn of_end(&self) -> impl Iterator<Item = &dyn StopHook> {
        self.ends.iter().map(|hook| &**hook)
    }
}

impl std::fmt::Debug for Hooks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.calls.iter().map(|(_, hook)| hook.name());
        f.debug_set().entries(names.chain(self.ends.iter().map(|hook| hook.name()))).finish()
    }
}

#[cfg(test)]
mod tests;
