//! Identifiers. Each kind is a newtype, so that no two kinds are confused.

use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use core::str::FromStr;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Returns the text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl<T: Into<Arc<str>>> From<T> for $name {
            fn from(text: T) -> Self {
                Self(text.into())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(AnyText).map(Self)
            }
        }
    };
}

/// Deserializes a text without copying it twice.
struct AnyText;

impl Visitor<'_> for AnyText {
    type Value = Arc<str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Arc<str>, E> {
        Ok(text.into())
    }
}

text_id! {
    /// Names a thread: a sequence of runs that share one state.
    ThreadId
}
text_id! {
    /// Names a node in its graph.
    NodeName
}

/// The separator between a thread's name and the task whose subgraph runs on a thread below it.
const BELOW: char = '\u{1f}';

/// The prefix of the last part of a deleted thread's name. It is not hexadecimal, so no task's id begins with it.
const REMNANT: &str = "deleted ";

impl ThreadId {
    /// Returns the thread of the subgraph that `task` runs on this thread.
    #[must_use]
    pub fn below(&self, task: TaskId) -> Self {
        alloc::format!("{self}{BELOW}{task}").into()
    }

    /// Returns the thread at the top, and the tasks that lead from it to this thread, separated by `|`.
    #[cfg(feature = "tokio")]
    pub(crate) fn levels(&self) -> (&str, String) {
        match self.0.split_once(BELOW) {
            Some((root, tasks)) => (root, tasks.replace(BELOW, "|")),
            None => (&self.0, String::new()),
        }
    }

    /// Returns `true` if this is `other`, or a thread of one of its subgraphs.
    #[must_use]
    pub fn is_on_or_below(&self, other: &Self) -> bool {
        self.0.strip_prefix(other.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(BELOW))
    }

    /// Returns the thread whose task runs this one, if this is a subgraph's thread.
    #[must_use]
    pub fn above(&self) -> Option<Self> {
        self.0.rsplit_once(BELOW).map(|(above, _)| above.into())
    }

    /// Returns the name under which a deleted thread is kept for threads that share its past. `number`
    /// distinguishes it from other threads of this name. [`is_below`](Self::is_below) returns `true` for it.
    #[must_use]
    pub fn remnant(&self, number: u64) -> Self {
        alloc::format!("{self}{BELOW}{REMNANT}{number}").into()
    }

    /// Returns the name that the thread had before it was deleted, if it is a [`remnant`](Self::remnant); otherwise
    /// its name.
    #[must_use]
    pub fn before_deletion(&self) -> Self {
        match self.0.rsplit_once(BELOW) {
            Some((name, last)) if last.starts_with(REMNANT) => name.into(),
            _ => self.clone(),
        }
    }

    /// Returns `true` if deleting `deleted` also removes this thread, unless others need it: it is on or below that
    /// thread, or remains from an earlier deletion of it. `is_there` returns `true` for names of existing threads.
    pub fn goes_with(&self, deleted: &Self, is_there: impl Fn(&Self) -> bool) -> bool {
        let left_over = || match self.0.split_once(BELOW) {
            Some((root, _)) => self.before_deletion() != *self || !is_there(&root.into()),
            None => false,
        };
        self.is_on_or_below(deleted) || left_over()
    }

    /// Returns `true` if this is a subgraph's thread. Such threads are not listed, and run as part of the thread
    /// above them.
    #[must_use]
    pub fn is_below(&self) -> bool {
        self.0.contains(BELOW)
    }
}

/// The stored name of START.
pub(crate) const START_NAME: &str = "__start__";

/// The stored name of END.
pub(crate) const END_NAME: &str = "__end__";

/// The name under which the writes of an edit are stored.
pub(crate) const EDIT_NAME: &str = "__edit__";

impl NodeName {
    /// Returns `true` if this is START, whose task merges the input of a run.
    #[must_use]
    pub fn is_start(&self) -> bool {
        self.as_str() == START_NAME
    }

    /// Returns `true` if this is END. A subgraph that took an exit has END as its next task, with the decision as
    /// the input.
    #[must_use]
    pub fn is_end(&self) -> bool {
        self.as_str() == END_NAME
    }

    /// Returns `true` if this stands for an edit instead of a node that ran.
    #[must_use]
    pub fn is_edit(&self) -> bool {
        self.as_str() == EDIT_NAME
    }
}

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, uuid::Error> {
                text.parse().map(Self)
            }
        }
    };
}

uuid_id! {
    /// Names a checkpoint. A UUIDv7: ids sort by time as text, though only the store's sequence orders them.
    CheckpointId
}
uuid_id! {
    /// Names one run of a graph on a thread: from an input, a resume or an answer until it stops.
    RunId
}

impl CheckpointId {
    /// Returns the time at which the id was drawn, in milliseconds since the Unix epoch: the first part of a
    /// UUIDv7.
    #[must_use]
    pub fn unix_ms(self) -> u64 {
        let (high, low, ..) = self.0.as_fields();
        u64::from(high) << 16 | u64::from(low)
    }
}

macro_rules! hash_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; 16]);

        impl $name {
            /// Creates the id with these bytes.
            #[must_use]
            pub fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(bytes)
            }

            /// Returns the bytes.
            #[must_use]
            pub fn as_bytes(&self) -> &[u8; 16] {
                &self.0
            }

            /// Returns the first 16 bytes of the BLAKE3 hash of `parts`, each preceded by its length.
            pub(crate) fn hash(parts: &[&[u8]]) -> Self {
                let mut hasher = blake3::Hasher::new();
                for part in parts {
                    hasher.update(&(part.len() as u64).to_le_bytes());
                    hasher.update(part);
                }
                let mut bytes = [0; 16];
                bytes.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
                Self(bytes)
            }

            /// Writes the text into `buffer`, and returns it.
            fn text<'b>(&self, buffer: &'b mut [u8; 32]) -> &'b str {
                Uuid::from_bytes(self.0).simple().encode_lower(buffer)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.text(&mut [0; 32]))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;

            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                let mut bytes = [0; 16];
                if text.len() != 32 || !text.is_ascii() {
                    return Err(ParseIdError);
                }
                for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
                    let digits = core::str::from_utf8(digits).map_err(|_| ParseIdError)?;
                    *byte = u8::from_str_radix(digits, 16).map_err(|_| ParseIdError)?;
                }
                Ok(Self(bytes))
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.text(&mut [0; 32]))
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

hash_id! {
    /// Identifies a task: the same work has the same id in every process and after every resume.
    TaskId
}
hash_id! {
    /// Identifies one question of one task.
    InterruptId
}

hash_id! {
    /// The key that an effect sends to the other side, so that a repetition is recognised. It is the same in every
    /// attempt and after every resume, and different for every other effect, thread and fork. Its text is 32
    /// hexadecimal digits.
    IdempotencyKey
}

hash_id! {
    /// A short hash that identifies a schema or a topology.
    Fingerprint
}

impl Fingerprint {
    /// Returns the fingerprint of `value`'s JSON form.
    ///
    /// # Panics
    /// Panics if `value` has no JSON form. Schemas and topologies always have one.
    #[must_use]
    pub fn of<T: Serialize>(value: &T) -> Self {
        let text = serde_json::to_string(value).expect("a description of plain data has a JSON form");
        Self::hash(&[text.as_bytes()])
    }
}

impl TaskId {
    /// Returns the id of a task that was planned on `base`. Tasks of other branches and other steps have other ids.
    #[must_use]
    pub fn derive(
        base: CheckpointId,
        namespace: &str,
        step: i64,
        node: &NodeName,
        each: Option<(u32, u32)>,
    ) -> Self {
        let (producer, index) = each.map_or((u32::MAX, u32::MAX), |each| each);
        Self::hash(&[
            base.0.as_bytes(),
            namespace.as_bytes(),
            &step.to_le_bytes(),
            node.as_str().as_bytes(),
            &producer.to_le_bytes(),
            &index.to_le_bytes(),
        ])
    }
}

impl IdempotencyKey {
    /// Returns the key of an effect of a task on a thread.
    #[must_use]
    pub fn derive(thread: &ThreadId, task: TaskId, name: &str, key: &str, occurrence: u32) -> Self {
        let parts = [thread.as_str().as_bytes(), task.as_bytes(), name.as_bytes(), key.as_bytes()];
        let [thread, task, name, key] = parts;
        Self::hash(&[thread, task, name, key, &occurrence.to_le_bytes()])
    }
}

impl InterruptId {
    /// Returns the id of a question. Another text under the same key has another id, so that it never gets the
    /// answer to the old one.
    #[must_use]
    pub fn derive(task: TaskId, key: &str, occurrence: u32, question: &str) -> Self {
        Self::hash(&[task.as_bytes(), key.as_bytes(), &occurrence.to_le_bytes(), question.as_bytes()])
    }
}

/// The error of parsing a text that is not 32 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an id is 32 hexadecimal digits")]
pub struct ParseIdError;
