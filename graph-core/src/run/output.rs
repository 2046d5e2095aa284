//! What a task gave that finished.

use std::any::Any;
use std::boxed::Box;
use std::vec::Vec;

use crate::checkpoint::{Handled, Kept, RouteRecord};
use crate::state::{ErasedUpdate, FieldId, LoggedWrite};

/// What a node gave, before its route is mapped.
#[derive(Default)]
pub(crate) struct Output {
    /// Its writes; `None` once they are merged.
    pub(crate) update: Option<Box<dyn ErasedUpdate>>,
    pub(crate) decision: Option<Box<dyn Any + Send>>,
    /// The logged form of the update; empty when nobody stores or observes it.
    pub(crate) writes: Vec<LoggedWrite>,
    /// `None` while there is nothing in it: an output is passed on from hand to hand.
    pub(crate) record: Option<Box<Record>>,
}

/// What else is stored of some outputs, or told to observers.
#[derive(Default)]
pub(crate) struct Record {
    pub(crate) route: Option<RouteRecord>,
    /// Where its subgraph goes on, if that keeps its state.
    pub(crate) kept: Option<Kept>,
    /// The node's failure, where this is its error handler's.
    pub(crate) handled: Option<Box<Handled>>,
    /// Whether it is what an earlier run of the node gave.
    pub(crate) cached: bool,
    /// Those of its fields that live for one superstep, where its update was merged before the barrier.
    pub(crate) one_step: Vec<FieldId>,
}

static NOTHING: Record =
    Record { route: None, kept: None, handled: None, cached: false, one_step: Vec::new() };

impl Output {
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

    /// What is stored of it.
    pub(crate) fn into_stored(self) -> (Vec<LoggedWrite>, Record) {
        (self.writes, self.record.map(|record| *record).unwrap_or_default())
    }
}
