//! Runs.

use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};

use super::App;
use super::call::{Call, Reply, nothing, ok, place};
use super::endpoint::{Endpoint, Gives, delete, get, post};
use crate::guard::{self, Action, Resource};
use crate::wire::Failure;
use crate::wire::request::RunCreate;
use crate::wire::run::{self, CancelMany, RunSearch, cancel_action};

pub(super) fn endpoints() -> Vec<Endpoint> {
    let endpoints = vec![
        post("/threads/{thread_id}/runs", create, "Start a run")
            .action(Action::Run)
            .takes("RunCreate")
            .gives(Gives::One("Run")),
        get("/threads/{thread_id}/runs", list, "List the runs of a thread, newest first")
            .query(&["limit", "offset", "status", "select"])
            .gives(Gives::Many("Run")),
        post("/threads/{thread_id}/runs/wait", wait, "Start a run, and wait for its values")
            .action(Action::Run)
            .takes("RunCreate"),
        get("/threads/{thread_id}/runs/{run_id}", read, "Read a run").gives(Gives::One("Run")),
        delete("/threads/{thread_id}/runs/{run_id}", remove, "Delete a run that has ended")
            .gives(Gives::Nothing(204)),
        post("/threads/{thread_id}/runs/{run_id}/cancel", cancel, "Cancel a run")
            .action(Action::Run)
            .query(&["wait", "action"])
            .also(&[Gives::Nothing(202)]),
        get("/threads/{thread_id}/runs/{run_id}/join", join, "Wait for the values of a run")
            .query(&["cancel_on_disconnect"]),
        post("/runs", create, "Start a run on a temporary thread")
            .action(Action::Run)
            .takes("RunCreate")
            .gives(Gives::One("Run")),
        post("/runs/wait", wait, "Start a run on a temporary thread, and wait for its values")
            .action(Action::Run)
            .takes("RunCreate"),
        post("/runs/batch", batch, "Start several runs on temporary threads")
            .action(Action::Run)
            .takes("RunBatch")
            .gives(Gives::Many("Run")),
        post("/runs/cancel", cancel_many, "Cancel several runs")
            .action(Action::Run)
            .takes("CancelMany")
            .query(&["action"])
            .gives(Gives::Nothing(204)),
        get("/runs/{run_id}/join", join, "Wait for the values of a run").query(&["cancel_on_disconnect"]),
    ];
    endpoints.into_iter().map(|endpoint| endpoint.on(Resource::Threads)).collect()
}

/// Returns the thread in the path; `None` for a run on a temporary one.
pub(super) fn thread_of(call: &Call) -> Result<Option<&str>, Failure> {
    call.param("thread_id").map(|_| call.thread()).transpose()
}

/// Reads a request for a run.
pub(super) fn request_of(call: &Call) -> Result<RunCreate, Failure> {
    let request = RunCreate::read(&call.body)?;
    if thread_of(call)?.is_none() {
        request.check_stateless()?;
    }
    Ok(request)
}

async fn create(State(app): State<App>, call: Call) -> Reply {
    let (thread, request) = (thread_of(&call)?, request_of(&call)?);
    let run = app.service.create_run(&call.scope, thread, request).await?;
    place(guard::json(200, &run::run(&run)), &run, thread.is_none(), None)
}

async fn batch(State(app): State<App>, call: Call) -> Reply {
    let requests = RunCreate::read_batch(&call.body)?;
    for request in &requests {
        request.check_stateless()?;
        app.service.check_webhook(request.kwargs.webhook.as_deref())?;
    }
    let mut runs = Vec::new();
    for request in requests {
        runs.push(run::run(&app.service.create_run(&call.scope, None, request).await?));
    }
    ok(&Value::Array(runs))
}

async fn wait(State(app): State<App>, call: Call) -> Reply {
    let (thread, request) = (thread_of(&call)?, request_of(&call)?);
    let cancels = request.cancels_on_disconnect;
    let run = app.service.create_run(&call.scope, thread, request).await?;
    let mut watch = app.watch(&call.scope, &run, cancels);
    let values = app.service.join(&call.scope, &run).await?;
    watch.finish();
    place(guard::json(200, &values), &run, false, Some("join"))
}

async fn join(State(app): State<App>, call: Call) -> Reply {
    let run = app.service.run_row(&call.scope, thread_of(&call)?, call.run()?).await?;
    let cancels = call.query.flag("cancel_on_disconnect")?.unwrap_or(false);
    let mut watch = app.watch(&call.scope, &run, cancels);
    let values = app.service.join(&call.scope, &run).await?;
    watch.finish();
    place(guard::json(200, &values), &run, false, Some("join"))
}

async fn list(State(app): State<App>, call: Call) -> Reply {
    let request = RunSearch::of_query(&call.query)?;
    ok(&app.service.runs(&call.scope, call.thread()?, request).await?.into())
}

async fn read(State(app): State<App>, call: Call) -> Reply {
    let run = app.service.run_row(&call.scope, thread_of(&call)?, call.run()?).await?;
    ok(&run::run(&run))
}

async fn remove(State(app): State<App>, call: Call) -> Reply {
    app.service.delete_run(&call.scope, call.thread()?, call.run()?).await?;
    nothing(StatusCode::NO_CONTENT)
}

async fn cancel(State(app): State<App>, call: Call) -> Reply {
    let waits = call.query.flag("wait")?.unwrap_or(false);
    let action = cancel_action(&call.query)?;
    let run = app.service.run_row(&call.scope, thread_of(&call)?, call.run()?).await?;
    app.service.cancel(&call.scope, &run, action).await?;
    if !waits {
        return nothing(StatusCode::ACCEPTED);
    }
    app.service.ended(&run).await?;
    place(guard::json(200, &json!({})), &run, false, Some("join"))
}

async fn cancel_many(State(app): State<App>, call: Call) -> Reply {
    app.service.cancel_many(&call.scope, CancelMany::read(&call.body, &call.query)?).await?;
    nothing(StatusCode::NO_CONTENT)
}
