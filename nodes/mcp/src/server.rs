//! A connected server.

use std::fmt;
use std::sync::Arc;

use super::connection::Connection;
use super::name::is_server_name;
use super::{McpEndpoint, McpError, McpOptions, McpTools};

/// An MCP server that the program has connected to.
///
/// The connection is shared with the tools, and is ended when the server and all of them are dropped, or by
/// [`close`](Self::close). When it breaks, the calls that are under way fail, and the next one connects again.
///
/// ```
/// use superstep_mcp::{McpCommand, McpOptions, McpServer};
/// use superstep_nodes::tool::ToolRegistry;
///
/// # async fn connect() -> Result<(), Box<dyn std::error::Error>> {
/// let command = McpCommand::new("mcp-server-git").arg("--repository").arg("/srv/project");
/// let git = McpServer::connect("git", command, McpOptions::new().allow_tool("git_log")).await?;
/// let mut tools = ToolRegistry::new();
/// git.tools().add_to(&mut tools)?;
/// # Ok(())
/// # }
/// ```
pub struct McpServer {
    connection: Arc<Connection>,
    tools: McpTools,
}

impl McpServer {
    /// Connects to a server and asks for its tools. The name is the program's: those of the tools begin with it. A
    /// runtime of tokio with its clock and its I/O (`enable_all`) has to be there, and to stay as long as the
    /// connection.
    ///
    /// # Errors
    ///
    /// Fails if the name cannot begin the names of tools, the server cannot be started or reached, takes longer than
    /// [`connect_time`](McpOptions::connect_time), or does not list its tools.
    pub async fn connect(
        name: impl Into<String>,
        endpoint: impl Into<McpEndpoint>,
        options: McpOptions,
    ) -> Result<Self, McpError> {
        let name = name.into();
        if !is_server_name(&name) {
            return Err(McpError::Name { name });
        }
        let connection = Arc::new(Connection::open(&name, endpoint.into(), options).await?);
        let tools = McpTools::list(&connection).await?;
        Ok(Self { connection, tools })
    }

    /// Returns the name that the program has given it.
    pub fn name(&self) -> &str {
        &self.connection.server
    }

    /// Returns the tools that the server had when they were listed last. A server may say that they are others now:
    /// that changes nothing until [`refresh`](Self::refresh), and nothing for a registry that they were added to.
    pub const fn tools(&self) -> &McpTools {
        &self.tools
    }

    /// Returns true if the server has reported changed tools since then.
    pub fn tools_changed(&self) -> bool {
        self.connection.handler.tools_changed()
    }

    /// Lists the tools again, such as between two conversations: a model that gets other tools has to read the whole
    /// request again.
    ///
    /// # Errors
    ///
    /// Fails if the server cannot be reached, takes too long or does not list its tools; those from before stay.
    pub async fn refresh(&mut self) -> Result<&McpTools, McpError> {
        self.tools = McpTools::list(&self.connection).await?;
        Ok(&self.tools)
    }

    /// Closes the connection and waits until a server that is a command has ended. Calls of its tools fail from then
    /// on.
    pub async fn close(self) {
        self.connection.close().await;
    }
}

impl fmt::Debug for McpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpServer")
            .field("name", &self.name())
            .field("tools", &self.tools)
            .finish_non_exhaustive()
    }
}
