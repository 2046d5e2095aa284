//! One checkpoint of a thread.

use std::boxed::Box;
use std::collections::BTreeMap;
use std::fmt;
use std::string::String;
use std::sync::Arc;
use std::vec::Vec;

use super::request::RunRequest;
use super::thread::Thread;
use crate::checkpoint::{At, Loaded, Source, TaskRecord};
use crate::id::{CheckpointId, InterruptId, NodeName, ThreadId};
use crate::run::driver::answering::check_answer;
use crate::run::driver::edit::{BranchWork, branch};
use crate::run::driver::order::Verb;
use crate::run::past::events::PastEvents;
use crate::run::past::replay::ReplayRequest;
use crate::run::past::state::{TaskState, tasks_of};
use crate::run::past::view::CheckpointView;
use crate::run::runtime::error::RunError;
use crate::run::runtime::field_map::state_of;
use crate::run::runtime::outcome::Interrupt;
use crate::run::runtime::shared::Runtime;
use crate::run::runtime::thread_error::ThreadError;
use crate::state::{Json, StateForm};

/// One checkpoint of a thread, with its state.
pub struct Past<S: StateForm> {
    runtime: Arc<Runtime>,
    thread: ThreadId,
    loaded: Loaded,
    state: Arc<S>,
}

impl<S: StateForm> Past<S> {
    pub(crate) fn new(runtime: Arc<Runtime>, thread: ThreadId, loaded: Loaded) -> Result<Self, ThreadError> {
        let (state, _) = state_of(&runtime.program, &loaded)?;
        let state = S::read(state, &runtime.program.schema);
        Ok(Self { runtime, thread, loaded, state })
    }

    pub(crate) fn parts(&self) -> (&Runtime, &ThreadId, &Loaded) {
        (&self.runtime, &self.thread, &self.loaded)
    }

    /// Returns the checkpoint's id.
    pub fn id(&self) -> CheckpointId {
        self.loaded.checkpoint.id
    }

    /// Returns the checkpoint's step.
    pub fn step(&self) -> i64 {
        self.loaded.checkpoint.step
    }

    /// Returns the source of the checkpoint.
    pub fn source(&self) -> Source {
        self.loaded.checkpoint.source
    }

    /// Returns the state. It does not include the results of finished siblings in an unfinished superstep.
    pub fn state(&self) -> &S {
        &self.state
    }

    /// Returns the state by value.
    pub fn into_state(self) -> S {
        S::owned(self.state)
    }

    /// Returns the next nodes, in merge order.
    pub fn next(&self) -> Vec<NodeName> {
        self.loaded.checkpoint.frontier.nodes().cloned().collect()
    }

    /// Returns the tasks of the superstep that led here: writes, routes and targets.
    pub fn tasks(&self) -> &[TaskRecord] {
        &self.loaded.checkpoint.tasks
    }

    /// Returns the open questions of the next tasks.
    pub fn interrupts(&self) -> Vec<Interrupt> {
        self.runtime.program.open_questions(&self.loaded.asks)
    }

    /// Returns the next tasks with their progress: results, which are not in the state, failures and questions.
    pub fn pending(&self) -> Vec<TaskState> {
        tasks_of(&self.runtime.program, &self.loaded)
    }

    /// Returns the checkpoint in the form in which it was read.
    pub fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    /// Returns the checkpoint as a JSON document with a stable shape, for tools and for people.
    pub fn view(&self) -> CheckpointView {
        CheckpointView::of(&self.runtime.program, &self.thread, &self.loaded)
    }

    /// Returns the events that led here, oldest first, without later ones.
    ///
    /// # Errors
    /// Returns an error if the graph has no checkpointer.
    pub fn events(&self) -> Result<PastEvents, ThreadError> {
        self.runtime.past_events(&self.thread, At::Id(self.id()))
    }

    /// Begins a branch here, on the same thread: a copy of this checkpoint, with the source `fork`, becomes the
    /// thread's latest checkpoint. Later checkpoints stay unchanged, and are found by id. The branch begins without
    /// unfinished work: the next tasks run, and ask their questions, again. [`rerun`](Self::rerun) begins a branch
    /// and runs it.
    ///
    /// # Errors
    /// Returns an error if another run was faster, or the store fails.
    pub async fn branch(&self) -> Result<CheckpointId, ThreadError> {
        self.branch_with(BTreeMap::new()).await
    }

    /// Works like [`branch`](Self::branch), and adds entries to the metadata of the copy.
    ///
    /// # Errors
    /// Returns an error if another run was faster, or the store fails.
    pub async fn branch_with(&self, metadata: BTreeMap<String, Json>) -> Result<CheckpointId, ThreadError> {
        self.copied(BranchWork::Begins, metadata).await
    }

    /// Takes the thread back to this checkpoint as it was when it was read: begins a [branch](Self::branch_with) whose
    /// next tasks keep the results, questions and effects that they had then.
    ///
    /// # Errors
    /// Returns an error if another run was faster, or the store fails.
    pub async fn rewind(&self, metadata: BTreeMap<String, Json>) -> Result<CheckpointId, ThreadError> {
        self.copied(BranchWork::Keeps(&self.loaded), metadata).await
    }

    /// Works like [`branch_with`](Self::branch_with), and drops the next tasks of the copy.
    ///
    /// # Errors
    /// Returns an error if another run was faster, or the store fails.
    pub async fn branch_without_tasks(
        &self,
        metadata: BTreeMap<String, Json>,
    ) -> Result<CheckpointId, ThreadError> {
        self.copied(BranchWork::Dropped, metadata).await
    }

    async fn copied(
        &self,
        work: BranchWork<'_>,
        metadata: BTreeMap<String, Json>,
    ) -> Result<CheckpointId, ThreadError> {
        branch(&self.runtime, &self.thread, &self.loaded.checkpoint, work, metadata).await
    }

    /// Checks an answer to an open question without storing it.
    ///
    /// # Errors
    /// Returns [`RunError::WrongAnswer`] if the question's node does not accept it. An answer to a question that is not
    /// open here is not checked.
    pub fn check_answer(&self, interrupt: InterruptId, answer: &Json) -> Result<(), RunError> {
        match self.loaded.asks.iter().find(|ask| ask.id == interrupt && ask.is_open()) {
            Some(ask) => check_answer(&self.runtime.program, ask, answer),
            None => Ok(()),
        }
    }

    /// Runs from here again, live: begins a [`branch`](Self::branch) and runs it to its end. All effects happen
    /// again, all questions are asked again, and the node cache is neither read nor written; nothing that was
    /// recorded on top of this checkpoint is used. If the run is stopped, `thread.resume()` continues it.
    ///
    /// ```
    /// # extern crate superstep_core as superstep;
    /// # use serde::{Deserialize, Serialize};
    /// # use superstep::checkpoint::MemorySaver;
    /// # use superstep::graph::{END, START, StateGraph};
    /// # use superstep::state::{State, Update};
    /// # #[derive(State, Clone, Default, Serialize, Deserialize)]
    /// # struct Essay { draft: String }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let mut g = StateGraph::<Essay>::new("essay");
    /// # let write = g.node("write", || async { Essay::update().draft("…") });
    /// # g.edge(START, write);
    /// # g.edge(write, END);
    /// # let essays = g.compile()?.checkpointer(MemorySaver::new());
    /// let thread = essays.thread("rust");
    /// thread.run(Essay::update()).await?.finished()?;
    /// let again = thread.before(write).await?.rerun().await?.finished()?;
    /// # assert_eq!(again.draft, "…");
    /// # Ok(())
    /// # }
    /// ```
    pub fn rerun(&self) -> RunRequest<S> {
        let verb = Verb::Rerun(Box::new(self.loaded.checkpoint.clone()));
        RunRequest::new(Arc::clone(&self.runtime), self.thread.clone(), verb)
    }

    /// Verifies the run that led here: see [`ReplayRequest`].
    pub fn replay(&self) -> ReplayRequest {
        ReplayRequest::new(Arc::clone(&self.runtime), self.thread.clone(), At::Id(self.id()))
    }

    /// Creates a new thread that begins here. It shares the past and copies nothing.
    ///
    /// # Errors
    /// Returns an error if a thread with that name exists, or the store fails.
    pub async fn fork(&self, name: impl Into<ThreadId>) -> Result<Thread<S>, ThreadError> {
        let name = name.into();
        let saver = self.runtime.saver.as_ref().ok_or(ThreadError::NoCheckpointer)?;
        saver.fork(&self.thread, self.id(), &name).await?;
        Ok(Thread::new(Arc::clone(&self.runtime), name))
    }
}

impl<S: StateForm> fmt::Debug for Past<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Past({} of {} at step {})", self.id(), self.thread, self.step())
    }
}
