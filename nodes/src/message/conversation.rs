//! The conversation as a model is shown it.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Deref;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AiMessage, Message, ToolCall, ToolMessage};

/// The answer to a tool call without a result, because its task was cancelled, revoked or killed. It
/// says nothing of what the tool did, as that is not known.
pub const NO_RESULT: &str =
    "No result: the work was stopped before the tool had answered. Whether it did anything is not known.";

/// A conversation that a model may be shown. However it is made, it has these properties, each of which providers
/// insist on:
///
/// - Every tool call is answered by exactly one tool message, directly after the message that has the call and in
///   the order of the calls. A call without a result is answered with [`NO_RESULT`].
/// - There is no other tool message: one that answers no call is left out.
/// - The ids of the calls are unique, and letters, digits, `_` and `-` only, at most 40 of them. An id that is not
///   so is replaced, in the call and in its result.
/// - No message is [blank](super::Content::is_blank), but results and messages that ask for tools.
///
/// ```
/// use superstep_nodes::message::{Conversation, Message, NO_RESULT, ToolCall};
///
/// let call = ToolCall::new("c1", "search_docs", serde_json::json!({ "query": "superstep" }));
/// let said = [
///     Message::human("m1", "What is a superstep?"),
///     Message::ai_with_calls("m2", "", vec![call]),
///     Message::human("m3", "Never mind. What is a graph?"),
/// ];
/// let shown = Conversation::from(said);
/// assert_eq!(shown[2].text(), NO_RESULT);
/// assert_eq!(shown.len(), 4);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Conversation(#[serde(deserialize_with = "repaired")] Vec<Message>);

impl Conversation {
    /// Adds messages at the end.
    pub fn extend(&mut self, messages: impl IntoIterator<Item = Message>) {
        let mut all = std::mem::take(&mut self.0);
        all.extend(messages);
        self.0 = repair(all);
    }

    /// Adds a message at the end.
    pub fn push(&mut self, message: Message) {
        self.extend([message]);
    }
}

impl Deref for Conversation {
    type Target = [Message];

    fn deref(&self) -> &[Message] {
        &self.0
    }
}

impl From<Vec<Message>> for Conversation {
    fn from(messages: Vec<Message>) -> Self {
        Self(repair(messages))
    }
}

impl From<&[Message]> for Conversation {
    fn from(messages: &[Message]) -> Self {
        messages.to_vec().into()
    }
}

impl<const N: usize> From<[Message; N]> for Conversation {
    fn from(messages: [Message; N]) -> Self {
        Vec::from(messages).into()
    }
}

impl FromIterator<Message> for Conversation {
    fn from_iter<I: IntoIterator<Item = Message>>(messages: I) -> Self {
        messages.into_iter().collect::<Vec<_>>().into()
    }
}

impl<'a> IntoIterator for &'a Conversation {
    type Item = &'a Message;
    type IntoIter = std::slice::Iter<'a, Message>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

fn repaired<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<Message>, D::Error> {
    Vec::deserialize(deserializer).map(repair)
}

/// The messages with every call answered.
fn repair(messages: Vec<Message>) -> Vec<Message> {
    let mut results = Results::of(&messages);
    let mut ids = HashSet::new();
    let mut shown = Vec::with_capacity(messages.len());
    for (position, message) in messages.into_iter().enumerate() {
        match message {
            Message::Tool(_) => {}
            Message::Ai(mut said) if !said.tool_calls.is_empty() => {
                let answers: Vec<ToolMessage> = said
                    .tool_calls
                    .iter()
                    .enumerate()
                    .map(|(index, call)| {
                        results.take(position, call).unwrap_or_else(|| unanswered(&said, index, call))
                    })
                    .collect();
                let owner = said.id.to_string();
                let named =
                    said.tool_calls.iter_mut().zip(answers).enumerate().map(|(index, (call, mut answer))| {
                        call.id = usable_id(&call.id, &format!("call_{owner}_{index}"), &mut ids);
                        answer.tool_call_id.clone_from(&call.id);
                        Message::Tool(answer)
                    });
                let answers: Vec<Message> = named.collect();
                shown.push(Message::Ai(said));
                shown.extend(answers);
            }
            message if message.content().is_blank() => {}
            message => shown.push(message),
        }
    }
    shown
}

fn unanswered(said: &AiMessage, index: usize, call: &ToolCall) -> ToolMessage {
    ToolMessage::failed(format!("{}.{index}", said.id), call, NO_RESULT)
}

/// The tool messages of a conversation, to be found by the calls that they answer.
struct Results {
    /// By the id of the call, in order.
    by_call: HashMap<String, VecDeque<(usize, ToolMessage)>>,
    /// The positions of the calls, by id.
    asked: HashMap<String, Vec<usize>>,
}

impl Results {
    fn of(messages: &[Message]) -> Self {
        let mut results = Self { by_call: HashMap::new(), asked: HashMap::new() };
        for (position, message) in messages.iter().enumerate() {
            if let Message::Tool(result) = message {
                let held = results.by_call.entry(result.tool_call_id.clone()).or_default();
                held.push_back((position, result.clone()));
            }
            for call in message.tool_calls() {
                results.asked.entry(call.id.clone()).or_default().push(position);
            }
        }
        results
    }

    /// Takes the first result of a call at `position`: one that comes after it, and before another call of that id.
    fn take(&mut self, position: usize, call: &ToolCall) -> Option<ToolMessage> {
        let again = self.asked.get(&call.id)?.iter().find(|asked| **asked > position);
        let held = self.by_call.get_mut(&call.id)?;
        while held.front().is_some_and(|(place, _)| *place < position) {
            held.pop_front();
        }
        held.pop_front_if(|(place, _)| again.is_none_or(|again| *place < *again)).map(|(_, result)| result)
    }
}

/// The longest id of a call that all providers take.
const MOST_ID_BYTES: usize = 40;

/// The id itself if it can be used and is new, or else one made of `otherwise`.
fn usable_id(id: &str, otherwise: &str, taken: &mut HashSet<String>) -> String {
    let letter = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    let usable = !id.is_empty() && id.len() <= MOST_ID_BYTES && id.chars().all(letter);
    if usable && taken.insert(id.to_owned()) {
        return id.to_owned();
    }
    let plain: String = otherwise.chars().map(|sign| if letter(sign) { sign } else { '-' }).collect();
    // The end says more than the beginning: the superstep, and which of the calls it is.
    let plain = &plain[plain.len().saturating_sub(MOST_ID_BYTES - 4)..];
    let numbered = (2..).map(|number| format!("{plain}-{number}"));
    let unique = std::iter::once(plain.to_owned()).chain(numbered).find(|id| !taken.contains(id));
    let unique = unique.expect("there are more numbers than ids");
    taken.insert(unique.clone());
    unique
}

#[cfg(test)]
mod tests;
