//! Graphs as tools of an MCP server.
//!
//! ```text
//! client ──tools/call──▶ McpService ──▶ GraphTool ──▶ Graph: a run on a thread
//!    ▲                                      │
//!    ├──── progress, an event a task ◀──────┤
//!    └──── outcome: output or questions ◀───┘
//! ```

mod graph_tool;
#[cfg(feature = "http")]
mod http;
mod outcome;
mod progress;
mod service;

pub use graph_tool::GraphTool;
#[cfg(feature = "http")]
pub use http::HttpAccess;
pub use service::{McpService, ServeError};
