//! A tool's decision on the permission of a call.

use std::fmt;

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
