//! Graphs as tools over HTTP, on loopback.

use crate::{BearerToken, HttpAccess, McpServer, McpService, McpUrl, ServeError};
use superstep_core::checkpoint::MemorySaver;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::graphs::{data, reviewed, service, tool};
use super::scripted::{HANGS, allowed};

/// Serves drafts of articles; returns where.
async fn serve(access: HttpAccess) -> (String, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let service: McpService = service(tool("write", reviewed().checkpointer(MemorySaver::new())));
    (address, tokio::spawn(async move { service.serve_http(listener, access).await.unwrap() }))
}

fn url(address: &str) -> McpUrl {
    McpUrl::new(&format!("http://{address}/mcp")).unwrap()
}

/// The status and the headers of the answer to a request.
async fn answer(address: &str, path: &str, headers: &str) -> String {
    let hello = serde_json::json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        },
    })
    .to_string();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "POST {path} HTTP/1.1\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\n{headers}\
         Connection: close\r\nContent-Length: {}\r\n\r\n{hello}",
        hello.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let mut piece = [0; 512];
    while !answer.windows(4).any(|four| four == b"\r\n\r\n") {
        let read = stream.read(&mut piece).await.unwrap();
        assert_ne!(read, 0, "{}", String::from_utf8_lossy(&answer));
        answer.extend_from_slice(&piece[..read]);
    }
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn a_graph_is_asked_and_answered_over_http() {
    let (address, server) = serve(HttpAccess::with_token(BearerToken::new("hunter2"))).await;
    let url = url(&address).bearer(BearerToken::new("hunter2")).unwrap();
    let press = McpServer::connect("s", url, allowed()).await.unwrap();
    let asked = data(&press, "s__write", serde_json::json!({ "title": "Graphs" })).await;
    assert_eq!(asked["questions"][0]["question"], "Graphs, draft 1");
    // Another connection goes on where this one has left.
    let other =
        McpServer::connect("s", self::url(&address).bearer(BearerToken::new("hunter2")).unwrap(), allowed());
    let answer = serde_json::json!({ "thread": asked["thread"], "answer": "Accept" });
    let ended = data(&other.await.unwrap(), "s__write_resume", answer).await;
    assert_eq!(ended["output"]["drafts"], 1);
    server.abort();
}

#[tokio::test]
async fn who_has_no_token_is_refused() {
    let (address, _server) = serve(HttpAccess::with_token(BearerToken::new("hunter2"))).await;
    for wrong in [None, Some("hunter3"), Some("hunter22")] {
        let url = match wrong {
            Some(token) => url(&address).bearer(BearerToken::new(token)).unwrap(),
            None => url(&address),
        };
        let error = McpServer::connect("s", url, allowed()).await.unwrap_err().to_string();
        assert!(error.starts_with("the MCP server `s` cannot be reached: "), "{error}");
    }
    let host = format!("Host: {address}\r\n");
    for (headers, status) in [
        ("", "401"),
        ("Authorization: hunter2\r\n", "401"),
        ("Authorization: Basic hunter2\r\n", "401"),
        ("Authorization: bearer hunter2\r\n", "200"),
    ] {
        let said = answer(&address, "/mcp", &format!("{host}{headers}")).await;
        assert!(said.starts_with(&format!("HTTP/1.1 {status} ")), "{headers}: {said}");
    }
}

#[tokio::test]
async fn pages_in_a_browser_and_other_names_of_this_machine_are_refused() {
    let (address, _server) =
        serve(HttpAccess::everybody().origin("https://app.example.org:443").host("own.test")).await;
    let host = format!("Host: {address}\r\n");
    for (path, headers, status) in [
        ("/mcp", host.clone(), "200"),
        ("/mcp", "Host: own.test\r\n".to_owned(), "200"),
        ("/mcp", "Host: evil.test\r\n".to_owned(), "403"),
        ("/mcp", format!("{host}Origin: https://evil.test\r\n"), "403"),
        ("/mcp", format!("{host}Origin: https://app.example.org\r\n"), "200"),
        ("/", host.clone(), "404"),
    ] {
        let said = answer(&address, path, &headers).await;
        assert!(said.starts_with(&format!("HTTP/1.1 {status} ")), "{path} {headers}: {said}");
    }
}

#[tokio::test]
async fn everybody_is_not_let_in_where_other_machines_may_come_from() {
    for open in ["0.0.0.0:0", "[::]:0"] {
        let Ok(listener) = TcpListener::bind(open).await else {
            assert_eq!(open, "[::]:0", "a machine may have no IPv6");
            continue;
        };
        let service = service(tool("write", reviewed()));
        let error = service.serve_http(listener, HttpAccess::everybody()).await.unwrap_err();
        assert!(matches!(error, ServeError::NoToken { .. }), "{error}");
        assert!(error.to_string().contains("token"), "{error}");
    }
}

#[tokio::test]
async fn who_comes_when_too_many_are_there_waits() {
    let (address, _server) = serve(HttpAccess::everybody()).await;
    let mut open = Vec::new();
    for _ in 0..256 {
        open.push(TcpStream::connect(&address).await.unwrap());
    }
    let headers = format!("Host: {address}\r\n");
    let late = answer(&address, "/mcp", &headers);
    tokio::pin!(late);
    let early = tokio::time::timeout(std::time::Duration::from_millis(200), &mut late).await;
    assert!(early.is_err(), "{early:?}");
    drop(open);
    let said = tokio::time::timeout(HANGS, late).await.unwrap();
    assert!(said.starts_with("HTTP/1.1 200 "), "{said}");
}
