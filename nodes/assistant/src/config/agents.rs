//! The configuration of sub-agents.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use superstep_nodes::tool::{Tool, ToolRegistry};

use super::AssistantConfig;
use crate::agents::{Access, AgentError, AgentKind, AgentTool, Background, SEND};
use crate::budget::{Limits, Meter};
use crate::guidance::Guidance;
use crate::permission::RuleKind;
use crate::plan::SessionTool;
use crate::state::AssistantState;

/// The tools of a coordinator, beside those that start agents.
const OF_COORDINATORS: [&str; 3] = ["todo", "ask_user", "present_plan"];

/// The most levels of sub-agents.
const MAX_LEVELS: u8 = 3;

impl AssistantConfig {
    /// Lets the model delegate parts of the work to [agents](crate::agents) of these kinds, by the tool
    /// [`agent`](crate::agents::AgentTool).
    #[must_use]
    pub fn agents(mut self, kinds: impl IntoIterator<Item = AgentKind>) -> Self {
        self.kinds = kinds.into_iter().collect();
        self
    }

    /// Makes the assistant a coordinator: its model has only the tools `agent`, `send`, `todo`, `ask_user` and
    /// `present_plan`, as far as they are configured, and all other tools are for its agents.
    #[must_use]
    pub const fn coordinator(mut self) -> Self {
        self.is_coordinator = true;
        self
    }

    /// Sets the number of levels of sub-agents, 1 to 3. With one level, which is the default, sub-agents start no
    /// others.
    #[must_use]
    pub const fn agent_levels(mut self, levels: u8) -> Self {
        self.levels = levels;
        self
    }

    /// Returns the configuration of sub-agents of a kind: this one, with fewer tools and more boundaries.
    pub(crate) fn of_agent(&self, kind: &AgentKind) -> Self {
        let mut config = self.clone();
        (config.is_agent, config.is_coordinator) = (true, false);
        config.levels -= 1;
        config.hooks = self.hooks.of_agent();
        if config.levels == 0 || !kind.has(AgentTool::NAME) {
            config.kinds.clear();
        }
        let tools = self.own_tools();
        let specs = tools.specs();
        let hidden = specs.iter().filter(|tool| !kind.has(&tool.name));
        config.tools = hidden.fold(tools, |tools, tool| tools.without(&tool.name));
        // The mode of an agent is never looser than that of its parent.
        let may_have = |tool: &SessionTool| kind.has(tool.name()) && *tool != SessionTool::PresentPlan;
        config.session_tools.retain(may_have);
        config.sources.retain(|source| kind.has(source.tool.name()));
        let never = kind.never.iter().cloned();
        config.permissions = never.fold(config.permissions, |all, rule| all.rule(RuleKind::Deny, rule));
        if let Some(system) = &kind.system {
            config.system.clone_from(system);
        }
        config.max_turns = kind.max_turns.unwrap_or(self.max_turns);
        if let Some(model) = &kind.model {
            config.model = model.clone();
        }
        config
    }

    /// Returns the tool that starts sub-agents, if there are kinds of them.
    pub(crate) fn agent_tool(&self) -> Option<AgentTool> {
        // Without an inbox the end of an agent in the background could not arrive.
        let background = match self.inbox.is_some() && !self.is_agent {
            true => Background::Offered,
            false => Background::Absent,
        };
        (!self.kinds.is_empty()).then(|| AgentTool::new(&self.kinds, background))
    }

    /// Returns the tools that do work, with those of guidance. Those of an agent are in its registry.
    fn own_tools(&self) -> ToolRegistry {
        let mut tools = self.tools.clone();
        for tool in self.guidance.iter().filter(|_| !self.is_agent).flat_map(Guidance::tools) {
            if tools.get(tool.name()).is_none() {
                tools.add(tool).expect("no tool has the name, and the schema is that of a type");
            }
        }
        tools
    }

    /// Returns the tools of the model, with those that start agents.
    pub(super) fn all_tools(&self) -> ToolRegistry {
        let mut tools = self.own_tools();
        for tool in &self.session_tools {
            if tools.get(tool.name()).is_none() {
                tools.add(tool.tool()).expect("no tool has the name, and the schema is that of a type");
            }
        }
        if self.is_coordinator {
            let specs = tools.specs();
            let others = specs.iter().filter(|tool| !OF_COORDINATORS.contains(&tool.name.as_str()));
            tools = others.fold(tools, |tools, tool| tools.without(&tool.name));
        }
        if let Some(agent) = self.agent_tool() {
            let send = agent.send().map(|send| Arc::new(send) as Arc<dyn Tool>);
            for tool in [Arc::new(agent) as Arc<dyn Tool>].into_iter().chain(send) {
                tools.add(tool).expect("`check_agents` found the names free, and the schemas are objects");
            }
        }
        tools
    }

    /// Returns a kind of sub-agents.
    pub(crate) fn kind(&self, name: &str) -> Option<&AgentKind> {
        self.kinds.iter().find(|kind| kind.name == name)
    }

    /// Returns `true` for a kind of sub-agents that change nothing.
    pub(crate) fn is_reader(&self, kind: &str) -> bool {
        self.kind(kind).is_some_and(|kind| kind.access == Access::ReadOnly)
    }

    /// Returns the meter of a session, or of the sub-agent that this is the state of.
    pub(crate) fn meter_of(&self, state: &AssistantState) -> Cow<'_, Meter> {
        match &state.delegation {
            Some(delegation) => Cow::Owned(self.meter.with_limits(delegation.limits)),
            None => Cow::Borrowed(&self.meter),
        }
    }

    /// Returns the limits that remain.
    pub(crate) fn left(&self, state: &AssistantState, now_ms: Option<u64>) -> Limits {
        let meter = self.meter_of(state);
        meter.limits().after(&state.spent(&meter, now_ms))
    }

    /// Checks that sub-agents can be made of the kinds.
    pub(crate) fn check_agents(&self) -> Result<(), AgentError> {
        if self.kinds.is_empty() {
            return Ok(());
        }
        if !(1..=MAX_LEVELS).contains(&self.levels) {
            return Err(AgentError::Levels { levels: self.levels });
        }
        if let Some(name) = [AgentTool::NAME, SEND].into_iter().find(|name| self.tools.get(name).is_some()) {
            return Err(AgentError::ToolName { name });
        }
        let (mut names, tools) = (BTreeSet::new(), self.own_tools());
        for kind in &self.kinds {
            kind.check_name()?;
            if !names.insert(&kind.name) {
                return Err(AgentError::Duplicate { name: kind.name.clone() });
            }
            let is_session = |name: &String| self.session_tools.iter().any(|tool| tool.name() == name);
            let is_known =
                |name: &String| name == AgentTool::NAME || is_session(name) || tools.get(name).is_some();
            let is_unknown = |tool: &&String| !is_known(tool);
            if let Some(tool) = kind.tools.iter().flatten().find(is_unknown) {
                return Err(AgentError::UnknownTool { kind: kind.name.clone(), tool: tool.clone() });
            }
            let limits = self.meter.limits().share(1, &kind.limits);
            self.of_agent(kind).check_prices(&self.meter.with_limits(limits))?;
        }
        Ok(())
    }
}
