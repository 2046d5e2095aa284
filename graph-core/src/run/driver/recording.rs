//! The part of a recording that a replayed superstep uses in addition to its journal: the recorded ends of its
//! subgraphs.

use std::sync::Arc;
use std::time::Duration;
use std::vec::Vec;

use spin::Mutex;
use uuid::Uuid;

use crate::checkpoint::{At, Loaded};
use crate::error::NodeError;
use crate::id::{CheckpointId, NodeName, ThreadId};
use crate::node::{Ambient, Note, Tape, TaskCell};
use crate::run::runtime::shared::Runtime;
use crate::state::LoggedWrite;

/// The recording that the tasks of one superstep use, and the subgraphs whose recorded ends they used.
#[derive(Default)]
pub(crate) struct Recording {
    pub(crate) tape: Arc<Tape>,
    pub(crate) below: Mutex<Vec<Below>>,
}

/// A subgraph whose recorded end a replayed task used. The subgraph itself still has to be verified.
pub(crate) struct Below {
    pub(crate) node: NodeName,
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) thread: ThreadId,
    pub(crate) head: CheckpointId,
    /// The input of the subgraph, as far as this run can tell.
    pub(crate) entry: Vec<LoggedWrite>,
}

impl Recording {
    /// Returns the recorded end of the subgraph that a task runs on `thread`.
    pub(crate) async fn subgraph(
        &self,
        runtime: &Arc<Runtime>,
        thread: &ThreadId,
        cell: &TaskCell,
        entry: Vec<LoggedWrite>,
    ) -> Result<Loaded, NodeError> {
        let head = runtime.load(thread, At::Head).await?;
        let Some(head) = head.filter(|head| head.checkpoint.frontier.nodes().next().is_none()) else {
            self.tape.note(cell.facts.task, Note::NoSubgraph);
            return Err(NodeError::terminal("the recording has no end of the subgraph"));
        };
        self.below.lock().push(Below {
            node: cell.node().clone(),
            runtime: Arc::clone(runtime),
            thread: thread.clone(),
            head: head.checkpoint.id,
            entry,
        });
        Ok(head)
    }
}

/// The recorded id of a superstep's barrier, as a source of ids. Its clock shows the time in that id.
pub(crate) struct Recorded(pub(crate) CheckpointId);

impl Ambient for Recorded {
    fn id(&self) -> Uuid {
        self.0.0
    }

    fn now(&self) -> Duration {
        Duration::from_millis(self.0.unix_ms())
    }

    fn roll(&self) -> f64 {
        0.0
    }
}
