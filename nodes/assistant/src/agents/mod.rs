//! Sub-agents: assistants that an assistant starts for parts of its work.
//!
//! A call of the tool `agent` is authorized like any other. The node `delegate` then runs the allowed ones, each as a
//! subgraph that is wired like the assistant itself, with fewer tools and less to spend:
//!
//! ```text
//! authorize ─▶ tools ─▶ delegate ─┬─▶ agent.explore ─┐   agents that only read: in parallel
//!                        │    ▲   └─▶ agent.explore ─┤   agents that write: one in each superstep
//!                        ▼    └──────────────────────┘
//!                       gate       the answers, in the order of the calls
//! ```
//!
//! | of a sub-agent | is |
//! |---|---|
//! | its tools | those of its parent that its kind names; any other is unknown to it |
//! | its permissions | its parent's rules, grants and mode, and the deny rules of its kind |
//! | its questions | stored with the session, with the name of its kind |
//! | its budget | reserved out of its parent's before it begins, and settled by its ledger |
//! | a limit that ends it | an error for its parent, with what it has so far |

mod delegation;
mod kind;
mod tool;

pub use delegation::{AgentResult, BackgroundAgent, Delegation, Handover};
pub(crate) use delegation::{next_batch, reserve};
pub use kind::{Access, AgentError, AgentKind};
pub(crate) use tool::Background;
pub use tool::{AgentTool, SEND};

/// The beginning of the names of the nodes of sub-agents.
pub(crate) const AGENT: &str = "agent.";
