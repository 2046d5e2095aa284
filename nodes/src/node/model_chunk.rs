//! What a model says, as an event of the run.

use serde::{Deserialize, Serialize};

use crate::model::{ModelEvent, Purpose};

/// One piece of what a model says, emitted as a message chunk while a run is observed.
///
/// A call whose outcome is taken from the record is said again, in pieces of a word.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelChunk {
    /// What the call is for.
    pub purpose: Purpose,
    /// What the model says.
    pub event: ModelEvent,
}
