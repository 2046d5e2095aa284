//! Checks whether the threads of a store load and continue in this program, without running or writing anything.

use std::fmt;
use std::sync::Arc;
use std::vec::Vec;

use super::graph::Graph;
use crate::checkpoint::{At, Loaded, below};
use crate::engine::barrier::{one_step_fields, seeds};
use crate::graph::Program;
use crate::id::{CheckpointId, NodeName, ThreadId};
use crate::run::driver::begin::driver;
use crate::run::driver::order::{Order, Verb};
use crate::run::runtime::change::Changed;
use crate::run::runtime::error::RunError;
use crate::run::runtime::field_map::FieldMap;
use crate::run::runtime::shared::Runtime;
use crate::run::runtime::thread_error::ThreadError;
use crate::state::StateForm;

/// The result of [`Graph::check_threads`]. Its text form has one line for each thread that the program did not
/// write last.
#[derive(Debug, Default)]
pub struct ThreadCheck {
    /// The threads by name, each followed by the unfinished threads of its subgraphs.
    pub threads: Vec<CheckedThread>,
}

/// One thread of a [`ThreadCheck`].
#[derive(Debug)]
pub struct CheckedThread {
    /// The thread.
    pub thread: ThreadId,
    /// Its latest checkpoint; `None` if it could not be read.
    pub checkpoint: Option<CheckpointId>,
    /// The version of its state.
    pub version: Option<u32>,
    /// The differences of the program that wrote it; `None` if this program wrote it.
    pub changed: Option<Changed>,
    /// The nodes of finished tasks that would run again, because their results belong to another version.
    pub again: Vec<NodeName>,
    /// The reason why the thread would not continue.
    pub problem: Option<RunError>,
}

impl ThreadCheck {
    /// Returns `true` if every thread would continue.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.failures().next().is_none()
    }

    /// Returns the threads that would not continue.
    pub fn failures(&self) -> impl Iterator<Item = &CheckedThread> {
        self.threads.iter().filter(|checked| checked.problem.is_some())
    }
}

impl fmt::Display for ThreadCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let failures = self.failures().count();
        write!(f, "{} threads, {failures} could not continue", self.threads.len())?;
        let other = self.threads.iter().filter(|one| one.problem.is_some() || one.changed.is_some());
        for CheckedThread { thread, changed, again, problem, .. } in other {
            write!(f, "\n{thread}: ")?;
            match (problem, changed) {
                (Some(problem), _) => write!(f, "{problem}")?,
                (None, Some(changed)) => write!(f, "written under another {changed}, and loads")?,
                (None, None) => {}
            }
            if !again.is_empty() {
                let again: Vec<_> = again.iter().map(NodeName::as_str).collect();
                write!(f, "; runs again: {}", again.join(", "))?;
            }
        }
        Ok(())
    }
}

impl<S: StateForm> Graph<S> {
    /// Checks whether the graph's threads in its store would continue in this program: loads the latest checkpoint
    /// of each thread, with migrations, and its unfinished work, including that of its subgraphs. Nothing runs, and
    /// nothing is written.
    ///
    /// # Errors
    /// Returns an error if the graph has no checkpointer, or its threads cannot be listed. Problems of a single
    /// thread are in the result.
    pub async fn check_threads(&self) -> Result<ThreadCheck, ThreadError> {
        let mut threads = Vec::new();
        for thread in self.threads().await? {
            if !thread.thread.is_below() {
                check(self.runtime(), thread.thread, &mut threads).await;
            }
        }
        Ok(ThreadCheck { threads })
    }
}

/// Checks a thread, and then those of its unfinished subgraphs.
async fn check(runtime: &Runtime, thread: ThreadId, checked: &mut Vec<CheckedThread>) {
    let mut left = std::vec![(runtime.clone(), thread)];
    while let Some((runtime, thread)) = left.pop() {
        let loaded = match runtime.load(&thread, At::Head).await {
            Ok(Some(loaded)) => loaded,
            // The subgraph has not begun.
            Ok(None) => continue,
            Err(error) => {
                let unread = CheckedThread {
                    thread,
                    checkpoint: None,
                    version: None,
                    changed: None,
                    again: Vec::new(),
                    problem: Some(error.into()),
                };
                checked.push(unread);
                continue;
            }
        };
        let inner = unfinished_subgraphs(&runtime, &thread, &loaded);
        checked.push(check_loaded(runtime, thread, loaded));
        left.extend(inner.into_iter().rev());
    }
}

fn check_loaded(runtime: Runtime, thread: ThreadId, loaded: Loaded) -> CheckedThread {
    let fields = FieldMap::new(&loaded.schema, &runtime.program.schema);
    let again = loaded.results.iter().filter(|result| !fields.carries(&result.writes));
    let again = again.map(|result| result.node.clone()).collect();
    let changed = Changed::since(&loaded.checkpoint, &runtime.program);
    let (checkpoint, version) = (Some(loaded.checkpoint.id), Some(loaded.schema.version));
    let goes_on = runtime.check_change(&thread, &loaded.checkpoint, false);
    let goes_on = goes_on.and_then(|()| restores(Arc::new(runtime), &thread, loaded));
    CheckedThread { thread, checkpoint, version, changed, again, problem: goes_on.err() }
}

/// Checks that a run would begin.
fn restores(runtime: Arc<Runtime>, thread: &ThreadId, loaded: Loaded) -> Result<(), RunError> {
    let order = Order::new(Verb::Resume, thread.clone());
    let (mut driver, _) = driver(&runtime, order, loaded.checkpoint.run, None, None)?;
    driver.restore(loaded).map(drop)
}

/// Returns the threads of the subgraphs that are next, each with the runtime with which it would run.
fn unfinished_subgraphs(runtime: &Runtime, thread: &ThreadId, loaded: &Loaded) -> Vec<(Runtime, ThreadId)> {
    let checkpoint = &loaded.checkpoint;
    let below = checkpoint.frontier.tasks.iter().filter_map(|next| {
        let node = runtime.program.topology.find(&next.node)?;
        let inner = runtime.program.node(node).subgraph.as_ref()?;
        let task = next.id(checkpoint.id, checkpoint.step);
        Some((of_subgraph(runtime, inner), below::thread(&loaded.effects, thread, task)))
    });
    below.collect()
}

fn of_subgraph(around: &Runtime, inner: &Arc<Program>) -> Runtime {
    let mut runtime = around.clone();
    runtime.breakpoints = inner.breakpoints();
    runtime.one_step_fields = one_step_fields(&inner.schema);
    runtime.seeds = seeds(&inner.schema, &*inner.initial);
    runtime.program = Arc::clone(inner);
    runtime
}
