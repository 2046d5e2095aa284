//! The data that the tasks of one run share with its driver.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::Any;
use core::task::{Context, Poll};

use spin::Mutex;

use super::ambient::Ambient;
use super::cassette::Deck;
use super::cell::{Tape, TaskCell};
use super::revoked::Revoked;
use crate::checkpoint::{Checkpointer, Kept};
use crate::id::{NodeName, RunId, ThreadId};
use crate::state::Json;
use crate::store::Store;

/// The data that the tasks of one run share.
pub(crate) struct RunCell {
    pub(crate) thread: ThreadId,
    pub(crate) run: RunId,
    pub(crate) saver: Option<Arc<dyn Checkpointer>>,
    /// Receives custom events; `None` if the run neither has observers nor keeps events.
    pub(crate) sink: Option<Arc<dyn CustomSink>>,
    pub(crate) ambient: Arc<dyn Ambient>,
    /// The names of the graph's nodes, by position.
    pub(crate) nodes: Arc<[NodeName]>,
    /// The graph's context.
    pub(crate) context: Arc<dyn Any + Send + Sync>,
    /// The checkpoints from which subgraphs that keep their state continue, as of the last barrier.
    pub(crate) kept: Mutex<Vec<Kept>>,
    /// The driver's data for the subgraphs of this run, of the driver's own type.
    pub(crate) surroundings: Arc<dyn Any + Send + Sync>,
    /// The graph's store, which takes the time from the run.
    pub(crate) store: Option<Store>,
    /// The store for reused node results.
    pub(crate) cache: Option<Store>,
    /// The caller's metadata for the checkpoints of the run.
    pub(crate) metadata: BTreeMap<String, Json>,
    /// If this is a run of a subgraph: the attempt that runs it.
    pub(crate) around: Option<Around>,
    /// Collects the differences from the recording, in a replay.
    pub(crate) tape: Option<Arc<Tape>>,
    /// The recordings that replace the outside world, in a test.
    pub(crate) deck: Option<Arc<Deck>>,
    pub(crate) revoked: Revoked,
}

/// The attempt of a task that runs a subgraph.
#[derive(Clone)]
pub(crate) struct Around {
    cell: Arc<TaskCell>,
    attempt: u32,
}

impl Around {
    pub(crate) fn new(cell: Arc<TaskCell>) -> Self {
        Self { attempt: cell.attempt(), cell }
    }

    /// Returns the cell of the task that runs the subgraph.
    pub(super) fn cell(&self) -> &TaskCell {
        &self.cell
    }

    /// Returns the recordings that replace the outside world in the run of the surrounding graph.
    #[cfg(feature = "tokio")]
    pub(crate) fn deck(&self) -> Option<&Arc<Deck>> {
        self.cell.run.deck.as_ref()
    }

    fn is_over(&self) -> bool {
        !self.cell.is_current(self.attempt)
    }

    /// Waits until the attempt is over, even if its code still runs: its subgraph must stop then.
    #[cfg(feature = "tokio")]
    pub(crate) async fn over(&self) {
        self.cell.run.revoked.until(|| self.is_over()).await;
    }
}

/// Receives what nodes emit.
pub(crate) trait CustomSink: Send + Sync {
    fn custom(&self, task: &TaskCell, attempt: u32, name: &str, data: Json);

    fn message(&self, task: &TaskCell, attempt: u32, chunk: Json);

    /// Waits until the consumer of the run's events has caught up.
    fn poll_room(&self, context: &Context<'_>) -> Poll<()>;
}

impl RunCell {
    pub(crate) fn revoke(&self) {
        self.revoked.set();
    }

    /// Returns `true` if the run has ended, or the attempt that runs it as a subgraph.
    pub(crate) fn is_revoked(&self) -> bool {
        self.revoked.is_set() || self.around.as_ref().is_some_and(Around::is_over)
    }
}
