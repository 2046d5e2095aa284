//! A request in the form of the Responses protocol.

use serde_json::{Map, Value, json};
use superstep_nodes::model::{ModelRequest, Settings};
use superstep_nodes::tool::ToolSpec;

use super::items::items;
use crate::openai::{Strictness, declaration, output_form, tool_choice};
use crate::sendable::instructions;

/// The settings of a client that its requests depend on.
#[derive(Clone, Debug)]
pub(super) struct RequestForm {
    pub(super) model: String,
    pub(super) reasoning: Reasoning,
    pub(super) strictness: Strictness,
    pub(super) cache_key: Option<String>,
}

/// The smallest limit of the output that there is.
const LEAST_OUTPUT: u32 = 16;

impl RequestForm {
    pub(super) fn new(model: String) -> Self {
        let reasoning = Reasoning::of(&model);
        Self { model, reasoning, strictness: Strictness::Strict, cache_key: None }
    }

    /// The body of a request whose answer is streamed, and of which the provider keeps nothing.
    pub(super) fn streamed(&self, request: &ModelRequest) -> Value {
        let mut body = self.body(request);
        let mut say = |member: &str, value: Value| body.insert(member.to_owned(), value);
        let settings = &request.settings;
        say("stream", true.into());
        say("store", false.into());
        if self.reasoning != Reasoning::Off {
            say("include", json!(["reasoning.encrypted_content"]));
        }
        if let Some(tokens) = settings.max_output_tokens {
            say("max_output_tokens", tokens.max(LEAST_OUTPUT).into());
        }
        if let Some(temperature) = settings.temperature {
            say("temperature", temperature.into());
        }
        if let Some(key) = &self.cache_key {
            say("prompt_cache_key", key.as_str().into());
        }
        body.extend(settings.extra.clone());
        body.into()
    }

    /// The body of a request whose tokens are counted.
    pub(super) fn counted(&self, request: &ModelRequest) -> Value {
        self.body(request).into()
    }

    /// Returns the body for both kinds of requests. A conversation that continues is sent with the same bytes before
    /// the new messages.
    fn body(&self, request: &ModelRequest) -> Map<String, Value> {
        let mut body = Map::new();
        let mut say = |member: &str, value: Value| body.insert(member.to_owned(), value);
        let (instructions, conversation) = instructions(request);
        say("model", self.model.as_str().into());
        say("input", items(conversation, &self.model).into());
        if !instructions.is_empty() {
            say("instructions", instructions.join("\n\n").into());
        }
        if !request.tools.is_empty() {
            say("tools", request.tools.iter().map(tool).collect());
            let named = |name: &str| json!({ "type": "function", "name": name });
            if let Some(choice) = tool_choice(&request.tool_choice, named) {
                say("tool_choice", choice);
            }
            if let Some(parallel) = request.settings.parallel_tool_calls {
                say("parallel_tool_calls", parallel.into());
            }
        }
        if let Some(mut form) = output_form(&request.output, self.strictness) {
            form.insert("type".into(), "json_schema".into());
            say("text", json!({ "format": form }));
        }
        let reasoning = self.reasoning(&request.settings);
        if !reasoning.is_empty() {
            say("reasoning", reasoning.into());
        }
        body
    }

    fn reasoning(&self, settings: &Settings) -> Map<String, Value> {
        let effort = settings.effort.map(|effort| ("effort".to_owned(), effort.as_str().into()));
        let summary =
            (self.reasoning == Reasoning::Summarised).then(|| ("summary".to_owned(), "auto".into()));
        effort.into_iter().chain(summary).collect()
    }
}

/// Returns the declaration of a tool for the model. By default the protocol would make its schema strict, and so change
/// which members may be left out.
fn tool(spec: &ToolSpec) -> Value {
    let mut tool = declaration(spec);
    tool["type"] = "function".into();
    tool["strict"] = false.into();
    tool
}

/// The reasoning that is requested from a model. The provider never shows it unencrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reasoning {
    /// None: models without reasoning refuse requests for it.
    Off,
    /// Encrypted reasoning, which is sent back to the model that produced it.
    Sealed,
    /// Encrypted reasoning, with a summary for people who watch.
    Summarised,
}

impl Reasoning {
    /// Returns the reasoning that models of this name support: models before GPT-5 have none, except the o series.
    pub(super) fn of(model: &str) -> Self {
        let name = model.rsplit('/').next().unwrap_or(model);
        let name = name.strip_prefix("ft:").unwrap_or(name);
        let thinks = !["gpt-3.5", "gpt-4", "chatgpt-"].iter().any(|before| name.starts_with(before));
        if thinks { Self::Sealed } else { Self::Off }
    }
}

#[cfg(test)]
mod tests;
