//! A request in the form of the Chat Completions protocol.

use serde_json::{Map, Value, json};
use superstep_nodes::message::{AiMessage, Content, Image, Message, Part, ToolMessage};
use superstep_nodes::model::{ModelRequest, ToolChoice};
use superstep_nodes::tool::ToolSpec;

use super::PROVIDER;
use super::options::{InstructionRole, OutputLimit};
use crate::openai::{
    NO_OUTPUT, Strictness, arguments, declaration, detail, output_form, result_text, text_of, tool_choice,
};
use crate::sendable::{
    GO_ON, OPENING, instructions, mentioned_tools, no_longer_there, note, sendable, tool_name,
};

/// The settings of a client that its requests depend on.
#[derive(Clone, Debug)]
pub(super) struct RequestForm {
    pub(super) model: String,
    pub(super) output_limit: OutputLimit,
    pub(super) instruction_role: InstructionRole,
    pub(super) strictness: Strictness,
    /// `true` if the stream is to report the usage.
    pub(super) asks_for_usage: bool,
    /// `true` if the thinking of the model is sent back to it.
    pub(super) returns_thoughts: bool,
    pub(super) cache_key: Option<String>,
}

/// The text of a result that has only images, which follow.
const IMAGES_FOLLOW: &str = "(images follow)";

impl RequestForm {
    /// The form that OpenAI takes.
    pub(super) fn of_openai(model: String) -> Self {
        Self {
            model,
            output_limit: OutputLimit::MaxCompletionTokens,
            instruction_role: InstructionRole::System,
            strictness: Strictness::Strict,
            asks_for_usage: true,
            returns_thoughts: false,
            cache_key: None,
        }
    }

    /// The form that servers take that are compatible with it.
    pub(super) fn compatible(model: String) -> Self {
        Self {
            output_limit: OutputLimit::MaxTokens,
            instruction_role: InstructionRole::SystemFirst,
            ..Self::of_openai(model)
        }
    }

    /// The body of a request whose answer is streamed. A conversation that continues is sent with the same bytes before
    /// what is new.
    pub(super) fn streamed(&self, request: &ModelRequest) -> Value {
        let mut body = Map::new();
        let mut say = |member: &str, value: Value| body.insert(member.to_owned(), value);
        let settings = &request.settings;
        say("model", self.model.as_str().into());
        say("messages", self.messages(request).into());
        say("stream", true.into());
        if self.asks_for_usage {
            say("stream_options", json!({ "include_usage": true }));
        }
        let tools = tools(request);
        if !tools.is_empty() {
            say("tools", tools.into());
            let choice = if request.tools.is_empty() { &ToolChoice::None } else { &request.tool_choice };
            if let Some(choice) =
                tool_choice(choice, |name| json!({ "type": "function", "function": { "name": name } }))
            {
                say("tool_choice", choice);
            }
            if let Some(parallel) = settings.parallel_tool_calls.filter(|_| !request.tools.is_empty()) {
                say("parallel_tool_calls", parallel.into());
            }
        }
        if let Some(form) = output_form(&request.output, self.strictness) {
            say("response_format", json!({ "type": "json_schema", "json_schema": form }));
        }
        if let Some(tokens) = settings.max_output_tokens {
            say(self.output_limit.member(), tokens.into());
        }
        if let Some(temperature) = settings.temperature {
            say("temperature", temperature.into());
        }
        if let Some(effort) = settings.effort {
            say("reasoning_effort", effort.as_str().into());
        }
        if !settings.stop.is_empty() {
            say("stop", settings.stop.clone().into());
        }
        if let Some(key) = &self.cache_key {
            say("prompt_cache_key", key.as_str().into());
        }
        body.extend(settings.extra.clone());
        body.into()
    }

    fn messages(&self, request: &ModelRequest) -> Vec<Value> {
        let (instructions, conversation) = instructions(request);
        let mut turns = Turns::default();
        if !instructions.is_empty() {
            turns.say(self.instruction_role.name(), instructions.join("\n\n").into());
        }
        let begin = turns.messages.len();
        for message in conversation {
            match message {
                Message::Tool(result) => turns.result(result),
                Message::Ai(said) => turns.add(self.said(said)),
                Message::Human(message) => turns.add(user(&message.content)),
                Message::System(message) => turns.add(self.later_instructions(&message.content)),
            }
        }
        turns.finish(begin)
    }

    /// Instructions in the middle of a conversation.
    fn later_instructions(&self, content: &Content) -> Option<Value> {
        let text = text_of(content)?;
        Some(match self.instruction_role {
            InstructionRole::SystemFirst => json!({ "role": "user", "content": note(content) }),
            role => json!({ "role": role.name(), "content": text }),
        })
    }

    /// Converts a message of the model; `None` if nothing in it can be sent to this model.
    fn said(&self, said: &AiMessage) -> Option<Value> {
        let text = text_of(&said.content);
        if text.is_none() && said.tool_calls.is_empty() {
            return None;
        }
        let mut message = json!({ "role": "assistant", "content": text });
        if !said.tool_calls.is_empty() {
            let calls = said.tool_calls.iter().map(|call| {
                let function = json!({ "name": tool_name(&call.name), "arguments": arguments(&call.input) });
                json!({ "id": call.id, "type": "function", "function": function })
            });
            message["tool_calls"] = calls.collect();
        }
        if self.returns_thoughts {
            self.give_back_thoughts(&said.content, &mut message);
        }
        Some(message)
    }

    /// Puts the model's own thoughts where they came from: members of the message, beside its text.
    fn give_back_thoughts(&self, content: &Content, message: &mut Value) {
        for part in content.parts() {
            let Part::Thinking(thought) = part else { continue };
            let raw = thought.raw.as_object().filter(|_| thought.origin.is(PROVIDER, &self.model));
            for (member, text) in raw.into_iter().flatten() {
                let Some(text) = text.as_str() else { continue };
                let before = message[member].as_str().unwrap_or_default();
                message[member] = format!("{before}{text}").into();
            }
        }
    }
}

/// The messages of a request in the making.
#[derive(Default)]
struct Turns {
    messages: Vec<Value>,
    /// Images of results. Results have texts alone, and nothing may stand between them, so these come after the last.
    images: Vec<Value>,
}

impl Turns {
    fn say(&mut self, role: &str, content: Value) {
        self.add(Some(json!({ "role": role, "content": content })));
    }

    fn add(&mut self, message: Option<Value>) {
        self.show_images();
        self.messages.extend(message);
    }

    fn result(&mut self, result: &ToolMessage) {
        let images: Vec<Value> = images(&result.content).collect();
        let otherwise = if images.is_empty() { NO_OUTPUT } else { IMAGES_FOLLOW };
        let text = result_text(result, otherwise);
        self.messages.push(json!({ "role": "tool", "tool_call_id": result.tool_call_id, "content": text }));
        if !images.is_empty() {
            let caption =
                format!("Images of the result of {}, call {}:", tool_name(&result.name), result.tool_call_id);
            self.images.push(json!({ "type": "text", "text": caption }));
            self.images.extend(images);
        }
    }

    fn show_images(&mut self) {
        if !self.images.is_empty() {
            let parts = std::mem::take(&mut self.images);
            self.messages.push(json!({ "role": "user", "content": parts }));
        }
    }

    /// The messages, of which those that are no instructions begin and end with a word of the user or of a tool.
    fn finish(mut self, begin: usize) -> Vec<Value> {
        self.show_images();
        if self.messages.get(begin).is_none_or(|first| first["role"] != "user") {
            self.messages.insert(begin, json!({ "role": "user", "content": OPENING }));
        }
        if self.messages.last().is_some_and(|last| last["role"] == "assistant") {
            self.say("user", GO_ON.into());
        }
        self.messages
    }
}

/// Converts a message of the user; `None` if nothing in it can be sent in this protocol.
fn user(content: &Content) -> Option<Value> {
    let mut images = images(content).peekable();
    if images.peek().is_none() {
        return text_of(content).map(|text| json!({ "role": "user", "content": text }));
    }
    let parts = content.parts().iter().filter_map(|part| match part {
        Part::Text { text } if !text.trim().is_empty() => Some(json!({ "type": "text", "text": text })),
        Part::Image(image) => Some(image_part(image)),
        _ => None,
    });
    Some(json!({ "role": "user", "content": parts.collect::<Vec<_>>() }))
}

fn images(content: &Content) -> impl Iterator<Item = Value> {
    content.parts().iter().filter_map(|part| match part {
        Part::Image(image) => Some(image_part(image)),
        _ => None,
    })
}

fn image_part(image: &Image) -> Value {
    match sendable(image) {
        Ok(image) => {
            json!({ "type": "image_url", "image_url": { "url": image.to_url(), "detail": detail(image.detail) } })
        }
        Err(instead) => json!({ "type": "text", "text": instead }),
    }
}

/// The tools that are offered; or else those that are mentioned, which gateways to other providers want to know.
fn tools(request: &ModelRequest) -> Vec<Value> {
    let tool = |spec: &ToolSpec| json!({ "type": "function", "function": declaration(spec) });
    let offered = request.tools.iter().map(tool);
    offered.chain(mentioned_tools(request).map(|name| tool(&no_longer_there(name)))).collect()
}

#[cfg(test)]
mod tests;
