//! The assistants as tools, for clients of the Model Context Protocol over streamable HTTP.
//!
//! The endpoint has no sessions: each request is answered by itself, with JSON. A call is a run of the server like any
//! other one, so it ends also if its client goes away or the server is killed.

use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Map, Value, json};

use super::App;
use super::call::{Call, Reply, nothing, ok};
use super::endpoint::{Endpoint, Gives, post};
use crate::guard::{Action, Resource};
use crate::wire::Failure;

/// The versions of the protocol that clients may speak, the newest first.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

const INVALID_REQUEST: i32 = -32600;
const UNKNOWN_METHOD: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;

pub(super) fn endpoints() -> Vec<Endpoint> {
    let message = post("/mcp", message, "Call an assistant as a tool of the Model Context Protocol")
        .action(Action::Run)
        .takes("McpMessage")
        .also(&[Gives::Nothing(202)]);
    vec![message.on(Resource::Threads)]
}

/// An error of JSON-RPC: a code and a text.
type Refused = (i32, String);

async fn message(State(app): State<App>, call: Call) -> Reply {
    let version =
        call.headers.get("mcp-protocol-version").map(|version| version.to_str().unwrap_or_default());
    if let Some(version) = version.filter(|version| !VERSIONS.contains(version)) {
        let detail =
            format!("mcp-protocol-version: {version:?} is unknown; known are {}", VERSIONS.join(", "));
        return Err(Failure::bad_request(detail));
    }
    let message = &call.body;
    let id = message.get("id").filter(|id| id.is_string() || id.is_i64() || id.is_u64());
    let Some(method) = message["method"].as_str().filter(|_| message["jsonrpc"] == "2.0") else {
        // Nothing is asked of clients, so their responses answer nothing.
        if message["jsonrpc"] == "2.0" && (message.get("result").is_some() || message.get("error").is_some())
        {
            return nothing(StatusCode::ACCEPTED);
        }
        let text = "the body must be one message of JSON-RPC 2.0 with a method".to_owned();
        return answer(id, Err((INVALID_REQUEST, text)));
    };
    let Some(id) = id else {
        return match message.get("id") {
            None => nothing(StatusCode::ACCEPTED),
            Some(_) => answer(None, Err((INVALID_REQUEST, "the id must be a text or an integer".to_owned()))),
        };
    };
    let params = message["params"].as_object().cloned().unwrap_or_default();
    let result = match method {
        "initialize" => Ok(hello(&params)),
        "ping" => Ok(json!({})),
        "tools/list" => Ok(json!({ "tools": app.service.tools(&call.scope).await? })),
        "tools/call" => call_tool(&app, &call, params).await?,
        other => Err((UNKNOWN_METHOD, format!("this server has no method {other:?}"))),
    };
    answer(Some(id), result)
}

/// Returns the result of `initialize`: the client's version of the protocol if it is known, otherwise the newest one.
fn hello(params: &Map<String, Value>) -> Value {
    let wanted = params.get("protocolVersion").and_then(Value::as_str);
    let version = wanted.filter(|version| VERSIONS.contains(version)).unwrap_or(VERSIONS[0]);
    json!({
        "protocolVersion": version,
        "capabilities": { "tools": { "listChanged": false } },
        "serverInfo": { "name": "Superstep", "version": env!("CARGO_PKG_VERSION") },
    })
}

async fn call_tool(
    app: &App,
    call: &Call,
    mut params: Map<String, Value>,
) -> Result<Result<Value, Refused>, Failure> {
    let Some(Value::String(name)) = params.remove("name") else {
        return Ok(Err((INVALID_PARAMS, "name: the name of a tool is missing".to_owned())));
    };
    let arguments = match params.remove("arguments") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(arguments)) => arguments,
        Some(_) => return Ok(Err((INVALID_PARAMS, "arguments: an object is needed".to_owned()))),
    };
    match app.service.call_tool(&call.scope, &name, arguments).await {
        Ok(Some(run)) => app.service.tool_result(&call.scope, &run).await.map(Ok),
        Ok(None) => {
            Ok(Err((INVALID_PARAMS, format!("there is no tool {name:?}; tools/list has their names"))))
        }
        // A model can correct arguments that do not fit.
        Err(failure) if matches!(failure.status, 400 | 404 | 409 | 422) => {
            let content = json!([{ "type": "text", "text": failure.detail }]);
            Ok(Ok(json!({ "content": content, "isError": true })))
        }
        Err(failure) => Err(failure),
    }
}

/// Makes the response to a message.
fn answer(id: Option<&Value>, result: Result<Value, Refused>) -> Reply {
    match result {
        Ok(result) => ok(&json!({ "jsonrpc": "2.0", "id": id, "result": result })),
        Err((code, message)) => {
            ok(&json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } }))
        }
    }
}
