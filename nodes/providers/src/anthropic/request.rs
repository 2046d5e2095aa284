//! A request in the form of Anthropic's Messages protocol.

use serde_json::{Map, Value, json};
use superstep_nodes::message::{
    AiMessage, Content, Image, ImageSource, Message, Part, ToolMessage, ToolStatus,
};
use superstep_nodes::model::{ModelRequest, OutputFormat, ToolChoice};
use superstep_nodes::tool::ToolSpec;

use super::PROVIDER;
use crate::output_schema::closed;
use crate::sendable::{
    GO_ON, OPENING, instructions, mentioned_tools, no_longer_there, note, sendable, tool_name,
};
use crate::tool_schema::one_object;

/// The thinking mode of a model. The modes that are available depend on the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Thinking {
    /// No thinking is requested: the model does not think, or thinks as it does by default.
    #[default]
    Off,
    /// The model decides how much it thinks.
    Adaptive,
    /// The model thinks up to this many tokens, at least 1,024, beside those of the output.
    Budget(u32),
}

impl Thinking {
    /// The smallest budget that there is.
    const LEAST: u32 = 1_024;

    /// Returns the maximum number of output tokens with the thinking budget added, so that the requested number is left
    /// for the answer.
    fn with_room(self, output: u32) -> u32 {
        match self {
            Self::Off | Self::Adaptive => output,
            Self::Budget(tokens) => output.saturating_add(tokens.max(Self::LEAST)),
        }
    }

    /// Returns the `thinking` member of a request.
    fn asked(self) -> Option<Value> {
        match self {
            Self::Off => None,
            Self::Adaptive => Some(json!({ "type": "adaptive" })),
            Self::Budget(tokens) => {
                Some(json!({ "type": "enabled", "budget_tokens": tokens.max(Self::LEAST) }))
            }
        }
    }
}

/// The settings of a client that its requests depend on.
#[derive(Clone, Debug)]
pub(super) struct RequestForm {
    pub(super) model: String,
    pub(super) max_output_tokens: u32,
    pub(super) thinking: Thinking,
    pub(super) caching: Caching,
}

impl RequestForm {
    pub(super) fn new(model: String) -> Self {
        Self { model, max_output_tokens: 8_192, thinking: Thinking::default(), caching: Caching::default() }
    }

    /// The body of a request whose answer is streamed.
    pub(super) fn streamed(&self, request: &ModelRequest) -> Value {
        let (mut body, thinking) = self.body(request);
        let settings = &request.settings;
        let most = settings.max_output_tokens.unwrap_or(self.max_output_tokens);
        body.insert("max_tokens".into(), thinking.with_room(most).into());
        body.insert("stream".into(), true.into());
        // A model that thinks takes no other temperature than its own.
        if let Some(temperature) = settings.temperature.filter(|_| thinking == Thinking::Off) {
            body.insert("temperature".into(), temperature.into());
        }
        if !settings.stop.is_empty() {
            body.insert("stop_sequences".into(), settings.stop.clone().into());
        }
        body.extend(settings.extra.clone());
        body.into()
    }

    /// The body of a request whose tokens are counted.
    pub(super) fn counted(&self, request: &ModelRequest) -> Value {
        self.body(request).0.into()
    }

    /// Returns the body for both kinds of requests, and the thinking mode. A conversation that continues is sent with
    /// the same bytes before the new messages.
    fn body(&self, request: &ModelRequest) -> (Map<String, Value>, Thinking) {
        let mut body = Map::new();
        body.insert("model".into(), self.model.as_str().into());
        let (instructions, conversation) = instructions(request);
        let mut system: Vec<Value> =
            instructions.iter().map(|text| json!({ "type": "text", "text": text })).collect();
        let mut tools: Vec<Value> = request.tools.iter().map(tool).collect();
        let nothing_to_call = tools.is_empty();
        tools.extend(mentioned_tools(request).map(|name| tool(&no_longer_there(name))));
        // One mark serves both: tools are read before the instructions.
        self.caching.mark(system.last_mut().or(tools.last_mut()));
        if !tools.is_empty() {
            body.insert("tools".into(), tools.into());
            let choice = if nothing_to_call { &ToolChoice::None } else { &request.tool_choice };
            body.extend(
                tool_choice(choice, request.settings.parallel_tool_calls)
                    .map(|it| ("tool_choice".into(), it)),
            );
        }
        if !system.is_empty() {
            body.insert("system".into(), system.into());
        }
        let messages = self.messages(conversation, request.continues);
        let thinking = if self.may_think(request, &messages) { self.thinking } else { Thinking::Off };
        body.insert("messages".into(), messages.into());
        body.extend(thinking.asked().map(|thinking| ("thinking".into(), thinking)));
        let mut output = Map::new();
        if let OutputFormat::Json { schema, .. } = &request.output {
            // A schema that cannot be closed is left out: the prompt has it in words, and the caller checks the value.
            if let Some(schema) = closed(schema) {
                output.insert("format".into(), json!({ "type": "json_schema", "schema": schema }));
            }
        }
        if let Some(effort) = request.settings.effort {
            output.insert("effort".into(), effort.as_str().into());
        }
        if !output.is_empty() {
            body.insert("output_config".into(), output.into());
        }
        (body, thinking)
    }

    /// Returns `true` if the model may think before this answer. It may not where it must call a tool, and, with a
    /// budget, not in the middle of a turn that another model has begun, as that turn begins without a thought of its
    /// own.
    fn may_think(&self, request: &ModelRequest, messages: &[Value]) -> bool {
        let must_call = matches!(request.tool_choice, ToolChoice::Required | ToolChoice::Tool(_));
        if must_call && !request.tools.is_empty() {
            return false;
        }
        let [.., said, results] = messages else {
            return true;
        };
        let in_a_turn = results["content"][0]["type"] == "tool_result";
        !in_a_turn || !matches!(self.thinking, Thinking::Budget(_)) || is_thought(&said["content"][0])
    }

    /// The turns of the user and of the model, which take turns: several messages of one side are one. The last may be
    /// the model's where it continues that, which then stays as it came.
    fn messages(&self, conversation: &[Message], continues: bool) -> Vec<Value> {
        let mut turns: Vec<(&str, Vec<Value>)> = Vec::new();
        for (position, message) in conversation.iter().enumerate() {
            let is_continued = continues && position + 1 == conversation.len();
            let (role, blocks) = match message {
                Message::Ai(said) if is_continued => ("assistant", self.said(said)),
                Message::Ai(said) => ("assistant", without_last_thoughts(self.said(said))),
                Message::Tool(answer) => ("user", vec![result(answer)]),
                Message::Human(message) => ("user", blocks(&message.content)),
                Message::System(message) => {
                    ("user", vec![json!({ "type": "text", "text": note(&message.content) })])
                }
            };
            match turns.last_mut() {
                _ if blocks.is_empty() => {}
                Some((last, held)) if *last == role => held.extend(blocks),
                _ => turns.push((role, blocks)),
            }
        }
        let words = |text: &str| ("user", vec![json!({ "type": "text", "text": text })]);
        if turns.first().is_none_or(|(role, _)| *role == "assistant") {
            turns.insert(0, words(OPENING));
        }
        if !continues && turns.last().is_some_and(|(role, _)| *role == "assistant") {
            turns.push(words(GO_ON));
        }
        // What was sent before ended with the user's turn before this one.
        for (_, blocks) in turns.iter_mut().rev().filter(|(role, _)| *role == "user").take(2) {
            self.caching.mark(blocks.last_mut());
        }
        turns.into_iter().map(|(role, content)| json!({ "role": role, "content": content })).collect()
    }

    fn said(&self, said: &AiMessage) -> Vec<Value> {
        let mut calls: Vec<Option<Value>> = said
            .tool_calls
            .iter()
            .map(|call| {
                let input = if call.input.is_object() { call.input.clone() } else { json!({ "input": call.input }) };
                Some(json!({ "type": "tool_use", "id": call.id, "name": tool_name(&call.name), "input": input }))
            })
            .collect();
        let mut blocks = Vec::new();
        for part in said.content.parts() {
            match part {
                Part::ToolCall { index } => blocks.extend(calls.get_mut(*index).and_then(Option::take)),
                Part::Thinking(thought) if thought.origin.is(PROVIDER, &self.model) => {
                    blocks.push(thought.raw.clone());
                }
                Part::Native(native) if native.origin.is(PROVIDER, &self.model) => {
                    blocks.push(native.raw.clone())
                }
                Part::Text { .. } => blocks.extend(block(part)),
                // Thoughts and parts of other providers, and images, which no assistant says.
                _ => {}
            }
        }
        blocks.extend(calls.into_iter().flatten());
        blocks
    }
}

/// A thought is of what follows it.
fn without_last_thoughts(mut blocks: Vec<Value>) -> Vec<Value> {
    while blocks.pop_if(|last| is_thought(last)).is_some() {}
    blocks
}

fn result(result: &ToolMessage) -> Value {
    let mut block = json!({ "type": "tool_result", "tool_use_id": result.tool_call_id });
    let mut content = blocks(&result.content);
    if result.status == ToolStatus::Error {
        block["is_error"] = true.into();
        // An error is sent as text.
        content.retain(|block| block["type"] == "text");
    }
    if !content.is_empty() {
        block["content"] = content.into();
    }
    block
}

/// Returns the blocks of a message of a user or a tool.
fn blocks(content: &Content) -> Vec<Value> {
    content.parts().iter().filter_map(block).collect()
}

/// The block of a part that all models understand; none of one that is blank.
fn block(part: &Part) -> Option<Value> {
    match part {
        Part::Text { text } if text.trim().is_empty() => None,
        Part::Text { text } => Some(json!({ "type": "text", "text": text })),
        Part::Image(image) => Some(image_block(image)),
        _ => None,
    }
}

fn is_thought(block: &Value) -> bool {
    matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking"))
}

fn image_block(image: &Image) -> Value {
    let image = match sendable(image) {
        Ok(image) => image,
        Err(instead) => return json!({ "type": "text", "text": instead }),
    };
    let source = match &image.source {
        ImageSource::Base64 { media_type, data } => {
            json!({ "type": "base64", "media_type": media_type, "data": data })
        }
        ImageSource::Url { url } if url.starts_with("https://") => json!({ "type": "url", "url": url }),
        // The provider fetches nothing else.
        ImageSource::Url { url } => return json!({ "type": "text", "text": format!("[an image at {url}]") }),
        _ => return json!({ "type": "text", "text": "[an image that cannot be sent]" }),
    };
    json!({ "type": "image", "source": source })
}

fn tool(spec: &ToolSpec) -> Value {
    let schema = one_object(&spec.input_schema);
    json!({ "name": tool_name(&spec.name), "description": spec.description, "input_schema": schema })
}

fn tool_choice(choice: &ToolChoice, parallel: Option<bool>) -> Option<Value> {
    let mut choice = match choice {
        ToolChoice::None => return Some(json!({ "type": "none" })),
        ToolChoice::Required => json!({ "type": "any" }),
        ToolChoice::Tool(name) => json!({ "type": "tool", "name": tool_name(name) }),
        // `Auto`, and any choice added later: as the model thinks best.
        _ if parallel.is_none() => return None,
        _ => json!({ "type": "auto" }),
    };
    if let Some(parallel) = parallel {
        choice["disable_parallel_tool_use"] = (!parallel).into();
    }
    Some(choice)
}

/// Prompt caching: the part of a conversation that the provider keeps between two requests. Tokens read from its cache
/// cost a tenth of the price.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Caching {
    /// Nothing.
    Off,
    /// All of it, for five minutes after it was last read.
    #[default]
    FiveMinutes,
    /// All of it, for an hour after it was last read.
    OneHour,
}

impl Caching {
    /// Marks the end of what is to be kept. A prefix up to a mark that was sent before is found again if no byte of it
    /// has changed.
    pub(super) fn mark(self, block: Option<&mut Value>) {
        let mark = match self {
            Self::Off => return,
            Self::FiveMinutes => json!({ "type": "ephemeral" }),
            Self::OneHour => json!({ "type": "ephemeral", "ttl": "1h" }),
        };
        if let Some(block) = block {
            block["cache_control"] = mark;
        }
    }
}

#[cfg(test)]
mod tests;
