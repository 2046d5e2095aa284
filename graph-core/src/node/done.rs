//! The result of a task, without its types.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::any::Any;

use super::outcome::Output;
use crate::checkpoint::{Handled, Kept, RouteRecord};
use crate::state::{ErasedUpdate, FieldId, LoggedWrite, State};

/// The result of a task: its writes and its decision, without their types. On its way from the node to the barrier it
/// gets the forms in which it is stored.
#[derive(Default)]
#[doc(hidden)]
pub struct Done {
    /// Its writes; `None` once they are merged.
    pub(crate) update: Option<Box<dyn ErasedUpdate>>,
    pub(crate) decision: Option<Box<dyn Any + Send>>,
    /// The logged form of the update; empty when it is neither stored nor observed.
    pub(crate) writes: Vec<LoggedWrite>,
    /// `None` while it is empty: a result is moved often.
    pub(crate) record: Option<Box<Record>>,
}

/// Further data of some results that is stored, or reported to observers.
#[derive(Default)]
pub(crate) struct Record {
    pub(crate) route: Option<RouteRecord>,
    /// The checkpoint from which a subgraph that keeps its state continues.
    pub(crate) kept: Option<Kept>,
    /// The node's failure, where this is its error handler's result.
    pub(crate) handled: Option<Box<Handled>>,
    /// `true` if the result comes from an earlier run of the node.
    pub(crate) cached: bool,
    /// Those of its fields that live for one superstep, where its update was merged before the barrier.
    pub(crate) one_step: Vec<FieldId>,
}

static NOTHING: Record =
    Record { route: None, kept: None, handled: None, cached: false, one_step: Vec::new() };

impl Done {
    /// A result read back from storage.
    pub(crate) fn stored(update: Box<dyn ErasedUpdate>, writes: Vec<LoggedWrite>, record: Record) -> Self {
        Self { update: Some(update), decision: None, writes, record: Some(Box::new(record)) }
    }

    pub(crate) fn record(&self) -> &Record {
        self.record.as_deref().unwrap_or(&NOTHING)
    }

    pub(crate) fn record_mut(&mut self) -> &mut Record {
        self.record.get_or_insert_default()
    }

    /// Returns the parts of it that are stored.
    pub(crate) fn into_stored(self) -> (Vec<LoggedWrite>, Record) {
        (self.writes, self.record.map(|record| *record).unwrap_or_default())
    }
}

impl<S: State, R: Send + 'static> From<Output<S, R>> for Done {
    fn from(output: Output<S, R>) -> Self {
        Self {
            update: output.update.map(|update| Box::new(update) as Box<dyn ErasedUpdate>),
            // A zero-sized route, `()` above all, costs no allocation.
            decision: Some(Box::new(output.route)),
            ..Self::default()
        }
    }
}
