//! The conversation as a state keeps it.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use superstep_core::reducer::{KeyedIndex, KeyedLog, LogWrite, Reducer};
use superstep_core::state::{CodecError, Op};

use super::{Conversation, Message};

/// The conversation as a state keeps it: every message, in order, no two with the same id.
///
/// A field of this type has the reducer [`KeyedLog`]: a message is added at the end, or replaces the
/// one with its id; [`LogWrite::remove`] takes messages out by their ids; the setter `set_…` replaces them all.
/// Only the write itself is stored, so the cost of a step does not grow with the conversation.
///
/// The log is what happened. It may end in tool calls that wait for their results, and where work was stopped it
/// has calls without any. What a model is shown is the [`conversation`](Self::conversation), in which every call
/// is answered: nothing that arrives late is lost, and no request is invalid meanwhile.
///
/// ```
/// use superstep_core::reducer::KeyedLog;
/// use superstep_core::state::State;
/// use superstep_nodes::message::{Message, MessageLog};
///
/// #[derive(State, Clone, Default)]
/// #[state(crate = superstep_core)]
/// struct Chat {
///     #[reducer(KeyedLog)]
///     messages: MessageLog,
/// }
///
/// let mut log = MessageLog::from([Message::human("m1", "Helo")]);
/// log.put(Message::human("m1", "Hello"));
/// assert_eq!((log.len(), log[0].text().as_ref()), (1, "Hello"));
/// ```
#[derive(Clone, Default, PartialEq)]
pub struct MessageLog {
    messages: Vec<Message>,
    /// The position of each message, so that a new one costs no search.
    index: KeyedIndex,
}

impl MessageLog {
    /// Makes an empty log.
    pub const fn new() -> Self {
        Self { messages: Vec::new(), index: KeyedIndex::new() }
    }

    /// Replaces the message with the same id, or adds the message at the end.
    pub fn put(&mut self, message: Message) {
        self.index.put(&mut self.messages, message);
    }

    /// Returns the conversation as a model may be shown it.
    pub fn conversation(&self) -> Conversation {
        Conversation::from(self.messages.as_slice())
    }
}

impl Deref for MessageLog {
    type Target = [Message];

    fn deref(&self) -> &[Message] {
        &self.messages
    }
}

impl From<Vec<Message>> for MessageLog {
    fn from(messages: Vec<Message>) -> Self {
        messages.into_iter().collect()
    }
}

impl<const N: usize> From<[Message; N]> for MessageLog {
    fn from(messages: [Message; N]) -> Self {
        messages.into_iter().collect()
    }
}

impl From<MessageLog> for Vec<Message> {
    fn from(log: MessageLog) -> Self {
        log.messages
    }
}

impl FromIterator<Message> for MessageLog {
    fn from_iter<I: IntoIterator<Item = Message>>(messages: I) -> Self {
        let mut log = Self::new();
        messages.into_iter().for_each(|message| log.put(message));
        log
    }
}

impl<'a> IntoIterator for &'a MessageLog {
    type Item = &'a Message;
    type IntoIter = std::slice::Iter<'a, Message>;

    fn into_iter(self) -> Self::IntoIter {
        self.messages.iter()
    }
}

impl fmt::Debug for MessageLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MessageLog").field(&self.messages).finish()
    }
}

impl Serialize for MessageLog {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.messages.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for MessageLog {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self { messages: Vec::deserialize(deserializer)?, index: KeyedIndex::new() })
    }
}

impl JsonSchema for MessageLog {
    fn schema_name() -> Cow<'static, str> {
        Vec::<Message>::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        Vec::<Message>::schema_id()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Vec::<Message>::json_schema(generator)
    }
}

impl Reducer<MessageLog> for KeyedLog {
    type Write = LogWrite<Message>;

    fn reduce(current: &mut MessageLog, write: Self::Write) {
        write.apply(&mut current.messages, &mut current.index);
    }

    fn log(write: &Self::Write) -> Result<Option<Op>, CodecError> {
        <Self as Reducer<Vec<Message>>>::log(write)
    }

    fn replay(op: &Op) -> Result<Self::Write, CodecError> {
        <Self as Reducer<Vec<Message>>>::replay(op)
    }
}
