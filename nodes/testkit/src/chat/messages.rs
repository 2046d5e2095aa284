//! The messages of a request: who says what, and that every tool call is answered.

use crate::HttpError;
use crate::request_value::RequestValue;

use super::content;

/// The maximum length of the id of a tool call.
const LONGEST_ID: usize = 40;

const ROLES: [&str; 6] = ["system", "assistant", "user", "function", "tool", "developer"];

/// Checks the form of the messages, then their order.
pub(super) fn check(messages: &[RequestValue<'_>]) -> Result<(), HttpError> {
    for message in messages {
        form(message)?;
    }
    pairing(messages)
}

fn form(message: &RequestValue<'_>) -> Result<(), HttpError> {
    message.members()?;
    let role = message.need("role")?.one_of(&ROLES)?;
    message.only(match role {
        "assistant" => &["audio", "content", "function_call", "name", "refusal", "role", "tool_calls"],
        "tool" => &["content", "role", "tool_call_id"],
        _ => &["content", "name", "role"],
    })?;
    message.get_nullable("name").map(|name| name.name()).transpose()?;
    match role {
        "assistant" => assistant(message),
        "tool" => {
            message.need("tool_call_id")?.text_up_to(LONGEST_ID)?;
            content::check(&message.need("content")?, role, message)
        }
        _ => content::check(&message.need("content")?, role, message),
    }
}

fn assistant(message: &RequestValue<'_>) -> Result<(), HttpError> {
    message.get_nullable("refusal").map(|refusal| refusal.text()).transpose()?;
    if let Some(content) = message.get_nullable("content") {
        content::check(&content, "assistant", message)?;
    } else if ["tool_calls", "refusal", "function_call", "audio"]
        .iter()
        .all(|key| message.get_nullable(key).is_none())
    {
        return Err(HttpError::invalid("Invalid value for 'content': expected a string, got null.")
            .at(format!("{}.content", message.path())));
    }
    let calls = message.get("tool_calls").map(|calls| calls.items_of_some()).transpose()?;
    for call in calls.into_iter().flatten() {
        let kind = call.tag(&["function", "custom"])?;
        call.only(&["id", "type", kind])?;
        call.need("id")?.text_up_to(LONGEST_ID)?;
        let called = call.need(kind)?;
        let input = if kind == "function" { "arguments" } else { "input" };
        called.only(&["name", input])?;
        called.need("name")?.name()?;
        called.need(input)?.text()?;
    }
    Ok(())
}

/// Checks that tool messages answer the calls of the message before them, all of them and no others.
fn pairing(messages: &[RequestValue<'_>]) -> Result<(), HttpError> {
    let mut pending: Vec<&str> = Vec::new();
    for message in messages {
        let member = |key| message.get(key).and_then(|value| value.value().as_str()).unwrap_or_default();
        if member("role") == "tool" {
            let id = member("tool_call_id");
            let Some(at) = pending.iter().position(|call| *call == id) else {
                return Err(HttpError::invalid(
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with \
                     'tool_calls'.",
                )
                .at(format!("{}.role", message.path())));
            };
            pending.remove(at);
            continue;
        }
        all_answered(&pending)?;
        for call in message.get("tool_calls").map(|calls| calls.items()).transpose()?.into_iter().flatten() {
            pending.push(call.need("id")?.text()?);
        }
    }
    all_answered(&pending)
}

fn all_answered(pending: &[&str]) -> Result<(), HttpError> {
    if pending.is_empty() {
        return Ok(());
    }
    Err(HttpError::invalid(format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. \
         The following tool_call_ids did not have response messages: {}",
        pending.join(", ")
    ))
    .at("messages"))
}
