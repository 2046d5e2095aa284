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
    /// The number of supersteps with the recorded result, including those of subgraphs.
    pub supersteps: u64,
    /// The number of supersteps with another result.
    pub divergent: u64,
    /// The first difference, in the order of the run.
    pub first: Option<Box<Divergence>>,
    /// The tasks whose recorded outcome was used without verification.
    pub unverified: Vec<Unverified>,
    /// `true` if some supersteps were recorded with another topology of the graph. That alone is not a divergence.
    pub other_topology: bool,
}

impl Replay {
    /// Returns `true` if every superstep gave the recorded result.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        self.first.is_none()
    }

    /// Returns the replay if every superstep gave the recorded result.
    ///
    /// # Errors
    /// Returns the first divergence.
    pub fn agrees(self) -> Result<Self, Box<Divergence>> {
        match self.first {
            None => Ok(self),
            Some(first) => Err(first),
        }
    }
}

/// The place at which a replay differs from the recording.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Divergence {
    /// The thread; a subgraph's thread if the difference is in a subgraph.
    pub thread: ThreadId,
    /// The nodes whose subgraphs lead there, from the graph at the top down.
    pub path: Vec<NodeName>,
    /// The recorded checkpoint that the replay did not reproduce.
    pub checkpoint: CheckpointId,
    /// Its step.
    pub step: i64,
    /// The node, if the difference belongs to one.
    pub node: Option<NodeName>,
    /// The difference between the recording and the replay.
    pub difference: Difference,
}

/// A difference between a replay and the recording.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Difference {
    /// The code reached an effect without a recorded outcome. The effect did not run.
    EffectNotRecorded {
        /// The effect's name.
        effect: String,
        /// Its key; empty for none.
        key: String,
        /// The key of a recorded effect with the same name that the code had not reached.
        recorded_key: Option<String>,
    },
    /// The code did not reach a recorded effect.
    EffectNotReached {
        /// The effect's name.
        effect: String,
        /// Its key; empty for none.
        key: String,
    },
    /// The code asked a question without a recorded answer.
    Question {
        /// The question's key.
        key: String,
        /// The question.
        question: Json,
    },
    /// The code failed.
    Failed {
        /// The error.
        error: ErrorReport,
    },
    /// A value of the checkpoint differs.
    Value {
        /// The path of the value in the checkpoint's JSON: `tasks[0].writes[1].write.op.set`.
        path: String,
        /// The field of the state to which it belongs.
        field: Option<String>,
        /// The recorded value; `None` if there is none. Values of secret fields are redacted.
        recorded: Option<Json>,
        /// The replayed value; `None` if there is none.
        replayed: Option<Json>,
    },
    /// The superstep cannot be run: a node no longer exists, a value does not decode, or writes can no longer be
    /// merged.
    NotRunnable {
        /// The reason.
        reason: String,
    },
    /// The superstep was recorded with another schema of the state, so its writes cannot be compared.
    Schema,
}

/// A task whose recorded outcome was used without verification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Unverified {
    /// The thread; a subgraph's thread if the task is in a subgraph.
    pub thread: ThreadId,
    /// The recorded checkpoint of its superstep.
    pub checkpoint: CheckpointId,
    /// Its step.
    pub step: i64,
    /// Its node.
    pub node: NodeName,
    /// The reason.
    pub why: WhyUnverified,
}

/// The reason why a task cannot be verified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WhyUnverified {
    /// Its node has a cache and did not run: the outcome came from the cache.
    Cached,
    /// An edit came before it. The edit may have played it, or kept an earlier result.
    Edited,
    /// This effect failed with an error that cannot be recreated from its text.
    Error {
        /// The effect's name.
        effect: String,
    },
    /// The thread of its subgraph was deleted.
    Subgraph,
    /// The checkpoint on which its superstep is based was pruned.
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

/// Displays an effect by its name and key.
struct Named<'t>(&'t str, &'t str);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self(name, "") => write!(f, "{name:?}"),
            Self(name, key) => write!(f, "{name:?} with key {key:?}"),
        }
    }
}

/// Displays a value, if there is one.
struct Shown<'v>(&'v Option<Json>);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(value) => value.fmt(f),
            None => f.write_str("nothing"),
        }
    }
}
