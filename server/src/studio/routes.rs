//! The table of the routes of the API, from which its router is built.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderValue, Method};
use axum::middleware::{from_fn_with_state, map_response};
use axum::response::Response;
use axum::routing::{MethodRouter, get, post};

use crate::guard;
use crate::wire::Failure;

use super::refused::Refused;
use super::{Studio, events, read, write};

/// A route of the API.
pub(super) struct Route {
    /// The method: GET reads the file, POST writes to it or runs a graph.
    pub(super) method: Method,
    /// The path below `/studio/api/`.
    pub(super) path: &'static str,
    handler: MethodRouter<Studio>,
}

/// Returns the routes of a studio; those that write only if a program lends its graphs.
pub(super) fn routes(has_program: bool) -> Vec<Route> {
    let reads = |path, handler| Route { method: Method::GET, path, handler };
    let mut routes = vec![reads("session", get(read::session)), reads("events", get(events::events))];
    routes.extend(read::READS.iter().map(|asked| {
        let answer = async move |State(studio): State<Studio>, request: Request| {
            read::answer(&studio, asked, request.uri().query().unwrap_or_default()).await
        };
        reads(asked.path, get(answer))
    }));
    if has_program {
        let writes = |path, handler| Route { method: Method::POST, path, handler };
        routes.extend([
            writes("preview", post(write::preview)),
            writes("edit", post(write::edit)),
            writes("fork", post(write::fork)),
            writes("name", post(write::name)),
            writes("answer", post(write::answer)),
            writes("run", post(write::run)),
            writes("resume", post(write::resume)),
            writes("rerun", post(write::rerun)),
            writes("replay", post(write::replay)),
            writes("cancel", post(write::cancel)),
        ]);
    }
    routes
}

/// Builds the router of the API, with the guard before all routes.
pub(super) fn router(studio: Studio) -> Router {
    let guard = Arc::clone(&studio.0.guard);
    let routes = routes(studio.0.program.is_some());
    let router = routes.into_iter().fold(Router::new(), |router, route| {
        router.route(&format!("/studio/api/{}", route.path), route.handler)
    });
    router
        .route("/studio/api/{*path}", axum::routing::any(unknown))
        .with_state(studio)
        .method_not_allowed_fallback(async || Failure::new(405, "Method Not Allowed"))
        .layer(map_response(headers))
        .layer(from_fn_with_state(guard, guard::check))
}

/// Answers a request for a path without a route.
async fn unknown(State(studio): State<Studio>, method: Method) -> Refused {
    match method == Method::POST && studio.0.program.is_none() {
        true => only_reads(),
        false => Failure::not_found("Not Found").into(),
    }
}

/// The error of a request to write in a studio that only reads.
pub(super) fn only_reads() -> Refused {
    let detail = "this studio only reads: start the studio of the program that has the graphs, such as \
                  `essays debug studio`, to change something";
    Failure::new(403, detail).into()
}

/// Adds the headers of all responses of the API, which are never a page.
async fn headers(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(
        CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"),
    );
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}
