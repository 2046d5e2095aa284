//! The driver's data for each task of the running superstep.

use std::boxed::Box;
use std::sync::Arc;
use std::vec::Vec;

use crate::checkpoint::{AskRecord, EffectRecord, FailureRecord, TargetRecord};
use crate::error::NodeError;
use crate::node::{Done, TaskCell};
use crate::state::LoggedWrite;

/// A task of the running superstep, with the driver's data.
#[derive(Default)]
pub(crate) struct Slot {
    pub(crate) cell: Option<Arc<TaskCell>>,
    pub(crate) output: Option<Done>,
    /// Its targets in their recorded form; `None` while it has none.
    pub(crate) targets: Option<Vec<TargetRecord>>,
    pub(crate) rare: Option<Box<Rare>>,
}

/// The data that few tasks have, boxed to keep [`Slot`] small.
#[derive(Default)]
pub(crate) struct Rare {
    /// The stored records of its questions and effects.
    pub(crate) asks: Vec<AskRecord>,
    pub(crate) effects: Vec<EffectRecord>,
    /// The questions for whose answers it waits.
    pub(crate) open: Vec<AskRecord>,
    /// The error of its last failure, and the number of that attempt.
    pub(crate) error: Option<(NodeError, u32)>,
    /// The node's failure, once its error handler runs the task.
    pub(crate) failure: Option<Arc<FailureRecord>>,
}

impl Slot {
    /// Returns the task's writes in their logged form.
    pub(crate) fn writes(&self) -> &[LoggedWrite] {
        self.output.as_ref().map_or(&[], |output| &output.writes)
    }

    /// Returns the error of the task's last failure, and the number of that attempt.
    pub(crate) fn error(&self) -> Option<(&NodeError, u32)> {
        self.rare.as_ref()?.error.as_ref().map(|(error, attempt)| (error, *attempt))
    }

    pub(crate) fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }
}
