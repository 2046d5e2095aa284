//! The handlers of a thread, an object of Restate: one run at a time, in the order of the calls.
//!
//! They keep no work of their own in flight: a run is driven by calls of the service [`work`](crate::work), so a
//! handler that waits for a long superstep is suspended, and cancelling it cancels what it waits for.

use std::pin::pin;
use std::sync::Arc;

use restate_sdk::context::{
    CallFuture, ContextClient, ContextReadState, ContextWriteState, DurableFuturesUnordered, ObjectContext,
    RequestTarget, SharedObjectContext,
};
use restate_sdk::errors::{HandlerResult, TerminalError};
use restate_sdk::serde::{Deserialize, Json};
use serde::Serialize;
use serde_json::Value;
use superstep_core::id::{CheckpointId, TaskId, ThreadId};
use superstep_core::run::{Interrupt, Status};

use crate::outcome::{CANCELLED, cancelled, failed, is_cancelled, stopping};
use crate::work::{Begin, Options, Part, Reached, Served, Tasks, Work};

/// The number of calls that a superstep is spread in, if it has more tasks, and [`TASKS`] are enough for each call.
const CALLS: usize = 256;

/// The most tasks of a call.
const TASKS: usize = 16;

/// The state of the object: the invocation that runs the thread.
const RUNNING: &str = "running";

/// The result of a run for its caller.
#[derive(Debug, Serialize)]
pub(crate) struct Outcome {
    thread: ThreadId,
    checkpoint: CheckpointId,
    step: i64,
    status: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    interrupts: Vec<Interrupt>,
    values: Value,
}

/// A run that a server hands over.
#[derive(Debug, serde::Deserialize)]
pub(crate) struct Order {
    /// The begin of the run, and what follows if it asks.
    begins: Vec<Begin>,
    options: Options,
}

/// The end of such a run. The server reads the rest from the thread.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ended {
    Run(Status),
    Failed { code: u16, message: String },
}

/// Runs a thread until the run ends or asks.
pub(crate) async fn run(
    served: Arc<Served>,
    ctx: ObjectContext<'_>,
    begin: Begin,
) -> HandlerResult<Json<Outcome>> {
    let thread = ThreadId::from(ctx.key());
    let status = cancellable(&served, &ctx, &thread, vec![begin], Options::default()).await??.name();
    let state = served.graph.thread(thread.clone()).state().await.map_err(|error| failed(error.into()))?;
    Ok(Json(Outcome {
        thread,
        checkpoint: state.checkpoint,
        step: state.step,
        status,
        interrupts: state.interrupts().cloned().collect(),
        values: state.values.to_json(),
    }))
}

/// Runs a thread for a server until the run ends or asks.
pub(crate) async fn drive(
    served: Arc<Served>,
    ctx: ObjectContext<'_>,
    Order { begins, options }: Order,
) -> HandlerResult<Json<Ended>> {
    let thread = ThreadId::from(ctx.key());
    match cancellable(&served, &ctx, &thread, begins, options).await? {
        Ok(status) => Ok(Json(Ended::Run(status))),
        Err(error) if error.code() == CANCELLED && error.message() == cancelled(&thread).message() => {
            Err(error.into())
        }
        Err(error) => Ok(Json(Ended::Failed { code: error.code(), message: error.message().to_owned() })),
    }
}

/// Drives a run, which [`cancel`] finds meanwhile, and returns its status.
async fn cancellable(
    served: &Served,
    ctx: &ObjectContext<'_>,
    thread: &ThreadId,
    begins: Vec<Begin>,
    options: Options,
) -> HandlerResult<Result<Status, TerminalError>> {
    ctx.set(RUNNING, ctx.invocation_id().to_owned());
    let mut ended = Ok(Status::Finished);
    for begin in begins {
        ended = drive_one(served, ctx, thread, begin, &options).await?;
        if !matches!(ended, Ok(Status::Interrupted { .. })) {
            break;
        }
    }
    ctx.clear(RUNNING);
    Ok(ended)
}

/// Drives a run from one begin until it ends or asks.
async fn drive_one(
    served: &Served,
    ctx: &ObjectContext<'_>,
    thread: &ThreadId,
    mut begin: Begin,
    options: &Options,
) -> HandlerResult<Result<Status, TerminalError>> {
    let mut taken = 0;
    loop {
        let work = Work { thread: thread.clone(), begin, options: options.clone(), taken };
        let part = ctx.request(RequestTarget::service(&served.work, "slices"), Json(work)).call();
        let Json(Part { reached, taken: more, .. }) = match ended(served, thread, part).await? {
            Ok(part) => part,
            Err(error) => return Ok(Err(error)),
        };
        taken += more;
        begin = match reached {
            Reached::End(status) => return Ok(Ok(status)),
            Reached::Barrier => Begin::Resume,
            Reached::Wide(tasks) => {
                if let Err(error) = spread(served, ctx, thread, &tasks, options).await? {
                    return Ok(Err(error));
                }
                Begin::Commit
            }
        };
    }
}

/// Runs tasks, at most [`max_concurrency_in_use`](superstep_core::run::AnyGraph::max_concurrency_in_use) at the same time, and
/// waits for them. Returns the first error, after which no further task begins.
///
/// The calls and their order depend on the tasks alone: a process with another limit that repeats the journal makes the
/// same ones.
async fn spread(
    served: &Served,
    ctx: &ObjectContext<'_>,
    thread: &ThreadId,
    tasks: &[TaskId],
    options: &Options,
) -> HandlerResult<Result<(), TerminalError>> {
    let size = (tasks.len() / CALLS).clamp(1, TASKS);
    let at_once = (served.graph.max_concurrency_in_use() / size).max(1);
    let call = |tasks: &[TaskId]| {
        let configuration = options.configuration.clone();
        let run = ctx.invocation_id().to_owned();
        let tasks = Tasks { thread: thread.clone(), run, tasks: tasks.to_vec(), configuration };
        ctx.request::<_, ()>(RequestTarget::service(&served.work, "tasks"), Json(tasks)).call()
    };
    let mut left = tasks.chunks(size);
    let mut calls: DurableFuturesUnordered<_> = left.by_ref().take(at_once).map(call).collect();
    let mut result = Ok(());
    loop {
        match unless_stopping(served, calls.next()).await? {
            Ok(None) => return Ok(result),
            Ok(Some((_, ended))) => result = result.and(ended),
            // The calls are cancelled, too.
            Err(_) => result = Err(cancelled(thread)),
        }
        if result.is_ok()
            && let Some(tasks) = left.next()
        {
            calls.push(call(tasks));
        }
    }
}

/// Awaits a call, unless this process is being stopped.
///
/// Restate cancels the calls of an invocation with it. This waits for their end, so that no run begins on the thread
/// while another one is being cancelled.
async fn ended<T: Deserialize + 'static>(
    served: &Served,
    thread: &ThreadId,
    call: impl CallFuture<Response = T>,
) -> HandlerResult<Result<T, TerminalError>> {
    let mut call = pin!(call);
    let ended = async {
        match call.as_mut().await {
            Err(error) if is_cancelled(&error) => {
                drop(call.invocation_handle().await?.attach::<T>().await);
                Err(cancelled(thread))
            }
            ended => ended,
        }
    };
    unless_stopping(served, ended).await
}

/// Awaits a future, unless this process is being stopped.
async fn unless_stopping<T>(served: &Served, future: impl Future<Output = T>) -> HandlerResult<T> {
    tokio::select! {
        biased;
        value = future => Ok(value),
        () = served.stopping.cancelled() => Err(stopping()),
    }
}

/// Cancels an invocation of the thread, or the one that runs it. Returns `false` if the thread is not running.
pub(crate) async fn cancel(ctx: SharedObjectContext<'_>, invocation: Option<String>) -> HandlerResult<bool> {
    let invocation = match invocation {
        Some(invocation) => Some(invocation),
        None => ctx.get::<String>(RUNNING).await?,
    };
    let is_running = invocation.is_some();
    if let Some(invocation) = invocation {
        ctx.invocation_handle(invocation).cancel();
    }
    Ok(is_running)
}
