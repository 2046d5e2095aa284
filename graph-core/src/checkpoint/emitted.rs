//! The events that nodes emitted in a superstep, as stored with its checkpoint.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::state::Json;

/// The events that were emitted by the attempt that finished a task, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Emitted {
    /// The number of older events that were dropped because the events exceeded the space limit.
    #[serde(default, skip_serializing_if = "is_none")]
    pub dropped: u64,
    /// The newest events.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<EmittedEvent>,
}

/// An event that a node emitted.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmittedEvent {
    /// A custom event.
    Custom {
        /// The time, in milliseconds since the Unix epoch.
        at_ms: u64,
        /// The event's name.
        name: String,
        /// Its data.
        data: Json,
    },
    /// A part of a message.
    Message {
        /// The time, in milliseconds since the Unix epoch.
        at_ms: u64,
        /// The part.
        chunk: Json,
    },
}

/// The size of an event without its text, in bytes.
const OVERHEAD: usize = 32;

fn is_none(dropped: &u64) -> bool {
    *dropped == 0
}

impl EmittedEvent {
    /// Returns its size in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        OVERHEAD
            + match self {
                Self::Custom { name, data, .. } => name.len() + data.as_str().len(),
                Self::Message { chunk, .. } => chunk.as_str().len(),
            }
    }
}

impl Emitted {
    /// Returns `true` if nothing was emitted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.dropped == 0 && self.events.is_empty()
    }

    /// Returns its size in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.events.iter().map(EmittedEvent::size).sum()
    }

    /// Drops the oldest events until the others take at most `bytes` bytes.
    pub fn trim(&mut self, bytes: usize) {
        let mut size = self.size();
        let too_many = self.events.iter().take_while(|event| {
            let too_much = size > bytes;
            size -= event.size();
            too_much
        });
        let too_many = too_many.count();
        self.events.drain(..too_many);
        self.dropped += too_many as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(text: &str) -> EmittedEvent {
        EmittedEvent::Message { at_ms: 7, chunk: Json::encode(text).expect("a text has a JSON form") }
    }

    #[test]
    fn the_oldest_go_first_and_are_counted() {
        let each = OVERHEAD + 3;
        let mut emitted = Emitted { dropped: 2, events: ["a", "b", "c"].map(chunk).into() };
        emitted.trim(3 * each);
        assert_eq!((emitted.dropped, emitted.size()), (2, 3 * each));
        emitted.trim(3 * each - 1);
        assert_eq!(emitted, Emitted { dropped: 3, events: ["b", "c"].map(chunk).into() });
        emitted.trim(each - 1);
        assert_eq!(emitted, Emitted { dropped: 5, events: Vec::new() });
    }
}
