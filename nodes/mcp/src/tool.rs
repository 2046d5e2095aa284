//! A tool of a server.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, Tool as Listed, ToolAnnotations};
use serde_json::Value;
use superstep_core::nonprinting::escape_nonprinting;
use superstep_nodes::tool::{
    InvalidInput, Permission, Tool, ToolContext, ToolEffect, ToolFailure, ToolOutput, ToolResult,
};

use super::connection::{Connection, RequestError};
use super::options::Hints;
use super::result::read;

/// The maximum length of an input that is shown when a call is to be approved.
const MOST_SHOWN: usize = 2_000;

/// A tool of a server.
pub(super) struct McpTool {
    name: String,
    /// The name of the tool on the server.
    remote: String,
    description: String,
    schema: Value,
    /// The server's hints about the tool, as far as they are used.
    hints: ToolAnnotations,
    connection: Arc<Connection>,
}

impl McpTool {
    pub(super) fn new(
        name: String,
        listed: Listed,
        description: String,
        schema: Value,
        connection: Arc<Connection>,
    ) -> Self {
        let hints = match connection.options.hints {
            Hints::Trusted => listed.annotations.unwrap_or_default(),
            Hints::Ignored => ToolAnnotations::default(),
        };
        let remote = listed.name.into_owned();
        Self { name, remote, description, schema, hints, connection }
    }

    fn request(&self, input: Value) -> Result<ClientRequest, ToolFailure> {
        let Value::Object(input) = input else { return Err(ToolFailure::new("the input is no object")) };
        let call = CallToolRequestParams::new(self.remote.clone()).with_arguments(input);
        Ok(ClientRequest::CallToolRequest(CallToolRequest::new(call)))
    }

    fn failure(&self, error: RequestError) -> ToolFailure {
        let server = &self.connection.server;
        ToolFailure::new(match error {
            RequestError::NotMade(error) => error.to_string(),
            RequestError::Refused(reason) => format!("the MCP server `{server}` refuses the call: {reason}"),
            RequestError::Broke(reason) => {
                let reason = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
                format!(
                    "the connection with the MCP server `{server}` broke during the call{reason}; whether anything was done \
                     is not known"
                )
            }
            RequestError::NoAnswer(reason) => {
                format!("the MCP server `{server}` did not answer with a result: {reason}")
            }
        })
    }

    fn only_reads(&self) -> bool {
        self.hints.read_only_hint == Some(true)
    }
}

#[async_trait]
impl Tool for McpTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn input_schema(&self) -> Value {
        self.schema.clone()
    }

    async fn call(&self, input: Value, context: &ToolContext) -> Result<ToolOutput, ToolFailure> {
        let answer = self.connection.request(self.request(input)?, Some(context.clone())).await;
        let read = read(&self.connection.server, answer.map_err(|error| self.failure(error))?);
        read.map_err(|failure| ToolFailure::new(self.connection.redact(failure.to_string())))
    }

    async fn check_permissions(&self, _: &Value, _: &ToolContext) -> Permission {
        if self.only_reads() || self.connection.options.allows(&self.remote) {
            return Permission::Passthrough;
        }
        let server = &self.connection.server;
        Permission::Ask(format!(
            "it is a tool of the MCP server `{server}`, and nothing is known of what it does"
        ))
    }

    async fn validate_input(&self, _: &Value, _: &ToolContext) -> Result<(), InvalidInput> {
        Ok(())
    }

    fn prompt(&self) -> String {
        self.description.clone()
    }

    fn map_result(&self, result: Result<ToolOutput, ToolFailure>) -> ToolResult {
        ToolResult::of(&self.name, result)
    }

    fn is_read_only(&self, _: &Value) -> bool {
        self.only_reads()
    }

    fn is_concurrency_safe(&self, _: &Value) -> bool {
        self.only_reads()
    }

    fn is_destructive(&self, _: &Value) -> bool {
        !self.only_reads() && self.hints.is_destructive()
    }

    fn effect(&self, _: &Value) -> ToolEffect {
        match (self.only_reads(), self.hints.is_idempotent()) {
            (true, _) => ToolEffect::ReadOnly,
            (false, true) => ToolEffect::Idempotent,
            (false, false) => ToolEffect::Changes,
        }
    }

    fn classifier_input(&self, input: &Value) -> Option<String> {
        let (remote, server) = (escape_nonprinting(&self.remote), &self.connection.server);
        let input = input.to_string();
        let shown: String = escape_nonprinting(&input).chars().take(MOST_SHOWN).collect();
        Some(format!("call the tool `{remote}` of the MCP server `{server}` with {shown}"))
    }

    fn timeout(&self, _: &Value) -> Option<Duration> {
        Some(self.connection.options.call_time)
    }
}
