//! Streams of the events of runs.

use axum::extract::State;

use super::App;
use super::call::{Call, Reply, place};
use super::endpoint::{Endpoint, Gives, get, post};
use super::runs::{request_of, thread_of};
use super::sse;
use crate::guard::{Action, Resource};
use crate::service::{Resume, ThreadMode};
use crate::wire::Failure;
use crate::wire::request::StreamMode;

pub(super) fn endpoints() -> Vec<Endpoint> {
    let endpoints = vec![
        post("/threads/{thread_id}/runs/stream", start, "Start a run, and stream its events")
            .action(Action::Run)
            .takes("RunCreate"),
        get("/threads/{thread_id}/runs/{run_id}/stream", join, "Stream the events of a run")
            .query(&["stream_mode", "cancel_on_disconnect"]),
        get("/threads/{thread_id}/stream", thread, "Stream the events of all runs of a thread")
            .query(&["stream_mode"]),
        post("/runs/stream", start, "Start a run on a temporary thread, and stream its events")
            .action(Action::Run)
            .takes("RunCreate"),
        get("/runs/{run_id}/stream", join, "Stream the events of a run")
            .query(&["stream_mode", "cancel_on_disconnect"]),
    ];
    let of_threads = |endpoint: Endpoint| endpoint.on(Resource::Threads).gives(Gives::Events);
    endpoints.into_iter().map(of_threads).collect()
}

async fn start(State(app): State<App>, call: Call) -> Reply {
    let (thread, request) = (thread_of(&call)?, request_of(&call)?);
    let open = call.open(&app)?;
    let cancels = request.cancels_on_disconnect;
    let run = app.service.create_run(&call.scope, thread, request).await?;
    let watch = app.watch(&call.scope, &run, cancels);
    let frames = app.service.stream(&call.scope, &run, None, Resume::Start).await?;
    place(sse::respond(frames, open, Some(watch)), &run, thread.is_none(), Some("stream"))
}

async fn join(State(app): State<App>, call: Call) -> Reply {
    let thread = thread_of(&call)?;
    let modes = call.query.all("stream_mode");
    let modes = modes.map(|modes| modes.iter().map(|mode| StreamMode::read(mode)).collect()).transpose()?;
    let cancels = call.query.flag("cancel_on_disconnect")?.unwrap_or(false);
    let open = call.open(&app)?;
    let run = app.service.run_row(&call.scope, thread, call.run()?).await?;
    let watch = app.watch(&call.scope, &run, cancels);
    let frames = app.service.stream(&call.scope, &run, modes, resume_of(&call)).await?;
    place(sse::respond(frames, open, Some(watch)), &run, thread.is_none(), Some("stream"))
}

async fn thread(State(app): State<App>, call: Call) -> Reply {
    let open = call.open(&app)?;
    let modes = call.query.all("stream_mode").unwrap_or_default();
    let modes = modes.iter().map(|mode| ThreadMode::read(mode)).collect::<Result<_, Failure>>()?;
    let frames = app.service.thread_stream(&call.scope, call.thread()?, modes, resume_of(&call)).await?;
    Ok(sse::respond(frames, open, None))
}

/// Returns the place in the events at which a client begins: after the last one that it has, `-1` for all that are
/// kept, and without an id the next one.
fn resume_of(call: &Call) -> Resume {
    let Some(id) = call.headers.get("last-event-id") else { return Resume::Live };
    let id = id.to_str().unwrap_or_default();
    // The ids of this server are `<milliseconds>-<number>`.
    match (id, id.rsplit('-').next().map(str::parse)) {
        ("-1", _) => Resume::All,
        (_, Some(Ok(number))) => Resume::After(number),
        // An event that this server did not send: nothing is known to follow it.
        _ => Resume::After(u64::MAX),
    }
}
