//! Guidance as effects, and the messages that have it.

use std::collections::{BTreeMap, BTreeSet};

use superstep_core::error::NodeError;
use superstep_core::node::{Effects, OnUnknown};
use superstep_nodes::__private::blocking;
use superstep_nodes::message::{Message, MessageId, ToolCall};

use crate::config::AssistantConfig;
use crate::guidance::{Attached, GuidanceError, Reading, Wanted, attached_text, touched};
use crate::plan::TodoLines;
use crate::state::{AssistantState, CONTEXT};

/// The number of files that are shown again after a compaction, of those that were edited last.
const EDITED: usize = 3;

/// Reads the texts for the message of the user, or for the tools that ran.
pub(super) async fn read(
    config: &AssistantConfig,
    state: &AssistantState,
    effects: &Effects,
) -> Result<Reading, NodeError> {
    if config.guidance.is_none() {
        return Ok(Reading::default());
    }
    let wanted = match state.new_request() {
        Some(request) => state.wanted(request.to_owned()),
        None => Wanted { folders: touched_now(state), ..Wanted::default() },
    };
    match wanted.request.is_none() && wanted.folders.is_empty() {
        true => Ok(Reading::default()),
        false => read_wanted(config, effects, wanted).await,
    }
}

/// Returns the folders that the last tools touched, of which no instructions were looked for.
fn touched_now(state: &AssistantState) -> BTreeSet<String> {
    if !matches!(state.messages.last(), Some(Message::Tool(_))) {
        return BTreeSet::new();
    }
    let asked = state.messages.iter().rev().find(|message| matches!(message, Message::Ai(_)));
    touched(asked.map(Message::tool_calls).unwrap_or_default(), &state.attached)
}

async fn read_wanted(
    config: &AssistantConfig,
    effects: &Effects,
    wanted: Wanted,
) -> Result<Reading, NodeError> {
    let Some(guidance) = config.guidance.clone() else { return Ok(Reading::default()) };
    let read =
        || async { blocking(move || guidance.read(&wanted)).await.unwrap_or(Err(GuidanceError::Ended)) };
    effects.on_unknown(OnUnknown::Retry).run("guidance", read).await.map_err(NodeError::retryable)
}

/// Returns the message with new texts, and notes that it has them.
pub(super) fn attach(
    id: String,
    reading: &Reading,
    attached: &mut BTreeMap<String, Attached>,
) -> Option<Message> {
    for text in &reading.texts {
        let it = Attached { digest: text.digest.clone(), message: MessageId::new(id.as_str()) };
        attached.insert(text.key.clone(), it);
    }
    attached_text(&reading.texts).map(|text| Message::human(id, text))
}

/// Returns the messages that stand behind the summary of a compaction, and the texts that the conversation then has:
/// those of the messages that are still shown are not attached again.
pub(super) async fn behind_summary(
    config: &AssistantConfig,
    state: &AssistantState,
    shown: &[Message],
    effects: &Effects,
    id: String,
) -> Result<(Vec<Message>, BTreeMap<String, Attached>), NodeError> {
    let is_shown = |it: &Attached| shown.iter().any(|message| *message.id() == it.message);
    let mut attached = state.attached.clone();
    attached.retain(|_, it| it.digest.is_empty() || is_shown(it));
    let known = attached.iter().map(|(key, it)| (key.clone(), it.digest.clone())).collect();
    let wanted = Wanted { known, files: edited(config, state), ..state.wanted(state.task()) };
    let reading = read_wanted(config, effects, wanted).await?;
    let files = attach(id.clone(), &reading, &mut attached);
    let mut notes = String::new();
    if let Some(plan) = &state.plan {
        notes.push_str(&format!("[The plan that the user approved]\n{plan}\n\n"));
    }
    if !state.todo.is_empty() {
        notes.push_str(&format!("[Your list of tasks]\n{}", TodoLines(&state.todo)));
    }
    let context = context_of(state, shown);
    let notes = (!notes.is_empty()).then(|| Message::human(format!("{id}.notes"), notes.trim_end()));
    Ok((context.into_iter().chain(files).chain(notes).collect(), attached))
}

/// Returns the last message of each source of context that is not among those shown.
fn context_of(state: &AssistantState, shown: &[Message]) -> Vec<Message> {
    let source = |message: &Message| Some(message.id().as_str().split_once(CONTEXT)?.1.to_owned());
    let last: BTreeMap<_, _> = state.messages.iter().filter_map(|it| Some((source(it)?, it))).collect();
    let is_hidden = |message: &&Message| !shown.iter().any(|it| it.id() == message.id());
    last.into_values().filter(is_hidden).cloned().collect()
}

/// Returns the files that were edited last.
fn edited(config: &AssistantConfig, state: &AssistantState) -> Vec<String> {
    let calls = state.messages.iter().rev().flat_map(|message| message.tool_calls().iter().rev());
    let is_edit = |call: &&ToolCall| config.permissions.is_edit_tool(&call.name);
    let mut edited: Vec<String> = Vec::new();
    for path in calls.filter(is_edit).filter_map(|call| call.input.get("path")?.as_str()) {
        if !edited.iter().any(|known| known == path) {
            edited.push(path.to_owned());
        }
        if edited.len() == EDITED {
            break;
        }
    }
    edited
}
