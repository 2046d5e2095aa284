//! Delegations to sub-agents, their order, their budgets and their results.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep_core::id::ThreadId;
use superstep_core::reducer::Keyed;
use superstep_nodes::message::{Message, MessageId, ToolCall};

use crate::budget::{Limits, Spent};
use crate::exit::{Exit, Resource};

/// The task of a sub-agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Delegation {
    /// The position of the call among those of its message.
    pub call: u32,
    /// The kind of the agent; for a message, the name of the agent.
    pub agent: String,
    /// The task, which is the agent's first message, or a message for it.
    pub task: String,
    /// The way in which the task is given.
    pub handover: Handover,
    /// The budget of the agent, which is reserved when it begins.
    pub limits: Limits,
}

/// The way in which an agent is given a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Handover {
    /// The parent waits for the answer.
    Awaited,
    /// The agent works beside the session, and its answer is a message.
    Background,
    /// It is a message for an agent that works beside the session.
    Message,
}

/// The end of a sub-agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentResult {
    /// The position of the call among those of its message.
    pub call: u32,
    /// The kind of the agent.
    pub agent: String,
    /// The reason for which it ended; [`Completed`](Exit::Completed) also if it now works in the background.
    pub exit: Option<Exit>,
    /// The failure that ended it.
    pub failure: Option<String>,
    /// The last text that it wrote.
    pub text: String,
}

/// An agent that works beside its session, on a thread of its own, until the message of its end has arrived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BackgroundAgent {
    /// The name, which no other agent of the session has.
    pub name: String,
    /// The task, with the budget that is reserved for the agent.
    pub delegation: Delegation,
}

impl Keyed for BackgroundAgent {
    fn id(&self) -> &str {
        &self.name
    }
}

/// Takes the delegations off the front that run at once: those to agents that only read, up to the first that writes,
/// or that one alone.
pub(crate) fn next_batch(
    waiting: &mut Vec<Delegation>,
    is_reader: impl Fn(&Delegation) -> bool,
) -> Vec<Delegation> {
    let readers = waiting.iter().take_while(|it| is_reader(it)).count();
    waiting.drain(..readers.max(1).min(waiting.len())).collect()
}

/// Reserves budgets for agents that run at the same time, and beside so many others: equal shares, and none above the
/// limits of its own.
pub(crate) fn reserve(
    batch: &mut [Delegation],
    beside: u32,
    left: &Limits,
    most: impl Fn(&Delegation) -> Limits,
) {
    let agents = u32::try_from(batch.len()).unwrap_or(u32::MAX).saturating_add(beside);
    for delegation in batch {
        delegation.limits = left.share(agents, &most(delegation));
    }
}

impl BackgroundAgent {
    /// Returns the id of the thread of an agent: `SESSION/NAME`.
    #[must_use]
    pub fn thread(session: &ThreadId, name: &str) -> ThreadId {
        format!("{session}/{name}").into()
    }

    /// Returns the amounts that are reserved for the agent.
    pub(crate) fn reserved(&self) -> Spent {
        let Limits { tokens, micro_usd, .. } = self.delegation.limits;
        Spent { tokens: tokens.unwrap_or(0), micro_usd: micro_usd.unwrap_or(0), time_ms: 0 }
    }
}

impl AgentResult {
    /// Makes the answer to a call for whose agent the parent does not wait.
    pub(crate) fn said(delegation: &Delegation, exit: Option<Exit>, text: String) -> Self {
        let (call, agent) = (delegation.call, delegation.agent.clone());
        Self { call, agent, exit, failure: None, text }
    }

    /// Returns the exit of the session, if the agent ended with it: the user stopped both, or a hook ended the run.
    pub(crate) const fn exit_of_session(&self) -> Option<Exit> {
        match self.exit {
            Some(Exit::AbortedStreaming | Exit::AbortedTools) => Some(Exit::AbortedTools),
            Some(Exit::HookStopped) => Some(Exit::HookStopped),
            _ => None,
        }
    }

    /// Makes the answer to the call. An agent that did not complete its task is an error, with what it has.
    pub(crate) fn into_message(self, id: MessageId, call: &ToolCall) -> Message {
        match self.exit {
            Some(Exit::Completed) => Message::tool(id, call, self.to_string()),
            _ => Message::tool_error(id, call, self.to_string()),
        }
    }

    /// Returns the reason for which the agent did not complete its task.
    fn reason(&self, exit: Option<Exit>) -> String {
        let failure = || self.failure.clone().unwrap_or_else(|| "no reason is known".to_owned());
        let Some(exit) = exit else { return failure() };
        match exit {
            Exit::Completed => "it responded".to_owned(),
            Exit::MaxTurns => "its limit of turns is reached".to_owned(),
            Exit::BudgetExceeded(Resource::Tokens) => "its limit of tokens is reached".to_owned(),
            Exit::BudgetExceeded(Resource::Money) => "its limit of money is reached".to_owned(),
            Exit::BudgetExceeded(Resource::Time) => "its limit of time is reached".to_owned(),
            Exit::BlockingLimit | Exit::PromptTooLong => {
                "its conversation is too long for its model".to_owned()
            }
            Exit::AbortedStreaming | Exit::AbortedTools => "the user stopped it".to_owned(),
            Exit::StopHookPrevented | Exit::HookStopped => "a hook stopped it".to_owned(),
            Exit::ImageError | Exit::ModelError => format!("its model failed ({})", failure()),
        }
    }
}

/// The text for the parent.
impl std::fmt::Display for AgentResult {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = self.text.trim();
        match self.exit {
            Some(Exit::Completed) if text.is_empty() => {
                write!(f, "The agent `{}` ended without a response.", self.agent)
            }
            Some(Exit::Completed) => f.write_str(text),
            exit => {
                write!(f, "The agent `{}` did not finish: {}.", self.agent, self.reason(exit))?;
                match text {
                    "" => f.write_str(" It has no text so far."),
                    text => write!(f, " What it has so far:\n{text}"),
                }
            }
        }
    }
}
