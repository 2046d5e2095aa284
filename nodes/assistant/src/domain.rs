//! Domains: kinds of work, each with its tools, rules, context and check of success.
//!
//! A domain is a value that sets up a configuration. The loop, the permissions, the context passes and the sub-agents
//! are the same for all of them.
//!
//! | domain | in place of a shell | other tools | context | success |
//! |---|---|---|---|---|
//! | `Domain::code` | `bash` | `read_file`, `write_file`, `edit_file`, `grep` | the files of the folder | a command ends well, such as `cargo test` |
//! | `Domain::data` | `sql_query` | `describe_database`, `read_csv`, `read_json`, `draw_chart` | the tables, with sample rows | the last query returned |
//! | `Domain::api` | `http_request` | `describe_api`, `read_json`, `read_file`, `write_file` | the operations of the API | the last request succeeded |
//! | `Domain::creative` | `generate_image` | `edit_image`, `glob`, `read_file`, `write_file` | the images of the folder | the last image was made |
//!
//! The four need the features `tools-shell`, `tools`, `tools-http` and `tools`. [`Domain::new`] makes one of your own.

#[cfg(feature = "tools")]
mod built_in;
mod success;

use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use superstep_nodes::tool::{Tool, ToolRegistry};

use crate::config::{AssistantConfig, ContextSource};
use crate::hook::{Hooks, StopHook};
use crate::permission::{RuleKind, RulePlace};

pub use success::LastCallSucceeded;

/// A kind of work: the tools, rules, context and check of success that fit it.
///
/// ```
/// use superstep_assistant::{AssistantConfig, Domain};
/// use superstep_nodes::model::Scripted;
/// use superstep_nodes::tool::{ToolRegistry, TypedTool};
///
/// let tool = |name| TypedTool::new(name, "Answers a question about the law of the land, in one sentence.",
///     |question: serde_json::Value| async move { Ok::<_, std::convert::Infallible>(question.to_string()) });
/// let tools = ToolRegistry::new().with(tool("find_law"))?.with(tool("find_case"))?.with(tool("cite"))?;
/// let law = Domain::new("law", "You work on questions of law. Cite each source.", tools)?;
/// let config = AssistantConfig::new(Scripted::new()).domain(law);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Domain {
    name: String,
    instructions: String,
    tools: ToolRegistry,
    rules: Vec<DomainRule>,
    context: Vec<ContextSource>,
    checks: Hooks,
}

/// A permission rule of a domain.
#[derive(Clone)]
struct DomainRule {
    kind: RuleKind,
    place: RulePlace,
    reason: Option<String>,
}

/// An error of making a domain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DomainError {
    /// The number of tools is not within the limits. A model chooses well among few tools; add further ones to the
    /// configuration.
    #[error("the domain `{domain}` has {tools} core tools, and needs 3 to 5")]
    CoreTools {
        /// The domain.
        domain: String,
        /// The number of its tools.
        tools: usize,
    },
    /// The call may change something. A source of context is called without asking, so it has to be read-only.
    #[error("the tool `{tool}` cannot be a source of context, as its call may change something")]
    NotReadOnly {
        /// The tool.
        tool: String,
    },
}

impl Domain {
    /// Makes a domain of 3 to 5 core tools. The instructions are added to those of the configuration.
    ///
    /// # Errors
    /// Fails if there are fewer tools, or more.
    pub fn new(
        name: impl Into<String>,
        instructions: impl Into<String>,
        tools: ToolRegistry,
    ) -> Result<Self, DomainError> {
        let (name, count) = (name.into(), tools.specs().len());
        if !(3..=5).contains(&count) {
            return Err(DomainError::CoreTools { domain: name, tools: count });
        }
        let instructions = instructions.into();
        Ok(Self { name, instructions, tools, rules: Vec::new(), context: Vec::new(), checks: Hooks::new() })
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the core tools.
    pub fn tools(&self) -> &ToolRegistry {
        &self.tools
    }

    /// Adds a permission rule, as [`Permissions::rule`](crate::permission::Permissions::rule).
    #[must_use]
    pub fn rule(mut self, kind: RuleKind, place: RulePlace) -> Self {
        self.rules.push(DomainRule { kind, place, reason: None });
        self
    }

    /// Adds an if/then rule, as [`Permissions::if_then`](crate::permission::Permissions::if_then).
    #[must_use]
    pub fn if_then(mut self, place: RulePlace, then: RuleKind, reason: impl Into<String>) -> Self {
        self.rules.push(DomainRule { kind: then, place, reason: Some(reason.into()) });
        self
    }

    /// Adds a source of context: the result of this call is shown to the model before the message of the user, and
    /// again when it has changed or was compacted. Its first 8,000 characters are shown.
    ///
    /// # Errors
    /// Fails if the call may change something.
    pub fn context(mut self, tool: impl Tool, input: Value) -> Result<Self, DomainError> {
        match tool.is_read_only(&input) {
            true => self.context.push(ContextSource { tool: Arc::new(tool), input }),
            false => return Err(DomainError::NotReadOnly { tool: tool.name().to_owned() }),
        }
        Ok(self)
    }

    /// Adds a check of success: a stop hook, which objects to a response before the work is done.
    #[must_use]
    pub fn check(mut self, check: impl StopHook) -> Self {
        self.checks = self.checks.before_end(check);
        self
    }
}

impl AssistantConfig {
    /// Sets the assistant up for a domain: adds its tools, instructions, rules, sources of context and checks of
    /// success. A tool of the domain replaces one of the same name. Two domains add up. Call it after
    /// [`tools`](Self::tools), [`permissions`](Self::permissions), [`hooks`](Self::hooks) and
    /// [`system`](Self::system), which replace values.
    #[must_use]
    pub fn domain(mut self, domain: Domain) -> Self {
        let Domain { instructions, tools, rules, context, checks, .. } = domain;
        for spec in tools.specs() {
            let tool = tools.get(&spec.name).expect("the registry lists it");
            self.tools = self.tools.without(&spec.name);
            self.tools.add(Arc::clone(tool)).expect("another registry took the tool, and its name is free");
        }
        self.system = format!("{}\n\n{instructions}", self.system);
        for DomainRule { kind, place, reason } in rules {
            self.permissions = match reason {
                None => self.permissions.rule(kind, place),
                Some(reason) => self.permissions.if_then(place, kind, reason),
            };
        }
        self.sources.extend(context);
        self.hooks = self.hooks.and(checks);
        self
    }
}

impl fmt::Debug for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Domain").field("name", &self.name).field("tools", &self.tools).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
