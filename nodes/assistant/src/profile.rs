//! Profiles: settings that go together, by the length and the sensitivity of the work.

use serde::{Deserialize, Serialize};

use crate::config::AssistantConfig;
use crate::context::{ContextProfile, ContextSettings};
use crate::permission::{PermissionMode, Rule, RuleKind, RulePlace, RuleSource};

/// The sensitivity of the work, by the most dangerous thing that the assistant may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sensitivity {
    /// It reads, in its workspace and where its tools lead, and changes nothing.
    Low,
    /// It edits files: what no rule allows is asked about.
    #[default]
    Medium,
    /// It runs code: deny rules, hooks, and a classifier that decides before a person is asked. Give it a `Bash` whose
    /// sandbox is required, as it is by default.
    High,
}

/// The commands that are denied in work of high sensitivity: they leave the account that the sandbox is for.
const DENIED: [&str; 3] = ["bash(sudo *)", "bash(su *)", "bash(doas *)"];

impl AssistantConfig {
    /// Sets what models are shown by the length of sessions; see [`ContextSettings::of`].
    #[must_use]
    pub fn length(self, profile: ContextProfile) -> Self {
        self.context(ContextSettings::of(profile))
    }

    /// Sets the permission mode of new sessions by the sensitivity of the work: `plan`, `default` or `auto`. High
    /// sensitivity also adds deny rules.
    ///
    /// It is free to be combined with [`length`](Self::length) and the other profiles. The session is a matter of the
    /// graph's checkpointer: a `MemorySaver`, or a `SqliteSaver` for sessions that outlive the program.
    #[must_use]
    pub fn sensitivity(mut self, sensitivity: Sensitivity) -> Self {
        self.mode = match sensitivity {
            Sensitivity::Low => PermissionMode::Plan,
            Sensitivity::Medium => PermissionMode::Default,
            Sensitivity::High => PermissionMode::Auto,
        };
        if sensitivity == Sensitivity::High {
            let rule = |text: &str| text.parse::<Rule>().expect("the rule is well-formed");
            let places = DENIED.map(|text| RulePlace::new(rule(text), RuleSource::Program));
            self.permissions =
                places.into_iter().fold(self.permissions, |all, place| all.rule(RuleKind::Deny, place));
        }
        self
    }
}

#[cfg(test)]
mod tests;
