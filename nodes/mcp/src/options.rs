//! Options for a server: permissions and time limits.

use std::collections::BTreeSet;
use std::time::Duration;

/// Options for a server: what it is permitted to do, and how long to wait for it.
///
/// A server is another program, and it is not trusted: its hints about its tools are ignored unless
/// [`trust_hints`](Self::trust_hints) is set, and every call requires approval, unless the tool is [allowed](Self::allow_tool).
#[derive(Clone, Debug)]
pub struct McpOptions {
    pub(super) hints: Hints,
    pub(super) allowed: Allowed,
    pub(super) call_time: Duration,
    pub(super) connect_time: Duration,
    pub(super) most_bytes: usize,
}

/// The treatment of a server's hints about its tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hints {
    Ignored,
    Trusted,
}

/// The tools that are called without asking anyone.
#[derive(Clone, Debug)]
pub(super) enum Allowed {
    All,
    These(BTreeSet<String>),
}

impl McpOptions {
    /// The default time limit of a call.
    pub const DEFAULT_CALL_TIME: Duration = Duration::from_secs(60);

    /// The default time limit for connecting and for listing the tools.
    pub const DEFAULT_CONNECT_TIME: Duration = Duration::from_secs(30);

    /// The default for the maximum size in bytes of a message of the server.
    pub const MAX_BYTES: usize = 8 << 20;

    /// Makes options for a server that is not trusted.
    pub fn new() -> Self {
        Self {
            hints: Hints::Ignored,
            allowed: Allowed::These(BTreeSet::new()),
            call_time: Self::DEFAULT_CALL_TIME,
            connect_time: Self::DEFAULT_CONNECT_TIME,
            most_bytes: Self::MAX_BYTES,
        }
    }

    /// Trusts the server's hints about its tools. A tool marked as read-only is left to the registry's
    /// [policy](superstep_nodes::tool::PermissionPolicy), runs beside others and is repeated after a crash; one marked as idempotent
    /// is repeated, too.
    #[must_use]
    pub fn trust_hints(mut self) -> Self {
        self.hints = Hints::Trusted;
        self
    }

    /// Leaves the calls of this tool to the registry's [policy](superstep_nodes::tool::PermissionPolicy), without a
    /// person's permission. The name is that which the server gives it.
    #[must_use]
    pub fn allow_tool(mut self, name: impl Into<String>) -> Self {
        if let Allowed::These(names) = &mut self.allowed {
            names.insert(name.into());
        }
        self
    }

    /// Leaves the calls of all tools to the registry's [policy](superstep_nodes::tool::PermissionPolicy), without a
    /// person's permission.
    #[must_use]
    pub fn allow_all_tools(mut self) -> Self {
        self.allowed = Allowed::All;
        self
    }

    /// Sets the time limit of a call. A call that takes longer is cancelled at the server.
    #[must_use]
    pub fn call_time(mut self, time: Duration) -> Self {
        self.call_time = time;
        self
    }

    /// Sets the time limit for connecting, and for listing the tools.
    #[must_use]
    pub fn connect_time(mut self, time: Duration) -> Self {
        self.connect_time = time;
        self
    }

    /// Sets the maximum size in bytes of a message of the server. A connection with a longer one is closed. Of a server
    /// behind HTTP it limits the events of a stream; an answer that is no stream may have 16 MiB.
    #[must_use]
    pub fn max_message_bytes(mut self, bytes: usize) -> Self {
        self.most_bytes = bytes;
        self
    }

    /// Returns `true` if a tool is called without approval.
    pub(super) fn allows(&self, tool: &str) -> bool {
        match &self.allowed {
            Allowed::All => true,
            Allowed::These(names) => names.contains(tool),
        }
    }
}

impl Default for McpOptions {
    fn default() -> Self {
        Self::new()
    }
}
