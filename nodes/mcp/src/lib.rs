//! Tools of MCP servers, and graphs as MCP servers; over HTTP, with the feature `http`.
//!
//! ```text
//! McpCommand, McpUrl, McpStream ──▶ McpServer::connect ──▶ McpTools ──▶ ToolRegistry
//!                                          │                 tools that share the connection
//!                                          └── refresh, close
//!
//! Graph ──▶ GraphTool ──▶ McpService ──▶ serve_stdio, serve, serve_http
//! ```
//!
//! A server of the [Model Context Protocol](https://modelcontextprotocol.io) is another program that offers tools.
//! [`McpServer::connect`] starts it or connects to it; its tools are then called as the agent's own. They are listed once: the
//! tools that a model sees do not change during a conversation, whatever the server reports.
//!
//! A server's hints about its tools are ignored, unless [`McpOptions::trust_hints`] is set. Its texts are passed to the
//! model, with all risks of untrusted input. Requests of the server itself, for example for an answer of the model, are
//! refused.
//!
//! The other way round, an [`McpService`] offers graphs to clients: a call of a [`GraphTool`] is a run.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

// The derives name the framework `superstep`, as users do.
#[cfg(test)]
extern crate superstep_core as superstep;

mod child;
mod command;
mod connection;
mod endpoint;
mod error;
mod handler;
mod lines;
mod listing;
mod name;
mod options;
mod result;
mod serve;
mod server;
mod tool;
mod transport;
#[cfg(feature = "http")]
mod url;

pub use command::McpCommand;
pub use endpoint::{McpEndpoint, McpStream};
pub use error::McpError;
pub use listing::{LeftOut, McpTools};
pub use options::McpOptions;
#[cfg(feature = "http")]
pub use serve::HttpAccess;
pub use serve::{GraphTool, McpService, ServeError};
pub use server::McpServer;
#[cfg(feature = "http")]
pub use url::BearerToken;
#[cfg(feature = "http")]
pub use url::McpUrl;

#[cfg(test)]
mod tests;
