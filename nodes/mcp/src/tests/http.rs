//! Servers behind an address, on loopback.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::{BearerToken, McpError, McpServer, McpUrl};
use serde_json::{Value, json};
use superstep_nodes::tool::ToolOutcome;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::scripted::{HANGS, allowed, call, make, registry, said, text, tool};

/// An answer to a message.
#[derive(Clone, Copy, PartialEq)]
enum Answer {
    Json,
    Events,
    Refused,
    Elsewhere,
    /// Calls are never answered.
    Never,
}

struct Server {
    url: String,
    /// The heads of the requests.
    heads: Arc<Mutex<Vec<String>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Server {
    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

async fn start(answer: Answer) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp?key=hunter2", listener.local_addr().unwrap());
    let heads: Arc<Mutex<Vec<String>>> = Arc::default();
    let told = Arc::clone(&heads);
    let task = tokio::spawn(async move {
        let mut clients = tokio::task::JoinSet::new();
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            clients.spawn(serve(stream, answer, Arc::clone(&told)));
        }
    });
    Server { url, heads, task }
}

/// Answers the requests of a connection, as long as there are some.
async fn serve(stream: TcpStream, answer: Answer, heads: Arc<Mutex<Vec<String>>>) {
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    loop {
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            // A client may break off.
            if !matches!(read.read_line(&mut line).await, Ok(1..)) {
                return;
            }
            if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line.trim().is_empty() {
                break;
            }
            head.push_str(&line);
        }
        let mut body = vec![0; length];
        read.read_exact(&mut body).await.unwrap();
        heads.lock().unwrap().push(head.clone());
        let message: Value = serde_json::from_slice(&body).unwrap_or_default();
        let answer = match (head.split(' ').next().unwrap(), message.get("id")) {
            ("POST", Some(id)) => match of(answer, &message, id) {
                Some(answer) => answer,
                None => std::future::pending().await,
            },
            ("POST", None) => http("202 Accepted", "", ""),
            _ => http("405 Method Not Allowed", "", ""),
        };
        if write.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

fn of(answer: Answer, message: &Value, id: &Value) -> Option<String> {
    let result = match message["method"].as_str().unwrap() {
        "initialize" => json!({
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "http", "version": "1" },
        }),
        "tools/list" => json!({ "tools": [tool("echo")] }),
        _ if answer == Answer::Never => return None,
        _ => text("done"),
    };
    let json = json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string();
    Some(match answer {
        Answer::Json | Answer::Never => http("200 OK", "Content-Type: application/json\r\n", &json),
        Answer::Events => http(
            "200 OK",
            "Content-Type: text/event-stream\r\n",
            &format!("event: message\ndata: {json}\n\n"),
        ),
        Answer::Refused => {
            http("403 Forbidden", "Content-Type: text/plain\r\n", "the token hunter2 is too old")
        }
        Answer::Elsewhere => http("307 Temporary Redirect", "Location: http://127.0.0.1:9/\r\n", ""),
    })
}

fn http(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len())
}

fn with_token(server: &Server) -> McpUrl {
    let url = McpUrl::new(&server.url).unwrap().bearer(BearerToken::new("hunter2\n")).unwrap();
    url.header("X-Team", "red").unwrap()
}

#[tokio::test]
async fn a_server_is_asked_with_its_token_and_answers_at_once_or_in_events() {
    for answer in [Answer::Json, Answer::Events] {
        let server = start(answer).await;
        let wiki = McpServer::connect("wiki", with_token(&server), allowed()).await.unwrap();
        assert_eq!(said(&registry(&wiki), "wiki__echo").await, "done");
        wiki.close().await;
        for head in server.heads() {
            let head = head.to_lowercase();
            assert!(
                head.contains("authorization: bearer hunter2\r\n") && head.contains("x-team: red\r\n"),
                "{head}"
            );
        }
    }
}

#[tokio::test]
async fn a_server_that_refuses_says_why_and_the_token_is_not_shown() {
    let server = start(Answer::Refused).await;
    let error = McpServer::connect("wiki", with_token(&server), allowed()).await.unwrap_err();
    let said = format!("{error} {error:?}");
    assert!(said.contains("403") && !said.contains("hunter2"), "{said}");
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let server = start(Answer::Elsewhere).await;
    let error = McpServer::connect("wiki", with_token(&server), allowed()).await.unwrap_err();
    assert!(error.to_string().contains("307"), "{error}");
}

#[tokio::test]
async fn a_server_that_there_is_not_cannot_be_reached() {
    let server = start(Answer::Json).await;
    server.task.abort();
    assert!(server.task.await.unwrap_err().is_cancelled());
    let url = McpUrl::new(&server.url).unwrap();
    let error = McpServer::connect("wiki", url, allowed()).await.unwrap_err();
    assert!(matches!(error, McpError::Unreachable { .. }), "{error}");
    assert!(!error.to_string().contains("hunter2"), "{error}");
}

#[tokio::test]
async fn a_call_that_is_not_answered_ends_in_time_and_the_server_is_notified() {
    let server = start(Answer::Never).await;
    let options = allowed().call_time(Duration::from_millis(200));
    let wiki = McpServer::connect("wiki", with_token(&server), options).await.unwrap();
    let posts = |server: &Server| server.heads().iter().filter(|head| head.starts_with("POST")).count();
    assert_eq!(make(&registry(&wiki), &call("wiki__echo")).await.outcome(), ToolOutcome::TimedOut);
    // The handshake, its end, the list, the call, and that it is cancelled.
    let told = async {
        while posts(&server) < 5 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(HANGS, told).await.expect("it is told");
}

#[tokio::test]
async fn a_server_that_goes_away_leaves_an_error_that_shows_no_key() {
    let server = start(Answer::Json).await;
    let wiki = McpServer::connect("wiki", with_token(&server), allowed()).await.unwrap();
    let tools = registry(&wiki);
    assert_eq!(said(&tools, "wiki__echo").await, "done");
    server.task.abort();
    assert!(server.task.await.unwrap_err().is_cancelled());
    let said = said(&tools, "wiki__echo").await;
    assert!(said.contains("the MCP server `wiki`") && !said.contains("hunter2"), "{said}");
}
