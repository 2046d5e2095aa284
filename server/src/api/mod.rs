//! The routes: handlers parse a request, call the service, and render its result. They decide nothing.
//!
//! Each file has the endpoints of a resource. The router and the OpenAPI document are built from the same table.

mod assistants;
mod call;
mod crons;
mod endpoint;
mod info;
mod mcp;
pub(crate) mod openapi;
mod protocol;
mod runs;
mod socket;
pub(crate) mod sse;
mod state;
mod store;
mod stream;
mod threads;
mod watch;

use std::sync::Arc;

use axum::Router;
use axum::http::Uri;
use axum::middleware::from_fn_with_state;
use futures_util::FutureExt;
use superstep_core::records::{CancelAction, RunRow};

pub(crate) use endpoint::{Endpoint, Gives};

use crate::guard::{self, Guard};
use crate::service::{Scope, Service};
use crate::wire::Failure;
use watch::{Watch, Watchers};

/// The state of all handlers.
#[derive(Clone)]
pub(crate) struct App {
    service: Service,
    guard: Arc<Guard>,
    watchers: Watchers,
}

/// Returns the table of all endpoints.
pub(crate) fn endpoints() -> Vec<Endpoint> {
    let resources = [
        info::endpoints(),
        assistants::endpoints(),
        threads::endpoints(),
        state::endpoints(),
        runs::endpoints(),
        stream::endpoints(),
        protocol::endpoints(),
        store::endpoints(),
        crons::endpoints(),
        mcp::endpoints(),
    ];
    resources.into_iter().flatten().collect()
}

impl App {
    /// Creates the state of the handlers.
    pub(crate) fn new(service: Service, guard: Arc<Guard>) -> Self {
        Self { service, guard, watchers: Watchers::default() }
    }

    /// Builds the router, with the guard before all routes.
    pub(crate) fn router(self) -> Router {
        let guard = Arc::clone(&self.guard);
        endpoint::router(endpoints(), &guard)
            .fallback(unknown)
            .method_not_allowed_fallback(async || Failure::new(405, "Method Not Allowed"))
            .with_state(self)
            .layer(from_fn_with_state(guard, guard::check))
    }

    /// Counts a client that waits for a run. If `cancels` and it goes away, the run is cancelled, unless the server only
    /// reads.
    fn watch(&self, scope: &Scope, run: &RunRow, cancels: bool) -> Watch {
        let cancels = cancels && !self.guard.is_read_only;
        let (service, scope, row) = (self.service.clone(), scope.clone(), run.clone());
        let cancel = async move {
            if let Err(error) = service.cancel(&scope, &row, CancelAction::Interrupt).await {
                tracing::debug!(run = row.id, %error, "the run of a client that went away was not cancelled");
            }
        };
        self.watchers.watch(&run.id, cancels.then(|| cancel.boxed()))
    }
}

/// Answers a request for a path without an endpoint.
async fn unknown(path: Uri) -> Failure {
    let path = path.path();
    let unsupported = ["/ui/", "/a2a/", "/noauth/", "/.well-known/agent-card.json"];
    match unsupported.iter().any(|start| path.starts_with(start)) || path.ends_with("/storage") {
        true => Failure::not_found(format!("this server does not support {path}")),
        false => Failure::not_found("Not Found"),
    }
}
