//! The errors of MCP servers.

use std::time::Duration;

/// An error of an MCP server. A failed call of a tool is a result for the model instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum McpError {
    /// The name that the program gives the server cannot begin names of tools. Choose another one.
    #[error(
        "`{name}` is not a valid name of an MCP server: a name has 1 to 32 letters of a-z, A-Z, 0-9, `_` and `-`"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// The address is not usable. Correct it.
    #[error("the address of the MCP server cannot be used: {reason}")]
    Address {
        /// The cause.
        reason: String,
    },
    /// The command cannot be started. Look whether it is installed and on the path.
    #[error("the MCP server `{server}` cannot be started: {reason}")]
    Start {
        /// The server.
        server: String,
        /// The cause.
        reason: String,
    },
    /// There is no connection, or it broke before anything was agreed on.
    #[error("the MCP server `{server}` cannot be reached: {reason}")]
    Unreachable {
        /// The server.
        server: String,
        /// The cause, with the last lines that a command wrote to its standard error.
        reason: String,
    },
    /// The server took too long to answer. Give it more time with
    /// [`connect_time`](super::McpOptions::connect_time), or look at what it waits for.
    #[error("the MCP server `{server}` did not answer within {after:?}{wrote}")]
    TimedOut {
        /// The server.
        server: String,
        /// The time limit that expired.
        after: Duration,
        /// The end of a command's output to its standard error, after a semicolon.
        wrote: String,
    },
    /// The server does not list its tools, or its list is malformed.
    #[error("the MCP server `{server}` does not list its tools: {reason}")]
    List {
        /// The server.
        server: String,
        /// The cause.
        reason: String,
    },
    /// The connection was closed by the program.
    #[error("the connection with the MCP server `{server}` was closed")]
    Closed {
        /// The server.
        server: String,
    },
}
