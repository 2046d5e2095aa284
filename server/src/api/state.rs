//! The state of a thread, and its history.

use axum::extract::State;

use super::App;
use super::call::{Call, Reply, ok};
use super::endpoint::{Endpoint, Gives, get, post};
use crate::guard::{Action, Resource};
use crate::wire::state_request::{HistoryRequest, StateAt, StateUpdate};

pub(super) fn endpoints() -> Vec<Endpoint> {
    let endpoints = vec![
        get("/threads/{thread_id}/state", head, "Read the state of a thread")
            .query(&["subgraphs", "select", "checkpoint_ns"])
            .gives(Gives::One("ThreadState")),
        get("/threads/{thread_id}/state/{checkpoint_id}", at, "Read the state of a thread at a checkpoint")
            .query(&["subgraphs", "select", "checkpoint_ns"])
            .gives(Gives::One("ThreadState")),
        post(
            "/threads/{thread_id}/state/checkpoint",
            at_checkpoint,
            "Read the state of a thread at a checkpoint",
        )
        .action(Action::Read)
        .takes("StateAt")
        .gives(Gives::One("ThreadState")),
        post("/threads/{thread_id}/state", update, "Change the state of a thread")
            .action(Action::Update)
            .takes("StateUpdate"),
        post("/threads/{thread_id}/history", history, "List the states of a thread, newest first")
            .action(Action::Read)
            .takes("HistoryRequest")
            .gives(Gives::Many("ThreadState")),
        get("/threads/{thread_id}/history", history_of_query, "List the states of a thread, newest first")
            .query(&["limit", "before"])
            .gives(Gives::Many("ThreadState")),
    ];
    endpoints.into_iter().map(|endpoint| endpoint.on(Resource::Threads)).collect()
}

async fn head(State(app): State<App>, call: Call) -> Reply {
    let at = StateAt::of_query(&call.query, None)?;
    ok(&app.service.state(&call.scope, call.thread()?, at).await?)
}

async fn at(State(app): State<App>, call: Call) -> Reply {
    let at = StateAt::of_query(&call.query, Some(call.path("checkpoint_id")))?;
    ok(&app.service.state(&call.scope, call.thread()?, at).await?)
}

async fn at_checkpoint(State(app): State<App>, call: Call) -> Reply {
    ok(&app.service.state(&call.scope, call.thread()?, StateAt::read(&call.body)?).await?)
}

async fn update(State(app): State<App>, call: Call) -> Reply {
    ok(&app.service.update_state(&call.scope, call.thread()?, StateUpdate::read(&call.body)?).await?)
}

async fn history(State(app): State<App>, call: Call) -> Reply {
    ok(&app.service.history(&call.scope, call.thread()?, HistoryRequest::read(&call.body)?).await?.into())
}

async fn history_of_query(State(app): State<App>, call: Call) -> Reply {
    ok(&app
        .service
        .history(&call.scope, call.thread()?, HistoryRequest::of_query(&call.query)?)
        .await?
        .into())
}
