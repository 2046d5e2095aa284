//! Folding a stream of events into a reply.

use serde_json::{Map, Value};

use super::{ModelEvent, ModelReply, StopReason, StreamFault, Usage};
use crate::message::{Content, ToolCall};

/// Folds the events of one stream into a reply.
///
/// How the text and the tool inputs were cut into pieces makes no difference. The result is a reply only
/// if a stop event came.
///
/// ```
/// use superstep_nodes::model::{Accumulator, ModelEvent, StopReason, StreamFault};
///
/// let mut reply = Accumulator::new("model");
/// reply.push(ModelEvent::TextDelta { text: "Hel".into() })?;
/// reply.push(ModelEvent::TextDelta { text: "lo".into() })?;
/// assert_eq!(reply.text(), "Hello");
/// assert_eq!(reply.clone().finish(), Err(StreamFault::EndedEarly));
///
/// reply.push(ModelEvent::Stop { reason: StopReason::EndTurn })?;
/// assert_eq!(reply.finish()?.text(), "Hello");
/// # Ok::<(), StreamFault>(())
/// ```
#[derive(Clone, Debug)]
pub struct Accumulator {
    model: String,
    text: String,
    calls: Vec<Call>,
    usage: Usage,
    stop: Option<StopReason>,
}

/// A tool call in the making.
#[derive(Clone, Debug)]
struct Call {
    index: u32,
    id: String,
    name: String,
    /// The input text so far.
    json: String,
    /// The input, once it is complete.
    input: Option<Value>,
}

impl Accumulator {
    /// Makes an accumulator that has seen nothing; the name is the reply's unless a start event gives
    /// another.
    pub fn new(model: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            text: String::new(),
            calls: Vec::new(),
            usage: Usage::default(),
            stop: None,
        }
    }

    /// Returns the text so far.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Takes one event.
    ///
    /// # Errors
    ///
    /// Fails if the event cannot come at this point of a stream, or completes a tool input that is not
    /// JSON.
    pub fn push(&mut self, event: ModelEvent) -> Result<(), StreamFault> {
        if let ModelEvent::Usage(usage) = event {
            self.usage.input_tokens = self.usage.input_tokens.max(usage.input_tokens);
            self.usage.output_tokens = self.usage.output_tokens.max(usage.output_tokens);
            return Ok(());
        }
        if self.stop.is_some() {
            return Err(StreamFault::AfterStop);
        }
        match event {
            ModelEvent::Start { model } => self.model = model,
            ModelEvent::TextDelta { text } => self.text.push_str(&text),
            ModelEvent::ToolCallStart { index, id, name } => self.start_call(index, id, name)?,
            ModelEvent::ToolCallInput { index, json } => self.open_call(index)?.json.push_str(&json),
            ModelEvent::ToolCallEnd { index } => self.end_call(index)?,
            ModelEvent::Usage(_) => {}
            ModelEvent::Stop { reason } => self.stop = Some(reason),
        }
        Ok(())
    }

    /// Returns the reply.
    ///
    /// A tool call that the output limit cut off is left out; [`StopReason::MaxTokens`] tells of it.
    ///
    /// # Errors
    ///
    /// Fails if no stop event came, or if a tool call is not complete for another reason than the limit.
    pub fn finish(self) -> Result<ModelReply, StreamFault> {
        let stop = self.stop.ok_or(StreamFault::EndedEarly)?;
        let mut tool_calls = Vec::with_capacity(self.calls.len());
        for call in self.calls {
            match call.input {
                Some(input) => tool_calls.push(ToolCall { id: call.id, name: call.name, input }),
                None if stop == StopReason::MaxTokens => {}
                None => return Err(StreamFault::UnendedToolCall { id: call.id }),
            }
        }
        let content = if self.text.is_empty() { Content::empty() } else { Content::text(self.text) };
        Ok(ModelReply { content, tool_calls, usage: self.usage, stop, model: self.model })
    }

    fn start_call(&mut self, index: u32, id: String, name: String) -> Result<(), StreamFault> {
        if self.calls.iter().any(|call| call.index == index) {
            return Err(StreamFault::DuplicateToolCall { index });
        }
        self.calls.push(Call { index, id, name, json: String::new(), input: None });
        Ok(())
    }

    /// Finds a call that has started and not ended.
    fn open_call(&mut self, index: u32) -> Result<&mut Call, StreamFault> {
        self.calls
            .iter_mut()
            .find(|call| call.index == index && call.input.is_none())
            .ok_or(StreamFault::NoOpenToolCall { index })
    }

    fn end_call(&mut self, index: u32) -> Result<(), StreamFault> {
        let call = self.open_call(index)?;
        // A tool without parameters may get no input text at all.
        let input = if call.json.trim().is_empty() {
            Value::Object(Map::new())
        } else {
            serde_json::from_str(&call.json).map_err(|error| StreamFault::InvalidToolInput {
                id: call.id.clone(),
                reason: error.to_string(),
            })?
        };
        call.input = Some(input);
        Ok(())
    }
}

#[cfg(test)]
#[path = "accumulator/tests.rs"]
mod tests;
