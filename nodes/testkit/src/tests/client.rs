//! A client that knows nothing but sockets, so that every byte is seen.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::{Endpoint, MockServer};
use serde_json::{Value, json};

/// The answer of the server.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    /// Without the frames of chunks.
    pub(crate) body: Vec<u8>,
    /// The sizes of the chunks; none where the length is told before.
    pub(crate) chunks: Vec<usize>,
    /// True if the body is complete.
    pub(crate) is_whole: bool,
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The events of a stream: the names and the data.
    pub(crate) fn events(&self) -> Vec<(Option<String>, Value)> {
        let text = self.text();
        let events = text.split("\n\n").filter(|event| !event.is_empty());
        let event = |event: &str| {
            let (name, data) = match event.split_once('\n') {
                Some((name, data)) => {
                    (Some(name.strip_prefix("event: ").expect("a name is before the data").to_owned()), data)
                }
                None => (None, event),
            };
            let data = data.strip_prefix("data: ").unwrap_or_else(|| panic!("no data: {event}"));
            (name, serde_json::from_str(data).unwrap_or_else(|_| json!(data)))
        };
        events.map(event).collect()
    }

    /// The data of the events of a stream.
    pub(crate) fn data(&self) -> Vec<Value> {
        self.events().into_iter().map(|(_, data)| data).collect()
    }
}

/// Starts a server in a thread.
pub(crate) fn server() -> MockServer {
    MockServer::builder().start_in_thread().expect("loopback has a port")
}

/// Asks at an endpoint, with the right headers.
pub(crate) fn ask(server: &MockServer, endpoint: Endpoint, body: &Value) -> Answer {
    let headers = headers(endpoint, MockServer::KEY);
    send(server, "POST", endpoint.path(), &headers, body.to_string().as_bytes())
}

/// The headers that an endpoint wants.
pub(crate) fn headers(endpoint: Endpoint, key: &str) -> Vec<(&'static str, String)> {
    match endpoint {
        Endpoint::Messages | Endpoint::CountTokens => {
            vec![("x-api-key", key.to_owned()), ("anthropic-version", "2023-06-01".to_owned())]
        }
        _ => vec![("authorization", format!("Bearer {key}"))],
    }
}

/// Sends any request, and reads until the server closes the connection.
pub(crate) fn send(
    server: &MockServer,
    method: &str,
    path: &str,
    headers: &[(&str, String)],
    body: &[u8],
) -> Answer {
    let mut stream = open(server, method, path, headers, body);
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("the server closes in order");
    read(&answer)
}

/// Sends a request and leaves the answer unread.
pub(crate) fn open(
    server: &MockServer,
    method: &str,
    path: &str,
    headers: &[(&str, String)],
    body: &[u8],
) -> TcpStream {
    let mut stream = TcpStream::connect(server.address()).expect("the server listens");
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: mock\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n",
        body.len()
    );
    stream.write_all(&[head.as_bytes(), body].concat()).expect("the server reads");
    stream
}

fn read(answer: &[u8]) -> Answer {
    if answer.is_empty() {
        return Answer {
            status: 0,
            head: String::new(),
            body: Vec::new(),
            chunks: Vec::new(),
            is_whole: false,
        };
    }
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").expect("a head ends with an empty line");
    let head = String::from_utf8(answer[..end].to_vec()).expect("a head is text");
    let status = head.split(' ').nth(1).expect("a status is the second word");
    let status = status.parse().expect("a status is a number");
    let mut answer =
        Answer { status, head, body: answer[end + 4..].to_vec(), chunks: Vec::new(), is_whole: false };
    if let Some(length) = answer.header("content-length") {
        answer.is_whole = length.parse() == Ok(answer.body.len());
        return answer;
    }
    let framed = std::mem::take(&mut answer.body);
    let mut rest = &framed[..];
    while let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
        let size = std::str::from_utf8(&rest[..end]).expect("a size is text");
        let size = usize::from_str_radix(size, 16).expect("a size is a number");
        if size == 0 {
            answer.is_whole = true;
            break;
        }
        answer.body.extend_from_slice(&rest[end + 2..end + 2 + size]);
        answer.chunks.push(size);
        rest = &rest[end + 4 + size..];
    }
    answer
}

/// The smallest request at an endpoint at which a model speaks.
pub(crate) fn question(endpoint: Endpoint) -> Value {
    let messages = json!([{"role": "user", "content": "Hello"}]);
    match endpoint {
        Endpoint::Messages => json!({"model": "claude-test-1", "max_tokens": 64, "messages": messages}),
        Endpoint::ChatCompletions => json!({"model": "gpt-test", "messages": messages}),
        Endpoint::Responses => json!({"model": "gpt-test", "input": "Hello"}),
        other => panic!("no model speaks at {other:?}"),
    }
}

/// The same, with a stream as its answer.
pub(crate) fn streamed(endpoint: Endpoint) -> Value {
    let mut question = question(endpoint);
    question["stream"] = json!(true);
    question
}

/// The endpoints of chat models.
pub(crate) const SPEAKING: [Endpoint; 3] =
    [Endpoint::Messages, Endpoint::ChatCompletions, Endpoint::Responses];
