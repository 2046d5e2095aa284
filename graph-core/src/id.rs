//! The identities of things: newtypes, so that no two kinds are confused.

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
            /// The text.
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

/// Reads a text into the place where it stays.
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

/// Between a thread's name and the task whose subgraph has the thread below it.
const BELOW: char = '\u{1f}';

/// The beginning of the last part of a deleted thread's name. Tasks are named by hexadecimal digits.
const REMNANT: &str = "deleted ";

impl ThreadId {
    /// The thread of the subgraph that `task` runs on this thread.
    #[must_use]
    pub fn below(&self, task: TaskId) -> Self {
        alloc::format!("{self}{BELOW}{task}").into()
    }

    /// The thread at the top, and the tasks that lead from there to this one, with `|` between them.
    #[cfg(feature = "tokio")]
    pub(crate) fn levels(&self) -> (&str, String) {
        match self.0.split_once(BELOW) {
            Some((root, tasks)) => (root, tasks.replace(BELOW, "|")),
            None => (&self.0, String::new()),
        }
    }

    /// Returns `true` if it is `other`, or a thread of one of its subgraphs.
    #[must_use]
    pub fn is_on_or_below(&self, other: &Self) -> bool {
        self.0.strip_prefix(other.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(BELOW))
    }

    /// The thread whose task runs this one, if it is a subgraph's.
    #[must_use]
    pub fn above(&self) -> Option<Self> {
        self.0.rsplit_once(BELOW).map(|(above, _)| above.into())
    }

    /// The name under which a deleted thread stays for those that share its past; `number` tells it from other
    /// threads of this name. It counts as one that [`is_below`](Self::is_below).
    #[must_use]
    pub fn remnant(&self, number: u64) -> Self {
        alloc::format!("{self}{BELOW}{REMNANT}{number}").into()
    }

    /// The name that the thread had before it was deleted, if it is a [`remnant`](Self::remnant); otherwise its
    /// name.
    #[must_use]
    pub fn before_deletion(&self) -> Self {
        match self.0.rsplit_once(BELOW) {
            Some((name, last)) if last.starts_with(REMNANT) => name.into(),
            _ => self.clone(),
        }
    }

    /// Returns `true` if a store removes it together with `deleted`, unless others need it: it is on or below that
    /// thread, or an earlier deletion has left it. `is_there` tells whether a thread of a name exists.
    pub fn goes_with(&self, deleted: &Self, is_there: impl Fn(&Self) -> bool) -> bool {
        let left_over = || match self.0.split_once(BELOW) {
            Some((root, _)) => self.before_deletion() != *self || !is_there(&root.into()),
            None => false,
        };
        self.is_on_or_below(deleted) || left_over()
    }

    /// Returns `true` if it is a subgraph's thread. Such threads are not listed, and are run by the thread above them.
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
    /// Returns `true` if it is START's, whose task merges the input of a run.
    #[must_use]
    pub fn is_start(&self) -> bool {
        self.as_str() == START_NAME
    }

    /// Returns `true` if it is END's. A subgraph that was left has END as its next task, with the decision as the input.
    #[must_use]
    pub fn is_end(&self) -> bool {
        self.as_str() == END_NAME
    }

    /// Returns `true` if it stands for an edit instead of a node that ran.
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
    /// When the id was drawn, in milliseconds since the Unix epoch: the time that a UUIDv7 begins with.
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
            /// The id with these bytes.
            #[must_use]
            pub fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(bytes)
            }

            /// The bytes.
            #[must_use]
            pub fn as_bytes(&self) -> &[u8; 16] {
                &self.0
            }

            /// The first 16 bytes of the BLAKE3 hash of `parts`, each preceded by its length.
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
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
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
                serializer.collect_str(self)
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
    /// Names a task: the same work has the same id in every process and after every resume.
    TaskId
}
hash_id! {
    /// Names one question of one task.
    InterruptId
}

hash_id! {
    /// The key that an effect passes to the other side, so that a repetition of the effect is recognised: the same in
    /// every attempt and after every resume, and a different one for every other effect, thread and fork. Its text is
    /// 32 hexadecimal digits.
    IdempotencyKey
}

hash_id! {
    /// A short hash that names a schema or a topology.
    Fingerprint
}

impl Fingerprint {
    /// The fingerprint of `value`'s JSON form.
    ///
    /// # Panics
    /// When `value` has no JSON form; schemas and topologies always have one.
    #[must_use]
    pub fn of<T: Serialize>(value: &T) -> Self {
        let text = serde_json::to_string(value).expect("a description of plain data has a JSON form");
        Self::hash(&[text.as_bytes()])
    }
}

impl TaskId {
    /// The id of a task planned on `base`: a task of another branch or another step never shares it.
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
    /// The key of an effect of a task on a thread.
    #[must_use]
    pub fn derive(thread: &ThreadId, task: TaskId, name: &str, key: &str, occurrence: u32) -> Self {
        let parts = [thread.as_str().as_bytes(), task.as_bytes(), name.as_bytes(), key.as_bytes()];
        let [thread, task, name, key] = parts;
        Self::hash(&[thread, task, name, key, &occurrence.to_le_bytes()])
    }
}

impl InterruptId {
    /// The id of a question: another text under the same key is another question, so that it never gets the
    /// old one's answer.
    #[must_use]
    pub fn derive(task: TaskId, key: &str, occurrence: u32, question: &str) -> Self {
        Self::hash(&[task.as_bytes(), key.as_bytes(), &occurrence.to_le_bytes(), question.as_bytes()])
    }
}

/// A text that is not 32 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an id is 32 hexadecimal digits")]
pub struct ParseIdError;
