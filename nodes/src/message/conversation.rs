//! The conversation as a model is shown it.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

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
/// Clones share the messages. Adding some to a conversation that is not shared costs as much as those that are added.
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
pub struct Conversation(
    #[serde(serialize_with = "messages", deserialize_with = "repaired")]
    #[schemars(with = "Vec<Message>")]
    Arc<Repaired>,
);

impl Conversation {
    /// Adds messages at the end.
    pub fn extend(&mut self, messages: impl IntoIterator<Item = Message>) {
        Arc::make_mut(&mut self.0).extend(messages.into_iter().collect());
    }

    /// Adds a message at the end.
    pub fn push(&mut self, message: Message) {
        self.extend([message]);
    }

    /// Returns `true` if each call has a result of its own. In such a conversation, no message that is added later
    /// would have changed the place of another one.
    pub fn is_complete(&self) -> bool {
        self.0.is_complete()
    }
}

impl Deref for Conversation {
    type Target = [Message];

    fn deref(&self) -> &[Message] {
        &self.0.messages
    }
}

impl From<Vec<Message>> for Conversation {
    fn from(messages: Vec<Message>) -> Self {
        let mut repaired = Repaired::default();
        repaired.extend(messages);
        Self(Arc::new(repaired))
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
        self.0.messages.iter()
    }
}

fn messages<S: Serializer>(conversation: &Arc<Repaired>, serializer: S) -> Result<S::Ok, S::Error> {
    conversation.messages.serialize(serializer)
}

fn repaired<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Arc<Repaired>, D::Error> {
    Ok(Conversation::from(Vec::deserialize(deserializer)?).0)
}

/// Messages with every call answered.
#[derive(Clone, Default)]
struct Repaired {
    messages: Vec<Message>,
    /// The ids of the calls.
    ids: HashSet<String>,
    /// The number of calls without a result of their own.
    unanswered: usize,
}

impl Repaired {
    fn is_complete(&self) -> bool {
        self.unanswered == 0
    }

    /// Adds messages. Every call so far is answered, so only the new calls look for results.
    fn extend(&mut self, messages: Vec<Message>) {
        let mut results = Results::of(&messages);
        let mut messages: Vec<_> = messages.into_iter().map(Some).collect();
        self.messages.reserve(messages.len());
        for position in 0..messages.len() {
            match messages[position].take() {
                None | Some(Message::Tool(_)) => {}
                Some(Message::Ai(said)) if !said.tool_calls.is_empty() => {
                    let take = |call: &ToolCall| match messages[results.take(position, call)?].take()? {
                        Message::Tool(result) => Some(result),
                        _ => None,
                    };
                    let answers = said.tool_calls.iter().map(take).collect();
                    self.ask(said, answers);
                }
                Some(message) if message.content().is_blank() => {}
                Some(message) => self.messages.push(message),
            }
        }
    }

    /// Adds a message with calls, and their answers.
    fn ask(&mut self, mut said: AiMessage, answers: Vec<Option<ToolMessage>>) {
        self.unanswered += answers.iter().filter(|answer| answer.is_none()).count();
        let or_unanswered = |(index, answer): (usize, Option<ToolMessage>)| {
            answer.unwrap_or_else(|| unanswered(&said, index, &said.tool_calls[index]))
        };
        let answers: Vec<_> = answers.into_iter().enumerate().map(or_unanswered).collect();
        let owner = said.id.to_string();
        let named = said.tool_calls.iter_mut().zip(answers).enumerate().map(|(index, (call, mut answer))| {
            call.id = usable_id(&call.id, &format!("call_{owner}_{index}"), &mut self.ids);
            answer.tool_call_id.clone_from(&call.id);
            Message::Tool(answer)
        });
        let answers: Vec<Message> = named.collect();
        self.messages.push(Message::Ai(said));
        self.messages.extend(answers);
    }
}

impl PartialEq for Repaired {
    fn eq(&self, other: &Self) -> bool {
        self.messages == other.messages
    }
}

impl fmt::Debug for Repaired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.messages.fmt(f)
    }
}

fn unanswered(said: &AiMessage, index: usize, call: &ToolCall) -> ToolMessage {
    ToolMessage::failed(format!("{}.{index}", said.id), call, NO_RESULT)
}

/// The positions of tool messages, to be found by the calls that they answer.
struct Results {
    /// By the id of the call, in order.
    by_call: HashMap<String, VecDeque<usize>>,
    /// The positions of the calls, by id.
    asked: HashMap<String, VecDeque<usize>>,
}

impl Results {
    fn of(messages: &[Message]) -> Self {
        let mut results = Self { by_call: HashMap::new(), asked: HashMap::new() };
        for (position, message) in messages.iter().enumerate() {
            if let Message::Tool(result) = message {
                results.by_call.entry(result.tool_call_id.clone()).or_default().push_back(position);
            }
            for call in message.tool_calls() {
                results.asked.entry(call.id.clone()).or_default().push_back(position);
            }
        }
        results
    }

    /// Takes the first result of a call at `position`: one that comes after it, and before another call of that id. The
    /// calls have to be given in order.
    fn take(&mut self, position: usize, call: &ToolCall) -> Option<usize> {
        let asked = self.asked.get_mut(&call.id)?;
        while asked.pop_front_if(|asked| *asked <= position).is_some() {}
        let again = asked.front();
        let held = self.by_call.get_mut(&call.id)?;
        while held.pop_front_if(|place| *place < position).is_some() {}
        held.pop_front_if(|place| again.is_none_or(|again| *place < *again))
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
