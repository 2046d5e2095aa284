//! Requests that the guard refuses.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use axum::Router;
use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Request, StatusCode};
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};

use super::tenants::{command, connected};
use super::{body, error, listen, request, router, send, server};
use crate::api::endpoints;
use crate::counts::Counts;
use crate::guard::{self, Everyone, Guard, Hosts, Limits, Streams};
use crate::{Access, Action, Auth, AuthError, Filter, Identity, Resource, ServeError, Token};

/// Returns a request for each endpoint.
fn requests() -> Vec<(String, axum::http::request::Builder)> {
    let endpoints = endpoints();
    let requests = endpoints.iter().map(|endpoint| {
        let segments =
            endpoint.path.split('/').map(|segment| if segment.starts_with('{') { "x" } else { segment });
        let path = segments.collect::<Vec<_>>().join("/");
        let method = endpoint.method.to_uppercase();
        (format!("{method} {path}"), request(&method, &path))
    });
    requests.collect()
}

fn with_token() -> Router {
    router(server().auth(Token::new("s3cret").unwrap()))
}

#[tokio::test]
async fn every_route_needs_the_token() {
    let router = with_token();
    for (name, request) in requests() {
        let response = send(&router, request.body(Body::empty()).unwrap()).await;
        assert_eq!(response.headers()["www-authenticate"], "Bearer", "{name}");
        assert_eq!(error(response).await, (401, "the API key is missing or wrong".into()), "{name}");
    }
    for (name, request) in requests() {
        let request = request.header("x-api-key", "s3cre").header("authorization", "Bearer S3cret");
        let response = send(&router, request.body(Body::empty()).unwrap()).await;
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED, "{name}");
    }
    let unknown = send(&router, request("GET", "/nope").body(Body::empty()).unwrap()).await;
    assert_eq!(unknown.status(), StatusCode::UNAUTHORIZED);
    let known = request("GET", "/ok").header("x-api-key", "s3cret").body(Body::empty()).unwrap();
    assert_eq!(send(&router, known).await.status(), StatusCode::OK);
}

#[tokio::test]
async fn every_route_rejects_foreign_hosts_and_origins() {
    let router = router(server());
    for (name, rebound) in requests() {
        let mut rebound = rebound.body(Body::empty()).unwrap();
        rebound.headers_mut().insert("host", HeaderValue::from_static("evil.example:2024"));
        let (status, detail) = error(send(&router, rebound).await).await;
        assert_eq!(status, 403, "{name}");
        assert!(detail.contains("evil.example:2024"), "{name}: {detail}");
    }
    for (name, foreign) in requests() {
        let response =
            send(&router, foreign.header("origin", "https://evil.example").body(Body::empty()).unwrap())
                .await;
        assert!(!response.headers().contains_key("access-control-allow-origin"), "{name}");
        assert_eq!(error(response).await.0, 403, "{name}");
    }
    let no_host = Request::builder().uri("/ok").body(Body::empty()).unwrap();
    assert_eq!(error(send(&router, no_host).await).await.0, 400);
}

#[tokio::test]
async fn pages_of_other_sites_do_not_write() {
    let router = router(server());
    let cross_site = |method: &str| request(method, "/threads").header("sec-fetch-site", "cross-site");
    let (status, detail) = error(send(&router, cross_site("POST").body(Body::empty()).unwrap()).await).await;
    assert_eq!((status, detail.as_str()), (403, "a page of another site may not send this request"));
    // A form sends texts and no JSON.
    let form =
        request("POST", "/threads").header("content-type", "text/plain").body(Body::from("{}")).unwrap();
    assert_eq!(error(send(&router, form).await).await.0, 415);
    // The page of this machine at another name is another site for browsers.
    let local = cross_site("POST").header("origin", "http://localhost:3000").body(Body::empty()).unwrap();
    assert_ne!(send(&router, local).await.status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn an_admitted_page_may_send_and_read_what_it_needs() {
    let router = router(server().auth(Token::new("s3cret").unwrap()).allow_origin("https://app.example"));
    let question = request("OPTIONS", "/threads")
        .header("origin", "https://app.example")
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "content-type,x-api-key")
        .header("access-control-request-private-network", "true");
    let answer = send(&router, question.body(Body::empty()).unwrap()).await;
    assert_eq!(answer.status(), StatusCode::OK);
    let headers = answer.headers();
    assert_eq!(headers["access-control-allow-origin"], "https://app.example");
    assert_eq!(headers["access-control-allow-headers"], "content-type,x-api-key");
    assert_eq!(headers["access-control-allow-private-network"], "true");
    assert_eq!(headers["access-control-allow-methods"], "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT");
    // A page has to read errors, too.
    let refused = send(
        &router,
        request("GET", "/ok").header("origin", "http://localhost:3000").body(Body::empty()).unwrap(),
    );
    let refused = refused.await;
    assert_eq!(refused.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(refused.headers()["access-control-allow-origin"], "http://localhost:3000");
    let exposed = refused.headers()["access-control-expose-headers"].to_str().unwrap();
    for header in ["content-location", "location", "x-pagination-next", "x-pagination-total"] {
        assert!(exposed.split(", ").any(|exposed| exposed == header), "{header}");
    }
}

#[tokio::test]
async fn wildcards_are_rejected_at_the_start() {
    for server in
        [server().allow_origin("*"), server().allow_origin("https://*.example"), server().allow_host("*")]
    {
        assert!(matches!(server.router(), Err(ServeError::Wildcard { .. })));
    }
}

/// Authenticates each client by its key, and forbids to delete threads.
pub(super) struct Users;

#[async_trait]
impl Auth for Users {
    async fn authenticate(&self, parts: &Parts) -> Result<Identity, AuthError> {
        match parts.headers.get("x-api-key").and_then(|key| key.to_str().ok()) {
            Some("down") => Err(AuthError::Unavailable { reason: "no keys".into() }),
            Some(key) => Ok(Identity::new(key)),
            None => Err(AuthError::Unauthenticated { reason: "no key".into() }),
        }
    }

    async fn filter(&self, identity: &Identity, access: Access) -> Result<Filter, AuthError> {
        match access {
            Access { resource: Resource::Threads, action: Action::Delete } => {
                Err(AuthError::Forbidden { reason: "only administrators delete threads".into() })
            }
            _ => Ok(Filter::by_owner(identity, access)),
        }
    }
}

#[tokio::test]
async fn the_program_decides_what_each_client_may_do() {
    let router = router(server().auth(Users));
    let sent = |method: &str, path: &str, key: &str| {
        send(&router, request(method, path).header("x-api-key", key).body(Body::empty()).unwrap())
    };
    assert_eq!(
        error(sent("DELETE", "/threads/x", "ada").await).await,
        (403, "only administrators delete threads".into())
    );
    assert_eq!(error(sent("GET", "/ok", "down").await).await, (503, "no keys".into()));
    assert_eq!(sent("GET", "/ok", "ada").await.status(), StatusCode::OK);
}

/// Admits a client with a key that does not expire, and with one that may.
struct Expiring(Arc<AtomicBool>);

const EXPIRED: &str = "the key has expired; log in again";

#[async_trait]
impl Auth for Expiring {
    async fn authenticate(&self, parts: &Parts) -> Result<Identity, AuthError> {
        match parts.headers.get("x-api-key").and_then(|key| key.to_str().ok()) {
            Some("short") if self.0.load(Ordering::Relaxed) => {
                Err(AuthError::Unauthenticated { reason: EXPIRED.into() })
            }
            Some(_) => Ok(Identity::new("ada")),
            None => Err(AuthError::Unauthenticated { reason: "no key".into() }),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_key_has_expired_requests_are_401_and_an_open_stream_has_its_events() {
    let expired = Arc::new(AtomicBool::new(false));
    let (router, workers) = server().auth(Expiring(Arc::clone(&expired))).router().unwrap();
    workers.start();
    let router = super::contract::checked(router);
    let sent = |method: &str, path: &str, key: &str, body: Value| {
        let request =
            request(method, path).header("x-api-key", key).header("content-type", "application/json");
        send(&router, request.body(Body::from(body.to_string())).unwrap())
    };
    let thread = json!({ "thread_id": "t" });
    assert_eq!(sent("POST", "/threads", "short", thread).await.status(), StatusCode::OK);
    let mut open =
        sent("GET", "/threads/t/stream", "short", Value::Null).await.into_body().into_data_stream();
    expired.store(true, Ordering::Relaxed);
    for (method, path) in [("GET", "/threads/t"), ("POST", "/threads/t/runs"), ("GET", "/threads/t/stream")] {
        let response = sent(method, path, "short", json!({ "assistant_id": "stories" })).await;
        assert_eq!(response.headers()["www-authenticate"], "Bearer");
        assert_eq!(error(response).await, (401, EXPIRED.to_owned()), "{method} {path}");
    }
    let run = json!({ "assistant_id": "stories", "input": { "topic": "Rust" } });
    assert_eq!(sent("POST", "/threads/t/runs/wait", "long", run).await.status(), StatusCode::OK);
    let mut text = String::new();
    while !text.contains("run_done") {
        text += std::str::from_utf8(&open.next().await.unwrap().unwrap()).unwrap();
    }
    assert!(text.contains("about Rust"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_key_has_expired_a_socket_carries_out_no_command() {
    let expired = Arc::new(AtomicBool::new(false));
    let listening = listen(server().auth(Expiring(Arc::clone(&expired)))).await;
    let address = listening.address();
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(listening.until(std::future::pending()));
    let subscribe = |id: u64| {
        let params = json!({ "channels": ["values"] });
        json!({ "id": id, "method": "subscription.subscribe", "params": params })
    };
    let mut socket = connected(address, "short", "t").await;
    assert_eq!(command(&mut socket, subscribe(1)).await["type"], "success");
    expired.store(true, Ordering::Relaxed);
    let refused = json!({ "type": "error", "id": 2, "error": "permission_denied", "message": EXPIRED });
    assert_eq!(command(&mut socket, subscribe(2)).await, refused);
}

/// Returns a guard in front of one route that panics, and one that reads.
fn guarded(limits: Limits) -> Router {
    let guard = Arc::new(Guard {
        hosts: Hosts::default(),
        auth: Arc::new(Everyone),
        limits,
        streams: Streams::default(),
        counts: Counts::default(),
        is_read_only: false,
    });
    let panics = async || -> StatusCode { panic!("the secret of the handler") };
    Router::new().route("/panics", get(panics)).layer(from_fn_with_state(guard, guard::check))
}

#[tokio::test]
async fn a_panic_is_an_error_with_an_id_and_without_its_text() {
    let router = guarded(Limits::default());
    let panicked = request("GET", "/panics").header("x-request-id", "mine-1").body(Body::empty()).unwrap();
    let response = send(&router, panicked).await;
    assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(response.headers()["x-request-id"], "mine-1");
    assert!(!body(response).await.to_string().contains("secret"));
    for unusable in ["two words", &"x".repeat(129)] {
        let other = request("GET", "/panics").header("x-request-id", unusable).body(Body::empty()).unwrap();
        assert_eq!(send(&router, other).await.headers()["x-request-id"].len(), 16);
    }
}

#[tokio::test]
async fn large_heads_are_rejected() {
    let router = guarded(Limits::default());
    let large = request("GET", "/").header("x-large", "x".repeat(32 << 10)).body(Body::empty()).unwrap();
    assert_eq!(
        error(send(&router, large).await).await,
        (431, "the headers have more than 32768 bytes".into())
    );
    let long = request("GET", &format!("/{}", "x".repeat(40_000))).body(Body::empty()).unwrap();
    assert_eq!(error(send(&router, long).await).await.0, 431);
}

async fn read(body: impl Into<Body>) -> Result<Value, (u16, String)> {
    let headers =
        HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"))]);
    let limits = Limits { body_bytes: 1024, ..Limits::default() };
    let read = guard::read_json(&headers, body.into(), &limits).await;
    read.map_err(|failure| (failure.status, failure.detail))
}

#[tokio::test]
async fn malformed_and_too_large_bodies_are_rejected() {
    let invalid = (422, "Invalid JSON in request body".to_owned());
    for malformed in ["{", "nope", "{\"a\":1,}", "\u{feff}{}", "[1] [2]", "{\"a\": \"\u{1}\"}"] {
        assert_eq!(read(malformed).await.unwrap_err(), invalid, "{malformed:?}");
    }
    assert_eq!(read(vec![b'"', 0xff, b'"']).await.unwrap_err(), invalid);
    let too_large = (413, "the body has more than 1024 bytes".to_owned());
    assert_eq!(read("x".repeat(1025)).await.unwrap_err(), too_large);
    // A body whose length is not announced.
    let parts = stream::repeat_with(|| Ok::<_, std::io::Error>("          ")).boxed_body();
    assert_eq!(read(parts).await.unwrap_err(), too_large);
    let deep = (422, "the body has more than 128 levels of lists and objects".to_owned());
    assert_eq!(read("[".repeat(200) + &"]".repeat(200)).await.unwrap_err(), deep);
    assert_eq!(read("").await.unwrap(), json!({}));
}

trait BoxedBody {
    fn boxed_body(self) -> Body;
}

impl<S> BoxedBody for S
where
    S: stream::Stream<Item = Result<&'static str, std::io::Error>> + Send + 'static,
{
    fn boxed_body(self) -> Body {
        Body::from_stream(self)
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_arrive_is_given_up() {
    let begin = tokio::time::Instant::now();
    let silent = stream::pending::<Result<&'static str, std::io::Error>>().boxed_body();
    assert_eq!(read(silent).await.unwrap_err(), (408, "the body did not arrive within 60 seconds".into()));
    assert_eq!(begin.elapsed(), Duration::from_secs(60));
}

#[test]
fn a_client_has_so_many_streams_at_a_time() {
    let limits = Limits { streams: 2, ..Limits::default() };
    let streams = Streams::default();
    let first = streams.open("ada", &limits).unwrap();
    let _second = streams.open("ada", &limits).unwrap();
    let failure = streams.open("ada", &limits).unwrap_err();
    assert_eq!((failure.status, failure.retry_after), (429, Some(1)));
    let _other = streams.open("bob", &limits).unwrap();
    drop(first);
    let _third = streams.open("ada", &limits).unwrap();
    assert_eq!(streams.count(), 3);
}

#[tokio::test]
async fn unknown_paths_and_methods_have_texts() {
    let router = router(server());
    let sent = |method: &str, path: &str| send(&router, request(method, path).body(Body::empty()).unwrap());
    assert_eq!(error(sent("GET", "/nope").await).await, (404, "Not Found".into()));
    assert_eq!(error(sent("PUT", "/threads").await).await, (405, "Method Not Allowed".into()));
    assert_eq!(error(sent("GET", "/ui/agent").await).await.0, 404);
    let ok = sent("GET", "/ok").await;
    assert_eq!(ok.headers()["x-request-id"].len(), 16);
    assert_eq!(body(ok).await, json!({ "ok": true, "services": {} }));
}
