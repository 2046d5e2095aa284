//! The models of the settings, and the first start without one.

use std::env;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use superstep_names::ModelName;
use superstep_nodes::model::{ChatModel, Scripted};

use super::settings::Settings;
use crate::failure::Failure;

/// The models of a session.
#[derive(Clone)]
pub(crate) struct Models {
    pub(crate) name: ModelName,
    pub(crate) main: Arc<dyn ChatModel>,
    pub(crate) small: Option<Arc<dyn ChatModel>>,
    pub(crate) fallback: Option<Arc<dyn ChatModel>>,
}

/// The model for a key of Anthropic, and for one of OpenAI.
const OF_ANTHROPIC: &str = "claude-sonnet-4-5";
const OF_OPENAI: &str = "gpt-5";

/// The help for the first start.
const NO_MODEL: &str = "there is no model yet: do one of the following\n  \
    export ANTHROPIC_API_KEY=…, a key from https://console.anthropic.com, or OPENAI_API_KEY=…, one from https://platform.openai.com\n  \
    start a local server: `ollama serve` with a model that calls tools, or `llama-server --jinja -m MODEL.gguf`\n  \
    name another model with --model, SUPERSTEP_MODEL or `model` in the table `agent` of the settings";

impl Models {
    /// Opens the models of the settings, or those that are found.
    pub(crate) async fn of(settings: &Settings) -> Result<Self, Failure> {
        let name = match &settings.model {
            Some(name) => name.clone(),
            None => found().await.ok_or_else(|| Failure::unusable(NO_MODEL))?,
        };
        let opened = |name: &Option<ModelName>| name.as_ref().map(open).transpose();
        Ok(Self {
            main: open(&name)?,
            small: opened(&settings.small_model)?,
            fallback: opened(&settings.fallback)?,
            name,
        })
    }

    /// Returns models that fail if they are asked, for work on the past.
    pub(crate) fn none() -> Self {
        let main = Arc::new(Scripted::new());
        Self { name: ModelName::Extractive, main, small: None, fallback: None }
    }
}

fn open(name: &ModelName) -> Result<Arc<dyn ChatModel>, Failure> {
    name.open().map_err(Failure::of)
}

/// Finds a model by a key in the environment, or a server on this machine.
async fn found() -> Option<ModelName> {
    let has = |variable: &str| env::var_os(variable).is_some_and(|key| !key.is_empty());
    if has("ANTHROPIC_API_KEY") {
        return Some(ModelName::Anthropic(OF_ANTHROPIC.to_owned()));
    }
    if has("OPENAI_API_KEY") {
        return Some(ModelName::OpenAi(OF_OPENAI.to_owned()));
    }
    let probes = tokio::task::spawn_blocking(|| {
        let ollama = ModelName::ollama_url();
        let found = chat_model(&ollama, |model| ollama_shows_chat(&ollama, model)).map(ModelName::Ollama);
        found.or_else(|| {
            let (model, url) = (chat_model(LLAMA_CPP, |_| true)?, LLAMA_CPP.to_owned());
            Some(ModelName::OpenAiCompatible { model, url })
        })
    });
    probes.await.ok().flatten()
}

/// The address of a llama.cpp server.
const LLAMA_CPP: &str = "http://127.0.0.1:8080/v1";

/// The time that a server on this machine has to answer.
const PROBE: Duration = Duration::from_millis(300);

/// The largest answer of a probe, in bytes.
const MAX_PROBE: u64 = 1 << 20;

/// Asks a server on this machine for its models, and returns the first one that answers messages.
fn chat_model(url: &str, answers_messages: impl Fn(&str) -> bool) -> Option<String> {
    let models = ask(&format!("{url}/models"), None)?;
    let names = models["data"].as_array()?.iter().filter(|model| !is_embedder(model));
    names.filter_map(|model| model["id"].as_str()).find(|name| answers_messages(name)).map(str::to_owned)
}

/// Returns `true` for a model that only makes embeddings, by its name or as its server says.
fn is_embedder(model: &Value) -> bool {
    let has = |field: &str| model[field].as_str().is_some_and(|text| text.to_lowercase().contains("embed"));
    has("id") || has("type")
}

/// Asks Ollama for the abilities of a model. A version that does not say them is trusted.
fn ollama_shows_chat(url: &str, model: &str) -> bool {
    let root = url.strip_suffix("/v1").unwrap_or(url);
    let shown = ask(&format!("{root}/api/show"), Some(&json!({ "model": model })));
    let abilities = shown.as_ref().and_then(|shown| shown["capabilities"].as_array());
    abilities.is_none_or(|abilities| abilities.iter().any(|ability| ability == "completion"))
}

/// Sends a request to a server on this machine, and returns its answer.
fn ask(url: &str, body: Option<&Value>) -> Option<Value> {
    let (address, path) = url.strip_prefix("http://")?.split_once('/')?;
    let has_port = address.rsplit(']').next().is_some_and(|end| end.contains(':'));
    let place = if has_port { address.to_owned() } else { format!("{address}:80") };
    let at: SocketAddr = place.to_socket_addrs().ok()?.find(|at| at.ip().is_loopback())?;
    let mut stream = TcpStream::connect_timeout(&at, PROBE).ok()?;
    stream.set_read_timeout(Some(PROBE)).ok()?;
    let body = body.map(Value::to_string);
    let head = format!("/{path} HTTP/1.0\r\nHost: {address}\r\nAccept: application/json\r\n");
    let request = match body {
        None => format!("GET {head}\r\n"),
        Some(body) => {
            let length = body.len();
            format!("POST {head}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}")
        }
    };
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = Vec::new();
    // A server that keeps the connection open has answered before the time is over.
    let _ = stream.take(MAX_PROBE).read_to_end(&mut answer);
    let text = String::from_utf8_lossy(&answer);
    let (head, body) = text.split_once("\r\n\r\n")?;
    head.split(' ').nth(1).filter(|status| *status == "200")?;
    serde_json::from_str(&body[body.find('{')?..=body.rfind('}')?]).ok()
}
