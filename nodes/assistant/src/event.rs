//! The events of an assistant, for front ends.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep_core::id::{InterruptId, NodeName};
use superstep_core::run::{EventKind, PathSegment, RunEvent};
use superstep_core::state::{FieldId, Json, Logged, LoggedWrite, Op};
use superstep_nodes::compaction::Compaction;
use superstep_nodes::message::{Message, MessageId, ToolStatus};
use superstep_nodes::model::{ModelEvent, Purpose, StopReason};
use superstep_nodes::node::{ModelCall, ModelChunk, Tools};
use superstep_nodes::tool::{ToolEvent, ToolEventKind, ToolOutcome};

use crate::exit::{Exit, Transition};
use crate::permission::Decision;
use crate::state::{AssistantState, OF_AGENT, TurnFailure, is_of_loop};

/// An event of an assistant. It is all that a front end needs, such as a terminal, a page, or a program that reads JSON
/// lines: each makes the events with [`of`](Self::of) from those of a run, so the run does not depend on it.
///
/// A failed model call is no event while recovery may succeed. [`Exited`](Self::Exited) reports it once, if it ended the
/// run.
///
/// In JSON an event is an object with a `type`:
///
/// ```
/// use superstep_assistant::AssistantEvent;
/// use superstep_assistant::exit::Exit;
///
/// let text = AssistantEvent::Text { message: "turn.2".into(), text: "Hello".into() };
/// assert_eq!(serde_json::to_string(&text)?, r#"{"type":"text","message":"turn.2","text":"Hello"}"#);
///
/// let agent = AssistantEvent::Agent { kind: "explorer".into(), step: 5, task: 0, event: Box::new(text) };
/// let json = r#"{"type":"agent","kind":"explorer","step":5,"task":0,"event":{"type":"text","message":"turn.2","text":"Hello"}}"#;
/// assert_eq!(serde_json::to_string(&agent)?, json);
///
/// let exited = AssistantEvent::Exited { exit: Exit::Completed, reason: None };
/// assert_eq!(serde_json::to_string(&exited)?, r#"{"type":"exited","exit":"completed"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum AssistantEvent {
    /// A message of the user or of an agent became part of the conversation.
    Message {
        /// The id of the message.
        message: MessageId,
        /// Its text.
        text: String,
    },
    /// A piece of a reply of the model.
    Text {
        /// The id of the message that the pieces make.
        message: MessageId,
        /// The text, to be put directly after what came before.
        text: String,
    },
    /// A piece of the model's thinking.
    Thinking {
        /// The id of the message that the model thinks about.
        message: MessageId,
        /// The text, to be put directly after what came before.
        text: String,
    },
    /// A tool is about to be called. A call that is denied has only a result.
    Call {
        /// The id of the call.
        call: String,
        /// The name of the tool.
        tool: String,
        /// The input, as the tool shows it to observers.
        input: Value,
    },
    /// A tool reports its progress.
    Progress {
        /// The id of the call.
        call: String,
        /// The name of the tool.
        tool: String,
        /// The progress, as the tool reports it.
        data: Value,
    },
    /// A call was answered.
    Result {
        /// The id of the call.
        call: String,
        /// The name of the tool.
        tool: String,
        /// The way in which it ended.
        outcome: ToolOutcome,
        /// The text that the model reads.
        text: String,
    },
    /// A question waits for an answer; the run pauses. A permission question names the sub-agent that asks.
    Asked {
        /// The id of the question, for its answer.
        id: InterruptId,
        /// The node that asked.
        node: NodeName,
        /// The question, such as a [`PermissionQuestion`](crate::permission::PermissionQuestion).
        question: Json,
    },
    /// The conversation was compacted.
    Compacted {
        /// The number of messages that the summary replaces.
        summarised: u64,
        /// The number of tokens before.
        tokens_before: u64,
        /// The number of tokens after.
        tokens_after: u64,
    },
    /// The model is about to be called again, because a reply did not succeed. Unless the transition is
    /// [`Resumed`](Transition::Resumed), the pieces of that reply do not count.
    Recovered {
        /// The step of recovery.
        transition: Transition,
    },
    /// An event of a sub-agent.
    Agent {
        /// The kind of the agent.
        kind: String,
        /// The superstep in which it runs. Together with `task` it tells agents of one kind apart.
        step: i64,
        /// Its position in the superstep.
        task: u32,
        /// The event.
        event: Box<Self>,
    },
    /// A model call that counts for the budget, with its usage. Calls of an earlier run, which cost nothing again, are
    /// marked as recorded.
    Budget(ModelCall),
    /// The work on the message of the user ended.
    Exited {
        /// The way in which it ended.
        exit: Exit,
        /// The failure that ended it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

/// A row of the operation on a keyed list.
#[derive(Deserialize)]
struct Row<T> {
    item: Option<T>,
}

impl AssistantEvent {
    /// Returns the events of an assistant that an event of its run contains: none, for most. The stream or the observer
    /// has to see the whole log, which is the default.
    pub fn of(event: &RunEvent) -> Vec<Self> {
        let events = match &event.kind {
            EventKind::MessageChunk { .. } => {
                ModelChunk::of(event).and_then(Self::of_chunk).into_iter().collect()
            }
            EventKind::Custom { name, data, .. } => Self::of_custom(name, data),
            EventKind::TaskFinished { node, writes, .. } => Self::of_writes(node, writes),
            // A question of a sub-agent is one of the session, too.
            EventKind::Interrupted { interrupts } if event.path.is_empty() => {
                let asked = interrupts.iter().cloned();
                asked.map(|it| Self::Asked { id: it.id, node: it.node, question: it.question }).collect()
            }
            _ => Vec::new(),
        };
        events.into_iter().map(|made| made.of_agents(&event.path)).collect()
    }

    fn of_chunk(chunk: ModelChunk) -> Option<Self> {
        let ModelChunk { message, purpose: Purpose::Agent, event } = chunk else { return None };
        match event {
            ModelEvent::TextDelta { text } => Some(Self::Text { message, text }),
            ModelEvent::ThinkingDelta { text } => Some(Self::Thinking { message, text }),
            _ => None,
        }
    }

    fn of_custom(name: &str, data: &Json) -> Vec<Self> {
        match name {
            Tools::<AssistantState>::EVENT => data.decode().map(Self::of_call).unwrap_or_default(),
            ModelCall::EVENT => {
                let call = data.decode::<ModelCall>().ok().filter(|call| call.error.is_none());
                call.map(Self::Budget).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    fn of_call(event: ToolEvent) -> Vec<Self> {
        let ToolEvent { call, tool, kind } = event;
        match kind {
            ToolEventKind::Started { input } => vec![Self::Call { call, tool, input }],
            ToolEventKind::Progress { data } => vec![Self::Progress { call, tool, data }],
            ToolEventKind::Ended { outcome, text } => vec![Self::Result { call, tool, outcome, text }],
            ToolEventKind::Refused { input, outcome, text } => vec![
                Self::Call { call: call.clone(), tool: tool.clone(), input },
                Self::Result { call, tool, outcome, text },
            ],
            _ => Vec::new(),
        }
    }

    /// Reads the writes of a node of the graph.
    fn of_writes(node: &NodeName, writes: &[LoggedWrite]) -> Vec<Self> {
        let mut events = match node.as_str() {
            "gate" => taken(writes),
            "authorize" | "delegate" => answers(writes),
            "compact" => {
                let compactions = items::<Compaction>(writes, AssistantState::COMPACTIONS.id());
                compactions.into_iter().map(Self::of_compaction).collect()
            }
            "recover" => {
                let transition = value(writes, AssistantState::TRANSITION.id()).flatten();
                transition.map(|transition| Self::Recovered { transition }).into_iter().collect()
            }
            _ => Vec::new(),
        };
        if let Some(exit) = value::<Option<Exit>>(writes, AssistantState::EXIT.id()).flatten() {
            let failure = value::<Option<TurnFailure>>(writes, AssistantState::FAILURE.id()).flatten();
            events.push(Self::Exited { exit, reason: failure.as_ref().map(reason) });
        }
        events
    }

    fn of_compaction(compaction: Compaction) -> Self {
        let Compaction { summarised, tokens_before, tokens_after, .. } = compaction;
        Self::Compacted { summarised, tokens_before, tokens_after }
    }

    /// Marks the event as that of the sub-agents on a path, which begins with the outermost.
    fn of_agents(self, path: &[PathSegment]) -> Self {
        path.iter().rev().fold(self, |event, agent| {
            let node = agent.node.as_str();
            let kind = node.strip_prefix("agent.").unwrap_or(node).to_owned();
            Self::Agent { kind, step: agent.step, task: agent.task, event: Box::new(event) }
        })
    }
}

/// Returns the messages of the user and of agents that `gate` took into the conversation. Context and texts of files
/// are no events.
fn taken(writes: &[LoggedWrite]) -> Vec<AssistantEvent> {
    let messages = items::<Message>(writes, AssistantState::MESSAGES.id());
    let is_written = |id: &MessageId| !is_of_loop(id) || id.as_str().ends_with(OF_AGENT);
    let taken = messages
        .into_iter()
        .filter(|message| matches!(message, Message::Human(_)) && is_written(message.id()));
    let event = |message: Message| {
        let text = message.text().into_owned();
        AssistantEvent::Message { message: message.id().clone(), text }
    };
    taken.map(event).collect()
}

/// Returns the answers to calls that were not made by `tools`: they are denied, or delegated.
fn answers(writes: &[LoggedWrite]) -> Vec<AssistantEvent> {
    let decisions = items::<Decision>(writes, AssistantState::DECISIONS.id());
    let answers = items::<Message>(writes, AssistantState::MESSAGES.id()).into_iter();
    let event = |message: Message| {
        let Message::Tool(answer) = message else { return None };
        let is_decided = decisions.iter().any(|decision| decision.call == answer.tool_call_id);
        let outcome = match answer.status {
            ToolStatus::Ok => ToolOutcome::Ok,
            ToolStatus::Error if is_decided => ToolOutcome::Denied,
            ToolStatus::Error => ToolOutcome::Error,
        };
        let text = answer.content.to_text().into_owned();
        Some(AssistantEvent::Result { call: answer.tool_call_id, tool: answer.name, outcome, text })
    };
    answers.filter_map(event).collect()
}

fn reason(failure: &TurnFailure) -> String {
    match failure {
        TurnFailure::Failed(error) => error.to_string(),
        TurnFailure::CutOff { stop: StopReason::MaxTokens, .. } => {
            "the reply reached the limit of output tokens".to_owned()
        }
        TurnFailure::CutOff { .. } => "the reply was cut off".to_owned(),
    }
}

/// Returns the items that writes add to a list.
fn items<T: DeserializeOwned>(writes: &[LoggedWrite], field: FieldId) -> Vec<T> {
    let written = writes.iter().filter(|write| write.field == field);
    let of_write = |write: &LoggedWrite| match &write.write {
        Logged::Op(Op::Keyed(rows)) => {
            let rows: Vec<Row<T>> = rows.decode().unwrap_or_default();
            rows.into_iter().filter_map(|row| row.item).collect()
        }
        Logged::Op(Op::Extend(items)) => items.decode().unwrap_or_default(),
        _ => Vec::new(),
    };
    written.flat_map(of_write).collect()
}

/// Returns the value to which writes set a field.
fn value<T: DeserializeOwned>(writes: &[LoggedWrite], field: FieldId) -> Option<T> {
    let write = writes.iter().rfind(|write| write.field == field)?;
    match &write.write {
        Logged::Op(Op::Set(value)) => value.decode().ok(),
        _ => None,
    }
}
