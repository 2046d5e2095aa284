//! The subgraphs of a checkpoint.

use std::boxed::Box;
use std::sync::Arc;
use std::vec::Vec;

use futures_util::future::BoxFuture;

use super::past::Past;
use super::thread::Thread;
use crate::checkpoint::{At, Checkpointer, CheckpointerExt, Loaded, below};
use crate::graph::Program;
use crate::id::{CheckpointId, NodeName, TaskId, ThreadId};
use crate::run::past::view::CheckpointView;
use crate::run::runtime::thread_error::ThreadError;
use crate::state::StateForm;

/// The state of a subgraph, as of its own latest checkpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct SubgraphView {
    /// The nodes whose subgraphs lead to it, from the graph at the top down.
    pub path: Vec<NodeName>,
    /// The task that runs it.
    pub task: TaskId,
    /// The subgraph's thread. Use a thread of the subgraph's own graph with this id to read its history and edit
    /// its state. Only the thread above can run it.
    pub thread: ThreadId,
    /// The checkpoint, as a JSON document.
    pub view: CheckpointView,
}

/// A subgraph on the path down, with the checkpoint from which it continues.
struct Level {
    task: TaskId,
    thread: ThreadId,
    at: CheckpointId,
}

impl<S: StateForm> Past<S> {
    /// Returns the subgraphs of this checkpoint's next tasks, and their subgraphs in turn, as far as they have
    /// begun, in merge order. For a checkpoint that was continued, these are the subgraphs at their ends.
    ///
    /// Subgraphs belong to the thread that ran them, so a fork does not see those of its shared past.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub async fn subgraphs(&self) -> Result<Vec<SubgraphView>, ThreadError> {
        let (runtime, thread, loaded) = self.parts();
        let saver = runtime.saver.as_ref().ok_or(ThreadError::NoCheckpointer)?;
        let mut found = Vec::new();
        collect(saver, &runtime.program, thread, loaded, &[], &mut found).await?;
        Ok(found)
    }

    /// Creates a new thread that begins here, with the subgraph on the thread `below` at its checkpoint `at`, so
    /// that the new thread continues in the middle of the subgraph. Other unfinished subgraphs begin again.
    ///
    /// `below` is the thread of one of this checkpoint's [`subgraphs`](Self::subgraphs).
    ///
    /// # Errors
    /// Returns an error if a thread with that name exists, `below` is not below this checkpoint, `at` is not one of
    /// its checkpoints, or the store fails.
    pub async fn fork_below(
        &self,
        name: impl Into<ThreadId>,
        below: &ThreadId,
        at: CheckpointId,
    ) -> Result<Thread<S>, ThreadError> {
        let way = self.way_to(below, at).await?;
        let fork = self.fork(name).await?;
        self.fork_levels(fork.id().clone(), way).await?;
        Ok(fork)
    }

    /// Begins a [`branch`](Self::branch) here, on the same thread, with the subgraph on the thread `below` at its
    /// checkpoint `at`: `thread.resume()` continues in the middle of the subgraph, live. Other unfinished subgraphs
    /// begin again.
    ///
    /// # Errors
    /// Returns an error if another run was faster, `below` is not below this checkpoint, `at` is not one of its
    /// checkpoints, or the store fails.
    pub async fn branch_below(
        &self,
        below: &ThreadId,
        at: CheckpointId,
    ) -> Result<CheckpointId, ThreadError> {
        let mut way = self.way_to(below, at).await?;
        let (_, thread, loaded) = self.parts();
        let copy = self.branch().await?;
        // On the copy, another task runs the outermost subgraph; those below are based on checkpoints of their own.
        let Loaded { checkpoint, .. } = loaded;
        let mut next = checkpoint.frontier.tasks.iter();
        if let Some(outermost) = way.first_mut()
            && let Some(next) = next.find(|next| next.id(checkpoint.id, checkpoint.step) == outermost.task)
        {
            outermost.task = next.id(copy, checkpoint.step);
        }
        self.fork_levels(thread.clone(), way).await?;
        Ok(copy)
    }

    /// Returns the subgraphs from here down to the one on `below`, each with its checkpoint, which is `at` for the
    /// last one.
    async fn way_to(&self, below: &ThreadId, at: CheckpointId) -> Result<Vec<Level>, ThreadError> {
        let levels = self.subgraphs().await?;
        let level = levels.iter().find(|level| level.thread == *below);
        let level =
            level.ok_or_else(|| ThreadError::NotBelow { thread: below.clone(), checkpoint: self.id() })?;
        let (runtime, ..) = self.parts();
        let saver = runtime.saver.as_ref().ok_or(ThreadError::NoCheckpointer)?;
        // This is looked up before a thread is created, because a created thread would stay after an error.
        saver.read(below, At::Id(at)).await?;
        let mut way = Vec::new();
        for above in levels.iter().filter(|other| level.thread.is_on_or_below(&other.thread)) {
            let at = if above.thread == *below {
                at
            } else {
                let head = saver.read(&above.thread, At::Head).await?;
                head.ok_or_else(|| ThreadError::NeverRan(above.thread.clone()))?.checkpoint.id
            };
            way.push(Level { task: above.task, thread: above.thread.clone(), at });
        }
        Ok(way)
    }

    /// Forks subgraphs to the threads below `thread`.
    async fn fork_levels(&self, mut thread: ThreadId, way: Vec<Level>) -> Result<(), ThreadError> {
        let (runtime, ..) = self.parts();
        let saver = runtime.saver.as_ref().ok_or(ThreadError::NoCheckpointer)?;
        for Level { task, thread: above, at } in way {
            thread = thread.below(task);
            saver.fork(&above, at, &thread).await?;
        }
        Ok(())
    }
}

/// Adds the subgraphs below `loaded`, the checkpoint of a thread of `program`.
fn collect<'a>(
    saver: &'a Arc<dyn Checkpointer>,
    program: &'a Program,
    thread: &'a ThreadId,
    loaded: &'a Loaded,
    path: &'a [NodeName],
    found: &'a mut Vec<SubgraphView>,
) -> BoxFuture<'a, Result<(), ThreadError>> {
    Box::pin(async move {
        let checkpoint = &loaded.checkpoint;
        for next in &checkpoint.frontier.tasks {
            let node = program.topology.find(&next.node);
            let Some(inner) = node.and_then(|node| program.node(node).subgraph.as_ref()) else {
                continue;
            };
            let task = next.id(checkpoint.id, checkpoint.step);
            let thread = below::thread(&loaded.effects, thread, task);
            let Some(head) = saver.read(&thread, At::Head).await? else {
                continue;
            };
            let mut path = path.to_vec();
            path.push(next.node.clone());
            let view = CheckpointView::of(inner, &thread, &head);
            found.push(SubgraphView { path: path.clone(), task, thread: thread.clone(), view });
            collect(saver, inner, &thread, &head, &path, found).await?;
        }
        Ok(())
    })
}
