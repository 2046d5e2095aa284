//! The server itself.

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use serde_json::json;

use super::App;
use super::call::{Call, Reply, ok};
use super::endpoint::{Endpoint, Gives, get};
use super::openapi;
use crate::counts::Levels;

const PROMETHEUS: &str = "text/plain; version=0.0.4";

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        get("/", alive, "Check that the server answers").query(&["check_db"]),
        get("/ok", alive, "Check that the server answers").query(&["check_db"]),
        get("/info", info, "Read the version and the abilities of the server"),
        get("/metrics", metrics, "Read numbers for monitoring").gives(Gives::Text(PROMETHEUS)),
        get("/openapi.json", document, "Read the OpenAPI document"),
        get("/docs", page, "Read the list of endpoints").gives(Gives::Text("text/html; charset=utf-8")),
    ]
}

async fn alive(State(app): State<App>, call: Call) -> Reply {
    if call.query.flag("check_db")?.unwrap_or(false) {
        app.service.check_store().await?;
    }
    ok(&json!({ "ok": true, "services": {} }))
}

async fn info(State(app): State<App>) -> Reply {
    ok(&json!({
        "version": env!("CARGO_PKG_VERSION"),
        "flags": {
            "assistants": true,
            "crons": app.service.has_crons(),
            "langsmith": false,
            "strict_resume": true,
        },
        "host": {
            "kind": "self-hosted",
            "project_id": null,
            "host_revision_id": null,
            "revision_id": null,
            "tenant_id": null,
        },
    }))
}

async fn metrics(State(app): State<App>) -> Reply {
    let (pending, running) = app.service.open_runs().await?;
    let levels = Levels { streams: app.guard.streams.count() as u64, pending, running };
    text(app.guard.counts.prometheus(&levels), PROMETHEUS)
}

async fn document() -> Reply {
    ok(&openapi::document(&super::endpoints()))
}

async fn page() -> Reply {
    text(openapi::page(&super::endpoints()), "text/html; charset=utf-8")
}

fn text(text: String, kind: &'static str) -> Reply {
    let mut response = Response::new(Body::from(text));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    Ok(response)
}
