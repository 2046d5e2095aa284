//! The service that drives the runs of a graph: slices of a run, and tasks of wide supersteps.

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use restate_sdk::context::{Context, ContextSideEffects, ContextSignals, RunFuture};
use restate_sdk::errors::{HandlerResult, TerminalError};
use restate_sdk::serde::Json;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use superstep_core::checkpoint::StoreError;
use superstep_core::graph::EveryNode;
use superstep_core::id::{CheckpointId, InterruptId, NodeName, TaskId, ThreadId};
use superstep_core::run::{
    AnyGraph, AnyState, CancellationToken, EventKind, Observer, Run, RunError, RunEvent, RunRequest, Status,
    TaskState, Thread, ThreadError,
};
use superstep_core::state::Json as JsonText;
use tokio::sync::Semaphore;

use crate::outcome::{cancelled, failed, stopping, terminal};

/// The most supersteps of a slice.
const SUPERSTEPS: u64 = 64;

/// The time after which a slice ends at the next barrier.
const DURATION: Duration = Duration::from_secs(1);

/// The most slices of one invocation, so that its journal stays short.
const SLICES: usize = 64;

/// The name that stands for every node.
const EVERY: &str = "*";

/// A signal that is never sent. A run that waits for it notices that it is cancelled.
const NEVER: &str = "superstep.never";

/// A graph, and what its handlers share.
pub(crate) struct Served {
    pub(crate) graph: AnyGraph,
    /// The name of the service of this module.
    pub(crate) work: String,
    /// The least number of tasks of a superstep that are spread.
    pub(crate) spread: usize,
    /// One for each task that the process runs at the same time.
    pub(crate) places: Arc<Semaphore>,
    /// The tokens that cancel the spread tasks of a run in this process, by the invocation of the run.
    pub(crate) stops: Mutex<HashMap<String, Weak<CancellationToken>>>,
    /// Cancelled when the process is being stopped.
    pub(crate) stopping: CancellationToken,
}

impl Served {
    /// Returns the token that the calls of a run share in this process: the first one that is cancelled cancels all, so
    /// that no task begins in the place of a cancelled one.
    fn stop(&self, run: String) -> Arc<CancellationToken> {
        let mut stops = self.stops.lock().unwrap_or_else(PoisonError::into_inner);
        stops.retain(|_, stop| stop.strong_count() > 0);
        let stop = stops.entry(run).or_default();
        stop.upgrade().unwrap_or_else(|| {
            let new = Arc::default();
            *stop = Arc::downgrade(&new);
            new
        })
    }
}

/// The part of a run that an invocation drives.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Work {
    pub(crate) thread: ThreadId,
    pub(crate) begin: Begin,
    #[serde(default)]
    pub(crate) options: Options,
    /// The supersteps that earlier invocations of the run took.
    pub(crate) taken: u64,
}

/// The options of a run that a server hands over.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Options {
    /// Entries for the metadata of the run's checkpoints.
    metadata: BTreeMap<String, JsonText>,
    pub(crate) configuration: Map<String, Value>,
    recursion_limit: Option<u64>,
    /// The nodes to stop before; `*` stands for every node.
    interrupt_before: Vec<String>,
    /// The nodes to stop after.
    interrupt_after: Vec<String>,
}

impl Options {
    /// Adds the options to a request, except the limit.
    fn add_to(&self, mut request: RunRequest<AnyState>) -> RunRequest<AnyState> {
        for (name, value) in &self.metadata {
            request = request.metadata(name, value);
        }
        request = configured(request, &self.configuration);
        let is_every = |nodes: &[String]| nodes.iter().any(|node| node == EVERY);
        request = match is_every(&self.interrupt_before) {
            true => request.interrupt_before(EveryNode),
            false => request.interrupt_before(self.interrupt_before.clone()),
        };
        match is_every(&self.interrupt_after) {
            true => request.interrupt_after(EveryNode),
            false => request.interrupt_after(self.interrupt_after.clone()),
        }
    }
}

/// Sets the configuration of a run. Without one, it has that of the run before it.
fn configured(request: RunRequest<AnyState>, configuration: &Map<String, Value>) -> RunRequest<AnyState> {
    if configuration.is_empty() { request } else { request.configure(configuration.clone()) }
}

/// The begin of a part of a run.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Begin {
    /// A new input.
    Input(Value),
    /// The answer to the only open question.
    Answer(JsonText),
    /// Answers to these questions.
    Answers(BTreeMap<InterruptId, JsonText>),
    /// The answer to the only open question, if there is one.
    AnswerIfAsked(JsonText),
    /// Answers to those of these questions that are open.
    AnswersIfOpen(BTreeMap<InterruptId, JsonText>),
    /// The unfinished work of the thread.
    Resume,
    /// A superstep whose tasks have run.
    Commit,
}

/// The end of a part of a run: the journal entry of a slice.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Part {
    pub(crate) checkpoint: Option<CheckpointId>,
    pub(crate) reached: Reached,
    /// The supersteps that it took.
    pub(crate) taken: u64,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reached {
    /// A barrier, after which the run continues.
    Barrier,
    /// A barrier before a superstep whose remaining tasks are these.
    Wide(Vec<TaskId>),
    /// The end of the run.
    End(Status),
}

/// Tasks of a superstep to run.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Tasks {
    pub(crate) thread: ThreadId,
    /// The invocation of the run.
    pub(crate) run: String,
    pub(crate) tasks: Vec<TaskId>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(crate) configuration: Map<String, Value>,
}

/// Drives a run for at most [`SLICES`] slices.
pub(crate) async fn slices(served: Arc<Served>, ctx: Context<'_>, work: Work) -> HandlerResult<Json<Part>> {
    let thread = served.graph.thread(work.thread);
    let mut begin = match work.begin {
        begin @ (Begin::Input(_) | Begin::Resume | Begin::Commit) => begin,
        // The questions are looked up first: a slice that is repeated must not answer those after them.
        begin => {
            let thread = thread.clone();
            let address = async move || addressed(&thread, begin).await.map(Json);
            ctx.run(address).name("question").await?.0
        }
    };
    let mut taken = work.taken;
    for slice in 1.. {
        let part = Slice {
            served: Arc::clone(&served),
            thread: thread.clone(),
            begin,
            options: work.options.clone(),
            key: ctx.invocation_id().to_owned(),
            taken,
            stop: CancellationToken::new(),
        };
        let never = ctx.signal::<()>(NEVER);
        let run = async move || {
            let stop = part.stop.clone();
            cancelled_by(never, stop, part.run()).await.map(Json)
        };
        let Json(part) = ctx.run(run).name("slice").await?;
        taken += part.taken;
        if slice == SLICES || !matches!(part.reached, Reached::Barrier) {
            return Ok(Json(Part { taken: taken - work.taken, ..part }));
        }
        if served.stopping.is_cancelled() {
            return Err(stopping());
        }
        begin = Begin::Resume;
    }
    unreachable!("the last slice returns")
}

/// Runs tasks of a superstep at the same time, and records their results. Their records say which of them have run, so no
/// entry of the journal does.
pub(crate) async fn tasks(served: Arc<Served>, ctx: Context<'_>, given: Tasks) -> HandlerResult<()> {
    let Tasks { thread, run, tasks, configuration } = given;
    let thread = served.graph.thread(thread);
    let stop = served.stop(run);
    let at_once = served.graph.max_concurrency_in_use().max(1);
    let run = |id| task(&served, &thread, id, &configuration, &stop);
    let all = stream::iter(tasks).map(run).buffer_unordered(at_once).collect::<Vec<_>>();
    let never = ctx.signal::<()>(NEVER);
    let mut result = Ok(());
    for ended in cancelled_by(never, (*stop).clone(), all).await {
        match ended {
            Ok(Ok(())) => {}
            // A failed task does not run again, even if another one of this call would be repeated.
            Ok(Err(error)) => return Err(error.into()),
            Err(error) => result = result.and(Err(error)),
        }
    }
    result
}

/// Runs one task when there is a place for it, and records its result.
async fn task(
    served: &Served,
    thread: &Thread<AnyState>,
    id: TaskId,
    configuration: &Map<String, Value>,
    stop: &CancellationToken,
) -> HandlerResult<Result<(), TerminalError>> {
    let _place = tokio::select! {
        biased;
        () = stop.cancelled() => return Ok(Err(cancelled(thread.id()))),
        () = served.stopping.cancelled() => return Err(stopping()),
        place = served.places.acquire() => place,
    };
    let run = configured(thread.run_task(id), configuration).cancel_on(stop.clone());
    match run.await {
        Ok(run) if run.status == Status::Cancelled => Ok(Err(cancelled(thread.id()))),
        // The superstep that commits reads the result, or the question.
        Ok(_) | Err(RunError::Thread(ThreadError::TaskRecorded { .. } | ThreadError::NoSuchTask { .. })) => {
            Ok(Ok(()))
        }
        Err(error) => terminal(error).map(Err),
    }
}

/// Awaits a run, and cancels it if the invocation is cancelled, which `never` reports.
async fn cancelled_by<T>(never: impl Future, stop: CancellationToken, run: impl Future<Output = T>) -> T {
    let mut run = pin!(run);
    tokio::select! {
        ended = run.as_mut() => return ended,
        _ = never => stop.cancel(),
    }
    run.await
}

/// Returns answers with the ids of their questions, which are open; without a question, the rest of the run.
async fn addressed(thread: &Thread<AnyState>, begin: Begin) -> HandlerResult<Begin> {
    let tasks = thread.tasks().await.map_err(|error| failed(error.into()))?;
    let open: Vec<InterruptId> = tasks.iter().flat_map(|task| &task.interrupts).map(|ask| ask.id).collect();
    let id = thread.id();
    let begin = match begin {
        Begin::AnswerIfAsked(_) if open.is_empty() => return Ok(Begin::Resume),
        Begin::AnswerIfAsked(answer) => Begin::Answer(answer),
        Begin::AnswersIfOpen(mut answers) => {
            answers.retain(|asked, _| open.contains(asked));
            if answers.is_empty() { Begin::Resume } else { Begin::Answers(answers) }
        }
        begin => begin,
    };
    match (begin, &open[..]) {
        (Begin::Answer(answer), [only]) => Ok(Begin::Answers(BTreeMap::from([(*only, answer)]))),
        (Begin::Answer(_), []) => Err(failed(RunError::NothingAsked { thread: id.clone() })),
        (Begin::Answer(_), _) => Err(failed(RunError::WhichQuestion { thread: id.clone(), open })),
        (Begin::Answers(answers), _) => match answers.keys().find(|asked| !open.contains(asked)) {
            Some(asked) => {
                Err(failed(StoreError::NoInterrupt { thread: id.clone(), interrupt: *asked }.into()))
            }
            None => Ok(Begin::Answers(answers)),
        },
        (begin, _) => Ok(begin),
    }
}

/// A part of a run that is one journal entry.
struct Slice {
    served: Arc<Served>,
    thread: Thread<AnyState>,
    begin: Begin,
    options: Options,
    /// The idempotency key of an input.
    key: String,
    taken: u64,
    /// Cancels the run.
    stop: CancellationToken,
}

impl Slice {
    async fn run(self) -> HandlerResult<Part> {
        let Self { served, thread, begin, options, key, taken, stop } = self;
        if matches!(begin, Begin::Resume)
            && let Some(part) = wide(&thread, served.spread).await.map_err(|error| failed(error.into()))?
        {
            return Ok(part);
        }
        let drain = served.stopping.child_token();
        let barriers =
            Barriers { drain: drain.clone(), spread: served.spread, begun: Arc::new(AtomicU64::new(0)) };
        let most = options.recursion_limit.unwrap_or_else(|| served.graph.recursion_limit_in_use());
        let limited = |request: RunRequest<AnyState>| {
            let request = options.add_to(request).recursion_limit(most.saturating_sub(taken));
            let request = request.observe(barriers.clone());
            request.drain_on(drain.clone()).cancel_on(stop.clone())
        };
        let run = async {
            match begin {
                Begin::Input(input) => limited(thread.run_once(key, input)).await,
                Begin::Answers(answers) => match limited(thread.answers(answers)).await {
                    // The questions were open, so this slice is repeated.
                    Err(RunError::Thread(ThreadError::Store(
                        StoreError::AlreadyAnswered(_) | StoreError::NoInterrupt { .. },
                    ))) => limited(thread.resume()).await,
                    run => run,
                },
                _ => limited(thread.resume()).await,
            }
        };
        let mut run = pin!(run);
        let ended = tokio::select! {
            ended = run.as_mut() => ended,
            () = tokio::time::sleep(DURATION) => {
                drain.cancel();
                run.await
            }
        };
        let Run { checkpoint, status, .. } = ended.map_err(failed)?;
        let reached = match status {
            Status::Cancelled => return Err(cancelled(thread.id()).into()),
            Status::Drained => Reached::Barrier,
            // The limit is that of the whole run.
            Status::LimitReached { .. } => Reached::End(Status::LimitReached { limit: most }),
            status => Reached::End(status),
        };
        Ok(Part { checkpoint, reached, taken: barriers.begun.load(Ordering::Relaxed) })
    }
}

/// Returns the tasks of a wide superstep that have yet to run; `None` if few have.
async fn wide(thread: &Thread<AnyState>, spread: usize) -> Result<Option<Part>, ThreadError> {
    let tasks = match thread.tasks().await {
        Err(ThreadError::NeverRan(_)) => return Ok(None),
        tasks => tasks?,
    };
    let is_left = |task: &&TaskState| !task.is_finished() && task.interrupts.is_empty();
    let left: Vec<TaskId> = tasks.iter().filter(is_left).map(|task| task.id).collect();
    Ok((left.len() >= spread).then_some(Part { checkpoint: None, reached: Reached::Wide(left), taken: 0 }))
}

/// Stops a slice at a barrier: before a wide superstep, and after many supersteps.
#[derive(Clone)]
struct Barriers {
    drain: CancellationToken,
    spread: usize,
    /// The number of supersteps that have begun.
    begun: Arc<AtomicU64>,
}

impl Observer for Barriers {
    fn on_event(&self, event: &RunEvent) {
        if !event.path.is_empty() {
            return;
        }
        match &event.kind {
            EventKind::SuperstepStarted { nodes, .. } if !nodes.iter().all(NodeName::is_start) => {
                self.begun.fetch_add(1, Ordering::Relaxed);
            }
            EventKind::CheckpointSaved { next, .. }
                if next.len() >= self.spread || self.begun.load(Ordering::Relaxed) >= SUPERSTEPS =>
            {
                self.drain.cancel();
            }
            _ => {}
        }
    }
}
