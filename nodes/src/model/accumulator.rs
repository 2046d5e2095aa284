//! Folding a stream of events into a reply.

use serde_json::{Map, Value};

use super::{ModelEvent, ModelReply, StopReason, StreamFault, Usage};
use crate::message::{Part, ToolCall};

/// Folds the events of one stream into a reply.
///
/// The pieces into which the text and the tool inputs were cut make no difference. The result is a reply only if a stop
/// event came.
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
    request_id: Option<String>,
    parts: Vec<Part>,
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
    /// The input is not JSON.
    is_broken: bool,
}

impl Accumulator {
    /// Makes an accumulator that has seen nothing; the name is the reply's unless a start event gives
    /// another.
    pub fn new(model: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            request_id: None,
            parts: Vec::new(),
            calls: Vec::new(),
            usage: Usage::default(),
            stop: None,
        }
    }

    /// Returns the text so far.
    pub fn text(&self) -> String {
        self.parts.iter().filter_map(Part::as_text).collect()
    }

    /// Returns the tool call that started at this position, from 0, once its input is complete, if that is JSON. The
    /// reply has it at the same place if all calls before it are so, too.
    pub fn complete_call(&self, position: usize) -> Option<ToolCall> {
        let call = self.calls.get(position).filter(|call| !call.is_broken)?;
        let input = call.input.clone()?;
        Some(ToolCall { id: call.id.clone(), name: call.name.clone(), input })
    }

    /// Returns `true` once the stop event has come.
    pub(crate) fn has_stopped(&self) -> bool {
        self.stop.is_some()
    }

    /// Takes one event.
    ///
    /// # Errors
    ///
    /// Fails if the event cannot come at this point of a stream.
    pub fn push(&mut self, event: ModelEvent) -> Result<(), StreamFault> {
        if let ModelEvent::Usage(usage) = event {
            self.usage = self.usage.max(usage);
            return Ok(());
        }
        if self.stop.is_some() {
            return Err(StreamFault::AfterStop);
        }
        match event {
            ModelEvent::Start { model, request_id } => {
                self.model = model;
                self.request_id = request_id;
            }
            ModelEvent::TextDelta { text } => self.say(text),
            ModelEvent::Fallback { .. } | ModelEvent::ThinkingDelta { .. } | ModelEvent::Usage(_) => {}
            ModelEvent::Part { part } => self.parts.push(part),
            ModelEvent::ToolCallStart { index, id, name } => self.start_call(index, id, name)?,
            ModelEvent::ToolCallInput { index, json } => self.open_call(index)?.json.push_str(&json),
            ModelEvent::ToolCallEnd { index } => self.end_call(index)?,
            ModelEvent::Stop { reason } => self.stop = Some(reason),
        }
        Ok(())
    }

    /// Returns the reply.
    ///
    /// A tool call that a limit cut off is left out; the [`StopReason`] tells of it. An input that is not JSON for
    /// another reason is kept as a text, for the tool to refuse and the model to correct.
    ///
    /// # Errors
    ///
    /// Fails if no stop event came, or if a tool call is not complete for another reason than the limit.
    pub fn finish(self) -> Result<ModelReply, StreamFault> {
        let stop = self.stop.ok_or(StreamFault::EndedEarly)?;
        let mut tool_calls = Vec::with_capacity(self.calls.len());
        let mut complete = Vec::with_capacity(self.calls.len());
        for call in self.calls {
            let input = call.input.filter(|_| !(call.is_broken && stop.is_cut_off()));
            complete.push(input.is_some().then_some(tool_calls.len()));
            match input {
                Some(input) => tool_calls.push(ToolCall { id: call.id, name: call.name, input }),
                None if stop.is_cut_off() => {}
                None => return Err(StreamFault::UnendedToolCall { id: call.id }),
            }
        }
        let content = placed(self.parts, &complete).into_iter().collect();
        let (usage, model, request_id) = (self.usage, self.model, self.request_id);
        Ok(ModelReply { content, tool_calls, usage, stop, model, request_id })
    }

    fn say(&mut self, more: String) {
        match self.parts.last_mut() {
            Some(Part::Text { text }) => text.push_str(&more),
            _ if more.is_empty() => {}
            _ => self.parts.push(Part::Text { text: more }),
        }
    }

    fn start_call(&mut self, index: u32, id: String, name: String) -> Result<(), StreamFault> {
        if self.calls.iter().any(|call| call.index == index) {
            return Err(StreamFault::DuplicateToolCall { index });
        }
        self.parts.push(Part::ToolCall { index: self.calls.len() });
        self.calls.push(Call { index, id, name, json: String::new(), input: None, is_broken: false });
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
            serde_json::from_str(&call.json).unwrap_or_else(|_| {
                call.is_broken = true;
                Value::String(call.json.clone())
            })
        };
        call.input = Some(input);
        Ok(())
    }
}

/// The parts with the places of the calls that are complete; `complete` says which of those each call is. Calls come
/// last by themselves, so where nothing follows there is no need to say it.
fn placed(parts: Vec<Part>, complete: &[Option<usize>]) -> Vec<Part> {
    let place = |part| match part {
        Part::ToolCall { index } => complete[index].map(|index| Part::ToolCall { index }),
        part => Some(part),
    };
    let mut parts: Vec<Part> = parts.into_iter().filter_map(place).collect();
    while parts.pop_if(|last| matches!(last, Part::ToolCall { .. })).is_some() {}
    parts
}

#[cfg(test)]
mod tests;
