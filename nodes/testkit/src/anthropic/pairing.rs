//! Turns alternate, and every tool call has its result in the message that follows it.

use std::collections::BTreeSet;

use super::content::{Message, is};
use crate::HttpError;
use crate::request_value::string_of;

/// Checks the messages against each other.
pub(super) fn check(messages: &[Message<'_>], has_tools: bool) -> Result<(), HttpError> {
    let touches_tools = messages.iter().any(|message| {
        message.blocks_of("tool_use").chain(message.blocks_of("tool_result")).next().is_some()
    });
    if touches_tools && !has_tools {
        return Err(HttpError::invalid(
            "Requests which include `tool_use` or `tool_result` blocks must define tools",
        ));
    }
    turns(messages)?;
    let mut seen = BTreeSet::new();
    for (index, message) in messages.iter().enumerate() {
        let calls: Vec<&str> =
            message.blocks_of("tool_use").map(|(_, call)| string_of(call.value(), "id")).collect();
        if !calls.iter().all(|id| seen.insert(*id)) {
            return Err(HttpError::invalid("messages: `tool_use` ids must be unique"));
        }
        answered(message, &calls, messages.get(index + 1))?;
        let before = index.checked_sub(1).map(|before| &messages[before]);
        asked(message, before)?;
    }
    match messages.last() {
        // A turn that the server paused, to run tools of its own, is sent back as it came.
        Some(last) if last.blocks_of("server_tool_use").next().is_some() => Ok(()),
        Some(last) if !last.is_user => Err(HttpError::invalid(
            "This model does not support assistant message prefill. The conversation must end with a user \
             message.",
        )),
        _ => Ok(()),
    }
}

fn turns(messages: &[Message<'_>]) -> Result<(), HttpError> {
    if !messages[0].is_user {
        return Err(HttpError::invalid("messages: first message must use the \"user\" role"));
    }
    match messages.windows(2).find(|pair| pair[0].is_user == pair[1].is_user) {
        None => Ok(()),
        Some(pair) => {
            let role = if pair[0].is_user { "user" } else { "assistant" };
            Err(HttpError::invalid(format!(
                "messages: roles must alternate between \"user\" and \"assistant\", but found multiple \"{role}\" \
                 roles in a row"
            )))
        }
    }
}

/// Checks that the next message begins with the results of these calls.
fn answered(message: &Message<'_>, calls: &[&str], next: Option<&Message<'_>>) -> Result<(), HttpError> {
    if calls.is_empty() {
        return Ok(());
    }
    let results: Vec<&str> = next.map_or_else(Vec::new, |next| {
        next.blocks_of("tool_result").map(|(_, result)| string_of(result.value(), "tool_use_id")).collect()
    });
    let missing: Vec<&str> = calls.iter().copied().filter(|id| !results.contains(id)).collect();
    if !missing.is_empty() {
        return Err(message.place.refuse(format!(
            "`tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` block \
             must have a corresponding `tool_result` block in the next message.",
            missing.join(", ")
        )));
    }
    let next = next.expect("there are results in it");
    let leading = next.blocks.iter().take_while(|block| is(block, "tool_result")).count();
    if leading >= calls.len() {
        return Ok(());
    }
    Err(next.place.refuse(format!(
        "Did not find {} tool_result block(s) at the beginning of this message. Messages following tool_use \
         blocks must begin with a matching number of tool_result blocks.",
        calls.len()
    )))
}

/// Checks that the results of a message are of calls in the message before, one of each.
fn asked(message: &Message<'_>, before: Option<&Message<'_>>) -> Result<(), HttpError> {
    let calls: Vec<&str> = before.map_or_else(Vec::new, |before| {
        before.blocks_of("tool_use").map(|(_, call)| string_of(call.value(), "id")).collect()
    });
    let mut seen = BTreeSet::new();
    for (index, result) in message.blocks_of("tool_result") {
        let (id, path) = (string_of(result.value(), "tool_use_id"), message.place.path());
        if !calls.contains(&id) {
            return Err(HttpError::invalid(format!(
                "{path}.content.{index}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each \
                 `tool_result` block must have a corresponding `tool_use` block in the previous message."
            )));
        }
        if !seen.insert(id) {
            return Err(HttpError::invalid(format!(
                "{path}.content.{index}: each tool_use must have a single result. Found multiple `tool_result` \
                 blocks with id: {id}"
            )));
        }
    }
    Ok(())
}
