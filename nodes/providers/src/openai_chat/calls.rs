//! Tool calls, as the deltas of a stream make them.

use serde_json::Value;
use superstep_nodes::model::ModelEvent;

use crate::openai::is_whole_object;
use crate::reply_stream::Unreadable;

/// The tool calls of a stream in the making.
///
/// The protocol does not say when a call is complete, and more of one may come after another has begun. But nothing can
/// follow the bracket that closes its input. So a call ends as soon as that is closed and another call has begun; the
/// others end with the reply.
///
/// Deltas say by an index which call they belong to. Servers are known to leave that out, or to give all calls the
/// same; then the id says it, and where that is empty, a name that comes after a closed input begins the next call.
#[derive(Default)]
pub(super) struct Calls(Vec<Call>);

#[derive(Default)]
struct Call {
    index: Option<u64>,
    id: String,
    name: String,
    /// The input text so far.
    input: String,
    /// A start event was said: there is a name.
    has_started: bool,
    has_ended: bool,
}

impl Calls {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes in a delta of a call.
    ///
    /// # Errors
    /// If it adds to a complete call.
    pub(super) fn go_on(&mut self, delta: &Value, said: &mut Vec<ModelEvent>) -> Result<(), Unreadable> {
        let function = &delta["function"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (id, name) = (text(&delta["id"]), text(&function["name"]));
        let more = match &function["arguments"] {
            Value::String(text) => text.clone(),
            // Whole inputs that are not put in a text.
            input @ Value::Object(_) => input.to_string(),
            _ => String::new(),
        };
        let index = delta["index"].as_u64();
        let at = self.place(index, &id, &name, &more).unwrap_or_else(|| {
            self.0.push(Call { index, id, ..Call::default() });
            self.0.len() - 1
        });
        self.0[at].take(number(at), name, &more, said)?;
        let others = self.0.len() - 1;
        self.end_where(said, |position, call| position < others && is_whole_object(&call.input));
        Ok(())
    }

    /// Ends all calls, or only those whose input is closed, of a reply that was cut off.
    pub(super) fn finish(&mut self, is_cut_off: bool, said: &mut Vec<ModelEvent>) {
        for (at, call) in self.0.iter_mut().enumerate() {
            call.start(number(at), said);
        }
        self.end_where(said, |_, call| !is_cut_off || is_whole_object(&call.input));
    }

    fn end_where(&mut self, said: &mut Vec<ModelEvent>, is_complete: impl Fn(usize, &Call) -> bool) {
        for (at, call) in self.0.iter_mut().enumerate() {
            if call.has_started && !call.has_ended && is_complete(at, call) {
                call.has_ended = true;
                said.push(ModelEvent::ToolCallEnd { index: number(at) });
            }
        }
    }

    /// The call that a delta belongs to; none if it begins one.
    fn place(&self, index: Option<u64>, id: &str, name: &str, more: &str) -> Option<usize> {
        let same_id = |call: &Call| !id.is_empty() && call.id == id;
        let known = self.0.iter().rposition(|call| same_id(call) && (index.is_none() || call.index == index));
        if known.is_some() {
            return known;
        }
        let at = match index {
            Some(_) => self.0.iter().rposition(|call| call.index == index)?,
            None => self.0.len().checked_sub(1)?,
        };
        let call = &self.0[at];
        let other_id = !id.is_empty() && !call.id.is_empty();
        let next_name = !name.is_empty() && !more.is_empty() && is_whole_object(&call.input);
        let other_name = index.is_none() && !name.is_empty() && !call.name.is_empty() && name != call.name;
        (!(other_id || next_name || other_name)).then_some(at)
    }
}

impl Call {
    fn take(
        &mut self,
        index: u32,
        name: String,
        more: &str,
        said: &mut Vec<ModelEvent>,
    ) -> Result<(), Unreadable> {
        if self.has_ended {
            let is_nothing = more.trim().is_empty();
            let reason = || format!("more came of the tool call `{}`, whose input was closed", self.id);
            return if is_nothing { Ok(()) } else { Err(Unreadable::Malformed(reason())) };
        }
        if !self.has_started && !name.is_empty() {
            self.name = name;
            self.start(index, said);
        }
        self.input.push_str(more);
        if self.has_started && !more.is_empty() {
            said.push(ModelEvent::ToolCallInput { index, json: more.to_owned() });
        }
        Ok(())
    }

    /// Says that the call begins, and what had come of its input before its name.
    fn start(&mut self, index: u32, said: &mut Vec<ModelEvent>) {
        if std::mem::replace(&mut self.has_started, true) {
            return;
        }
        said.push(ModelEvent::ToolCallStart { index, id: self.id.clone(), name: self.name.clone() });
        if !self.input.is_empty() {
            said.push(ModelEvent::ToolCallInput { index, json: self.input.clone() });
        }
    }
}

/// The number of a call among the events of its stream.
fn number(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
