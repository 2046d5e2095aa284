//! The node before each turn.

use std::sync::Arc;
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use superstep_core::error::NodeError;
use superstep_core::node::{Effects, FromTask, Node, NodeDescription, OnUnknown, Output, Task, TaskInfo};
use superstep_core::reducer::LogWrite;
use superstep_core::route::Route;
use superstep_core::store::AccessError;
use superstep_nodes::__private::ToolTask;
use superstep_nodes::message::{Content, Message, MessageId, Part};

use super::abandoned::Abandoned;
use super::guidance::{attach, read};
use super::sources::Sources;
use crate::budget::Meter;
use crate::config::AssistantConfig;
use crate::exit::{Exit, Transition};
use crate::guidance::Reading;
use crate::inbox::{Delivery, InboxMessage};
use crate::state::{ATTACHED, AssistantState, AssistantStateUpdate, COMMAND, OF_AGENT, REWOUND, Rewound};

/// The node before each turn: it takes the message of the user and those of the inbox into the conversation, and checks
/// the limits.
pub(crate) struct Gate {
    config: Arc<AssistantConfig>,
    sources: Sources,
}

/// The next step after `gate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Route, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateNext {
    /// The model is called.
    Turn,
    /// A limit is reached; the exit says which.
    Stop,
}

impl Gate {
    pub(crate) fn new(config: &Arc<AssistantConfig>) -> Self {
        Self { config: Arc::clone(config), sources: Sources::new(config) }
    }

    fn visit(
        &self,
        state: &AssistantState,
        info: &TaskInfo,
        now_ms: Option<u64>,
        context: Vec<Message>,
        arrived: Vec<InboxMessage>,
        reading: Reading,
    ) -> Result<Output<AssistantState, GateNext>, NodeError> {
        let request = state.new_request();
        let has_news = arrived.iter().any(|message| is_new(state, message));
        let is_asked = request.is_some()
            || arrived.iter().any(|message| message.from.is_none() && is_new(state, message));
        let mut update = AssistantState::update().set_failure(None);
        if !context.is_empty() {
            update = update.messages(context);
        }
        let mut turn_count = state.turn_count;
        if is_asked {
            let mut recovery = state.recovery.clone();
            recovery.after_message();
            turn_count = 0;
            update = update
                .set_began_ms(now_ms)
                .recovery(recovery)
                .turn_count(turn_count)
                .objections(0)
                .set_task_remaining(self.config.task_budget);
        }
        if state.request.is_some() {
            update = update.set_request(None);
        }
        if state.rewound.is_some() {
            update = update.set_rewound(None);
        }
        if request.is_some() {
            self.config.interrupts.begin(info);
        }
        if has_news && request.is_none() {
            update = update.set_transition(Some(Transition::Message));
        } else if request.is_none() && matches!(state.messages.last(), Some(Message::Tool(_))) {
            update = update.set_transition(Some(Transition::Tools));
        }
        let taken: Vec<String> = arrived.iter().map(|message| message.id.clone()).collect();
        if taken != state.inbox_taken && self.config.inbox.is_some() {
            update = update.inbox_taken(taken);
        }
        update = settled(state, update, &arrived);
        let mut attached = state.attached.clone();
        let files = attach(format!("{}{ATTACHED}", info.place()), &reading, &mut attached);
        if attached != state.attached {
            update = update.attached(attached);
        }
        let news = arrived.into_iter().filter(|message| is_new(state, message)).map(to_message);
        let note = state.rewound.as_ref().and_then(Rewound::note);
        let note = note.map(|note| Message::human(format!("{}{REWOUND}", info.place()), note));
        let said = request.map(|request| said(info.place(), request, reading.prompt.as_deref()));
        let messages: Vec<_> = files.into_iter().chain(note).chain(news).chain(said).collect();
        if messages.is_empty() && state.messages.is_empty() {
            return Err(NodeError::terminal(NOTHING_TO_DO));
        }
        if !messages.is_empty() {
            update = update.messages(messages);
        }
        if turn_count >= self.config.max_turns.get() {
            self.config.interrupts.end(info);
            return Ok(Output { update: Some(update.set_exit(Some(Exit::MaxTurns))), route: GateNext::Stop });
        }
        Ok(Output { update: Some(update), route: GateNext::Turn })
    }

    /// Reads the messages that the session takes now, and removes those from the inbox that its checkpoint has.
    async fn arrived(
        &self,
        state: &AssistantState,
        effects: &Effects,
        info: &TaskInfo,
    ) -> Result<Vec<InboxMessage>, NodeError> {
        let Some(inbox) = self.config.inbox_of(info) else { return Ok(Vec::new()) };
        let is_working = state.request.is_none() && matches!(state.messages.last(), Some(Message::Tool(_)));
        let read = || async {
            inbox.remove(info.thread(), &state.inbox_taken).await?;
            let mut waiting = inbox.waiting(info.thread()).await?;
            waiting.retain(|message| !is_working || message.delivery == Delivery::Steer);
            Ok::<_, AccessError>(waiting)
        };
        effects.on_unknown(OnUnknown::Retry).run("inbox", read).await.map_err(NodeError::retryable)
    }
}

/// Returns `true` if the session has not taken the message.
pub(super) fn is_new(state: &AssistantState, message: &InboxMessage) -> bool {
    let id = message_id(message);
    !state.inbox_taken.contains(&message.id) && !state.messages.iter().any(|taken| *taken.id() == id)
}

fn message_id(message: &InboxMessage) -> MessageId {
    let end = if message.from.is_some() { OF_AGENT } else { "" };
    MessageId::new(format!("inbox.{}{end}", message.id))
}

/// Makes the message of a request. The prompt of a command is a part of its own.
fn said(id: String, request: &str, prompt: Option<&str>) -> Message {
    let Some(prompt) = prompt else { return Message::human(id, request) };
    let prompt = format!("\n\n[The text of this command]\n{prompt}");
    Message::human(format!("{id}{COMMAND}"), Content::from_iter([Part::text(request), Part::text(prompt)]))
}

fn to_message(message: InboxMessage) -> Message {
    let id = message_id(&message);
    match message.from {
        Some(agent) => Message::human(id, format!("[Message of the agent `{agent}`]\n{}", message.text)),
        None => Message::human(id, message.text),
    }
}

/// Takes agents that have ended out of the background, and adds their model calls and changes of files to those of the
/// session.
fn settled(
    state: &AssistantState,
    mut update: AssistantStateUpdate,
    arrived: &[InboxMessage],
) -> AssistantStateUpdate {
    for InboxMessage { from, ended, changes, .. } in arrived {
        let Some((name, ledger)) = from.as_ref().zip(ended.as_ref()) else { continue };
        if state.background.iter().any(|agent| agent.name == *name) {
            update =
                update.background(LogWrite::remove([name])).ledger(ledger.clone()).changes(changes.clone());
        }
    }
    update
}

/// Returns the time, if time is limited: the same in every attempt and replay.
pub(super) async fn now_ms(meter: &Meter, effects: &Effects) -> Option<u64> {
    meter.limits().time_ms?;
    let since = effects.now().await.duration_since(UNIX_EPOCH).unwrap_or_default();
    Some(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// The error of a run without anything to work on.
const NOTHING_TO_DO: &str =
    "the session has no message to work on: give the run an input made by `AssistantState::ask`";

impl<C: Send + Sync + 'static> Node<AssistantState, C> for Gate {
    type Output = Result<Output<AssistantState, GateNext>, NodeError>;

    async fn call(&self, task: Task<AssistantState, C>) -> Self::Output {
        let (state, effects, info) = (Arc::clone(task.state()), task.extract(), task.extract());
        let tools = ToolTask::of(&task);
        drop(task);
        let now_ms = now_ms(&self.config.meter_of(&state), &effects).await;
        let arrived = self.arrived(&state, &effects, &info).await?;
        let context = self.sources.messages(&state, &tools).await;
        let reading = read(&self.config, &state, &effects).await?;
        let abandoned = Abandoned::read(&state, &effects, &info).await?;
        let mut output = self.visit(&state, &info, now_ms, context, arrived, reading)?;
        output.update = output.update.map(|update| abandoned.add_to(&state, update));
        Ok(output)
    }

    fn describe(&self, node: &mut NodeDescription) {
        <Effects as FromTask<AssistantState, C>>::describe(node, 0);
        node.writes_field(AssistantState::MESSAGES.id());
        node.writes_field(AssistantState::BACKGROUND.id());
        node.writes_field(AssistantState::LEDGER.id());
        node.writes_field(AssistantState::CHANGES.id());
        node.writes_field(AssistantState::SNAPSHOT.id());
        node.writes_field(AssistantState::BEGAN_MS.id());
        node.writes_field(AssistantState::REQUEST.id());
        node.writes_field(AssistantState::ATTACHED.id());
        node.writes_field(AssistantState::INBOX_TAKEN.id());
        node.writes_field(AssistantState::TURN_COUNT.id());
        node.writes_field(AssistantState::RECOVERY.id());
        node.writes_field(AssistantState::OBJECTIONS.id());
        node.writes_field(AssistantState::TASK_REMAINING.id());
        node.writes_field(AssistantState::FAILURE.id());
        node.writes_field(AssistantState::TRANSITION.id());
        node.writes_field(AssistantState::EXIT.id());
        node.writes_field(AssistantState::REWOUND.id());
    }
}
