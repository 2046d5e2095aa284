//! The reply of a model, before it is converted to the form of a vendor.

use serde_json::Value;

use super::{Quirk, Stop, Usage};

/// The reply of a model.
#[derive(Clone, Debug, Default)]
pub(super) struct Said {
    pub(super) parts: Vec<Part>,
    pub(super) usage: Usage,
    pub(super) stop: Option<Stop>,
    /// The model that answers, if it is not the one that was asked.
    pub(super) model: Option<String>,
    pub(super) quirks: Vec<Quirk>,
    /// The number of letters of a delta.
    pub(super) delta: Option<usize>,
    pub(super) breaks_off: Option<BreakOff>,
}

/// An error in the middle of a stream.
#[derive(Clone, Debug)]
pub(super) struct BreakOff {
    pub(super) events: usize,
    pub(super) kind: String,
    pub(super) message: String,
}

#[derive(Clone, Debug)]
pub(super) enum Part {
    Text(String),
    Refusal(String),
    Thinking { text: String, signature: Option<String> },
    Redacted(String),
    Call { id: String, name: String, input: String },
}

/// The parts of an answer that come from its request and its server.
pub(super) struct Occasion<'a> {
    pub(super) request: &'a Value,
    /// The number of the answer on its server, for ids.
    pub(super) number: usize,
}

/// The number of letters of a delta if a reply sets none.
const DELTA: usize = 12;

impl Said {
    pub(super) fn has(&self, quirk: Quirk) -> bool {
        self.quirks.contains(&quirk)
    }

    pub(super) fn has_calls(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Call { .. }))
    }

    pub(super) fn stop(&self) -> Stop {
        self.stop.clone().unwrap_or(if self.has_calls() { Stop::ToolUse } else { Stop::EndTurn })
    }

    /// The texts of a kind of parts, one after the other, unless there are none.
    pub(super) fn joined(&self, text_of: impl Fn(&Part) -> Option<&str>) -> Option<String> {
        let texts: Vec<&str> = self.parts.iter().filter_map(text_of).collect();
        (!texts.is_empty()).then(|| texts.concat())
    }

    /// A text in the pieces in which it is streamed.
    pub(super) fn pieces<'a>(&self, text: &'a str) -> Vec<&'a str> {
        let size = self.delta.unwrap_or(DELTA).max(1);
        let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).step_by(size).collect();
        let ends = starts.iter().copied().skip(1).chain([text.len()]);
        starts.iter().zip(ends).map(|(start, end)| &text[*start..end]).collect()
    }
}

impl Part {
    pub(super) fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    pub(super) fn refusal(&self) -> Option<&str> {
        if let Self::Refusal(text) = self { Some(text) } else { None }
    }

    pub(super) fn thinking(&self) -> Option<&str> {
        if let Self::Thinking { text, .. } = self { Some(text) } else { None }
    }
}

impl Occasion<'_> {
    pub(super) fn model(&self, said: &Said) -> String {
        let asked = self.request.get("model").and_then(Value::as_str).unwrap_or("mock");
        said.model.clone().unwrap_or_else(|| asked.to_owned())
    }

    /// An id that no other answer of the server has.
    pub(super) fn id(&self, prefix: &str) -> String {
        format!("{prefix}{:04}", self.number)
    }

    /// An id of a part of an answer.
    pub(super) fn part_id(&self, prefix: &str, part: usize) -> String {
        format!("{prefix}{:04}{part:02}", self.number)
    }
}
