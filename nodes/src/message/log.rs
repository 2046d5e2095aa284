//! The conversation as a state keeps it.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use superstep_core::reducer::{KeyedIndex, KeyedLog, LogEdit, LogWrite, Reducer};
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
#[derive(Clone, Default)]
pub struct MessageLog {
    messages: Vec<Message>,
    /// The position of each message, so that a new one costs no search.
    index: KeyedIndex,
    lineage: Lineage,
}

impl MessageLog {
    /// Makes an empty log.
    pub const fn new() -> Self {
        Self { messages: Vec::new(), index: KeyedIndex::new(), lineage: Lineage(None) }
    }

    /// Replaces the message with the same id, or adds the message at the end.
    pub fn put(&mut self, message: Message) {
        let before = self.messages.len();
        self.index.put(&mut self.messages, message);
        self.lineage.after_put(before, self.messages.len());
    }

    /// Removes the messages with these ids.
    fn remove(&mut self, ids: HashSet<String>) {
        if ids.is_empty() {
            return;
        }
        let before = self.messages.len();
        self.messages.retain(|message| !ids.contains(message.id().as_str()));
        if self.messages.len() != before {
            (self.index, self.lineage) = (KeyedIndex::new(), Lineage(None));
        }
    }

    /// Returns the lineage of the log: of two logs with the same one, the longer begins with all messages of the other.
    #[doc(hidden)]
    pub fn lineage(&self) -> Lineage {
        self.lineage.clone()
    }

    /// Returns the conversation as a model may be shown it.
    pub fn conversation(&self) -> Conversation {
        Conversation::from(self.messages.as_slice())
    }
}

/// The lineage of logs that were copied from each other, and to which messages were only added. It holds their greatest
/// length, so that of two copies only one gets a message at that position; the other then has a new lineage.
#[doc(hidden)]
#[derive(Clone, Debug, Default)]
pub struct Lineage(Option<Arc<AtomicUsize>>);

impl Lineage {
    fn after_put(&mut self, before: usize, after: usize) {
        let is_next = |length: &Arc<AtomicUsize>| {
            length.compare_exchange(before, after, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        if after == before || !self.0.as_ref().is_some_and(is_next) {
            self.0 = Some(Arc::new(AtomicUsize::new(after)));
        }
    }
}

/// A lineage that is not known is that of no other log.
impl PartialEq for Lineage {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_ref().zip(other.0.as_ref()).is_some_and(|(one, other)| Arc::ptr_eq(one, other))
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

impl PartialEq for MessageLog {
    fn eq(&self, other: &Self) -> bool {
        self.messages == other.messages
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
        Ok(Self { messages: Vec::deserialize(deserializer)?, ..Self::new() })
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
        // Removals in a row look at each message once.
        let mut removed = HashSet::new();
        for edit in write.0 {
            match edit {
                LogEdit::Remove(id) => {
                    removed.insert(id);
                }
                LogEdit::Put(message) => {
                    current.remove(std::mem::take(&mut removed));
                    current.put(message);
                }
            }
        }
        current.remove(removed);
    }

    fn log(write: &Self::Write) -> Result<Option<Op>, CodecError> {
        <Self as Reducer<Vec<Message>>>::log(write)
    }

    fn replay(op: &Op) -> Result<Self::Write, CodecError> {
        <Self as Reducer<Vec<Message>>>::replay(op)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn said(id: u8) -> LogEdit<Message> {
        LogEdit::Put(Message::human(format!("m{id}"), "said"))
    }

    fn edits() -> impl Strategy<Value = Vec<LogEdit<Message>>> {
        let remove = (0_u8..9).prop_map(|id| LogEdit::Remove(format!("m{id}")));
        prop::collection::vec(prop_oneof![(0_u8..9).prop_map(said), remove], 0..20)
    }

    proptest! {
        #[test]
        fn a_log_is_edited_as_a_list_is(first in edits(), more in edits()) {
            let (mut log, mut list) = (MessageLog::new(), Vec::new());
            for edits in [first, more] {
                KeyedLog::reduce(&mut log, LogWrite(edits.clone()));
                KeyedLog::reduce(&mut list, LogWrite(edits));
                prop_assert_eq!(&*log, &*list);
            }
        }

        #[test]
        fn logs_of_one_lineage_begin_with_the_same_messages(
            steps in prop::collection::vec((0_usize..3, 0_usize..3, edits()), 1..30),
        ) {
            let mut logs = vec![MessageLog::new(); 3];
            for (number, (from, to, edits)) in steps.into_iter().enumerate() {
                if from != to {
                    logs[to] = logs[from].clone();
                }
                KeyedLog::reduce(&mut logs[to], LogWrite(edits));
                logs[to].put(Message::human(format!("step{number}"), format!("{number}")));
                for (one, other) in [(0, 1), (0, 2), (1, 2)] {
                    let (one, other) = (&logs[one], &logs[other]);
                    let same = one.len().min(other.len());
                    prop_assert!(one.lineage() != other.lineage() || one[..same] == other[..same]);
                }
            }
        }
    }

    #[test]
    fn a_log_keeps_its_lineage_while_messages_are_added() {
        let mut log = MessageLog::from([Message::human("a", "one")]);
        let lineage = log.lineage();
        log.put(Message::human("b", "two"));
        assert_eq!(log.lineage(), lineage);
        let copy = log.clone();
        assert_eq!(copy.lineage(), lineage);
        log.put(Message::human("c", "three"));
        assert_eq!(log.lineage(), lineage);
        let mut branch = copy;
        branch.put(Message::human("c", "another"));
        assert_ne!(branch.lineage(), lineage);
        log.put(Message::human("a", "replaced"));
        assert_ne!(log.lineage(), lineage);
    }
}
