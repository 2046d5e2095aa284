//! Replays, which run recorded supersteps again from their journals and compare the results with the stored ones.
//!
//! ```text
//! ReplayRequest ─► Walk ─ each superstep, oldest first ─► Superstep ─► the one loop, for one barrier
//!                   │                                        │            ├ Silent: reads the store, writes nothing
//!                   │                                        │            └ Tape: effects have recorded outcomes
//!                   └─ each subgraph that ran in it, in turn └─► compare: byte for byte
//! ```
//!
//! Each superstep begins at the recorded checkpoint before it, so that one difference does not hide later ones.

mod compare;
mod report;
mod silent;
mod superstep;
mod walk;

use std::boxed::Box;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;

pub use self::report::{Difference, Divergence, Replay, Unverified, WhyUnverified};
use self::walk::{Walk, Way};
use crate::checkpoint::At;
use crate::id::{CheckpointId, ThreadId};
use crate::run::runtime::shared::Runtime;
use crate::run::runtime::thread_error::ThreadError;

/// A request to replay recorded supersteps. The replay happens when it is awaited.
///
/// The supersteps that led to a checkpoint are run once more, each from the recorded checkpoint before it, and the
/// results are compared with the stored ones, byte for byte. Nothing live happens: effects return their recorded
/// outcomes and their closures do not run, time and randomness come from the journal, questions have their recorded
/// answers, and an effect without a recorded outcome is a [`Difference`]. Nothing is written: no checkpoint, no entry
/// of the graph's store, none of the node cache. Subgraphs are replayed from their own threads.
///
/// Inputs, edits and branches are taken from the recording, and so is a failure that an error handler handled; the
/// handler itself runs. Unfinished work is not replayed.
///
/// Code of a node outside [`Effects`](crate::node::Effects) runs again. To show that it does nothing live, give the
/// graph a context that panics when it is used. Reads of a [`Store`](crate::store::Store) return its current contents.
///
/// ```
/// # extern crate superstep_core as superstep;
/// # use serde::{Deserialize, Serialize};
/// # use superstep::checkpoint::MemorySaver;
/// # use superstep::graph::{END, START, StateGraph};
/// # use superstep::node::Effects;
/// # use superstep::state::{State, Update};
/// # #[derive(State, Clone, Default, Serialize, Deserialize)]
/// # struct Essay { draft: String }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let mut g = StateGraph::<Essay>::new("essay");
/// # let write = g.node("write", |fx: Effects| async move {
/// #     Ok::<_, String>(Essay::update().draft(fx.run("draft", || async { Ok::<_, String>("…".to_owned()) }).await?))
/// # });
/// # g.edge(START, write);
/// # g.edge(write, END);
/// # let essays = g.compile()?.checkpointer(MemorySaver::new());
/// let thread = essays.thread("rust");
/// thread.run(Essay::update()).await?.finished()?;
///
/// let replay = thread.replay().await?.agrees()?;      // or the first divergence, as an error
/// assert_eq!(replay.supersteps, 2);                   // START's, and that of `write`
/// # Ok(())
/// # }
/// ```
#[must_use = "a replay happens when it is awaited"]
pub struct ReplayRequest {
    runtime: Arc<Runtime>,
    thread: ThreadId,
    to: At,
    after: Option<CheckpointId>,
}

impl ReplayRequest {
    pub(crate) fn new(runtime: Arc<Runtime>, thread: ThreadId, to: At) -> Self {
        Self { runtime, thread, to, after: None }
    }

    /// Replays only the supersteps after this checkpoint, which must be in the past of the last one.
    pub fn after(self, checkpoint: CheckpointId) -> Self {
        Self { after: Some(checkpoint), ..self }
    }
}

impl IntoFuture for ReplayRequest {
    type Output = Result<Replay, ThreadError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    /// # Errors
    /// Returns an error if the thread never ran, if the checkpoint of `after` is not in its past, or if the store
    /// fails.
    fn into_future(self) -> Self::IntoFuture {
        let Self { runtime, thread, to, after } = self;
        Box::pin(async move {
            let saver = runtime.saver.clone().ok_or(ThreadError::NoCheckpointer)?;
            let head = runtime.load(&thread, to).await?;
            let head = head.ok_or_else(|| ThreadError::NeverRan(thread.clone()))?;
            let mut walk = Walk::new(saver);
            let way = after.map_or(Way::Whole, Way::After);
            walk.along(&runtime, &thread, head.checkpoint.id, way, &[]).await?;
            Ok(walk.replay)
        })
    }
}

impl fmt::Debug for ReplayRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplayRequest")
            .field("thread", &self.thread)
            .field("to", &self.to)
            .finish_non_exhaustive()
    }
}
