//! Calls as permissions see them, modes, and the decisions on calls.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep_nodes::message::ToolCall;
use superstep_nodes::tool::{Permission, PermissionMatcher};

use super::rule::RulePlace;

/// The permission mode of a session. It is part of the state, so a change takes effect with the next call of a tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PermissionMode {
    /// Read-only calls are allowed, and all others are asked about.
    #[default]
    Default,
    /// Read-only calls are allowed, and all others are denied, also those that a rule allows.
    Plan,
    /// Read-only calls are allowed, and a classifier decides on the others. If it is unsure, a person is asked.
    Auto,
    /// Read-only calls and edits of files in the workspace are allowed, and all others are asked about.
    AcceptEdits,
}

impl PermissionMode {
    /// All modes.
    pub const ALL: [Self; 4] = [Self::Default, Self::Plan, Self::Auto, Self::AcceptEdits];

    /// Returns the name of the mode, as in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Plan => "plan",
            Self::Auto => "auto",
            Self::AcceptEdits => "accept_edits",
        }
    }
}

impl fmt::Display for PermissionMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The authority that resolves an ask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Resolver {
    /// A person, by a stored question.
    #[default]
    Person,
    /// A classifier model.
    Classifier,
    /// None: the session runs without a person, so an ask is denied.
    Nobody,
}

/// The facts about a call that a decision depends on. They are gathered before, so that deciding needs neither the tool
/// nor a wait.
#[derive(Clone, Copy, Debug)]
pub struct CallView<'a> {
    /// The call.
    pub call: &'a ToolCall,
    /// `true` if the call changes nothing.
    pub is_read_only: bool,
    /// Compares the patterns of rules with the call; `None` if the tool cannot.
    pub matcher: Option<&'a PermissionMatcher>,
    /// The result of the tool's own check.
    pub check: &'a Permission,
    /// The verdicts of hooks. A hook without an opinion has none.
    pub hooks: &'a [HookVerdict],
}

/// The verdict of a hook on a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HookVerdict {
    /// The name of the hook.
    pub hook: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The reason, for the person or the model that reads it.
    pub reason: String,
}

/// The outcome of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The call may be made.
    Allow,
    /// Consent is needed.
    Ask,
    /// The call may not be made.
    Deny,
}

/// The layer that decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// Layer 1: deny rules.
    Static,
    /// Layer 2: the tool's own check.
    Tool,
    /// Layer 3: allow and ask rules, if/then rules, hooks, and grants of this session.
    Rules,
    /// Layer 4: the mode, and the authority that resolves an ask.
    Mode,
}

impl Layer {
    /// All layers, in their order.
    pub const ALL: [Self; 4] = [Self::Static, Self::Tool, Self::Rules, Self::Mode];

    /// Returns the number of the layer, from 1 to 4.
    pub const fn number(self) -> u8 {
        self as u8 + 1
    }
}

/// The beginning of the answer to a call that is denied. No result of a tool begins like this.
pub(crate) const NOT_PERMITTED: &str = "Not permitted: ";

/// A decision on a call, for the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Decision {
    /// The id of the call.
    pub call: String,
    /// The name of the tool.
    pub tool: String,
    /// The first layer that led to the verdict.
    pub layer: Layer,
    /// The rules behind the verdict. Several may cover a command line together.
    pub rules: Vec<RulePlace>,
    /// The verdict.
    pub verdict: Verdict,
    /// The reason, for the person or the model that reads it.
    pub reason: String,
}
