//! Threads.

use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};

use super::App;
use super::call::{Call, Reply, nothing, ok, page};
use super::endpoint::{Endpoint, Gives, delete, get, patch, post};
use crate::guard::{Action, Resource};
use crate::wire::thread::{Prune, ThreadCreate, ThreadPatch, ThreadSearch};

pub(super) fn endpoints() -> Vec<Endpoint> {
    let endpoints = vec![
        post("/threads", create, "Create a thread").takes("ThreadCreate").gives(Gives::One("Thread")),
        post("/threads/search", search, "List threads")
            .action(Action::Read)
            .takes("ThreadSearch")
            .gives(Gives::Many("Thread")),
        post("/threads/count", count, "Count threads").action(Action::Read).takes("ThreadSearch"),
        post("/threads/prune", prune, "Delete threads, or all but their latest checkpoints")
            .action(Action::Delete)
            .takes("ThreadPrune"),
        get("/threads/{thread_id}", read, "Read a thread").query(&["include"]).gives(Gives::One("Thread")),
        patch("/threads/{thread_id}", change, "Change the metadata of a thread")
            .takes("ThreadPatch")
            .gives(Gives::One("Thread"))
            .also(&[Gives::Nothing(204)]),
        delete("/threads/{thread_id}", remove, "Delete a thread").gives(Gives::Nothing(204)),
        post("/threads/{thread_id}/copy", copy, "Copy a thread with its checkpoints")
            .gives(Gives::One("Thread")),
    ];
    endpoints.into_iter().map(|endpoint| endpoint.on(Resource::Threads)).collect()
}

async fn create(State(app): State<App>, call: Call) -> Reply {
    ok(&app.service.create_thread(&call.scope, ThreadCreate::read(&call.body)?).await?)
}

async fn search(State(app): State<App>, call: Call) -> Reply {
    let request = ThreadSearch::read(&call.body)?;
    let asked = request.page;
    page(app.service.search_threads(&call.scope, request).await?, asked)
}

async fn count(State(app): State<App>, call: Call) -> Reply {
    ok(&Value::from(app.service.count_threads(&call.scope, ThreadSearch::read(&call.body)?).await?))
}

async fn prune(State(app): State<App>, call: Call) -> Reply {
    let pruned = app.service.prune_threads(&call.scope, Prune::read(&call.body)?).await?;
    ok(&json!({ "pruned_count": pruned }))
}

async fn read(State(app): State<App>, call: Call) -> Reply {
    let includes = call.query.all("include").unwrap_or_default();
    let has_ttl = includes.iter().any(|names| names.split(',').any(|name| name.trim() == "ttl"));
    ok(&app.service.thread(&call.scope, call.thread()?, has_ttl).await?)
}

async fn change(State(app): State<App>, call: Call) -> Reply {
    let thread =
        app.service.patch_thread(&call.scope, call.thread()?, ThreadPatch::read(&call.body)?).await?;
    let preference = call.headers.get("prefer").and_then(|value| value.to_str().ok()).unwrap_or_default();
    match preference.eq_ignore_ascii_case("return=minimal") {
        true => nothing(StatusCode::NO_CONTENT),
        false => ok(&thread),
    }
}

async fn remove(State(app): State<App>, call: Call) -> Reply {
    app.service.delete_thread(&call.scope, call.thread()?).await?;
    nothing(StatusCode::NO_CONTENT)
}

async fn copy(State(app): State<App>, call: Call) -> Reply {
    ok(&app.service.copy_thread(&call.scope, call.thread()?).await?)
}
