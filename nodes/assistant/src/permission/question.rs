//! The question for permission, its answers, and the grants that they give.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep_core::reducer::Keyed;
use superstep_nodes::message::ToolCall;

use super::decision::{CallView, Decision, Layer, Verdict};
use super::file_change::FileChange;
use super::permissions::{Allowing, Permissions, granted};
use super::rule::Rule;

/// A question for permission. It is stored with the thread until it is answered, by a person or a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PermissionQuestion {
    /// The call, with long texts of its input cut.
    pub call: ToolCall,
    /// The reason for which consent is needed.
    pub reason: String,
    /// The change of a file that the call would make.
    pub change: Option<FileChange>,
    /// The rules to allow calls like this one from now on; together they cover the call. If it is empty, only this call
    /// can be allowed.
    pub offer: Vec<Rule>,
    /// The sub-agent that makes the call.
    pub agent: Option<String>,
}

/// The answer to a question for permission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PermissionAnswer {
    /// Allow this call.
    Once,
    /// Allow this call, and those that the offer covers, for this session.
    Session,
    /// Allow this call, and those that the offer covers, for this session; the program writes the offered rules into
    /// the user's settings.
    Always,
    /// Deny this call.
    Deny {
        /// The reason, which the model reads.
        reason: String,
    },
}

/// A rule that a person approved for this session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Grant {
    /// The text of the rule, which is its id among the grants.
    pub id: String,
    /// The rule.
    pub rule: Rule,
    /// The id of the call for which it was approved.
    pub call: String,
}

impl Grant {
    /// Makes a grant.
    pub fn new(rule: Rule, call: impl Into<String>) -> Self {
        Self { id: rule.to_string(), rule, call: call.into() }
    }
}

impl Keyed for Grant {
    fn id(&self) -> &str {
        &self.id
    }
}

impl Permissions {
    /// Makes the question of an ask.
    pub fn question(&self, call: &CallView<'_>, ask: &Decision, grants: &[Grant]) -> PermissionQuestion {
        let input = bounded(&call.call.input);
        PermissionQuestion {
            call: ToolCall::new(call.call.id.clone(), call.call.name.clone(), input),
            reason: ask.reason.clone(),
            change: FileChange::of(call.call, None),
            offer: self.offer(call, ask, grants).unwrap_or_default(),
            agent: None,
        }
    }

    /// Returns rules that cover the parts of a call that are not covered yet; `None` if there are none for a part, or
    /// if a deny rule may be about the call, which is asked about each time.
    fn offer(&self, call: &CallView<'_>, ask: &Decision, grants: &[Grant]) -> Option<Vec<Rule>> {
        let tool = &call.call.name;
        let Some(matcher) = call.matcher else {
            let about_patterns = !ask.rules.is_empty() || self.is_edit_tool(tool);
            return (!about_patterns).then(|| Rule::of_tool(tool).ok().map(|rule| vec![rule]))?;
        };
        if ask.layer == Layer::Static {
            return None;
        }
        let mut known: Vec<_> = granted(call, grants).collect();
        if ask.layer == Layer::Mode {
            // Rules that allow do not answer what the tool, a rule or a hook asks.
            known.extend(self.allow_rules(call).map(Allowing::Rule));
        }
        let mut offer = Vec::new();
        for part in 0..matcher.parts() {
            if known.iter().any(|rule| rule.fits(matcher, part)) {
                continue;
            }
            let rule = Rule::of_pattern(tool, matcher.offer(part)?).ok()?;
            if !offer.contains(&rule) {
                offer.push(rule);
            }
        }
        Some(offer)
    }
}

impl PermissionQuestion {
    /// Shows this change, such as one with the present text of the file.
    #[must_use]
    pub fn with_change(mut self, change: FileChange) -> Self {
        self.change = Some(change);
        self
    }

    /// Names the sub-agent that makes the call.
    #[must_use]
    pub fn from_agent(mut self, agent: impl Into<String>) -> Self {
        self.agent = Some(agent.into());
        self
    }

    /// Returns the decision after an answer, and the grants that it gives.
    pub fn answered(&self, ask: Decision, answer: &PermissionAnswer) -> (Decision, Vec<Grant>) {
        let allowed = |reason: &str| Decision {
            layer: Layer::Mode,
            verdict: Verdict::Allow,
            reason: reason.to_owned(),
            ..ask.clone()
        };
        let grants =
            || self.offer.iter().map(|rule| Grant::new(rule.clone(), self.call.id.clone())).collect();
        match answer {
            PermissionAnswer::Once => (allowed("a person allowed this call"), Vec::new()),
            PermissionAnswer::Session => {
                (allowed("a person allowed calls like this, for this session"), grants())
            }
            PermissionAnswer::Always => (allowed("a person allowed calls like this, from now on"), grants()),
            PermissionAnswer::Deny { reason } => {
                let reason = match reason.trim() {
                    "" => "a person denied this call".to_owned(),
                    reason => format!("a person denied this call: {reason}"),
                };
                (Decision { layer: Layer::Mode, verdict: Verdict::Deny, reason, ..ask }, Vec::new())
            }
        }
    }
}

/// Cuts long texts of an input, as a question is stored with the thread. A change is shown in full beside it.
fn bounded(input: &Value) -> Value {
    const LONGEST: usize = FileChange::MAX_BYTES;
    match input {
        Value::String(text) if text.len() > LONGEST => {
            let kept = &text[..text.floor_char_boundary(LONGEST)];
            Value::String(format!("{kept}… ({} bytes left out)", text.len() - kept.len()))
        }
        Value::Array(items) => items.iter().map(bounded).collect(),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(key, value)| (key.clone(), bounded(value))).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => input.clone(),
    }
}
