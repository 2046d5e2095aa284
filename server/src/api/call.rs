//! A request as handlers get it, and the responses that several of them give.

use axum::extract::{FromRequest, FromRequestParts, RawPathParams, Request};
use axum::http::header::{CONTENT_LOCATION, LOCATION};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use superstep_core::records::RunRow;

use super::App;
use crate::guard::{self, Client, Filter, OpenStream};
use crate::service::Scope;
use crate::wire::Failure;
use crate::wire::ids;
use crate::wire::members::Page;
use crate::wire::query::Query;

/// The result of a handler.
pub(super) type Reply = Result<Response, Failure>;

/// An admitted request.
pub(super) struct Call {
    /// The part of the objects that the client may use.
    pub(super) scope: Scope,
    /// The namespace below which the client has its part of the store.
    pub(super) namespace: Vec<String>,
    /// The parameters of the query.
    pub(super) query: Query,
    /// The headers.
    pub(super) headers: HeaderMap,
    /// The body; an empty object if the request has none.
    pub(super) body: Value,
    client: String,
    path: Vec<(String, String)>,
}

impl FromRequest<App> for Call {
    type Rejection = Failure;

    async fn from_request(request: Request, app: &App) -> Result<Self, Failure> {
        let (mut parts, body) = request.into_parts();
        let params = RawPathParams::from_request_parts(&mut parts, app).await;
        let params = params.map_err(|_| Failure::not_found("the path is not UTF-8"))?;
        let path = params.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let unadmitted = || Failure::new(500, "the request was not admitted");
        let filter = parts.extensions.remove::<Filter>().ok_or_else(unadmitted)?;
        let Client(client) = parts.extensions.remove().ok_or_else(unadmitted)?;
        let body = guard::read_json(&parts.headers, body, &app.guard.limits).await?;
        Ok(Self {
            scope: Scope { stamp: filter.metadata.clone(), filter: filter.metadata },
            namespace: filter.namespace,
            query: Query::parse(parts.uri.query().unwrap_or_default()),
            headers: parts.headers,
            body,
            client,
            path,
        })
    }
}

impl Call {
    /// Returns a parameter of the path; `None` if the endpoint's path has none of this name.
    pub(super) fn param(&self, name: &str) -> Option<&str> {
        self.path.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns a parameter of the path; an empty text if the endpoint's path has none of this name.
    pub(super) fn path(&self, name: &str) -> &str {
        self.param(name).unwrap_or_default()
    }

    /// Returns the id of the thread in the path.
    pub(super) fn thread(&self) -> Result<&str, Failure> {
        self.id("thread_id", "thread")
    }

    /// Returns the id of the run in the path.
    pub(super) fn run(&self) -> Result<&str, Failure> {
        self.id("run_id", "run")
    }

    fn id(&self, name: &str, kind: &str) -> Result<&str, Failure> {
        let id = self.path(name);
        ids::check(kind, id).map(|()| id)
    }

    /// Counts a stream of the client.
    pub(super) fn open(&self, app: &App) -> Result<OpenStream, Failure> {
        let open = app.guard.streams.open(&self.client, &app.guard.limits)?;
        app.guard.counts.streams.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Ok(open)
    }
}

/// Makes a response of a value.
pub(super) fn ok(value: &Value) -> Reply {
    Ok(guard::json(200, value))
}

/// Makes a response without a body.
pub(super) fn nothing(status: StatusCode) -> Reply {
    Ok(status.into_response())
}

/// Makes a response of a page of a list, with the headers for the next one.
pub(super) fn page((rows, total): (Vec<Value>, u64), page: Page) -> Reply {
    let next = page.offset as u64 + rows.len() as u64;
    let mut response = guard::json(200, &Value::Array(rows));
    let headers = response.headers_mut();
    headers.insert(HeaderName::from_static("x-pagination-total"), total.into());
    if next < total {
        headers.insert(HeaderName::from_static("x-pagination-next"), next.into());
    }
    Ok(response)
}

/// Adds the path of a run, and the one at which a client that lost its connection waits for it again.
pub(super) fn place(mut response: Response, run: &RunRow, is_stateless: bool, again: Option<&str>) -> Reply {
    let path = match is_stateless {
        true => format!("/runs/{}", run.id),
        false => format!("/threads/{}/runs/{}", run.thread, run.id),
    };
    // Ids have characters that fit a header only.
    let value =
        |path: String| HeaderValue::try_from(path).map_err(|error| Failure::new(500, error.to_string()));
    let headers = response.headers_mut();
    if let Some(again) = again {
        headers.insert(LOCATION, value(format!("{path}/{again}"))?);
    }
    headers.insert(CONTENT_LOCATION, value(path)?);
    Ok(response)
}
