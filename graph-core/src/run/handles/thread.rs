//! A thread and its methods for running, reading the history, forking and editing.

use std::boxed::Box;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::vec::Vec;

use serde::Serialize;

use super::past::Past;
use super::request::RunRequest;
use crate::checkpoint::{At, Checkpointer, CheckpointerExt, Summary};
use crate::graph::{NodeRef, START};
use crate::id::{CheckpointId, InterruptId, NodeName, TaskId, ThreadId};
use crate::run::driver::edit_as::edit_as_last;
use crate::run::driver::order::{Answers, Verb};
use crate::run::past::events::PastEvents;
use crate::run::past::replay::ReplayRequest;
use crate::run::past::state::{TaskState, ThreadState, tasks_of};
use crate::run::runtime::error::RunError;
use crate::run::runtime::history::History;
use crate::run::runtime::shared::Runtime;
use crate::run::runtime::thread_error::ThreadError;
use crate::state::{ErasedUpdate, Input, IntoInput, Json, StateForm};

/// A thread of a graph: a sequence of runs that share one state, with their history.
///
/// The handle contains only the name. The thread exists once something has run on it.
pub struct Thread<S: StateForm> {
    runtime: Arc<Runtime>,
    id: ThreadId,
    state: PhantomData<fn() -> S>,
}

impl<S: StateForm> Thread<S> {
    pub(crate) fn new(runtime: Arc<Runtime>, id: ThreadId) -> Self {
        Self { runtime, id, state: PhantomData }
    }

    /// Returns the thread's id.
    #[must_use]
    pub fn id(&self) -> &ThreadId {
        &self.id
    }

    /// Returns the thread with another id, of the same graph and store: such as that of a [subgraph](super::SubgraphView)
    /// with a state of the same type, to read it.
    #[must_use]
    pub fn sibling(&self, id: impl Into<ThreadId>) -> Self {
        Self::new(Arc::clone(&self.runtime), id.into())
    }

    /// Runs the graph on an input: an update, which goes through the reducers on top of the existing state, or a
    /// whole state, which only a new thread accepts.
    ///
    /// Unfinished work of the thread is discarded, but stays visible in the thread's history.
    ///
    /// Each call adds its input. To repeat a request whose outcome is unknown, use [`run_once`](Self::run_once).
    pub fn run(&self, input: impl IntoInput<S>) -> RunRequest<S> {
        let (update, whole) = match input.into_input() {
            Input::Update(update) => (update, false),
            Input::State(update) => (update, true),
        };
        let verb = match S::write(update, &*self.runtime.program.initial, self.runtime.read_input) {
            Ok(update) => Verb::Input { update, whole },
            Err(misfit) => Verb::Refused(ThreadError::misfit("the input", misfit)),
        };
        RunRequest::new(Arc::clone(&self.runtime), self.id.clone(), verb)
    }

    /// Runs the graph on an input that counts once, however often the request is repeated after a crash, a lost
    /// connection, or an error such as [`RunError::Superseded`]. `key` is the request's idempotency key, such as
    /// the id of a message or of an HTTP request.
    ///
    /// The first call with a key works like [`run`](Self::run). If the thread already has the input, a call with
    /// the same key ignores the given input, and
    ///
    /// - continues the work of the request if it is unfinished, like [`resume`](Self::resume): finished tasks do
    ///   not run again, and open questions stay open;
    /// - returns the result of the request if it has finished, even if later requests have run since, or if
    ///   [`discard_pending`](Self::discard_pending) has ended it. Nothing runs;
    /// - runs the graph from [`START`] on the current state, without an input, if another input discarded the
    ///   unfinished work of the request.
    ///
    /// An input that was discarded before it was merged into the state is added again.
    ///
    /// The key is the entry `idempotency_key` in the metadata of each checkpoint of the request. It applies to the
    /// branch of the thread's head, which a fork shares, as long as a checkpoint of the request is kept: if
    /// retention has removed all of them, the request begins again. A key that is not that of the latest request,
    /// such as every new key, is searched in the thread's whole history, which reads as many rows as the thread has
    /// checkpoints.
    ///
    /// ```
    /// # extern crate superstep_core as superstep;
    /// # use serde::{Deserialize, Serialize};
    /// # use superstep::checkpoint::MemorySaver;
    /// # use superstep::graph::{END, START, StateGraph};
    /// # use superstep::reducer::Append;
    /// # use superstep::state::{State, Update};
    /// # #[derive(State, Clone, Default, Serialize, Deserialize)]
    /// # struct Chat { #[reducer(Append)] messages: Vec<String> }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let mut g = StateGraph::<Chat>::new("chat");
    /// # let reply = g.node("reply", || async { Chat::update().messages(["Hello."]) });
    /// # g.edge(START, reply);
    /// # g.edge(reply, END);
    /// # let chats = g.compile()?.checkpointer(MemorySaver::new());
    /// let thread = chats.thread("ada");
    /// let message = || Chat::update().messages(["Good morning."]);
    /// thread.run_once("message-17", message()).await?;
    /// let chat = thread.run_once("message-17", message()).await?.finished()?;
    /// assert_eq!(chat.messages, ["Good morning.", "Hello."]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The request fails if the key is empty or the graph has no checkpointer.
    pub fn run_once(&self, key: impl AsRef<str>, input: impl IntoInput<S>) -> RunRequest<S> {
        self.run(input).once(key.as_ref())
    }

    /// Continues unfinished work after a crash, an error, a cancellation or a limit. Finished tasks do not run
    /// again, and successful effects are not repeated. On a finished thread it returns the stored result.
    pub fn resume(&self) -> RunRequest<S> {
        RunRequest::new(Arc::clone(&self.runtime), self.id.clone(), Verb::Resume)
    }

    /// Returns the tasks of the next superstep, in merge order, with their progress: results, failures and
    /// questions. Empty if nothing is next.
    ///
    /// # Errors
    /// Returns an error if the thread never ran, or its store fails.
    pub async fn tasks(&self) -> Result<Vec<TaskState>, ThreadError> {
        let loaded = self.runtime.load(&self.id, At::Head).await?;
        let loaded = loaded.ok_or_else(|| ThreadError::NeverRan(self.id.clone()))?;
        let mut tasks = tasks_of(&self.runtime.program, &loaded);
        tasks.retain(|task| !task.node.is_start());
        Ok(tasks)
    }

    /// Runs one pending task of the next superstep and records its result, without committing the superstep. The
    /// other tasks can run at the same time, in this process or in others with the same store, so a wide superstep
    /// can be distributed over several machines. [`resume`](Self::resume) then runs the remaining tasks and
    /// commits.
    ///
    /// The run ends with [`Status::TaskRecorded`](crate::run::Status::TaskRecorded), or with
    /// [`Status::Interrupted`](crate::run::Status::Interrupted) if the task asks a question. Retries, effects,
    /// timeouts and error handlers work as in any run. The run holds no lease of the thread unless the request sets
    /// one.
    ///
    /// ```
    /// # extern crate superstep_core as superstep;
    /// # use serde::{Deserialize, Serialize};
    /// # use superstep::checkpoint::MemorySaver;
    /// # use superstep::graph::{END, START, StateGraph};
    /// # use superstep::reducer::Append;
    /// # use superstep::state::{State, Update};
    /// # #[derive(State, Clone, Default, Serialize, Deserialize)]
    /// # struct Search { #[reducer(Append)] found: Vec<String> }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let mut g = StateGraph::<Search>::new("search");
    /// # let web = g.node("web", || async { Search::update().found(["web"]) });
    /// # let files = g.node("files", || async { Search::update().found(["files"]) });
    /// # g.edge(START, web);
    /// # g.edge(START, files);
    /// # g.edge(web, END);
    /// # g.edge(files, END);
    /// # let searches = g.compile()?.checkpointer(MemorySaver::new());
    /// let thread = searches.thread("rust");
    /// let run = thread.run(Search::update()).interrupt_before([web, files]).await?;
    /// # assert_eq!(run.status.name(), "breakpoint");
    /// for task in thread.tasks().await? {
    ///     thread.run_task(task.id).await?; // or another process does
    /// }
    /// let search = thread.resume().await?.finished()?; // commits: no node runs again
    /// assert_eq!(search.found, ["files", "web"]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Returns [`ThreadError::NoSuchTask`] if no pending task has this id, [`ThreadError::TaskRecorded`] if its
    /// result is already recorded or another driver was faster, and [`RunError::Superseded`] if its superstep was
    /// committed in the meantime.
    pub fn run_task(&self, task: TaskId) -> RunRequest<S> {
        RunRequest::new(Arc::clone(&self.runtime), self.id.clone(), Verb::Task(task))
    }

    /// Answers the only open question, with a value or a reference to one, and continues.
    ///
    /// The answer is checked against the question first: a wrong one is rejected, and the question stays open.
    pub fn answer(&self, answer: impl Serialize) -> RunRequest<S> {
        self.answering(match Json::encode(&answer) {
            Ok(answer) => Answers::Only(answer),
            Err(error) => Answers::Broken(error),
        })
    }

    /// Answers the question with this id and continues; other questions stay open.
    pub fn answer_to(&self, interrupt: InterruptId, answer: impl Serialize) -> RunRequest<S> {
        self.answering(match Json::encode(&answer) {
            Ok(answer) => Answers::ById(std::vec![(interrupt, answer)]),
            Err(error) => Answers::Broken(error),
        })
    }

    /// Answers several questions, all or none, and continues.
    pub fn answers(&self, answers: impl IntoIterator<Item = (InterruptId, Json)>) -> RunRequest<S> {
        self.answering(Answers::ById(answers.into_iter().collect()))
    }

    fn answering(&self, answers: Answers) -> RunRequest<S> {
        RunRequest::new(Arc::clone(&self.runtime), self.id.clone(), Verb::Answer(answers))
    }

    /// Returns the latest checkpoint.
    ///
    /// # Errors
    /// Returns an error if the thread never ran, or its store fails.
    pub async fn head(&self) -> Result<Past<S>, ThreadError> {
        self.past(At::Head).await
    }

    /// Returns the checkpoint with this id, of this thread or of its shared past.
    ///
    /// # Errors
    /// Returns an error if there is none, or the store fails.
    pub async fn at(&self, checkpoint: CheckpointId) -> Result<Past<S>, ThreadError> {
        self.past(At::Id(checkpoint)).await
    }

    /// Returns the newest checkpoint for which `node` is next.
    ///
    /// # Errors
    /// Returns an error if there is none, or the store fails.
    pub async fn before<In, Out>(&self, node: NodeRef<In, Out>) -> Result<Past<S>, ThreadError> {
        let name = self.runtime.name_of(node)?;
        self.past(At::Before(name)).await
    }

    /// Works like [`before`](Self::before), for a node with this stored name.
    ///
    /// # Errors
    /// Returns an error if the graph has no such node, there is no such checkpoint, or the store fails.
    pub async fn before_named(&self, node: impl Into<NodeName>) -> Result<Past<S>, ThreadError> {
        let node = node.into();
        let topology = &self.runtime.program.topology;
        if topology.find(&node).is_none() {
            return Err(ThreadError::no_such_node(topology, &node));
        }
        self.past(At::Before(node)).await
    }

    /// Returns the thread's checkpoints, newest first, read page by page. States are only decoded on request.
    ///
    /// # Errors
    /// Returns an error if the graph has no checkpointer.
    pub fn history(&self) -> Result<History, ThreadError> {
        Ok(History::new(Arc::clone(self.saver()?), self.id.clone(), At::Head))
    }

    /// Returns the tree that contains the thread, newest first: the checkpoints of all its branches, and those of
    /// threads that share its history. Empty if the thread never ran.
    ///
    /// # Errors
    /// Returns an error if the graph has no checkpointer, or its store fails.
    pub async fn lineage(&self) -> Result<Vec<Summary>, ThreadError> {
        Ok(self.saver()?.lineage(&self.id).await?)
    }

    /// Verifies the recorded run of this thread's branch, up to its latest checkpoint: see [`ReplayRequest`].
    pub fn replay(&self) -> ReplayRequest {
        ReplayRequest::new(Arc::clone(&self.runtime), self.id.clone(), At::Head)
    }

    /// Returns the past events of the thread, oldest first, rebuilt from stored data, whether or not they were
    /// observed. They are read page by page.
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
    ///
    /// let mut events = thread.events()?;
    /// let mut last = None;
    /// while let Some(past) = events.next().await? {
    ///     println!("{:?}", past.event.kind);
    ///     last = Some(past.position);
    /// }
    /// thread.run(Essay::update()).await?.finished()?;
    /// let news = thread.events()?.after(last.expect("it ran")).collect().await?;
    /// # assert_eq!(news.len(), 11);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Returns an error if the graph has no checkpointer.
    pub fn events(&self) -> Result<PastEvents, ThreadError> {
        self.runtime.past_events(&self.id, At::Head)
    }

    /// Stores `update` as a new checkpoint on top of the latest one. The next tasks stay the same and keep their
    /// work: results, effects and answers. A question is asked again if the edit changes its text.
    ///
    /// # Errors
    /// Returns an error if the thread never ran, another run was faster, or the store fails.
    pub async fn edit(&self, update: S::Update) -> Result<CheckpointId, ThreadError> {
        let update = self.edited(update)?;
        crate::run::driver::edit::edit(&self.runtime, &self.id, update).await
    }

    /// Edits the thread as if the node that ran last had also written `update`: its branches decide again, on the
    /// edited state, its route leads to the same targets, and its edges apply. Tasks that are next again keep their
    /// work. To edit as several nodes, use [`edit_as`](Self::edit_as).
    ///
    /// [`edit`](Self::edit) is the simpler choice if no decision needs to be made again.
    ///
    /// # Errors
    /// Returns [`ThreadError::WhichNode`] if several nodes, or none, ran last; otherwise the errors of
    /// [`edit_as`](Self::edit_as).
    pub async fn edit_as_last(&self, update: S::Update) -> Result<CheckpointId, RunError> {
        edit_as_last(&self.runtime, &self.id, self.edited(update)?).await
    }

    /// Drops the next tasks: unfinished tasks, open questions, waiting joins and deferred nodes. The state stays.
    ///
    /// # Errors
    /// Returns an error if the thread never ran, another run was faster, or the store fails.
    pub async fn discard_pending(&self) -> Result<CheckpointId, ThreadError> {
        crate::run::driver::edit::discard(&self.runtime, &self.id).await
    }

    /// Stores an input without running anything; `resume` runs it. Like [`run`](Self::run), it discards unfinished
    /// work.
    ///
    /// # Errors
    /// Returns an error if a whole state is given to a thread that has one, another run was faster, or the store
    /// fails.
    pub async fn input(&self, input: impl IntoInput<S>) -> Result<CheckpointId, RunError> {
        let run = self.run(input).interrupt_before(START).await?;
        run.checkpoint.ok_or_else(|| ThreadError::NoCheckpointer.into())
    }

    /// Returns the current state of the thread, with the results of finished tasks applied, and the progress of
    /// each remaining task. [`head`](Self::head) returns the checkpoint below it.
    ///
    /// # Errors
    /// Returns an error if the thread never ran, the results of its finished tasks cannot be merged, or the store
    /// fails.
    pub async fn state(&self) -> Result<ThreadState<S>, ThreadError> {
        let loaded = self.runtime.load(&self.id, At::Head).await?;
        let loaded = loaded.ok_or_else(|| ThreadError::NeverRan(self.id.clone()))?;
        crate::run::past::state::state(&self.runtime, &loaded)
    }

    /// Deletes the thread with the threads of its subgraphs: its checkpoints, its unfinished work, its answers and
    /// its journal. After that the name can be used again. Deleting a thread that never ran succeeds.
    ///
    /// Threads that were forked from it, or from which it was forked, stay unchanged: the shared past is deleted
    /// with the last of them. A run that is in progress on the thread fails with [`RunError::Superseded`], and
    /// stores nothing more. Values that nodes wrote to a [`Store`](crate::store::Store) stay.
    ///
    /// # Errors
    /// Returns an error if the thread belongs to a subgraph or to another graph, or the store fails.
    pub async fn delete(&self) -> Result<(), ThreadError> {
        if self.id.is_below() {
            return Err(ThreadError::Subgraph(self.id.clone()));
        }
        let graph = self.runtime.program.topology.name();
        Ok(self.saver()?.delete(graph, &self.id).await?)
    }

    fn edited(&self, update: S::Update) -> Result<Box<dyn ErasedUpdate>, ThreadError> {
        let update = S::write(update, &*self.runtime.program.initial, None);
        update.map_err(|misfit| ThreadError::misfit("the edit", misfit))
    }

    pub(crate) async fn past(&self, at: At) -> Result<Past<S>, ThreadError> {
        let loaded = self.runtime.load(&self.id, at).await?;
        let loaded = loaded.ok_or_else(|| ThreadError::NeverRan(self.id.clone()))?;
        Past::new(Arc::clone(&self.runtime), self.id.clone(), loaded)
    }

    pub(super) fn shared_runtime(&self) -> Arc<Runtime> {
        Arc::clone(&self.runtime)
    }

    pub(crate) fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    pub(crate) fn saver(&self) -> Result<&Arc<dyn Checkpointer>, ThreadError> {
        self.runtime.saver.as_ref().ok_or(ThreadError::NoCheckpointer)
    }
}

impl<S: StateForm> Clone for Thread<S> {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.runtime), self.id.clone())
    }
}

impl<S: StateForm> fmt::Debug for Thread<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Thread").field(&self.id).finish()
    }
}
