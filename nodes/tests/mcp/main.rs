//! Tools of MCP servers: servers that are scripted, line by line, and that do what no server should.

#![expect(clippy::unwrap_used, reason = "a test may fail at any line")]

mod calls;
#[cfg(feature = "mcp-http")]
mod http;
mod listing;
mod process;
mod scripted;
