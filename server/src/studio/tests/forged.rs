//! Requests that do not come from the page.

use axum::body::Body;
use axum::http::Request;
use serde_json::json;
use superstep_checkpoint::SqliteSaver;
use superstep_core::run::ToAnyGraph;

use super::{Page, Pairs, TOKEN, essays, told, written};

/// A request with these headers, and the token unless they have one.
fn forged(method: &str, path: &str, headers: &[(&str, &str)]) -> Request<Body> {
    let mut request = Request::builder().method(method).uri(path);
    let has = |name: &str| headers.iter().any(|(known, _)| *known == name);
    if !has("host") {
        request = request.header("host", "localhost:2025");
    }
    if !has("authorization") {
        request = request.header("authorization", format!("Bearer {TOKEN}"));
    }
    for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()) {
        request = request.header(*name, *value);
    }
    let body =
        if method == "POST" { Body::from(json!({ "thread": "rust" }).to_string()) } else { Body::empty() };
    request.header("content-type", "application/json").body(body).unwrap()
}

#[tokio::test]
async fn forged_requests_are_refused() {
    let file = written().await;
    let essays = essays(SqliteSaver::open(&file.path).await.unwrap());
    let (page, workers) = Page::lent(&[essays.to_any_graph()]);
    let (read, write) = ("/studio/api/threads", "/studio/api/cancel");
    let cases: &[(&str, &str, &str, Pairs<'_>, u16)] = &[
        ("a foreign host", "GET", read, &[("host", "evil.example")], 403),
        ("a name that was bound to this machine", "GET", read, &[("host", "evil.example:2025")], 403),
        ("a host below localhost", "POST", write, &[("host", "localhost.evil.example:2025")], 403),
        ("no host", "GET", read, &[("host", "")], 400),
        ("a foreign origin", "GET", read, &[("origin", "https://evil.example")], 403),
        ("a foreign origin that writes", "POST", write, &[("origin", "https://evil.example")], 403),
        ("the origin of a sandboxed frame", "POST", write, &[("origin", "null")], 403),
        ("a file as the origin", "GET", read, &[("origin", "file://")], 403),
        ("a page of another site", "POST", write, &[("sec-fetch-site", "cross-site")], 403),
        ("no token", "GET", read, &[("authorization", "")], 401),
        ("a wrong token", "POST", write, &[("authorization", "Bearer s3cre7")], 401),
        ("a token in the address", "GET", "/studio/api/threads?token=s3cret", &[("authorization", "")], 401),
        ("a token of another kind", "GET", read, &[("authorization", "Basic s3cret")], 401),
        ("events without a token", "GET", "/studio/api/events", &[("authorization", "")], 401),
        ("a host that is not allowed for the page", "GET", "/studio", &[("host", "evil.example")], 403),
    ];
    for (name, method, path, headers, status) in cases {
        let response = page.send(forged(method, path, headers)).await;
        assert!(!response.headers().contains_key("access-control-allow-origin"), "{name}");
        assert_eq!(told(response).await.0, *status, "{name}");
    }
    // The same without what is forged.
    assert_eq!(told(page.send(forged("GET", read, &[])).await).await.0, 200);
    let own = [("origin", "http://localhost:2025"), ("sec-fetch-site", "same-origin")];
    assert_eq!(told(page.send(forged("GET", read, &own)).await).await.0, 200);
    // Browsers refuse to frame the page, and another window gets no handle of it.
    let response = page.send(forged("GET", "/studio", &[("authorization", "")])).await;
    let policy = response.headers()["content-security-policy"].to_str().unwrap();
    assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
    assert_eq!(response.headers()["cross-origin-opener-policy"], "same-origin");
    workers.shutdown(std::time::Duration::ZERO).await;
}

#[tokio::test]
async fn a_studio_that_only_reads_says_so() {
    let file = written().await;
    let page = Page::of(&file.path);
    for route in ["preview", "edit", "fork", "name", "answer", "run", "resume", "rerun", "replay", "cancel"] {
        let (status, error) = page.post(route, json!({ "thread": "rust", "checkpoint": "rust" })).await;
        assert_eq!(status, 403, "{route}");
        assert!(error["detail"].as_str().unwrap().starts_with("this studio only reads"), "{route}: {error}");
    }
    // A route that reads does not take a body.
    assert_eq!(page.post("threads", json!({})).await.0, 405);
}
