//! The content of the nodes' events.

use serde::{Deserialize, Serialize};
use superstep_core::state::Json;

use crate::compaction::Summariser;
use crate::graphs::AgentState;
use crate::node::{Compact, ConversationLength, ModelCall, Refine, Router, Routing, ToolRun, Verify};

/// The content of a custom event that one of the nodes here has emitted, reduced to the fields that are measured.
pub(super) enum Signal {
    ModelCall(ModelCall),
    ToolRun(ToolRun),
    Compaction(Compacted),
    Routing(Routing),
    Verification(Verified),
    Refinement(Refined),
    Conversation(ConversationLength),
}

/// A conversation is shown in short from now on.
#[derive(Deserialize)]
pub(super) struct Compacted {
    by: Summariser,
    pub(super) tokens_before: u64,
    pub(super) tokens_after: u64,
    pub(super) threshold: u64,
    pub(super) elapsed_ms: u64,
    pub(super) model_ms: u64,
}

impl Compacted {
    /// Returns the author of the summary: `model` or `nobody`.
    pub(super) fn by(&self) -> &'static str {
        match self.by {
            Summariser::Model { .. } => "model",
            Summariser::Nobody { .. } => "nobody",
        }
    }
}

/// A response was verified: a [`Verification`](crate::verification::Verification) without its texts.
#[derive(Deserialize)]
pub(super) struct Verified {
    /// The number of the response in the turn, from 1.
    pub(super) attempt: u32,
    /// `true` if it is accepted; `None` if it could not be judged.
    pub(super) passed: Option<bool>,
    pub(super) score: Option<f64>,
}

/// A response is to be given again: of a [`Refinement`](crate::node::Refinement).
#[derive(Deserialize)]
pub(super) struct Refined {
    /// The number of refinements so far, including this one.
    pub(super) attempt: u32,
    /// The score of the refused response.
    pub(super) score: Option<f64>,
}

impl Verified {
    /// Returns the number of earlier refinements.
    pub(super) fn refinements(&self) -> u32 {
        self.attempt.saturating_sub(1)
    }
}

const COMPACTION: &str = Compact::<AgentState>::EVENT;
const ROUTING: &str = Router::<AgentState>::EVENT;
const VERIFICATION: &str = Verify::<AgentState>::EVENT;
const REFINEMENT: &str = Refine::<AgentState>::EVENT;

impl Signal {
    /// Reads a custom event; `None` for an event of another name or another content. Such events are no error: programs
    /// emit their own.
    pub(super) fn of(name: &str, data: &Json) -> Option<Self> {
        match name {
            ModelCall::EVENT => data.decode().ok().map(Self::ModelCall),
            ToolRun::EVENT => data.decode().ok().map(Self::ToolRun),
            COMPACTION => data.decode().ok().map(Self::Compaction),
            ROUTING => data.decode().ok().map(Self::Routing),
            VERIFICATION => data.decode().ok().map(Self::Verification),
            REFINEMENT => data.decode().ok().map(Self::Refinement),
            ConversationLength::EVENT => data.decode().ok().map(Self::Conversation),
            _ => None,
        }
    }
}

/// Returns the name of a case in JSON.
pub(super) fn name_of(case: &impl Serialize) -> String {
    let name = serde_json::to_value(case).ok();
    name.as_ref().and_then(serde_json::Value::as_str).unwrap_or("_OTHER").to_owned()
}
