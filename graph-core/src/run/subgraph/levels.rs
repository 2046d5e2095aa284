//! Looking at the subgraphs of a checkpoint.

use std::boxed::Box;
use std::sync::Arc;
use std::vec::Vec;

use futures_util::future::BoxFuture;

use crate::checkpoint::{At, Checkpointer, Loaded};
use crate::graph::Program;
use crate::id::{NodeName, TaskId, ThreadId};
use crate::run::error::ThreadError;
use crate::run::history::Past;
use crate::run::view::CheckpointView;
use crate::state::State;

/// The state of a subgraph, as of its own latest checkpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct SubgraphView {
    /// The nodes whose subgraphs lead to it, from the graph down.
    pub path: Vec<NodeName>,
    /// The task that runs it.
    pub task: TaskId,
    /// Its thread. A thread of the subgraph's own graph with this id reads its history and edits its state;
    /// it is run by the thread above it.
    pub thread: ThreadId,
    /// What it looks like.
    pub view: CheckpointView,
}

impl<S: State> Past<S> {
    /// The subgraphs of this checkpoint's next tasks and their subgraphs in turn, as far as they have begun,
    /// in merge order. With a checkpoint that was continued, these are the subgraphs as they ended.
    ///
    /// Subgraphs belong to the thread that ran them: a fork does not see those of its shared past.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn subgraphs(&self) -> Result<Vec<SubgraphView>, ThreadError> {
        let (runtime, thread, loaded) = self.parts();
        let saver = runtime.saver.as_ref().ok_or(ThreadError::NoCheckpointer)?;
        let mut found = Vec::new();
        collect(saver, &runtime.program, thread, loaded, &[], &mut found).await?;
        Ok(found)
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
            let Some(below) = node.and_then(|node| program.node(node).subgraph.as_ref()) else {
                continue;
            };
            let task = next.id(checkpoint.id, checkpoint.step);
            let thread = thread.below(task);
            let Some(head) = saver.load(&thread, At::Head).await? else {
                continue;
            };
            let mut path = path.to_vec();
            path.push(next.node.clone());
            let view = CheckpointView::of(&thread, &head);
            found.push(SubgraphView { path: path.clone(), task, thread: thread.clone(), view });
            collect(saver, below, &thread, &head, &path, found).await?;
        }
        Ok(())
    })
}
