//! The report of a replay.

use std::boxed::Box;
use std::fmt;
use std::string::String;
use std::vec::Vec;

use serde::Serialize;

use crate::error::ErrorReport;
use crate::id::{CheckpointId, NodeName, ThreadId};
use crate::state::Json;

/// The report of a replay.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Replay {
    /// The number of supersteps that came out as recorded, those of subgraphs included.
    pub supersteps: u64,
    /// The number of supersteps that did not.
    pub divergent: u64,
    /// The first thing in which they differ, in the order in which the run went.
    pub first: Option<Box<Divergence>>,
    /// The tasks whose recorded outcome was taken because it cannot be verified.
    pub unverified: Vec<Unverified>,
    /// `true` if some supersteps were recorded with another topology of the graph. That alone is no divergence.
    pub other_topology: bool,
}

impl Replay {
    /// Returns `true` if every superstep came out as recorded.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        self.first.is_none()
    }

    /// The replay, when every superstep came out as it is recorded.
    ///
    /// # Errors
    /// The first divergence.
    pub fn agrees(self) -> Result<Self, Box<Divergence>> {
        match self.first {
            None => Ok(self),
            Some(first) => Err(first),
        }
    }
}

/// A place at which a replay did not come to what is recorded.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Divergence {
    /// The thread: a subgraph's where it is in one.
    pub thread: ThreadId,
    /// The nodes whose subgraphs lead there, from the graph down.
    pub path: Vec<NodeName>,
    /// The recorded checkpoint that was not come to.
    pub checkpoint: CheckpointId,
    /// Its step.
    pub step: i64,
    /// The node, where one can be named.
    pub node: Option<NodeName>,
    /// The difference between the recording and the replay.
    pub difference: Difference,
}

/// In which way a replay differs from what is recorded.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Difference {
    /// The code came to an effect that has no recorded outcome. It did not run.
    EffectNotRecorded {
        /// The effect's name.
        effect: String,
        /// Its key; empty for none.
        key: String,
        /// The key of a recorded effect of the same name that the code had not come to.
        recorded_key: Option<String>,
    },
    /// An effect is recorded that the code never came to.
    EffectNotReached {
        /// The effect's name.
        effect: String,
        /// Its key; empty for none.
        key: String,
    },
    /// The code asked what has no recorded answer.
    Question {
        /// The question's key.
        key: String,
        /// The question.
        question: Json,
    },
    /// The code failed.
    Failed {
        /// With this.
        error: ErrorReport,
    },
    /// A value of the checkpoint is another one.
    Value {
        /// Where in the checkpoint, as JSON: `tasks[0].writes[1].write.op.set`.
        path: String,
        /// The field of the state that it is of.
        field: Option<String>,
        /// The recorded value; `None` if there is none. Values of secret fields are not shown.
        recorded: Option<Json>,
        /// The replayed value; `None` if there is none.
        replayed: Option<Json>,
    },
    /// The superstep cannot be run: a node is gone, a value does not decode, or writes do not merge any more.
    NotRunnable {
        /// Why.
        reason: String,
    },
    /// It was recorded with another schema of the state, so its writes cannot be compared.
    Schema,
}

/// A task whose recorded outcome was taken because it cannot be verified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Unverified {
    /// The thread: a subgraph's where it is in one.
    pub thread: ThreadId,
    /// The recorded checkpoint that it is of.
    pub checkpoint: CheckpointId,
    /// Its step.
    pub step: i64,
    /// Its node.
    pub node: NodeName,
    /// Why it cannot be verified.
    pub why: WhyUnverified,
}

/// Why a task cannot be verified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WhyUnverified {
    /// Its node has a cache and did not run: the outcome came from the cache.
    Cached,
    /// An edit came before it, with which it may have been played or have kept a result of before the edit.
    Edited,
    /// This effect failed, with an error of a type that cannot be made again from its text.
    Error {
        /// The effect's name.
        effect: String,
    },
    /// The thread of its subgraph was deleted.
    Subgraph,
    /// The checkpoint that its superstep began at was pruned.
    Pruned,
}

impl std::error::Error for Divergence {}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {}", self.step)?;
        for node in &self.path {
            write!(f, " of {node}")?;
        }
        if let Some(node) = &self.node {
            write!(f, ", node {node}")?;
        }
        write!(f, ": {} (checkpoint {})", self.difference, self.checkpoint)
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EffectNotRecorded { effect, key, recorded_key } => {
                write!(f, "effect {}", Named(effect, key))?;
                match recorded_key {
                    Some(recorded) => write!(f, " is recorded as {}", Named(effect, recorded)),
                    None => f.write_str(" is not recorded"),
                }
            }
            Self::EffectNotReached { effect, key } => {
                write!(f, "effect {} is recorded, and the code never came to it", Named(effect, key))
            }
            Self::Question { key, question } => {
                write!(f, "question {question} with key {key:?} has no recorded answer")
            }
            Self::Failed { error } => write!(f, "it failed: {error}"),
            Self::Value { path, field, recorded, replayed } => {
                write!(f, "{path}")?;
                if let Some(field) = field {
                    write!(f, " (field {field})")?;
                }
                write!(f, " is recorded as {}, and came out as {}", Shown(recorded), Shown(replayed))
            }
            Self::NotRunnable { reason } => write!(f, "the superstep cannot be run: {reason}"),
            Self::Schema => f.write_str("it was recorded with another schema of the state"),
        }
    }
}

/// An effect by its name and key.
struct Named<'t>(&'t str, &'t str);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self(name, "") => write!(f, "{name:?}"),
            Self(name, key) => write!(f, "{name:?} with key {key:?}"),
        }
    }
}

/// A value, if there is one.
struct Shown<'v>(&'v Option<Json>);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(value) => value.fmt(f),
            None => f.write_str("nothing"),
        }
    }
}
