//! What the events of nodes say.

use serde::{Deserialize, Serialize};
use superstep_core::state::Json;

use crate::compaction::Summariser;
use crate::graphs::CallbackState;
use crate::node::{Compact, ConversationLength, ModelCall, Refine, Router, Routing, ToolRun, Verify};

/// What a custom event says that one of the nodes here has emitted; of what it holds, only what is measured.
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
    /// Who wrote the summary: `model` or `nobody`.
    pub(super) fn by(&self) -> &'static str {
        match self.by {
            Summariser::Model { .. } => "model",
            Summariser::Nobody { .. } => "nobody",
        }
    }
}

/// A response was verified: of a [`Verification`](crate::verification::Verification), all but what is said in it.
#[derive(Deserialize)]
pub(super) struct Verified {
    /// Which candidate of the turn it is, from 1.
    pub(super) attempt: u32,
    /// Whether it is accepted; nothing if nobody could judge it.
    pub(super) passed: Option<bool>,
    pub(super) score: Option<f64>,
}

/// A response is to be given again: of a [`Refinement`](crate::node::Refinement).
#[derive(Deserialize)]
pub(super) struct Refined {
    /// How many times it has been by then.
    pub(super) attempt: u32,
    /// How good it was.
    pub(super) score: Option<f64>,
}

impl Verified {
    /// How many refinements there were before.
    pub(super) fn refinements(&self) -> u32 {
        self.attempt.saturating_sub(1)
    }
}

const COMPACTION: &str = Compact::<CallbackState>::EVENT;
const ROUTING: &str = Router::<CallbackState>::EVENT;
const VERIFICATION: &str = Verify::<CallbackState>::EVENT;
const REFINEMENT: &str = Refine::<CallbackState>::EVENT;

impl Signal {
    /// Reads a custom event. One that says something else, or something else by the same name, is nobody's mistake: programs
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

/// The name of a case, as it is in JSON.
pub(super) fn name_of(case: &impl Serialize) -> String {
    let name = serde_json::to_value(case).ok();
    name.as_ref().and_then(serde_json::Value::as_str).unwrap_or("_OTHER").to_owned()
}
