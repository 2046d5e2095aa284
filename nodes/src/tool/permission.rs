//! What a tool says of its permission.

use std::fmt;

/// What a tool says of whether a call may be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permission {
    /// It may; nobody else is asked.
    Allow,
    /// Somebody has to be asked, for this reason: the [`PermissionPolicy`](super::PermissionPolicy) decides.
    Ask(String),
    /// It may not, for this reason; nobody else is asked.
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
