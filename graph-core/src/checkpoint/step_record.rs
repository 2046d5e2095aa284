//! A checkpoint as those read it who want to know what happened, not what the state is.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::commit::Carried;
use super::emitted::Emitted;
use super::{Checkpoint, Seq};
use crate::id::{NodeName, ThreadId};
use crate::state::Schema;

/// One checkpoint of a thread's past with what happened to it, and without the values that it holds: nothing is
/// folded, so it costs what its superstep did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepRecord {
    /// Its place in the store's order.
    pub seq: Seq,
    /// The graph that the thread belongs to.
    pub graph: NodeName,
    /// The thread it was written on: another one for the shared past of a fork.
    pub thread: ThreadId,
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// The schema that its field ids refer to.
    pub schema: Arc<Schema>,
    /// The work that the thread that continued it left on top of it: answered questions and ended effects, and on the
    /// head all unfinished work.
    pub work: Carried,
    /// The events that the tasks of its superstep emitted, by the tasks' positions: only of tasks that emitted
    /// something in a run that keeps events.
    pub emitted: Vec<(u32, Emitted)>,
}
