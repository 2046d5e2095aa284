//! The permission of a call: a tool's decision, and the policy on calls that a tool neither allows nor denies.

use std::fmt;

use async_trait::async_trait;
use serde_json::Value;

use super::{Tool, ToolContext};

/// A tool's decision on whether a call may be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permission {
    /// The call may be made, without asking the policy.
    Allow,
    /// Consent is needed, for this reason: the [`PermissionPolicy`](super::PermissionPolicy) decides.
    Ask(String),
    /// The call may not be made, for this reason; the policy is not asked.
    Deny(String),
    /// The tool does not know: the [`PermissionPolicy`](super::PermissionPolicy) decides.
    Passthrough,
}

/// Compares the patterns of permission rules with the input of one call.
pub struct PermissionMatcher(Box<dyn Fn(&str) -> bool + Send + Sync>);

impl PermissionMatcher {
    /// Makes one of a function from a rule's pattern to whether it is about this call.
    pub fn new(matches: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        Self(Box::new(matches))
    }

    /// Tells whether a rule with this pattern is about the call.
    pub fn matches(&self, pattern: &str) -> bool {
        (self.0)(pattern)
    }
}

impl fmt::Debug for PermissionMatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PermissionMatcher").finish_non_exhaustive()
    }
}

/// Decides on calls that their tool neither allows nor denies.
#[async_trait]
pub trait PermissionPolicy: Send + Sync + 'static {
    /// Says whether the call may be made. It may take its time: no timeout of the tool runs meanwhile.
    async fn decide(&self, request: PermissionRequest<'_>) -> PermissionDecision;
}

/// A call that is to be decided on.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct PermissionRequest<'a> {
    /// The tool.
    pub tool: &'a dyn Tool,
    /// The input, which the tool found valid.
    pub input: &'a Value,
    /// The tool's reason for asking for consent; `None` if it does not know whether consent is needed.
    pub ask: Option<&'a str>,
    /// The circumstances of the call.
    pub context: &'a ToolContext,
}

/// The decision on whether a call may be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PermissionDecision {
    /// It may.
    Allow,
    /// It may not; the model reads the reason.
    Deny(String),
}

/// The default policy of a registry: registering a tool means that it may be used, so a call is allowed unless its tool
/// asks for consent. There is no one to give it, so such a call is denied.
#[derive(Clone, Copy, Debug, Default)]
pub struct AllowUnlessAsked;

#[async_trait]
impl PermissionPolicy for AllowUnlessAsked {
    async fn decide(&self, request: PermissionRequest<'_>) -> PermissionDecision {
        match request.ask {
            None => PermissionDecision::Allow,
            Some(reason) => {
                PermissionDecision::Deny(format!("it needs consent, and there is no user to ask ({reason})"))
            }
        }
    }
}

/// Allows only read-only calls, such as while a plan is made.
#[derive(Clone, Copy, Debug, Default)]
pub struct AllowReadOnly;

#[async_trait]
impl PermissionPolicy for AllowReadOnly {
    async fn decide(&self, request: PermissionRequest<'_>) -> PermissionDecision {
        match request.ask {
            None if request.tool.is_read_only(request.input) => PermissionDecision::Allow,
            _ => PermissionDecision::Deny("only calls that change nothing are allowed".to_owned()),
        }
    }
}
