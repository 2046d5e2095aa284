//! Kinds of sub-agents.

use std::collections::BTreeSet;
use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;

use superstep_nodes::model::ChatModel;

use crate::budget::{Limits, NoPrice};
use crate::permission::RulePlace;

/// A kind of sub-agents: its purpose, its tools and its boundaries.
///
/// ```
/// use superstep_assistant::agents::AgentKind;
/// use superstep_assistant::budget::Limits;
/// use superstep_assistant::permission::{RulePlace, RuleSource};
///
/// let user = |rule: &str| Ok(RulePlace::new(rule.parse()?, RuleSource::User));
/// let explore = AgentKind::reader("explore", "Finds the places in the project that a question is about.")
///     .system("You search a project. Answer with paths and lines.")
///     .tools(["read_file", "grep"]);
/// let mend = AgentKind::writer("mend", "Changes one file as described.")
///     .never(user("edit_file(Cargo.lock)")?)
///     .limits(Limits { tokens: Some(200_000), ..Limits::default() });
/// # Ok::<(), superstep_assistant::permission::RuleError>(())
/// ```
#[derive(Clone)]
pub struct AgentKind {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) access: Access,
    pub(crate) system: Option<String>,
    pub(crate) tools: Option<BTreeSet<String>>,
    pub(crate) never: Vec<RulePlace>,
    pub(crate) limits: Limits,
    pub(crate) max_turns: Option<NonZeroU32>,
    pub(crate) model: Option<Arc<dyn ChatModel>>,
}

/// The changes that the agents of a kind may make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// None: they work in mode `plan`, and run in parallel.
    ReadOnly,
    /// Those that their parent may make: they run one after the other.
    Writes,
}

/// The error of sub-agents that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// The name is empty or has characters that names of tools do not have. Rename the kind.
    #[error("`{name}` is not a name of a kind of agents: use 1 to 40 letters of a-z, A-Z, 0-9, `_` and `-`")]
    Name {
        /// The name.
        name: String,
    },
    /// Two kinds have one name. Rename one of them.
    #[error("two kinds of agents are called `{name}`")]
    Duplicate {
        /// The name.
        name: String,
    },
    /// The kind names a tool that its parent does not have. An agent has no more tools than its parent.
    #[error("the agents of kind `{kind}` are given the tool `{tool}`, which their parent does not have")]
    UnknownTool {
        /// The kind.
        kind: String,
        /// The tool.
        tool: String,
    },
    /// A tool of the configuration has the name of a tool for sub-agents. Rename it.
    #[error("a tool is called `{name}`, which is the name of a tool for sub-agents")]
    ToolName {
        /// The name.
        name: &'static str,
    },
    /// The levels of sub-agents are not 1 to 3.
    #[error("sub-agents may have 1 to 3 levels, not {levels}")]
    Levels {
        /// The levels.
        levels: u8,
    },
    /// The limit on the money of an agent cannot be kept. Give the price of its model, or limit tokens.
    #[error(transparent)]
    NoPrice(#[from] NoPrice),
    /// There is no inbox, so the end of an agent in the background could not arrive. Configure one.
    #[error("agents in the background need an inbox for their answers: call `AssistantConfig::inbox`")]
    NoInbox,
}

/// The maximum length of a name, which is a part of the name of a node.
const LONGEST_NAME: usize = 40;

impl AgentKind {
    /// Makes a kind of agents that change nothing. The description tells the model when to use one.
    pub fn reader(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self::new(name.into(), description.into(), Access::ReadOnly)
    }

    /// Makes a kind of agents that may change what their parent may change.
    pub fn writer(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self::new(name.into(), description.into(), Access::Writes)
    }

    const fn new(name: String, description: String, access: Access) -> Self {
        Self {
            name,
            description,
            access,
            system: None,
            tools: None,
            never: Vec::new(),
            limits: Limits { tokens: None, micro_usd: None, time_ms: None },
            max_turns: None,
            model: None,
        }
    }

    /// Replaces the standing instructions, which are otherwise those of the parent.
    #[must_use]
    pub fn system(mut self, instructions: impl Into<String>) -> Self {
        self.system = Some(instructions.into());
        self
    }

    /// Sets the tools, which are otherwise all of the parent's.
    #[must_use]
    pub fn tools(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.tools = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Adds a deny rule: calls that these agents may never make.
    #[must_use]
    pub fn never(mut self, rule: RulePlace) -> Self {
        self.never.push(rule);
        self
    }

    /// Limits what one agent may spend. It is never more than what its parent has left.
    #[must_use]
    pub const fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the maximum number of replies of one agent's model, which is otherwise that of the parent.
    #[must_use]
    pub const fn max_turns(mut self, turns: NonZeroU32) -> Self {
        self.max_turns = Some(turns);
        self
    }

    /// Sets the model, which is otherwise that of the parent.
    #[must_use]
    pub fn model(mut self, model: impl ChatModel) -> Self {
        self.model = Some(Arc::new(model));
        self
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns `true` if these agents have this tool, if their parent has it.
    pub(crate) fn has(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|tools| tools.contains(tool))
    }

    /// Checks the name.
    pub(crate) fn check_name(&self) -> Result<(), AgentError> {
        let letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        match (1..=LONGEST_NAME).contains(&self.name.len()) && self.name.bytes().all(letter) {
            true => Ok(()),
            false => Err(AgentError::Name { name: self.name.clone() }),
        }
    }
}

impl fmt::Debug for AgentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut kind = f.debug_struct("AgentKind");
        kind.field("name", &self.name).field("access", &self.access).field("tools", &self.tools);
        kind.finish_non_exhaustive()
    }
}
