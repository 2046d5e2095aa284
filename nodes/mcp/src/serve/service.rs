//! A server of graphs.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, Implementation,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, ServerInitializeError};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{RoleServer, ServerHandler, serve_server};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};

use super::graph_tool::GraphTool;
use super::progress::watch;
use crate::transport::ClosedInTime;

/// An MCP server whose tools are graphs.
///
/// A clone has the same graphs. When a client cancels a request its run is cancelled, at a point that it can be resumed
/// from; when the client goes away a run has five seconds to end by itself before that.
#[derive(Clone)]
pub struct McpService {
    name: String,
    version: String,
    instructions: Option<String>,
    tools: BTreeMap<String, Entry>,
}

/// A tool by its name, and which of its graph's it is.
#[derive(Clone)]
enum Entry {
    Begins(Arc<GraphTool>),
    Resumes(Arc<GraphTool>),
}

impl McpService {
    /// Makes a server without tools, with its name and version for clients.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self { name: name.into(), version: version.into(), instructions: None, tools: BTreeMap::new() }
    }

    /// Tells clients how the tools are used together.
    #[must_use]
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = Some(instructions.into());
        self
    }

    /// Adds a graph.
    ///
    /// # Errors
    ///
    /// Fails if clients take no such name, there is a tool of that name, or its input is no object that has room for
    /// the thread.
    pub fn with(mut self, mut tool: GraphTool) -> Result<Self, ServeError> {
        tool.prepare()?;
        let tool = Arc::new(tool);
        self.add(tool.name.clone(), Entry::Begins(Arc::clone(&tool)))?;
        if let Some(resume) = tool.resume_name() {
            self.add(resume, Entry::Resumes(tool))?;
        }
        Ok(self)
    }

    fn add(&mut self, name: String, entry: Entry) -> Result<(), ServeError> {
        if self.tools.contains_key(&name) {
            return Err(ServeError::Duplicate { name });
        }
        self.tools.insert(name, entry);
        Ok(())
    }

    /// Serves one client on the standard input and output, until it goes away. Nothing else may be printed meanwhile:
    /// messages for people go to the standard error.
    ///
    /// # Errors
    ///
    /// Fails if the client does not keep to the protocol at the beginning.
    pub async fn serve_stdio(self) -> Result<(), ServeError> {
        self.serve(tokio::io::stdin(), tokio::io::stdout()).await
    }

    /// Serves one client at the other end of a stream, until it goes away; what it then has not read is not waited for
    /// longer than six seconds. If this is dropped its runs are cancelled.
    ///
    /// # Errors
    ///
    /// Fails if the client does not keep to the protocol at the beginning.
    pub async fn serve(
        self,
        read: impl AsyncRead + Send + Unpin + 'static,
        write: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Result<(), ServeError> {
        let failed = |reason: String| ServeError::Connection { reason };
        let running = match serve_server(self, ClosedInTime(AsyncRwTransport::new_server(read, write))).await
        {
            Ok(running) => running,
            // A client that goes away before it has asked for anything has done nothing wrong.
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(failed(error.to_string())),
        };
        running.waiting().await.map_err(|error| failed(error.to_string())).map(drop)
    }

    async fn call(
        &self,
        call: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Option<CallToolResult> {
        let entry = self.tools.get(&*call.name)?;
        let input = call.arguments.unwrap_or_default();
        let (tool, work) = match entry {
            Entry::Begins(tool) => (tool, tool.begin(input)),
            Entry::Resumes(tool) => (tool, tool.resume(input)),
        };
        let work = match work {
            Ok(work) => work,
            Err(reason) => return Some(CallToolResult::error(vec![ContentBlock::text(reason)])),
        };
        let (watcher, watched) = watch(context.meta.get_progress_token());
        let run = tool.run(work, context.ct.clone(), watcher);
        let ended = watched.during(run, &context.peer).await;
        let resume = tool.resume_name();
        Some(match ended {
            Ok(ended) => ended.into_result(resume.as_deref()),
            Err(failed) => failed.into_result(resume.as_deref()),
        })
    }
}

impl ServerHandler for McpService {
    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let graphs = self.tools.values().filter_map(|entry| match entry {
            Entry::Begins(tool) => Some(tool),
            Entry::Resumes(_) => None,
        });
        Ok(ListToolsResult::with_all_items(graphs.flat_map(|tool| tool.listed()).collect()))
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = call.name.clone();
        match self.call(call, context).await {
            Some(result) => Ok(CallToolResponse::Complete(result)),
            None => Err(ErrorData::invalid_params(format!("there is no tool named `{name}`"), None::<Value>)),
        }
    }

    fn get_info(&self) -> ServerConfig {
        let info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new(&self.name, &self.version));
        match &self.instructions {
            Some(instructions) => info.with_instructions(instructions),
            None => info,
        }
    }
}

impl fmt::Debug for McpService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpService")
            .field("name", &self.name)
            .field("tools", &self.tools.keys())
            .finish_non_exhaustive()
    }
}

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
