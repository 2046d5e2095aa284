use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use superstep_nodes::message::{Part, ToolCall};
use superstep_nodes::tool::{AllowReadOnly, Tool, ToolOutcome, ToolRegistry, ToolResult, ToolSession};

use super::*;

/// A server on loopback, and what it was asked.
struct Server {
    at: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// One that answers a request, of which it is told the whole text, with these bytes.
    fn new(answer: impl Fn(&str) -> Vec<u8> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self { at: listener.local_addr().unwrap(), asked: Arc::default() };
        let asked = Arc::clone(&server.asked);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { continue };
                let mut request = Vec::new();
                let mut buffer = [0; 4096];
                // Bodies of tests come with the head, or right after it, and end with a full stop.
                loop {
                    let read = stream.read(&mut buffer).unwrap_or(0);
                    request.extend_from_slice(&buffer[..read]);
                    let text = String::from_utf8_lossy(&request);
                    let whole = if text.contains("content-length") {
                        text.ends_with('.')
                    } else {
                        text.contains("\r\n\r\n")
                    };
                    if read == 0 || whole {
                        break;
                    }
                }
                let request = String::from_utf8_lossy(&request).into_owned();
                asked.lock().unwrap().push(request.clone());
                drop(stream.write_all(&answer(&request)));
            }
        });
        server
    }

    /// One that answers with the same text whatever it is asked.
    fn saying(text: &'static str) -> Self {
        Self::new(move |_| ok(text))
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.at)
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    /// A tool that may ask this server.
    fn tool(&self) -> HttpRequest {
        HttpRequest::new().allow_internal(&self.at.to_string()).unwrap()
    }
}

fn ok(text: &str) -> Vec<u8> {
    let length = text.len();
    format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/plain\r\ncontent-length: {length}\r\nx-more: hidden\r\n\r\n{text}")
        .into_bytes()
}

fn redirect(to: &str) -> Vec<u8> {
    format!("HTTP/1.1 302 Found\r\nconnection: close\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n")
        .into_bytes()
}

async fn call(tool: HttpRequest, input: Value) -> ToolResult {
    let call = ToolCall::new("c", HttpRequest::NAME, input);
    let context = ToolContext::new(&call, ToolSession::new());
    ToolRegistry::new().with(tool).unwrap().call(&call, &context).await
}

fn said(result: &ToolResult) -> String {
    result.content.to_text().into_owned()
}

#[tokio::test]
async fn a_server_that_the_program_allows_is_asked() {
    let server = Server::saying("hello");
    let input = json!({ "url": server.url("/a?b=c"), "headers": { "Accept": "text/plain" } });
    let answer = call(server.tool(), input).await;
    let url = server.url("/a?b=c");
    let text = format!("HTTP 200 OK\n{url}\ncontent-type: text/plain\ncontent-length: 5\n\nhello");
    assert_eq!(said(&answer), text);
    let data =
        json!({ "status": 200, "url": url, "content_type": "text/plain", "bytes": 5, "complete": true });
    assert_eq!(answer.data, Some(data));
    let asked = server.asked().concat();
    assert!(
        asked.starts_with("GET /a?b=c HTTP/1.1\r\n") && asked.contains("accept: text/plain\r\n"),
        "{asked}"
    );
    assert!(asked.contains("user-agent: superstep/"), "{asked}");
}

#[tokio::test]
async fn a_server_on_loopback_is_not_asked_unless_the_program_allows_it() {
    let server = Server::saying("secret");
    let port = server.at.port();
    for host in ["127.0.0.1", "127.1", "2130706433", "[::ffff:127.0.0.1]", "0.0.0.0"] {
        let answer = call(HttpRequest::new(), json!({ "url": format!("http://{host}:{port}/") })).await;
        assert_eq!(answer.outcome(), ToolOutcome::Invalid);
        assert!(said(&answer).contains("is not on the public internet"), "{}", said(&answer));
    }
    assert!(server.asked().is_empty());
}

#[tokio::test]
async fn a_name_that_stands_for_this_machine_is_not_asked() {
    let server = Server::saying("secret");
    let url = format!("http://localhost:{}/", server.at.port());
    let answer = call(HttpRequest::new(), json!({ "url": url })).await;
    assert_eq!(
        said(&answer),
        "the tool `http_request` failed: `localhost`: `localhost` is not on the public internet, and other hosts are not allowed"
    );
    assert!(server.asked().is_empty());
    let tool = HttpRequest::new().allow_internal("localhost").unwrap();
    assert!(said(&call(tool, json!({ "url": url })).await).ends_with("secret"));
}

#[tokio::test]
async fn a_redirect_is_followed_only_where_a_request_might_go() {
    let inside = Server::saying("secret");
    let target = inside.url("/");
    for to in [
        target,
        "http://169.254.169.254/latest/meta-data/".into(),
        "http://localhost:1/".into(),
        "file:///etc/passwd".into(),
    ] {
        let answer = redirect(&to);
        let server = Server::new(move |_| answer.clone());
        let refused = call(server.tool(), json!({ "url": server.url("/") })).await;
        assert_eq!(refused.outcome(), ToolOutcome::Error, "{to}: {}", said(&refused));
        assert_eq!(server.asked().len(), 1);
    }
    assert!(inside.asked().is_empty());
}

#[tokio::test]
async fn redirects_end_and_lose_the_headers_at_another_server() {
    let other = Server::saying("there");
    let url = other.url("/");
    let server = Server::new(move |request| match request.starts_with("GET /here") {
        true => redirect("/away"),
        false if request.starts_with("GET /away") => redirect(&url),
        false => redirect("/again"),
    });
    let tool = server.tool().allow_internal(&other.at.to_string()).unwrap();
    let answer =
        call(tool, json!({ "url": server.url("/here"), "headers": { "authorization": "mine" } })).await;
    assert!(said(&answer).ends_with("\nthere"), "{}", said(&answer));
    assert!(server.asked().iter().all(|asked| asked.contains("authorization: mine")));
    assert!(!other.asked().concat().contains("authorization"));
    let answer = call(server.tool(), json!({ "url": server.url("/loop") })).await;
    assert!(said(&answer).ends_with("there were more than 5 redirects"), "{}", said(&answer));
}

#[tokio::test]
async fn a_request_that_changes_something_needs_consent() {
    let server = Server::saying("done");
    let input = json!({ "url": server.url("/"), "method": "POST", "body": "a body." });
    let denied = call(server.tool(), input.clone()).await;
    assert_eq!(denied.outcome(), ToolOutcome::Denied);
    assert!(said(&denied).contains("(it sends a POST request)"), "{}", said(&denied));
    assert!(server.asked().is_empty());
    let allowed = call(server.tool().allow_method(HttpMethod::Post), input.clone()).await;
    assert_eq!(allowed.outcome(), ToolOutcome::Ok, "{}", said(&allowed));
    assert!(server.asked().concat().ends_with("\r\n\r\na body."));

    let planning = ToolRegistry::new()
        .with(server.tool().allow_method(HttpMethod::Post))
        .unwrap()
        .permissions(AllowReadOnly);
    let message = planning.answer("m", &ToolCall::new("c", HttpRequest::NAME, input)).await;
    assert!(message.content.to_text().contains("only calls that change nothing are allowed"));
    let message =
        planning.answer("m", &ToolCall::new("c", HttpRequest::NAME, json!({ "url": server.url("/") }))).await;
    assert!(message.content.to_text().ends_with("done"));
}

#[tokio::test]
async fn a_redirect_of_what_changes_something_is_shown_and_not_followed() {
    let server = Server::new(|_| redirect("/there"));
    let input = json!({ "url": server.url("/"), "method": "DELETE" });
    let answer = call(server.tool().allow_method(HttpMethod::Delete), input).await;
    assert!(said(&answer).starts_with("HTTP 302 Found\n") && said(&answer).contains("\nlocation: /there\n"));
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn a_key_goes_to_its_host_and_the_model_does_not_see_it() {
    let server = Server::saying("hello");
    let tool = server.tool().with_header("127.0.0.1", "x-key", "top-secret").unwrap();
    assert!(!format!("{tool:?}").contains("top-secret"));
    let answer = call(tool, json!({ "url": server.url("/") })).await;
    assert!(server.asked().concat().contains("x-key: top-secret\r\n"));
    assert!(!said(&answer).contains("top-secret"));
    let other = server.tool().with_header("example.com", "x-key", "top-secret").unwrap();
    call(other, json!({ "url": server.url("/") })).await;
    assert!(!server.asked()[1].contains("top-secret"));
    let wrong = HttpRequest::new().with_header("example.com", "a b", "top-secret").unwrap_err();
    assert_eq!(wrong.to_string(), "`a b` is not a header name, or its value is not valid");
}

#[tokio::test]
async fn an_answer_is_read_up_to_a_limit() {
    let server = Server::saying("0123456789");
    let answer = call(server.tool().with_max_bytes(4), json!({ "url": server.url("/") })).await;
    assert!(
        said(&answer).ends_with("\n0123\n[the answer is longer than 4 bytes; the rest was not read]"),
        "{}",
        said(&answer)
    );
    assert_eq!(answer.data.unwrap()["complete"], false);
    let exactly = call(server.tool().with_max_bytes(10), json!({ "url": server.url("/") })).await;
    assert_eq!(exactly.data.unwrap()["complete"], true);
}

#[tokio::test]
async fn an_answer_that_is_no_text_is_an_image_or_is_counted() {
    let server = Server::new(|request| match request.contains("/image") {
        true => b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n\x89PNG\r\n\x1a\n\0".to_vec(),
        false => b"HTTP/1.1 404 Not Found\r\nconnection: close\r\n\r\n\0\0\0".to_vec(),
    });
    let image = call(server.tool(), json!({ "url": server.url("/image") })).await;
    assert!(image.content.parts().iter().any(|part| matches!(part, Part::Image(_))), "{image:?}");
    let none = call(server.tool(), json!({ "url": server.url("/") })).await;
    assert!(said(&none).starts_with("HTTP 404 Not Found\n"), "{}", said(&none));
    assert!(said(&none).ends_with("[3 bytes that are no text]"), "{}", said(&none));
}

#[tokio::test]
async fn a_server_that_is_silent_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap().to_string();
    let tool = HttpRequest::new().allow_internal(&at).unwrap().with_time(Duration::from_millis(100));
    let answer = call(tool, json!({ "url": format!("http://{at}/") })).await;
    assert_eq!(answer.outcome(), ToolOutcome::TimedOut);
}

#[tokio::test]
async fn a_request_that_makes_no_sense_says_why() {
    for (input, why) in [
        (json!({ "url": "example" }), "is no address"),
        (json!({ "url": "ftp://example.com" }), "only http and https are"),
        (json!({ "url": "http://example.com", "body": "x" }), "has the method POST"),
        (
            json!({ "url": "http://example.com", "headers": { "Host": "a" } }),
            "`Host` is not a header that may be sent",
        ),
        (
            json!({ "url": "http://example.com", "headers": { "a": "b\r\nc: d" } }),
            "`a` is not a header that may be sent",
        ),
        (json!({ "url": "http://example.com", "method": "CONNECT" }), "method"),
    ] {
        let answer = call(HttpRequest::new(), input).await;
        assert_eq!(answer.outcome(), ToolOutcome::Invalid);
        assert!(said(&answer).contains(why), "{}", said(&answer));
    }
}

#[test]
fn only_what_looks_is_said_to_change_nothing() {
    let tool = HttpRequest::new().allow_method(HttpMethod::Put);
    let get = json!({ "url": "https://example.com/a" });
    let put = json!({ "url": "https://example.com/a", "method": "PUT" });
    assert!(tool.is_read_only(&get) && tool.is_concurrency_safe(&get));
    assert!(!tool.is_read_only(&put) && !tool.is_concurrency_safe(&put) && tool.is_destructive(&put));
    assert_eq!(tool.effect(&put), ToolEffect::Changes);
    assert!(tool.permission_matcher(&get).unwrap().matches("GET https://example.com/*"));
    assert!(!tool.permission_matcher(&put).unwrap().matches("GET *"));
    let matcher = tool.permission_matcher(&get).unwrap();
    assert!(matcher.matches("example.com") && matcher.matches("*") && !matcher.matches("*.example.com"));
    assert_eq!(matcher.offer(0).as_deref(), Some("GET https://example.com/*"));
}
