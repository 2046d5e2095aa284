//! Schedules of runs.

use axum::extract::State;
use axum::http::StatusCode;
use serde_json::Value;

use super::App;
use super::call::{Call, Reply, nothing, ok, page};
use super::endpoint::{Endpoint, Gives, delete, get, patch, post};
use super::runs::thread_of;
use crate::guard::{Action, Resource};
use crate::wire::cron::{CronCreate, CronPatch, CronSearch};

pub(super) fn endpoints() -> Vec<Endpoint> {
    let endpoints = vec![
        post("/runs/crons", create, "Schedule runs on temporary threads")
            .takes("CronCreate")
            .gives(Gives::One("Cron")),
        post("/threads/{thread_id}/runs/crons", create, "Schedule runs of a thread")
            .takes("CronCreate")
            .gives(Gives::One("Cron")),
        post("/runs/crons/search", search, "List schedules")
            .action(Action::Read)
            .takes("CronSearch")
            .gives(Gives::Many("Cron")),
        post("/runs/crons/count", count, "Count schedules").action(Action::Read).takes("CronSearch"),
        get("/runs/crons/{cron_id}", read, "Read a schedule").gives(Gives::One("Cron")),
        patch("/runs/crons/{cron_id}", change, "Change a schedule")
            .takes("CronPatch")
            .gives(Gives::One("Cron")),
        delete("/runs/crons/{cron_id}", remove, "Delete a schedule").gives(Gives::Nothing(204)),
    ];
    endpoints.into_iter().map(|endpoint| endpoint.on(Resource::Crons)).collect()
}

async fn create(State(app): State<App>, call: Call) -> Reply {
    let request = CronCreate::read(&call.body)?;
    ok(&app.service.create_cron(&call.scope, thread_of(&call)?, request).await?)
}

async fn search(State(app): State<App>, call: Call) -> Reply {
    let request = CronSearch::read(&call.body)?;
    let asked = request.page;
    page(app.service.search_crons(&call.scope, request).await?, asked)
}

async fn count(State(app): State<App>, call: Call) -> Reply {
    ok(&Value::from(app.service.count_crons(&call.scope, CronSearch::read(&call.body)?).await?))
}

async fn read(State(app): State<App>, call: Call) -> Reply {
    ok(&app.service.cron(&call.scope, call.path("cron_id")).await?)
}

async fn change(State(app): State<App>, call: Call) -> Reply {
    ok(&app.service.patch_cron(&call.scope, call.path("cron_id"), CronPatch::read(&call.body)?).await?)
}

async fn remove(State(app): State<App>, call: Call) -> Reply {
    app.service.delete_cron(&call.scope, call.path("cron_id")).await?;
    nothing(StatusCode::NO_CONTENT)
}
