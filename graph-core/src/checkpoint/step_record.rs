//! The steps of a thread: checkpoints with their superstep and without their state.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::commit::Carried;
use super::emitted::Emitted;
use super::{Checkpoint, Seq};
use crate::id::{NodeName, ThreadId};
use crate::state::Schema;

/// A checkpoint of a thread's past with the work of its superstep and without the values of its fields. Reading it
/// folds nothing, so the cost depends on its superstep only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepRecord {
    /// Its place in the store's order.
    pub seq: Seq,
    /// The graph that the thread belongs to.
    pub graph: NodeName,
    /// The thread on which it was written; another thread for the shared past of a fork.
    pub thread: ThreadId,
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// The schema that its field ids refer to.
    pub schema: Arc<Schema>,
    /// The work on top of it from the thread that continued it: answered questions and ended effects, and on the
    /// head all unfinished work.
    pub work: Carried,
    /// The events that the tasks of its superstep emitted, by the tasks' positions, for tasks that emitted events
    /// in a run that keeps them.
    pub emitted: Vec<(u32, Emitted)>,
}
