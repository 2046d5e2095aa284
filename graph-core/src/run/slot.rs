//! What the driver has of each task of the running superstep.

use std::boxed::Box;
use std::sync::Arc;
use std::vec::Vec;

use crate::checkpoint::{AskRecord, EffectRecord, FailureRecord, TargetRecord};
use crate::error::NodeError;
use crate::node::{Done, TaskCell};
use crate::state::LoggedWrite;

/// One task of the running superstep, as the driver sees it.
#[derive(Default)]
pub(super) struct Slot {
    pub(super) cell: Option<Arc<TaskCell>>,
    pub(super) output: Option<Done>,
    /// Its targets as they are recorded; `None` while it has none.
    pub(super) targets: Option<Vec<TargetRecord>>,
    pub(super) rare: Option<Box<Rare>>,
}

/// What few tasks have, kept out of the way of the many.
#[derive(Default)]
pub(super) struct Rare {
    /// What storage knows of its questions and effects.
    pub(super) asks: Vec<AskRecord>,
    pub(super) effects: Vec<EffectRecord>,
    /// The questions that it waits for.
    pub(super) open: Vec<AskRecord>,
    /// Why it failed, and in which attempt.
    pub(super) error: Option<(NodeError, u32)>,
    /// What the node failed with, once its error handler has the task.
    pub(super) failure: Option<Arc<FailureRecord>>,
}

impl Slot {
    /// What the task wrote, in its logged form.
    pub(super) fn writes(&self) -> &[LoggedWrite] {
        self.output.as_ref().map_or(&[], |output| &output.writes)
    }

    /// Why the task failed when it last did, and in which attempt.
    pub(super) fn error(&self) -> Option<(&NodeError, u32)> {
        self.rare.as_ref()?.error.as_ref().map(|(error, attempt)| (error, *attempt))
    }

    pub(super) fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }
}
