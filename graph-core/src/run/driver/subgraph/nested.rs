//! The node that runs a subgraph.

use std::any::Any;
use std::boxed::Box;
use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::vec::Vec;

use tokio_util::sync::CancellationToken;

use super::delta::Delta;
use super::lens::Lens;
use super::questions::{Question, was_used};
use super::surroundings::Surroundings;
use crate::checkpoint::{AnsweredBy, AskRecord, At, Checkpointer, CheckpointerExt, Kept, StoreError, below};
use crate::error::{NodeError, NodeErrorKind};
use crate::id::ThreadId;
use crate::node::{Around, CalledAs, Code, Done, ErasedTask, IntoNode, NodeDescription, RunCell, TaskCell};
use crate::run::driver::begin::{Beginning, perform};
use crate::run::driver::order::{Ended, Mode, Order, Stops, Verb};
use crate::run::runtime::error::RunError;
use crate::run::runtime::event::PathSegment;
use crate::run::runtime::outcome::{Interrupt, Status};
use crate::run::runtime::shared::Runtime;
use crate::run::runtime::thread_error::ThreadError;
use crate::run::runtime::thread_head::ThreadHead;
use crate::state::{ErasedUpdate, State, StateForm};

/// A compiled graph and its lens, as a node.
pub(in crate::run) struct Nested<P: State, S: State, In, Out> {
    pub(in crate::run) runtime: Arc<Runtime>,
    pub(in crate::run) own_context: bool,
    pub(in crate::run) lens: Lens<P, S, In, Out>,
}

/// The signature of a node that runs a subgraph.
pub(in crate::run) enum BySubgraph {}

impl<P: State, S: State, C, In, Out> CalledAs<P, C, BySubgraph> for Nested<P, S, In, Out> {}

impl<P, S, C, In, Out> IntoNode<P, C, BySubgraph> for Nested<P, S, In, Out>
where
    P: State,
    S: State,
    In: 'static,
    Out: Send + 'static,
{
    type Input = In;
    type Route = Out;

    fn into_code(self) -> (NodeDescription, Code) {
        let mut description = NodeDescription::default();
        (self.lens.describe)(&mut description);
        let nested = Arc::new(self);
        let code = Code::new(move |task| {
            let nested = Arc::clone(&nested);
            Box::pin(async move { nested.run(task).await })
        });
        (description, code)
    }
}

impl<P: State, S: State, In, Out: Send + 'static> Nested<P, S, In, Out> {
    async fn run(&self, task: ErasedTask) -> Result<Done, NodeError> {
        let ErasedTask { state, input, cell } = task;
        let state: Arc<dyn Any + Send + Sync> = state;
        let state: Arc<P> = state.downcast().expect("the driver owns the state of this graph");
        let surroundings = Surroundings::of(&cell.run);
        let runtime = Arc::new(self.runtime_in(&cell.run, surroundings));
        let thread = match cell.task_id() {
            Some(task) => below::thread(&cell.journal(), &cell.run.thread, task),
            None => cell.run.thread.clone(),
        };
        let key = self.lens.key(&state, input.as_ref());
        let Standing { head, begun, is_unread } = match &surroundings.mode {
            Mode::Replayed(recording) => {
                let entry: Box<dyn ErasedUpdate> = Box::new(self.lens.enter(&state, input.as_ref()));
                let entry = entry.encode().map_err(|error| NodeError::new(NodeErrorKind::Codec, error))?;
                let head = recording.subgraph(&runtime, &thread, &cell, entry).await?;
                Standing { head: Some(head.into()), begun: true, is_unread: false }
            }
            _ => standing(&runtime, &thread, &cell, key.as_deref()).await?,
        };
        let mut delta = Delta::new(self.lens.shared.iter().map(|(inner, _)| *inner).collect());
        let (verb, head) = match head {
            Some(head) if begun => {
                let head = answered(&runtime, &thread, &cell, head).await?;
                if let (Some(saver), false) = (&runtime.saver, self.lens.shared.is_empty()) {
                    delta.read_back(&**saver, &thread, &head, &runtime.program).await?;
                }
                (Verb::Resume, Some(head))
            }
            head => {
                let update = Box::new(self.lens.enter(&state, input.as_ref()));
                (Verb::Input { update, whole: false }, head)
            }
        };
        // The snapshot is released, so that the surrounding graph can merge into its state without a copy.
        drop((state, input));
        let segment = PathSegment {
            node: cell.node().clone(),
            step: cell.facts.step,
            task: cell.facts.task,
            attempt: cell.attempt(),
        };
        let stop = CancellationToken::new();
        let order = Order {
            limits: runtime.limits,
            stops: Stops {
                cancel: Some(stop.clone()),
                drain: surroundings.drain.clone(),
                step_timeout: runtime.step_timeout,
            },
            metadata: surroundings.metadata.clone(),
            answered: surroundings.answered.clone(),
            kept_bytes: surroundings.kept_bytes,
            mode: surroundings.mode.clone(),
            ..Order::new(verb, thread.clone())
        };
        let around = Around::new(Arc::clone(&cell));
        let beginning = Beginning {
            run: cell.run.run,
            log: surroundings.log.as_ref().map(|log| log.below(segment)),
            head,
            is_unread,
            delta: (!self.lens.shared.is_empty()).then_some(delta),
            around: Some(around.clone()),
        };
        let mut run = pin!(perform(runtime, order, beginning));
        let ended = tokio::select! {
            biased;
            ended = &mut run => ended,
            () = around.over() => {
                // It stops like any cancelled run: the results of its tasks are kept.
                stop.cancel();
                run.await
            }
        };
        match ended {
            Ok(ended) => {
                let kept = key.zip(ended.checkpoint);
                let mut done = self.ended(ended, &cell).await?;
                if let Some((key, checkpoint)) = kept {
                    done.record_mut().kept = Some(Kept { key, thread, checkpoint });
                }
                Ok(done)
            }
            Err(error) => Err(of_run(error, &cell)),
        }
    }

    /// Returns the runtime of the subgraph, as it runs below `run`.
    fn runtime_in(&self, run: &RunCell, around: &Surroundings) -> Runtime {
        let mut runtime = (*self.runtime).clone();
        runtime.saver = run.saver.clone();
        runtime.ambient = Arc::clone(&around.ambient);
        runtime.observers = Vec::new();
        runtime.on_change = around.on_change;
        runtime.store = runtime.store.or_else(|| run.store.clone());
        if !runtime.cache_is_given {
            runtime.cache = run.cache.clone().or(runtime.cache);
        }
        if !self.own_context {
            runtime.context = Arc::clone(&run.context);
        }
        runtime
    }

    async fn ended(&self, ended: Ended, cell: &TaskCell) -> Result<Done, NodeError> {
        match ended.status {
            Status::Finished => {
                let state = S::read(ended.state, &self.runtime.program.schema);
                let update = self.lens.leave(&state, &ended.delta);
                let update = update.map_err(|error| NodeError::new(NodeErrorKind::Codec, error))?;
                let route = (self.lens.decide)(ended.exit.as_ref());
                Ok(Done {
                    update: Some(Box::new(update)),
                    decision: Some(Box::new(route)),
                    ..Done::default()
                })
            }
            Status::LimitReached { limit } => {
                let graph = self.runtime.program.topology.name();
                let text = std::format!(
                    "subgraph {graph:?} took its {limit} supersteps and is not finished; a resume gives it as many again"
                );
                Err(NodeError::terminal(text))
            }
            Status::Interrupted { interrupts } => {
                let asks = interrupts.into_iter().map(|interrupt| bubbled(interrupt, cell));
                let asks = asks.collect::<Option<_>>().expect("a thread with questions has a store");
                cell.halt(asks);
                pending().await
            }
            status @ (Status::Drained
            | Status::Cancelled
            | Status::Breakpoint { .. }
            | Status::TaskRecorded) => {
                Surroundings::of(&cell.run).stopped.note(status);
                cell.halt(Vec::new());
                pending().await
            }
        }
    }
}

/// The position of a subgraph's thread.
struct Standing {
    head: Option<ThreadHead>,
    /// `true` if this task's run has begun there. Otherwise the thread is at the end of an earlier run, whose state
    /// was kept.
    begun: bool,
    /// `true` if the thread was not read.
    is_unread: bool,
}

/// Finds the head of a subgraph's thread. If it keeps its state under `key`, its thread begins where the last run
/// with that key ended.
async fn standing(
    runtime: &Runtime,
    thread: &ThreadId,
    cell: &TaskCell,
    key: Option<&str>,
) -> Result<Standing, NodeError> {
    let Some(saver) = &runtime.saver else {
        return match key {
            None => Ok(Standing { head: None, begun: false, is_unread: false }),
            Some(_) => Err(NodeError::terminal("a subgraph that keeps its state needs a checkpointer")),
        };
    };
    // Its name follows from a checkpoint that this run has just stored: nearly always no run has begun it.
    let is_unread = !cell.facts.is_resumed && cell.attempt() == 1;
    let load = || async { Ok::<_, NodeError>(runtime.load(thread, At::Head).await?.map(ThreadHead::from)) };
    let mut head = if is_unread { None } else { load().await? };
    let kept = key.and_then(|key| cell.run.kept.lock().iter().find(|kept| kept.key == key).cloned());
    let Some(kept) = kept else { return Ok(Standing { begun: head.is_some(), head, is_unread }) };
    if head.is_none() {
        match saver.fork(&kept.thread, kept.checkpoint, thread).await {
            // Another run that continues the thread was faster.
            Ok(()) | Err(StoreError::ThreadExists(_)) => {}
            Err(error) => return Err(error.into()),
        }
        head = load().await?;
    }
    let begun = head.as_ref().is_some_and(|head| head.checkpoint.id != kept.checkpoint);
    Ok(Standing { head, begun, is_unread: false })
}

/// Passes answers from the surrounding graph on to the questions of the subgraph's thread. Returns its head
/// afterwards.
async fn answered(
    runtime: &Runtime,
    thread: &ThreadId,
    cell: &TaskCell,
    mut head: ThreadHead,
) -> Result<ThreadHead, ThreadError> {
    let Some(saver) = &runtime.saver else { return Ok(head) };
    loop {
        let mut answers = Vec::new();
        for asked in cell.answered_below() {
            match Question::find(&**saver, thread, &head.checkpoint, &head.work.asks, &asked).await? {
                Question::Open(open) => answers.extend(asked.answer.map(|answer| (open.id, answer))),
                Question::Answered => {}
                Question::Gone => refuse_unused(&**saver, thread, cell, &head, &asked).await?,
            }
        }
        if answers.is_empty() {
            return Ok(head);
        }
        let answered = match saver.answer_all(thread, answers).await {
            Ok((at, work)) if at == head.checkpoint.id => Some(ThreadHead { work, ..head }),
            // Another run that continues the thread may have passed some of them on already, and continued.
            Ok(_) | Err(StoreError::AlreadyAnswered(_) | StoreError::NoInterrupt { .. }) => {
                runtime.refreshed(thread, head).await?
            }
            Err(error) => return Err(error.into()),
        };
        head = answered.ok_or_else(|| ThreadError::NeverRan(thread.clone()))?;
    }
}

/// Fails if the run was started with an answer that the subgraph has not used and cannot use any longer, because
/// its question was withdrawn in between. An unused answer of an earlier run is ignored, because that run has
/// already failed.
async fn refuse_unused(
    saver: &dyn Checkpointer,
    thread: &ThreadId,
    cell: &TaskCell,
    head: &ThreadHead,
    asked: &AskRecord,
) -> Result<(), StoreError> {
    if !Surroundings::of(&cell.run).answered.contains(&asked.id)
        || was_used(saver, thread, &head.checkpoint, asked).await?
    {
        return Ok(());
    }
    Err(StoreError::NoInterrupt { thread: thread.clone(), interrupt: asked.id })
}

/// Converts a subgraph's question into one of the task that runs the subgraph.
fn bubbled(interrupt: Interrupt, cell: &TaskCell) -> Option<AskRecord> {
    let Interrupt { id, node, mut path, key, argument, question, deadline, .. } = interrupt;
    path.insert(0, cell.node().clone());
    let task = cell.task_id()?;
    let answered_by = AnsweredBy::default();
    Some(AskRecord { id, task, node, path, key, argument, question, deadline, answer: None, answered_by })
}

fn of_run(error: RunError, cell: &TaskCell) -> NodeError {
    match error {
        // If another run moved the subgraph's thread, it has also moved the surrounding run.
        RunError::Superseded { thread, input } => match cell.facts.base {
            Some(base) => NodeError::new(NodeErrorKind::Failed, StoreError::Superseded { thread, base }),
            None => NodeError::from(RunError::Superseded { thread, input }),
        },
        RunError::LeaseLost { thread, to } => {
            NodeError::new(NodeErrorKind::Failed, StoreError::LeaseLost { thread, to })
        }
        RunError::Node(failure) => {
            let (kind, after) = (failure.error.kind(), failure.error.retry_after());
            let error = NodeError::new(kind, failure);
            match after {
                Some(after) => error.after(after),
                None => error,
            }
        }
        error => NodeError::from(error),
    }
}
