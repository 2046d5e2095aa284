//! The order of the checks, and what every response has.

use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, HOST, ORIGIN, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use serde_json::Value;
use uuid::Uuid;

use super::cors;
use super::{Access, Auth, AuthError, Hosts, Limits, Streams};
use crate::counts::Counts;
use crate::wire::{Failure, order};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The maximum length of an id that a client gives to its request.
const LONGEST_ID: usize = 128;

/// The rules of a server for its clients.
pub(crate) struct Guard {
    pub(crate) hosts: Hosts,
    pub(crate) auth: Arc<dyn Auth>,
    pub(crate) limits: Limits,
    pub(crate) streams: Streams,
    pub(crate) counts: Counts,
    /// `true` to refuse requests that write.
    pub(crate) is_read_only: bool,
}

/// The two ends of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    pub(crate) remote: SocketAddr,
    pub(crate) local: SocketAddr,
}

/// The client of a request, by which its open streams are counted: its id, or its address.
#[derive(Clone, Debug)]
pub(crate) struct Client(pub(crate) String);

/// Checks a request before it is routed, and completes its response: an id, the headers for pages of other origins,
/// and an error for a handler that panicked.
pub(crate) async fn check(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let id = request_id(request.headers());
    let (origin, passed) = match guard.admit_origin(&request) {
        Ok(origin) if cors::is_preflight(request.method(), request.headers()) => {
            (origin, Ok(Ok(cors::preflight(request.headers()))))
        }
        Ok(origin) => (origin, AssertUnwindSafe(guard.pass(request, next)).catch_unwind().await),
        Err(failure) => (None, Ok(Err(failure))),
    };
    let mut response = match passed {
        Ok(Ok(response)) => response,
        Ok(Err(failure)) => failure.into_response(),
        Err(_) => {
            tracing::error!(request = id.to_str().unwrap_or_default(), "a handler panicked");
            Failure::new(500, "Internal Server Error; the log has the error under the id in x-request-id")
                .into_response()
        }
    };
    guard.counts.answered(response.status());
    let headers = response.headers_mut();
    cors::allow(origin.as_ref(), headers);
    headers.insert(REQUEST_ID, id);
    response
}

/// Asks for the filter of a route, and passes it on to the handler with the request.
pub(crate) async fn admit(
    State((guard, access)): State<(Arc<Guard>, Access)>,
    mut request: Request,
    next: Next,
) -> Response {
    let Some(identity) = request.extensions().get::<super::Identity>().cloned() else {
        return Failure::new(500, "the request was not authenticated").into_response();
    };
    match guard.auth.filter(&identity, access).await {
        Ok(filter) => {
            request.extensions_mut().insert(filter);
            next.run(request).await
        }
        Err(error) => Failure::from(error).into_response(),
    }
}

impl Guard {
    /// Checks the size of the head, the host and the origin; returns the origin of a page.
    fn admit_origin(&self, request: &Request) -> Result<Option<HeaderValue>, Failure> {
        let headers = request.headers();
        let target = request.uri().path_and_query().map_or("", |target| target.as_str());
        self.limits.check_head(headers, target)?;
        let local = request.extensions().get::<Peer>().map(|peer| peer.local.ip());
        let host = host_of(headers, request.uri())?;
        if !self.hosts.admits_host(host, local) {
            let detail =
                format!("the host {host:?} is not allowed; start the server with --allow-host to allow it");
            return Err(Failure::new(403, detail));
        }
        let Some(origin) = headers.get(ORIGIN) else {
            let is_foreign = headers.get("sec-fetch-site").is_some_and(|site| site == "cross-site");
            return match is_foreign && !matches!(*request.method(), Method::GET | Method::HEAD) {
                true => Err(Failure::new(403, "a page of another site may not send this request")),
                false => Ok(None),
            };
        };
        match origin.to_str() {
            Ok(text) if self.hosts.admits_origin(text, host) => Ok(Some(origin.clone())),
            _ => {
                let detail = format!(
                    "the origin {origin:?} is not allowed; start the server with --cors-origin to allow it"
                );
                Err(Failure::new(403, detail))
            }
        }
    }

    /// Authenticates a request, and passes it on.
    async fn pass(&self, request: Request, next: Next) -> Result<Response, Failure> {
        let (mut parts, body) = request.into_parts();
        let identity = self.auth.authenticate(&parts).await?;
        let client = match identity.id.is_empty() {
            true => {
                parts.extensions.get::<Peer>().map_or_else(String::new, |peer| peer.remote.ip().to_string())
            }
            false => identity.id.clone(),
        };
        parts.extensions.insert(Client(client));
        parts.extensions.insert(identity);
        Ok(next.run(Request::from_parts(parts, body)).await)
    }
}

/// Returns the host that a request names.
fn host_of<'a>(headers: &'a HeaderMap, target: &'a Uri) -> Result<&'a str, Failure> {
    let mut hosts = headers.get_all(HOST).iter();
    match (target.authority(), hosts.next(), hosts.next()) {
        (_, Some(_), Some(_)) => Err(Failure::bad_request("the request has several Host headers")),
        (Some(authority), _, _) => Ok(authority.as_str()),
        (None, Some(host), None) => {
            host.to_str().map_err(|_| Failure::bad_request("the Host header is not a text"))
        }
        (None, None, _) => Err(Failure::bad_request("the request has no Host header")),
    }
}

/// Returns the id that the client gave to its request, or a new one.
fn request_id(headers: &HeaderMap) -> HeaderValue {
    let given = headers.get(REQUEST_ID).filter(|id| {
        let id = id.as_bytes();
        !id.is_empty() && id.len() <= LONGEST_ID && id.iter().all(u8::is_ascii_graphic)
    });
    let made = || {
        let id = format!("{:016x}", Uuid::now_v7().as_u64_pair().1);
        HeaderValue::try_from(id).expect("digits are a header value")
    };
    given.cloned().unwrap_or_else(made)
}

impl From<AuthError> for Failure {
    fn from(error: AuthError) -> Self {
        let status = match error {
            AuthError::Unauthenticated { .. } => 401,
            AuthError::Forbidden { .. } => 403,
            AuthError::Unavailable { .. } => 503,
        };
        Self::new(status, error.to_string())
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = json(self.status, &self.body());
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == 401 {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// Makes a response of a JSON value. A number that is no status becomes 500.
pub(crate) fn json(status: u16, value: &Value) -> Response {
    let mut response = Response::new(Body::from(order::text(value)));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
