//! The head of a thread, from which a run begins.

use std::boxed::Box;
use std::sync::Arc;
use std::vec::Vec;

use super::current_state::CurrentState;
use super::field_map::{FieldMap, load};
use super::heads::KeptHead;
use super::thread_error::ThreadError;
use crate::checkpoint::{Carried, Checkpoint, Loaded};
use crate::graph::Program;
use crate::id::CheckpointId;
use crate::state::{FieldId, FieldValue, Lifetime, Schema};

/// A checkpoint with the unfinished work on top of it. Its values are those that the store returned, or the state that
/// an earlier run of the graph left in memory.
pub(crate) struct ThreadHead {
    pub(crate) checkpoint: Arc<Checkpoint>,
    pub(crate) work: Carried,
    pub(crate) values: HeadValues,
}

/// The values of a head.
pub(crate) enum HeadValues {
    /// Values as they are stored, under this schema.
    Stored { schema: Box<Schema>, values: Vec<FieldValue> },
    /// A state of the program, kept in memory.
    Kept(Box<KeptHead>),
}

impl From<Loaded> for ThreadHead {
    fn from(loaded: Loaded) -> Self {
        let Loaded { checkpoint, values, schema, results, failures, asks, effects, .. } = loaded;
        Self {
            checkpoint: Arc::new(checkpoint),
            work: Carried { results, failures, asks, effects },
            values: HeadValues::Stored { schema: Box::new(schema), values },
        }
    }
}

impl ThreadHead {
    /// Returns the head that a run left in memory, with the work that the store has on top of it.
    pub(crate) fn kept(kept: KeptHead, work: Carried) -> Self {
        let checkpoint = Arc::clone(&kept.checkpoint);
        Self { checkpoint, work, values: HeadValues::Kept(Box::new(kept)) }
    }

    /// Returns the schema under which the head was written.
    pub(crate) fn schema<'a>(&'a self, program: &'a Program) -> &'a Schema {
        match &self.values {
            HeadValues::Stored { schema, .. } => schema,
            HeadValues::Kept(_) => &program.schema,
        }
    }
}

impl HeadValues {
    /// Returns the state with these values at `checkpoint`, and the mapping from the checkpoint's schema to the
    /// program's if the two differ.
    pub(crate) fn state(
        self,
        program: &Program,
        checkpoint: CheckpointId,
    ) -> Result<(CurrentState, Option<FieldMap>), ThreadError> {
        match self {
            Self::Stored { schema, values } => {
                let (state, older) = load(program, checkpoint, &schema, &values)?;
                Ok((CurrentState::of(state, &values), older))
            }
            Self::Kept(mut kept) => {
                let unstored = |field: &FieldId| program.schema.field(*field).lifetime == Lifetime::Unstored;
                kept.state.forget(&program.schema.ids().filter(unstored).collect::<Vec<_>>());
                Ok((kept.state, None))
            }
        }
    }
}
