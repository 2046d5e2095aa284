//! A model behind HTTP whose replies arrive when a test says so.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::desk::Desk;

/// A server with the protocol of OpenAI. It answers one request after the other.
pub(crate) struct Model {
    pieces: Sender<Piece>,
    requests: Receiver<String>,
}

/// A sender of pieces of the reply.
pub(crate) struct Pieces(Sender<Piece>);

impl Pieces {
    pub(crate) fn say(&self, text: &str) {
        self.0.send(Piece::Text(text.to_owned())).unwrap();
    }
}

enum Piece {
    Text(String),
    Call(String),
    End,
}

/// The time within which the program sends a request.
const PATIENCE: Duration = Duration::from_secs(60);

impl Model {
    /// Starts the server, and makes it the model of a desk.
    pub(crate) fn of(desk: &mut Desk) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        desk.set("SUPERSTEP_MODEL", &format!("openai-compatible:test@http://{address}/v1"));
        desk.set("OPENAI_COMPATIBLE_API_KEY", "none");
        let (pieces, said) = channel();
        let (asked, requests) = channel();
        thread::spawn(move || {
            for stream in listener.incoming() {
                answer(stream.unwrap(), &said, &asked);
            }
        });
        Self { pieces, requests }
    }

    /// Waits for the next request, and returns its body.
    pub(crate) fn asked(&self) -> String {
        self.requests.recv_timeout(PATIENCE).unwrap()
    }

    /// Sends a piece of the reply.
    pub(crate) fn says(&self, text: &str) {
        self.pieces().say(text);
    }

    /// Returns a sender of pieces, for another thread.
    pub(crate) fn pieces(&self) -> Pieces {
        Pieces(self.pieces.clone())
    }

    /// Ends the reply with the call of a tool.
    pub(crate) fn calls(&self, tool: &str, input: &serde_json::Value) {
        let function = json!({ "name": tool, "arguments": input.to_string() });
        let call = json!([{ "index": 0, "id": "call_1", "type": "function", "function": function }]);
        self.pieces.send(Piece::Call(call.to_string())).unwrap();
        self.ends();
    }

    /// Ends the reply.
    pub(crate) fn ends(&self) {
        self.pieces.send(Piece::End).unwrap();
    }
}

fn answer(mut stream: TcpStream, said: &Receiver<Piece>, asked: &Sender<String>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    asked.send(String::from_utf8(body).unwrap()).unwrap();
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
    // A reader that stopped the turn has closed the connection; the pieces up to the end are dropped.
    let mut write = |text: &str| stream.write_all(text.as_bytes()).and_then(|()| stream.flush()).ok();
    write(head);
    let chunk = |delta: serde_json::Value, end: Option<&str>| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": end });
        let chunk = json!({ "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "test", "choices": [choice] });
        format!("data: {chunk}\n\n")
    };
    write(&chunk(json!({ "role": "assistant", "content": "" }), None));
    let mut end = "stop";
    loop {
        match said.recv() {
            Ok(Piece::Text(text)) => write(&chunk(json!({ "content": text }), None)),
            Ok(Piece::Call(call)) => {
                end = "tool_calls";
                let calls: serde_json::Value = serde_json::from_str(&call).unwrap();
                write(&chunk(json!({ "tool_calls": calls }), None))
            }
            Ok(Piece::End) | Err(_) => break,
        };
    }
    write(&chunk(json!({}), Some(end)));
    write("data: [DONE]\n\n");
}
