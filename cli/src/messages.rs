//! Conversations in a state, read as a transcript.
//!
//! A list is a conversation if each of its items is a message: an object with a `type` or `role`, and with content or
//! tool calls. The bundled messages are, and so are those of LangChain and of OpenAI's API.

use serde::Serialize;
use serde_json::{Map, Value};

use superstep_inspect::{Path, Segment};

use super::page::{BAD, DIM, NAME, NOTE, Page, Span, plain, span};

/// The conversations of a state.
#[derive(Debug, Serialize)]
pub(super) struct Transcript {
    pub(super) conversations: Vec<Conversation>,
}

/// A list of messages.
#[derive(Debug, Serialize)]
pub(super) struct Conversation {
    /// Its place in the state.
    path: Path,
    messages: Vec<Message>,
}

/// A message, read from any of the supported forms.
#[derive(Debug, Serialize)]
struct Message {
    /// Its `type` or `role`: `human`, `ai`, `tool`, `system`, `user`, `assistant`.
    role: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// The tool whose result it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    /// The call that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<String>,
    /// Set for the result of a tool that failed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    failed: bool,
    text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call>,
}

/// A tool call that a model asked for.
#[derive(Debug, Serialize)]
struct Call {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    name: String,
    input: Value,
}

impl Transcript {
    /// Returns the conversations in a state, or in the part of one at `path`.
    pub(super) fn of(part: &Value, path: &Path) -> Self {
        let mut conversations = Vec::new();
        collect(part, path, &mut conversations);
        Self { conversations }
    }

    pub(super) fn show(&self, page: &mut Page) {
        for (position, Conversation { path, messages }) in self.conversations.iter().enumerate() {
            if position > 0 {
                page.gap();
            }
            if self.conversations.len() > 1 {
                page.line([span(DIM, path.to_string())]);
            }
            for (position, message) in messages.iter().enumerate() {
                if position > 0 {
                    page.gap();
                }
                message.show(page);
            }
        }
    }
}

fn collect(value: &Value, here: &Path, found: &mut Vec<Conversation>) {
    match value {
        Value::Array(items) => match items.iter().map(Message::of).collect::<Option<Vec<_>>>() {
            Some(messages) if !messages.is_empty() => {
                found.push(Conversation { path: here.clone(), messages });
            }
            _ => {
                for (at, item) in items.iter().enumerate() {
                    collect(item, &here.then(Segment::Index(at)), found);
                }
            }
        },
        Value::Object(members) => {
            for (key, member) in members {
                collect(member, &here.then(Segment::Key(key.clone())), found);
            }
        }
        _ => {}
    }
}

/// Returns the text of the first message that is not a system prompt, if the list is a conversation.
pub(super) fn first_text(list: &Value) -> Option<String> {
    let messages = list.as_array()?.iter().map(Message::of).collect::<Option<Vec<_>>>()?;
    messages.into_iter().find(|message| message.role != "system").map(|message| message.text)
}

impl Message {
    /// Reads a message; `None` if the value is not a message.
    fn of(value: &Value) -> Option<Self> {
        let members = value.as_object()?;
        let text = |name: &str| members.get(name).and_then(Value::as_str).map(str::to_owned);
        let role = text("type").filter(|_| members.contains_key("content")).or_else(|| text("role"))?;
        let content = members.get("content").filter(|content| is_content(content));
        let calls = members.get("tool_calls").and_then(Value::as_array);
        if content.is_none() && calls.is_none() {
            return None;
        }
        let is_result = members.contains_key("tool_call_id");
        Some(Self {
            role,
            id: text("id"),
            tool: text("name").filter(|_| is_result),
            tool_call_id: text("tool_call_id"),
            failed: is_result && text("status").is_some_and(|status| status == "error"),
            text: content.map(text_of).unwrap_or_default(),
            tool_calls: calls.into_iter().flatten().filter_map(Call::of).collect(),
        })
    }

    fn show(&self, page: &mut Page) {
        let mut title = vec![span(NAME, &self.role)];
        title.extend(self.tool.as_ref().map(|tool| span(NOTE, format!(" {tool}"))));
        title.extend(self.tool_call_id.as_ref().map(|id| span(DIM, format!(" answers {id}"))));
        title.extend(self.failed.then(|| span(BAD, " failed")));
        page.line(title);
        let width = page.look.width.map(|width| width.saturating_sub(INDENT.len()));
        for line in self.text.lines().flat_map(|line| wrapped(line, width)) {
            page.line([plain(INDENT), plain(line)]);
        }
        self.tool_calls.iter().for_each(|call| call.show(page, width));
    }
}

/// The indent of a message's text.
const INDENT: &str = "  ";

impl Call {
    fn of(value: &Value) -> Option<Self> {
        let members = value.as_object()?;
        let function = members.get("function").and_then(Value::as_object);
        let of = function.unwrap_or(members);
        let input = ["input", "args", "arguments"].into_iter().find_map(|name| of.get(name));
        Some(Self {
            id: members.get("id").and_then(Value::as_str).map(str::to_owned),
            name: of.get("name")?.as_str()?.to_owned(),
            input: input.cloned().unwrap_or_default(),
        })
    }

    fn show(&self, page: &mut Page, width: Option<usize>) {
        let Self { id, name, input } = self;
        let input = input.as_str().map_or_else(|| input.to_string(), str::to_owned);
        let id = id.as_ref().map(|id| format!(" as {id}")).unwrap_or_default();
        let text = format!("→ {name} {input}");
        let mut lines = wrapped(&text, width).into_iter().peekable();
        while let Some(line) = lines.next() {
            let mut spans: Vec<Span> = vec![plain(INDENT), span(NOTE, line)];
            spans.extend(lines.peek().is_none().then(|| span(DIM, &id)));
            page.line(spans);
        }
    }
}

fn is_content(value: &Value) -> bool {
    matches!(value, Value::Null | Value::String(_))
        || value.as_array().is_some_and(|parts| parts.iter().all(|part| part.is_string() || part.is_object()))
}

/// Returns the text of content. Parts other than text are listed by their type.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(part).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

fn part(part: &Value) -> Option<String> {
    let members: &Map<String, Value> = match part {
        Value::String(text) => return Some(text.clone()),
        other => other.as_object()?,
    };
    let kind = members.get("type").and_then(Value::as_str).unwrap_or("part");
    let text = members.get("text").and_then(Value::as_str);
    match (kind, text) {
        // Calls are shown after the text.
        ("tool_call" | "tool_use", _) => None,
        ("text" | "input_text" | "output_text", Some(text)) => Some(text.to_owned()),
        (kind, Some(text)) if !text.is_empty() => Some(format!("[{kind}] {text}")),
        (kind, _) => Some(format!("[{kind}]")),
    }
}

/// Wraps a line at the width. A word that is longer than a line is broken.
fn wrapped(line: &str, width: Option<usize>) -> Vec<String> {
    let Some(width) = width.filter(|width| line.chars().count() > *width) else {
        return vec![line.to_owned()];
    };
    let mut lines: Vec<String> = vec![String::new()];
    let mut room = width;
    for word in line.split_inclusive(' ') {
        let mut letters: Vec<char> = word.chars().collect();
        let length = word.trim_end().chars().count();
        if length > room && room < width {
            lines.push(String::new());
            room = width;
        }
        // A word that is longer than a line is broken.
        while letters.len() > room && length > room {
            let rest = letters.split_off(room);
            lines.last_mut().expect("there is one").extend(letters);
            lines.push(String::new());
            (letters, room) = (rest, width);
        }
        room = room.saturating_sub(letters.len());
        lines.last_mut().expect("there is one").extend(letters);
    }
    lines.retain(|line| !line.trim().is_empty());
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::screen::Look;

    fn shown(state: &Value, width: Option<usize>) -> String {
        let mut page = Page::new(Look { width, color: false });
        Transcript::of(state, &Path::root()).show(&mut page);
        page.finish()
    }

    #[test]
    fn messages_are_read_in_the_forms_that_are_about() {
        let state = json!({
            "ours": [
                {"type": "human", "id": "1", "content": "What is 2 + 3?"},
                {"type": "ai", "id": "2", "content": [{"type": "thinking", "text": "hm"}, {"type": "text", "text": "A sum."}],
                 "tool_calls": [{"id": "c1", "name": "add", "input": {"a": 2}}]},
                {"type": "tool", "id": "3", "tool_call_id": "c1", "name": "add", "status": "error", "content": "no\nsum"},
            ],
            "inner": {"theirs": [
                {"role": "user", "content": "hello"},
                {"role": "assistant", "content": null, "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]},
            ]},
            "none": [{"type": "point", "x": 1}],
            "empty": [],
        });
        let told = "inner.theirs\nuser\n  hello\n\nassistant\n  → f {} as c\n\nours\nhuman\n  What is 2 + 3?\n\nai\n  [thinking] hm\n  \
                    A sum.\n  → add {\"a\":2} as c1\n\ntool add answers c1 failed\n  no\n  sum\n";
        assert_eq!(shown(&state, None), told);
        assert_eq!(first_text(&state["ours"]).as_deref(), Some("What is 2 + 3?"));
        assert_eq!(first_text(&state["none"]), None);
    }

    #[test]
    fn a_long_text_is_wrapped_and_not_cut() {
        let state = json!([{"role": "user", "content": "one two three fourteen-letters-and-more five"}]);
        let told = shown(&state, Some(20));
        assert_eq!(told, "user\n  one two three\n  fourteen-letters-a\n  nd-more five\n");
    }
}
