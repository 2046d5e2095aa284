//! An error of serving a graph.

/// An error of serving a graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Clients do not take this name. Rename the tool.
    #[error(
        "`{name}` is not a valid name of a served graph: a name has 1 to 57 letters of a-z, A-Z, 0-9, `_` and `-`"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// Two tools have the same name. Rename one of them.
    #[error("there is already a tool named `{name}`")]
    Duplicate {
        /// The name both tools have.
        name: String,
    },
    /// The input of a served graph is an object. Make it a struct.
    #[error("the input of the tool `{name}` cannot be described: {reason}")]
    Schema {
        /// The name of the tool.
        name: String,
        /// The defect of the schema.
        reason: String,
    },
    /// The input has a field with the name of the thread's parameter. Rename it.
    #[error("the input of the tool `{name}` has a field `thread`, which names the thread of the graph")]
    ThreadField {
        /// The name of the tool.
        name: String,
    },
    /// The address can be reached by other machines, and no token is required. Require one with
    /// `HttpAccess::with_token`, or listen at `127.0.0.1`.
    #[error(
        "the MCP server at {address} is open to other machines without a token: require a token, or listen at 127.0.0.1"
    )]
    NoToken {
        /// The address of the server.
        address: String,
    },
    /// The connection could not be made or kept.
    #[error("the connection with the MCP client has failed: {reason}")]
    Connection {
        /// The cause.
        reason: String,
    },
}
