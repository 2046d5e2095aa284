//! A server that does what a test says. It knows no library: it reads and writes lines.

use std::time::Duration;

use crate::{McpOptions, McpServer, McpStream};
use serde_json::{Value, json};
use superstep_nodes::message::ToolCall;
use superstep_nodes::tool::{Tool, ToolContext, ToolRegistry, ToolResult, ToolSession};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio::sync::mpsc;

/// An action of a server when it gets a request.
pub(crate) enum Act {
    /// It answers.
    Result(Value),
    /// It refuses.
    Error(&'static str),
    /// It writes these lines.
    Lines(Vec<String>),
    /// It writes these lines and then answers.
    First(Vec<String>, Value),
    /// It answers and then reads nothing more.
    Deaf(Value),
    /// It does nothing, ever.
    Hang,
    /// It goes away.
    Leave,
}

/// The messages that a server received.
pub(crate) struct Heard(mpsc::UnboundedReceiver<Value>);

impl Heard {
    /// The next message.
    pub(crate) async fn next(&mut self) -> Value {
        self.0.recv().await.expect("the server goes on")
    }

    /// The next message with this method.
    pub(crate) async fn method(&mut self, method: &str) -> Value {
        loop {
            let message = self.next().await;
            if message["method"] == method {
                return message;
            }
        }
    }
}

/// Starts a server that is asked requests, each a method and the message itself, but for the handshake.
pub(crate) fn server(act: impl FnMut(&str, &Value) -> Act + Send + 'static) -> (McpStream, Heard) {
    let (near, far) = tokio::io::duplex(1 << 16);
    let (tell, heard) = mpsc::unbounded_channel();
    tokio::spawn(serve(far, tell, act));
    let (read, write) = tokio::io::split(near);
    (McpStream::new(read, write), Heard(heard))
}

async fn serve(
    stream: DuplexStream,
    tell: mpsc::UnboundedSender<Value>,
    mut act: impl FnMut(&str, &Value) -> Act,
) {
    let (read, mut write) = tokio::io::split(stream);
    let mut lines = BufReader::new(read).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        let message: Value = serde_json::from_str(&line).unwrap();
        // Most tests have no listener.
        drop(tell.send(message.clone()));
        let (Some(method), Some(id)) = (message["method"].as_str(), message.get("id")) else { continue };
        let act = match method {
            "initialize" => handshake(&message).map_or_else(|| act(method, &message), Act::Result),
            _ => act(method, &message),
        };
        let result = |result: Value| json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string();
        let deaf = matches!(act, Act::Deaf(_));
        let lines = match act {
            Act::Result(value) | Act::Deaf(value) => vec![result(value)],
            Act::First(mut lines, value) => {
                lines.push(result(value));
                lines
            }
            Act::Error(text) => {
                let error = json!({ "code": -32000, "message": text });
                vec![json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string()]
            }
            Act::Lines(lines) => lines,
            Act::Hang => continue,
            Act::Leave => return,
        };
        for line in lines {
            // A client may hang up.
            if write.write_all(format!("{line}\n").as_bytes()).await.is_err() {
                return;
            }
        }
        if deaf {
            std::future::pending::<()>().await;
        }
    }
}

/// Returns a server's answer in the handshake.
fn handshake(message: &Value) -> Option<Value> {
    let version = message["params"]["protocolVersion"].as_str()?;
    Some(json!({
        "protocolVersion": version,
        "capabilities": { "tools": { "listChanged": true } },
        "serverInfo": { "name": "scripted", "version": "1" },
    }))
}

/// A tool as a server lists it.
pub(crate) fn tool(name: &str) -> Value {
    let properties = json!({ "text": { "type": "string" } });
    let schema = json!({ "type": "object", "properties": properties, "required": ["text"] });
    json!({ "name": name, "description": format!("Does {name}."), "inputSchema": schema })
}

/// Returns the result of a tool that is a text.
pub(crate) fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

/// A server of one tool, `echo`, whose calls are answered so.
pub(crate) fn echo(mut act: impl FnMut(&Value) -> Act + Send + 'static) -> (McpStream, Heard) {
    server(move |method, message| match method {
        "tools/list" => Act::Result(json!({ "tools": [tool("echo")] })),
        _ => act(message),
    })
}

/// Nothing takes as long as this, on a busy machine either.
pub(crate) const HANGS: Duration = Duration::from_secs(300);

/// Options of a server whose tools need no consent.
pub(crate) fn allowed() -> McpOptions {
    McpOptions::new().allow_all_tools().connect_time(HANGS).call_time(HANGS)
}

/// The server's tools, for an agent that has no other.
pub(crate) fn registry(server: &McpServer) -> ToolRegistry {
    let mut tools = ToolRegistry::new();
    server.tools().add_to(&mut tools).unwrap();
    tools
}

/// The call of a tool with a text.
pub(crate) fn call(name: &str) -> ToolCall {
    ToolCall::new("c1", name, json!({ "text": "hello" }))
}

/// Makes a call.
pub(crate) async fn make(tools: &ToolRegistry, call: &ToolCall) -> ToolResult {
    tools.call(call, &ToolContext::new(call, ToolSession::new())).await
}

/// Returns the text of a call's result for the model.
pub(crate) async fn said(tools: &ToolRegistry, name: &str) -> String {
    make(tools, &call(name)).await.content.to_text().into_owned()
}

/// The names of tools.
pub(crate) fn names<'a>(tools: impl IntoIterator<Item = &'a std::sync::Arc<dyn Tool>>) -> Vec<&'a str> {
    tools.into_iter().map(|tool| tool.name()).collect()
}
