//! The fields of a state that nodes read and write.

use superstep_core::reducer::LogWrite;
use superstep_core::state::{Field, IntoWrite, State, StateUpdate};

use crate::compaction::Compaction;
use crate::message::{Message, MessageLog};

/// The handle of a conversation: a [`MessageLog`] with the reducer `KeyedLog`.
pub type MessagesField<S> = Field<S, MessageLog, LogWrite<Message>>;

/// The handle of the compactions of a conversation: a `Vec<Compaction>` with the reducer `KeyedLog`.
pub type CompactionsField<S> = Field<S, Vec<Compaction>, LogWrite<Compaction>>;

/// Reads something of a state.
pub(super) type Read<S, T> = Box<dyn Fn(&S) -> T + Send + Sync>;

/// Reads a text of a state, which is empty where there is none.
pub(super) fn text_of<S: State, T: OptionalText>(field: Field<S, T>) -> Read<S, String> {
    Box::new(move |state| field.get(state).get().unwrap_or_default().to_owned())
}

/// Makes one update of several.
pub(super) fn all<U: StateUpdate>(updates: impl IntoIterator<Item = U>) -> U {
    U::from_writes(updates.into_iter().flat_map(U::into_writes).collect())
}

/// Makes the write that adds messages at the end.
pub(super) fn appended(messages: Vec<Message>) -> LogWrite<Message> {
    messages.into_write()
}

/// Returns the turn of a state; a state that counts none has one turn.
pub(super) fn turn_of<S: State>(turn: Option<&Field<S, u32>>, state: &S) -> u32 {
    turn.map_or(1, |turn| *turn.get(state))
}

/// A text of a state, or one that is not there yet.
pub trait OptionalText: Send + Sync + 'static {
    /// Returns the text, if it is there.
    fn get(&self) -> Option<&str>;
}

impl OptionalText for String {
    fn get(&self) -> Option<&str> {
        Some(self)
    }
}

impl OptionalText for Option<String> {
    fn get(&self) -> Option<&str> {
        self.as_deref()
    }
}

/// A count of a state, or one that is not there yet, which is 0.
pub trait OptionalCount: Send + Sync + 'static {
    /// Makes a count.
    fn of(count: u32) -> Self;

    /// Returns the count.
    fn get(&self) -> u32;
}

impl OptionalCount for u32 {
    fn of(count: u32) -> Self {
        count
    }

    fn get(&self) -> u32 {
        *self
    }
}

impl OptionalCount for Option<u32> {
    fn of(count: u32) -> Self {
        Some(count)
    }

    fn get(&self) -> u32 {
        self.unwrap_or(0)
    }
}
