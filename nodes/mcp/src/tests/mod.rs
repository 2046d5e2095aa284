//! Tools of MCP servers: servers that are scripted, line by line, and that do what no server should; and graphs as
//! servers.

mod calls;
mod graphs;
#[cfg(feature = "http")]
mod graphs_http;
#[cfg(feature = "http")]
mod http;
mod listing;
mod process;
mod scripted;
mod unread;
