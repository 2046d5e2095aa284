//! The handlers of a thread, an object of Restate: one run at a time, in the order of the calls.
//!
//! They keep no work of their own in flight: a run is driven by calls of the service [`work`](crate::work), so a
//! handler that waits for a long superstep is suspended, and cancelling it cancels what it waits for.

use std::pin::pin;
use std::sync::Arc;

use restate_sdk::context::{
    CallFuture, ContextClient, ContextReadState, ContextWriteState, ObjectContext, RequestTarget,
    SharedObjectContext,
};
use restate_sdk::errors::{HandlerResult, TerminalError};
use restate_sdk::serde::{Deserialize, Json};
use serde::Serialize;
use serde_json::Value;
use superstep_core::id::{CheckpointId, TaskId, ThreadId};
use superstep_core::run::Interrupt;

use crate::outcome::{cancelled, failed, is_cancelled, stopping};
use crate::work::{Begin, OneTask, Part, Reached, Served, Work};

/// The state of the object: the invocation that runs the thread.
const RUNNING: &str = "running";

/// The result of a run for its caller.
#[derive(Debug, Serialize)]
pub(crate) struct Outcome {
    thread: ThreadId,
    checkpoint: CheckpointId,
    step: i64,
    status: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    interrupts: Vec<Interrupt>,
    values: Value,
}

/// Runs a thread until the run ends or asks.
pub(crate) async fn run(
    served: Arc<Served>,
    ctx: ObjectContext<'_>,
    begin: Begin,
) -> HandlerResult<Json<Outcome>> {
    let thread = ThreadId::from(ctx.key());
    ctx.set(RUNNING, ctx.invocation_id().to_owned());
    let status = drive(&served, &ctx, &thread, begin).await?;
    ctx.clear(RUNNING);
    let status = status?;
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

/// Drives a run, and returns the name of its status.
async fn drive(
    served: &Served,
    ctx: &ObjectContext<'_>,
    thread: &ThreadId,
    mut begin: Begin,
) -> HandlerResult<Result<String, TerminalError>> {
    let mut taken = 0;
    loop {
        let work = Work { thread: thread.clone(), begin, taken };
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
                for tasks in tasks.chunks(served.graph.max_concurrency_in_use()) {
                    if let Err(error) = spread(served, ctx, thread, tasks).await? {
                        return Ok(Err(error));
                    }
                }
                Begin::Commit
            }
        };
    }
}

/// Runs tasks at the same time, and waits for all of them. Returns the first error.
async fn spread(
    served: &Served,
    ctx: &ObjectContext<'_>,
    thread: &ThreadId,
    tasks: &[TaskId],
) -> HandlerResult<Result<(), TerminalError>> {
    let call = |task: &TaskId| {
        let task = OneTask { thread: thread.clone(), task: *task };
        ctx.request::<_, ()>(RequestTarget::service(&served.work, "task"), Json(task)).call()
    };
    // All of them are called before the first is awaited.
    let calls: Vec<_> = tasks.iter().map(call).collect();
    let mut result = Ok(());
    for call in calls {
        result = result.and(ended(served, thread, call).await?);
    }
    Ok(result)
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
    tokio::select! {
        biased;
        ended = ended => Ok(ended),
        () = served.stopping.cancelled() => Err(stopping()),
    }
}

/// Cancels the run of a thread. Returns `false` if the thread is not running.
pub(crate) async fn cancel(ctx: SharedObjectContext<'_>) -> HandlerResult<bool> {
    let running = ctx.get::<String>(RUNNING).await?;
    if let Some(invocation) = &running {
        ctx.invocation_handle(invocation.clone()).cancel();
    }
    Ok(running.is_some())
}
