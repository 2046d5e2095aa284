//! The result of a task, without its types.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::any::Any;

use super::outcome::Output;
use crate::checkpoint::{Handled, Kept, RouteRecord};
use crate::state::{ErasedUpdate, FieldId, LoggedWrite, State};

/// The result of a task without its types: its writes and its decision. The forms in which it is stored are added
/// between the node and the barrier.
#[derive(Default)]
#[doc(hidden)]
pub struct Done {
    /// The writes; `None` once they are merged.
    pub(crate) update: Option<Box<dyn ErasedUpdate>>,
    pub(crate) decision: Option<Box<dyn Any + Send>>,
    /// The logged form of the update; empty when it is neither stored nor observed.
    pub(crate) writes: Vec<LoggedWrite>,
    /// The further data; `None` if there is none, because a result is moved often and should be small.
    pub(crate) record: Option<Box<Record>>,
}

/// Further data of a result that is stored or reported to observers.
#[derive(Default)]
pub(crate) struct Record {
    pub(crate) route: Option<RouteRecord>,
    /// The checkpoint from which a subgraph that keeps its state continues.
    pub(crate) kept: Option<Kept>,
    /// The node's failure, if this is the result of its error handler.
    pub(crate) handled: Option<Box<Handled>>,
    /// `true` if the result comes from an earlier run of the node.
    pub(crate) cached: bool,
    /// The written fields that last for one superstep, if the update was merged before the barrier.
    pub(crate) one_step: Vec<FieldId>,
}

static NOTHING: Record =
    Record { route: None, kept: None, handled: None, cached: false, one_step: Vec::new() };

impl Done {
    /// Creates a result that was read from storage.
    pub(crate) fn stored(update: Box<dyn ErasedUpdate>, writes: Vec<LoggedWrite>, record: Record) -> Self {
        Self { update: Some(update), decision: None, writes, record: Some(Box::new(record)) }
    }

    pub(crate) fn record(&self) -> &Record {
        self.record.as_deref().unwrap_or(&NOTHING)
    }

    pub(crate) fn record_mut(&mut self) -> &mut Record {
        self.record.get_or_insert_default()
    }

    /// Returns the parts of the result that are stored.
    pub(crate) fn into_stored(self) -> (Vec<LoggedWrite>, Record) {
        (self.writes, self.record.map(|record| *record).unwrap_or_default())
    }
}

impl<S: State, R: Send + 'static> From<Output<S, R>> for Done {
    fn from(output: Output<S, R>) -> Self {
        Self {
            update: output.update.map(|update| Box::new(update) as Box<dyn ErasedUpdate>),
            // Boxing a zero-sized route, such as `()`, does not allocate.
            decision: Some(Box::new(output.route)),
            ..Self::default()
        }
    }
}
